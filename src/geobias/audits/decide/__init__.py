"""`geobias decide`: whom a language model hires, lends to, admits or believes."""
