"""`geobias audit`: both main audits on the bundled models."""
