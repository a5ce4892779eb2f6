"""Models that decide: log-probabilities of the answers to a question."""
