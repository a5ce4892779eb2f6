"""What a person sees: tables, and the folder of a run."""
