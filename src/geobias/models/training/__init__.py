"""Training that can be resumed: fine-tuning, masking, mitigation (`augment`, `pair`) and alignment (`align`)."""
