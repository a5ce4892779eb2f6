"""Everything that only makes models faster: the numbers are the same without it."""
