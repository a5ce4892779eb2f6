"""What is asked about: regions of the world and words that describe people."""
