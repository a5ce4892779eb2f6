"""A number of a finished regions run for each country, on the world map (HERB, Figure 1)."""
