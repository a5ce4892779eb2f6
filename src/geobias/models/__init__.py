"""Models, each behind the same small protocol."""
