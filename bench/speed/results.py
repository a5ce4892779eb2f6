"""Tables of what was measured, and `bench/RESULTS.md` from the JSON files of several runs, one a machine.

    python -m bench.speed.results [RUN.json ...] [--out bench/RESULTS.md]

Without files it takes all of `bench/results/`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from geobias.models.fast import PARTS

BENCH = Path(__file__).resolve().parents[1]
RESULTS, RUNS = BENCH / "RESULTS.md", BENCH / "results"
HEADER = ("way", "batch", "texts/s", "x first row", "% of matrix rate", "MB above the model", "MB in all")
TITLES = {
    "aul": "AUL of templates",
    "pll": "PLL of tweets",
    "classify": "Classification of counterfactuals",
    "causal": "Causal conditional likelihood of descriptions",
}
PART_TITLES = {
    **TITLES,
    "conditional": "Conditional likelihood of descriptions",
    "prompted": "Labels of prompted tweets",
}
OURS = "geobias"
INTRODUCTION = """# How fast

Written by `python -m bench.speed.results`; do not edit. `make bench` measures the two-core tables anew.

Every table is one run: the same model, the same texts, each way in a process of its own, in turns, the median of the
rounds. All ways of a table gave the same numbers before they were timed (the largest difference stands beside it).
**Per cent of matrix rate** is the work that the texts need (no padding, no copies that could be shared, no vocabulary
projection that nobody reads), over the time, over the best matrix product of the machine in the same precision, as
measured just before. **texts/s** is for texts of the average length: a slow way sees fewer texts, and their length is
allowed for. Weights are random except for the embedded models; `bench/speed/` says what each way does.
"""


def cells(table: dict[str, Any]) -> list[tuple[str, ...]]:
    """The rows of one table as they are shown."""
    rows: list[dict[str, Any]] = table["rows"]
    return [
        (
            row["way"],
            str(row["size"] or "") + (f" {row['counts']}" if row["size"] and row["counts"] != "texts" else ""),
            number(row["per_second"]),
            f"{row['per_second'] / rows[0]['per_second']:.2f}",
            f"{100 * row['share']:.1f}",
            f"{row['above_model'] / 1e6:,.0f}",
            f"{row['peak'] / 1e6:,.0f}",
        )
        for row in rows
    ]


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def short(kernel: str) -> str:
    """The name of a kernel without the types that it was made for."""
    return f"`{kernel.replace('void ', '').partition('<')[0].partition('(')[0][:60]}`"


def title(table: dict[str, Any]) -> str:
    return f"{TITLES[table['work']]}, {table['model']}, {table['device']}, {table['dtype']}"


def remarks(table: dict[str, Any]) -> list[str]:
    """What stands below a table: how geobias compares with every other row, the check, what was left out."""
    rates = {row["way"]: row["per_second"] for row in table["rows"]}
    lines = []
    if OURS in rates and len(rates) > 1:
        beside = ", ".join(f"{rates[OURS] / rate:.2f} x {name}" for name, rate in rates.items() if name != OURS)
        lines.append(f"geobias: {beside}.")
    largest = max(table["differences"].values(), default=0.0)
    lines.append(
        f"Largest difference between ways, float32: {largest:.1e}. "
        f"Matrix rate: {table['matrix_rate'] / 1e9:,.0f} GFLOP/s. A text needs {table['needed'] / 1e9:.2f} GFLOP."
    )
    if table.get("profile"):
        most = ", ".join(f"{short(name)} {100 * share:.0f} %" for name, share in table["profile"])
        lines.append(f"Where the time of geobias goes: {most}.")
    lines += [f"Left out: {name} ({why})." for name, why in table["left_out"].items()]
    return lines


def show(table: dict[str, Any]) -> None:
    """On the screen: with Rich where it is there."""
    lines = cells(table)
    try:
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        print(f"\n{title(table)}")
        widths = [max(map(len, column)) for column in zip(HEADER, *lines, strict=True)]
        for line in (HEADER, *lines):
            print("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)))
        print("\n".join(remarks(table)), flush=True)
        return
    shown = Table(title=title(table), title_justify="left")
    for name in HEADER:
        shown.add_column(name, justify="left" if name == "way" else "right")
    for line in lines:
        shown.add_row(*line)
    console = Console(width=None if sys.stdout.isatty() else 120)
    console.print(shown)
    console.print("\n".join(remarks(table)), markup=False, highlight=False)


def page(runs: Sequence[dict[str, Any]]) -> str:
    sections = [INTRODUCTION]
    for run in runs:
        versions = ", ".join(f"{name} {version}" for name, version in run["versions"].items())
        sections.append(f"## {run['machine']}\n\n{run['date']}; {versions}.\n\n`{run['command']}`\n")
        for table in run["tables"]:
            lines = [f"### {title(table)}", "", "| " + " | ".join(HEADER) + " |", "|---" + "|---:" * 6 + "|"]
            lines += ["| " + " | ".join(row) + " |" for row in cells(table)]
            sections.append("\n".join([*lines, "", *(f"{line}  " for line in remarks(table)), ""]))
        if "world" in run:
            sections.append(world(run["world"]))
        if "cluster" in run:
            sections.append(cluster(run["cluster"]))
        if "parts" in run:
            sections.append(parts(run["parts"]))
        if "note" in run:
            sections.append(f"{run['note']}\n")
    return "\n".join(sections)


def world(found: dict[str, Any]) -> str:
    return "\n".join(
        [
            f"### The whole world, {found['model']}, {found['device']}, {found['dtype']}",
            "",
            f"{found['sentences']:,} sentences, {found['distinct']:,} of them distinct, asked in "
            f"{found['seconds_asked']:.1f} s ({100 * found['share']:.0f} % of the matrix rate); results.json with all "
            f"measures and intervals after {found['seconds_to_results']:.1f} s, every table after "
            f"{found['seconds_to_tables']:.1f} s. Peak memory {found['peak_memory'] / 1e9:.1f} GB, the model in it.",
            "",
        ]
    )


def cluster(found: Sequence[dict[str, Any]]) -> str:
    lines = ["### One process with two threads, and Ray with two workers on the same two cores", ""]
    lines += ["| work | model | " + " | ".join(f"{row['way']}, texts/s" for row in found[0]["rows"]) + " | Ray takes |"]
    lines += ["|---|---|---:|---:|---:|"]
    for table in found:
        rates = " | ".join(number(row["per_second"]) for row in table["rows"])
        name = TITLES[table["work"]]
        lines.append(f"| {name} | {table['model']} | {rates} | {100 * table['slower']:+.1f} % time |")
    furthest = max(table["difference"] for table in found)
    lines += ["", f"Both warm. Largest difference between the two: {furthest:.1e}.", ""]
    return "\n".join(lines)


def parts(tables: Sequence[dict[str, Any]]) -> str:
    """How many times longer each kind of work takes without each part of the fast path."""
    names = [name for name in (*PARTS, "all") if any(name in table["without"] for table in tables)]
    works = [f"{PART_TITLES[table['work']]}, {table['model']}" for table in tables]
    first = tables[0]
    lines = [
        f"### Time without each part of the fast path, over time with all, {first['device']}, {first['dtype']}",
        "",
    ]
    lines += ["| left out | " + " | ".join(works) + " |", "|---" + "|---:" * len(works) + "|"]
    for name in names:
        ratios = [table["without"].get(name) for table in tables]
        cells = ("" if ratio is None else f"{ratio:.2f}" for ratio in ratios)
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    rounds = sorted({len(seconds) for table in tables for seconds in table["seconds"].values()})
    lines += [
        "",
        f"Medians of {' or '.join(map(str, rounds))} rounds, in turns. Leaving out read_positions leaves out all that "
        "needs it: sliced_projection, template_tokens, token_tree, shared_prefixes, and last_layer of language models.",
        "",
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> None:
    files = list(arguments)
    out = RESULTS
    if "--out" in files:
        at = files.index("--out")
        out = Path(files[at + 1])
        del files[at : at + 2]
    found = [Path(file) for file in files] or sorted(RUNS.glob("*.json"))
    runs = [json.loads(file.read_text(encoding="utf-8")) for file in found]
    bounds = (RUNS / "bounds.md").read_text(encoding="utf-8")
    out.write_text(f"{page(runs)}\n{bounds}", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
