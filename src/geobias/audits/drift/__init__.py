"""How a language model's regional bias moves while it is trained (HERB, Figure 5)."""
