"""The tables of both papers, measured beside published."""
