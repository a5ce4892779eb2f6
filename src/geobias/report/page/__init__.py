"""The page that every run ends in: one file, no network, for whoever has to know what an audit of a model has shown."""
