"""The models that are asked, each behind the same small protocol."""
