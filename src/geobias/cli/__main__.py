"""`python -m geobias.cli` is `geobias`."""

from geobias.cli import main

main()
