"""`python -m geobias.cli` is `geobias`."""

import os
import sys

from geobias.cli import main

# Python has put the current folder first, where a file of the user's, such as altair.py, would be taken for a package
# that is imported later. The command `geobias` has no such entry.
if not sys.flags.safe_path and sys.path[0] in ("", os.getcwd()):
    del sys.path[0]
main()
