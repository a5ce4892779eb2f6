"""The tables and figures of two papers: one file for each, with the published numbers beside it."""
