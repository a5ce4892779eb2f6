"""Asking models: every distinct text once, kept for ever, resumed where it stopped."""
