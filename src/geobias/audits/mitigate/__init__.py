"""`geobias mitigate`: a classifier or a language model before and after mitigation, and what it costs."""
