"""Regions of the world, names of people by country, and words that describe people."""
