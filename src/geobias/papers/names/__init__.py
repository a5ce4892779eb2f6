"""A Study of Nationality Bias in Names and Perplexity using Off-the-Shelf Affect-related Tweet Classifiers.

Barriere and Cifuentes (2024).
"""
