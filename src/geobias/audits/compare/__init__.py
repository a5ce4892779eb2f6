"""Finished runs of one audit, compared on the same texts, names or words."""
