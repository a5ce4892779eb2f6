"""The tables of both papers, measured and published."""
