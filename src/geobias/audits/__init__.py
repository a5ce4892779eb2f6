"""Whole studies, each a function that reads like the paper's section."""
