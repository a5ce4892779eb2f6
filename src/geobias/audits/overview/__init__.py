"""`geobias audit`: every audit that fits the models, as a first look."""
