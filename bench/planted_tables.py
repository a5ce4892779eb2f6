"""The tables of the bench of planted stereotypes: planted.md, in sections that are written one by one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

LEGEND = """\
Which score of a sentence, and which form of the scores, finds what was planted in a model, and stays silent otherwise?
`python -m bench.planted_stereotypes` writes each section; its beginning lists the commands.

- AUC: how often the signed z of a planted pair of country and word is above the |z| of another pair. Chance is 0.25,
  because half of the signed z are negative. Models that nothing was planted in have the AUC of the same pairs.
- power: the share of planted pairs that the test marks; marks: other pairs that it marks. Without training these may be
  what the model learned before.
- size: how many times as likely as of the average country the words are of their countries.
- distance AUC: how often a planted country is above another by the length of its row, the quantity that HERB's score is
  made of. Chance is 0.5.
- invented / real: the root mean square of invented places, divided by that of countries.
"""

Row = dict[str, Any]


def tabulate(rows: list[Row]) -> list[str]:
    lines = [
        "| model | score | form | training, steps | AUC | power | size | marks | distance AUC | invented / real |",
        "|---|---|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for row in rows:
        training = f"{'planted' if row['planted'] else 'fair control'}, {row['steps']}" if row["steps"] else "none"
        is_function = row["model"].startswith("function")
        auc, distance = ("" if is_function else f"{row[key]:.2f}" for key in ("signed_auc", "distance_auc"))
        power = f"{100 * row['power']:.0f} %" if row["planted"] else ""
        size = f"{row['size']:.1f} x" if row["size"] and row["steps"] else ""
        marks = row["false_marks"] + (0 if row["planted"] else row["planted_marks"])
        cells = (row["model"], row["score"], row["form"], training, auc, power, size, marks, distance)
        lines.append(f"| {' | '.join(map(str, cells))} | {row['invented_ratio']:.2f} |")
    return lines


def write_section(file: Path, title: str, lines: list[str]) -> None:
    """Write the section of this title: in its place if the file has it, else at the end."""
    text = file.read_text(encoding="utf-8") if file.is_file() else f"# Planted stereotypes\n\n{LEGEND}"
    first, *sections = text.split("\n## ")
    by_title = {section.split("\n", 1)[0]: section for section in sections}
    by_title[title] = "\n".join([title, "", *lines, ""])
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n## ".join([first, *by_title.values()]), encoding="utf-8")
