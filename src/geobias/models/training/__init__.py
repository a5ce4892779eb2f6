"""Training that can be resumed: fine-tuning, and masking for masked language models."""
