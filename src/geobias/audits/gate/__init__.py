"""Rules about the numbers of finished runs."""
