"""Record the numbers of the regression commands, or compare with what was recorded, to 1e-9.

python -m tests.regression.record          # compare, on the machine and versions of the record
python -m tests.regression.record --write  # only where a change of the numbers is meant
"""

from __future__ import annotations

import json
import lzma
import math
import sys
import tempfile
from pathlib import Path

from tests.regression.commands import FUNCTIONS, GATES, MODELS, prepare, run_all

RECORD = Path(__file__).with_name("numbers.json.xz")


def read_record() -> dict[str, dict[str, float]]:
    return json.loads(lzma.decompress(RECORD.read_bytes()))


def differences(
    recorded: dict[str, dict[str, float]], measured: dict[str, dict[str, float]], tolerance: float
) -> list[str]:
    """Every recorded number that is missing or differs; numbers that are new are no difference."""
    lines = []
    for name in measured:
        for path, value in recorded[name].items():
            now = measured[name].get(path)
            if now is None:
                lines.append(f"{name}{path}: missing")
            elif not math.isclose(now, value, rel_tol=tolerance, abs_tol=tolerance):
                lines.append(f"{name}{path}: {value!r} was recorded, {now!r} is measured")
    return lines


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder))
        measured = run_all(Path(folder), {**FUNCTIONS, **GATES, **MODELS})
    if "--write" in sys.argv:
        text = json.dumps(measured, sort_keys=True, separators=(",", ":"))
        RECORD.write_bytes(lzma.compress(text.encode(), preset=9))
        print(f"{sum(map(len, measured.values())):,} numbers of {len(measured)} commands recorded")
        return
    found = differences(read_record(), measured, 1e-9)
    print("\n".join(found[:50]))
    print(f"{len(found):,} of {sum(map(len, read_record().values())):,} numbers differ")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
