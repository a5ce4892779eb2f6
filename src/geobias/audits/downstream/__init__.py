"""The downstream audit: how a classifier judges the same texts, said to come from one region after another."""
