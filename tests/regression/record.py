"""Record the numbers of the regression commands, or compare with what was recorded, to 1e-9.

python -m tests.regression.record                   # compare, on the machine and versions of the record
python -m tests.regression.record --write           # only where a change of the numbers is meant
python -m tests.regression.record --reshape names   # results.json has another form, and all else is as recorded

The numbers of results.json go by their path; all others by what they mean (`describe_run`), so that a change of the
form leaves them as they are. Each audit has a file of its own. After --write or --reshape one or more words choose
audits ("names", "gate", "reproduce").
"""

from __future__ import annotations

import json
import lzma
import math
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests.regression.commands import FUNCTIONS, GATES, MODELS, Meaning, prepare, run_all

RECORD = Path(__file__).with_name("numbers")
COMMANDS = {**FUNCTIONS, **GATES, **MODELS}


def read_record() -> dict[str, Meaning]:
    record: dict[str, Meaning] = {}
    for path in sorted(RECORD.glob("*.json.xz")):
        record |= json.loads(lzma.decompress(path.read_bytes()))
    return record


def write_record(measured: Mapping[str, Meaning]) -> None:
    RECORD.mkdir(exist_ok=True)
    for audit in {COMMANDS[name].split()[0] for name in measured}:
        content = {name: values for name, values in measured.items() if COMMANDS[name].split()[0] == audit}
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
        (RECORD / f"{audit}.json.xz").write_bytes(lzma.compress(text.encode(), preset=9))


def differences(recorded: Mapping[str, Meaning], measured: Mapping[str, Meaning], tolerance: float) -> list[str]:
    """Every recorded number or sentence that is missing or differs; what is new is no difference."""
    lines = []
    for name in measured:
        for path, value in recorded[name].items():
            now = measured[name].get(path)
            if now is None:
                lines.append(f"{name}/{path}: missing")
            elif isinstance(value, str) or isinstance(now, str):
                if value != now:
                    lines.append(f"{name}/{path}: {value!r} was recorded, {now!r} is said")
            elif not math.isclose(now, value, rel_tol=tolerance, abs_tol=tolerance):
                lines.append(f"{name}/{path}: {value!r} was recorded, {now!r} is measured")
    return lines


def main(options: list[str]) -> None:
    audits = options[1:]
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder))
        measured = run_all(Path(folder), select_commands(audits))
    if options[:1] == ["--write"]:
        write_record(keep_audits(measured, audits))
        print(f"{sum(map(len, measured.values())):,} numbers of {len(measured)} commands recorded")
        return
    found = differences(read_record(), measured, 1e-9)
    if options[:1] == ["--reshape"]:
        meant = [line for line in found if "/results/" not in line]
        if not meant:
            write_record(keep_audits(measured, audits))
            print(f"{len(found):,} paths of results.json differ, and nothing else: recorded")
            return
        found = meant
    print("\n".join(found[:50]))
    print(f"{len(found):,} of {sum(map(len, read_record().values())):,} numbers differ")
    sys.exit(1 if found else 0)


def select_commands(audits: list[str]) -> dict[str, str]:
    """Those of these audits, and those whose runs they read; all where none is named."""
    chosen = {name: text for name, text in COMMANDS.items() if not audits or text.split()[0] in audits}
    needed = {word for text in chosen.values() for word in text.split()} & COMMANDS.keys()
    return {name: text for name, text in COMMANDS.items() if name in chosen or name in needed}


def keep_audits(measured: Mapping[str, Meaning], audits: list[str]) -> dict[str, Meaning]:
    return {name: values for name, values in measured.items() if not audits or COMMANDS[name].split()[0] in audits}


if __name__ == "__main__":
    main(sys.argv[1:])
