"""The page that every run ends in: one file, no network, for whoever has to know how a model treats the world."""
