"""HERB: Measuring Hierarchical Regional Bias in Pre-trained Language Models (Li et al. 2022)."""
