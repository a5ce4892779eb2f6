"""Classifiers: Hugging Face, prompted language models, scikit-learn."""
