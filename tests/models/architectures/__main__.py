"""Check every language model of transformers that can be built tiny, and print a table.

    python -m tests.models.architectures [--kind masked] [NAME ...]

Each row is a score of an architecture: the largest difference from brute force, the largest difference between batches,
orders and ways to read templates, and a status. "refused" says that geobias refuses the model or the score in one
line, "not built" that no tiny model could be made. The exit code is 1 if a score is wrong or a model crashes. All
architectures take about ten minutes of CPU time.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path

import torch

from geobias.models.model_files import quiet_transformers
from tests.models.architectures.check import Check, check_architecture
from tests.models.architectures.tiny_models import KINDS, list_architectures

FAULTS = {"WRONG", "VARIES", "CRASH"}
ROW = "{:8} {:26} {:12} {:>9} {:>9}  {:9} {}"


def format_row(check: Check, folder: str) -> str:
    """A line of the table; the folder of a model says nothing."""
    message = check.message.replace(folder, check.architecture)
    numbers = [f"{number:.1e}" if number == number else "" for number in (check.error, check.spread)]
    return ROW.format(check.kind, check.architecture, check.method, *numbers, check.status, message).rstrip()


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.models.architectures", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="architectures (default: all)")
    parser.add_argument("--kind", choices=KINDS, help="kind of language model (default: all)")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)  # for models this small a second thread only waits
    print(ROW.format("kind", "architecture", "score", "error", "spread", "status", ""))
    counts: Counter[tuple[str, str]] = Counter()
    for kind, architecture in list_architectures():
        if options.kind not in (None, kind) or (options.names and architecture not in options.names):
            continue
        with tempfile.TemporaryDirectory() as folder, quiet_transformers():
            for check in check_architecture(kind, architecture, Path(folder)):
                print(format_row(check, folder), flush=True)
                counts[kind, check.status] += 1
    for (kind, status), count in sorted(counts.items()):
        print(f"{kind}, {status}: {count}")
    sys.exit(bool(FAULTS & {status for _, status in counts}))


if __name__ == "__main__":
    main()
