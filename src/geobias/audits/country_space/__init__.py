"""The model's space of country names beside the world map (HERB, Figure 3)."""
