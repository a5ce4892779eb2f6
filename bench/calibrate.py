"""Do intervals, marks, gates, comparisons and plans of the names audit have their nominal error rates?

    python -m bench.calibrate [REPETITIONS] [FOLDER] [PROCESSES]      (make calibrate: 1000, docs/figures)

Each repetition draws texts and lists of names anew from their populations, makes answers (`calibration_worlds.py`), and
measures them as the audit does (`calibration_repetitions.py`). The truth is the planted effect averaged over these
populations. A number outside of its band by more than three Monte Carlo errors ends in exit code 1, unless
`calibration_cells.py` lists its reason.
"""

from __future__ import annotations

import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from bench.calibration_cells import Cell, summarize_size
from bench.calibration_repetitions import Size, repeat_size
from bench.calibration_tables import write_tables
from bench.calibration_worlds import WORLDS

SIZES = [  # texts, draws, countries
    (5, 2, 17),
    (5, 50, 6),
    (8, 50, 6),
    (15, 20, 2),
    (15, 4, 6),
    (15, 50, 6),
    (20, 2, 6),
    (20, 8, 2),
    (20, 8, 6),
    (36, 8, 17),
    (60, 6, 17),
    (60, 6, 60),
    (100, 2, 17),
    (100, 50, 17),
    (200, 20, 6),
]
SLOW_SIZES = [(60, 6, 60), (100, 50, 17)]  # a repetition takes over 0.3 s: half as many
COMPARED_SIZES = [(20, 8, 6), (60, 6, 17), (100, 50, 17)]
COMPARED_WORLDS = (
    "normal name effects",
    "few names with large effects",
    "text x country, no mean effect",
    "planted: one country, 3 points",
)


def calibrate_size(size: Size, repetitions: int, pool: ProcessPoolExecutor) -> tuple[list[Cell], list[Cell]]:
    """The cells of all worlds at a size, and its comparisons."""
    names = COMPARED_WORLDS if size in COMPARED_SIZES else ()
    compared = [k for k, world in enumerate(WORLDS) if world.name in names]
    repetitions = max(repetitions // 2, 1) if size in SLOW_SIZES else repetitions
    repeat = partial(repeat_size, size, compared=compared)
    return summarize_size(size, list(pool.map(repeat, range(repetitions), chunksize=10)), compared=compared)


def main() -> None:
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    processes = int(sys.argv[3]) if len(sys.argv) > 3 else os.cpu_count()
    cells: list[Cell] = []
    comparisons: list[Cell] = []
    with ProcessPoolExecutor(processes) as pool:
        for size in SIZES:
            began = time.perf_counter()
            of_worlds, of_pairs = calibrate_size(size, repetitions, pool)
            cells, comparisons = cells + of_worlds, comparisons + of_pairs
            print(f"{size}: {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
    page = write_tables(repetitions, cells, comparisons)
    print(page)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "calibration.md").write_text(page, encoding="utf-8")
    outside = [cell for cell in cells + comparisons if cell.fails]
    if outside:
        sys.exit(f"{len(outside)} cells are outside of their bands.")


if __name__ == "__main__":
    main()
