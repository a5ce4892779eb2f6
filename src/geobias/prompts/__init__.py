"""The sentences that are put before a model."""
