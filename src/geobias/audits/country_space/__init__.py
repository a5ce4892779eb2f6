"""The model's space of country names next to the world map (HERB, Figure 3)."""
