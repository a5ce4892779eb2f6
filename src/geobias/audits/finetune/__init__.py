"""Classifiers fine-tuned from language models, and how much of the bias came along (HERB, Table 5)."""
