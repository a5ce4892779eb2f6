"""Mitigation of the bundled classifiers on labelled tweets: bias before and after, accuracy and cost.

    python -m bench.mitigate FOLDER [--methods blind,average:8] [--write]

FOLDER holds the test sets of TweetEval (Barbieri et al. 2020): TASK/test_text.txt, TASK/test_labels.txt and
TASK/mapping.txt for the tasks sentiment and hate; for methods that are trained, also TASK/train_text.txt and
TASK/train_labels.txt (for sentiment train_semeval2017.tsv.gz). Only test texts that name somebody are used: a method
changes no others. `--write` writes docs/figures/mitigate.md.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import tempfile
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import geobias
from geobias.models.mitigated import PeopleReader
from geobias.report.results import HasInterval

TASKS = ("sentiment", "hate")
PAGE = Path(__file__).parents[1] / "docs/figures/mitigate.md"
TEXTS, DRAWS, TRAINING_TEXTS = 300, 4, 3000
SKIPPED = {"sentiment": 900}  # test texts with names that were looked at to choose the placeholder of `blind`
COLUMNS = (
    "model",
    "method",
    "spread, points",
    "ratio (95 % interval)",
    "standardised ratio",
    "flips, %",
    "accuracy, %",
    "change (95 % interval)",
    "macro-F1, change",
    "texts read per text",
    "names found, % (lowest country)",
)


def read_split(folder: Path, split: str) -> list[dict[str, str]]:
    """The texts of one split with the names of their labels."""
    packed = folder / "train_semeval2017.tsv.gz"
    if split == "train" and packed.exists():
        with gzip.open(packed, "rt", encoding="utf-8", newline="") as file:
            rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
            return [{"text": row["text"], "label": row["label"]} for row in rows if row["text"]]
    mapping = dict(line.split("\t") for line in (folder / "mapping.txt").read_text().splitlines() if line)
    texts = (folder / f"{split}_text.txt").read_text(encoding="utf-8").splitlines()
    labels = (folder / f"{split}_labels.txt").read_text().split()
    return [{"text": text, "label": mapping[label].strip()} for text, label in zip(texts, labels, strict=True)]


def select_named(
    rows: Sequence[dict[str, str]], reader: PeopleReader, count: int, skip: int = 0
) -> list[dict[str, str]]:
    """The first texts that name somebody, each once, without the first `skip` of them."""
    distinct = {row["text"]: row for row in rows}.values()
    named = (row for row in distinct if reader.read([row["text"]])[0].people)
    return list(islice(named, skip, skip + count))


def list_rows(model: str, result: geobias.MitigateResult) -> Iterator[list[str]]:
    for row in result.methods:
        is_original, accuracy, f1 = row.method == "original", row.accuracy_change, row.macro_f1_change
        recalls = [each.recall.value or 0 for each in result.list_countries(row.method) if each.recall is not None]
        assert row.accuracy is not None
        yield [
            model,
            row.method,
            f"{row.spread.value:.2f}",
            "" if is_original else _say(row.spread_ratio, ".2f"),
            "" if is_original else _say(row.standardised_ratio, ".2f"),
            f"{row.flips.value:.1f}",
            f"{row.accuracy.value:.1f}",
            "" if accuracy is None else _say(accuracy, "+.1f"),
            "" if f1 is None else f"{f1.value:+.1f}",
            f"{row.texts_per_text:.1f}",
            f"{100 * (row.recall.value or 0):.0f} ({100 * min(recalls):.0f})" if row.recall else "",
        ]


def _say(number: HasInterval, form: str) -> str:
    bounds = "no interval"
    if number.low is not None and number.high is not None:
        bounds = f"{number.low:{form}} to {number.high:{form}}"
    return f"{number.value:{form}} ({bounds})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--methods", default="blind,average:8")
    parser.add_argument("--texts", type=int, default=TEXTS)
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--train", type=int, default=TRAINING_TEXTS)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--out", type=Path, help="folder for the runs and their models (default: a temporary one)")
    parser.add_argument("--write", action="store_true", help="write docs/figures/mitigate.md")
    arguments = parser.parse_args()
    reader = PeopleReader()
    is_trained = any(method.split(":")[0] in ("augment", "pair") for method in arguments.methods.split(","))
    table = [f"| {' | '.join(COLUMNS)} |", f"|{'---|' * len(COLUMNS)}"]
    findings: list[str] = []
    country_counts: list[str] = []
    with tempfile.TemporaryDirectory() as temporary:
        for task in arguments.tasks.split(","):
            folder = arguments.folder / task
            test = select_named(read_split(folder, "test"), reader, arguments.texts, SKIPPED.get(task, 0))
            train = select_named(read_split(folder, "train"), reader, arguments.train) if is_trained else None
            result = geobias.mitigate(
                f"embedded/{task}",
                method=arguments.methods,
                texts=test,
                label="label",
                train=train,
                draws=arguments.draws,
                epochs=arguments.epochs,
                out=(arguments.out or Path(temporary)) / task,
            )
            rows = [f"| {' | '.join(row)} |" for row in list_rows(f"embedded/{task}", result)]
            print("\n".join(rows), flush=True)
            table += rows
            country_counts.append(f"{task} {len(result.settings.countries)}")
            findings += [f"- {finding.sentence}" for finding in result.findings if finding.role != "caution"]
    if arguments.write:
        PAGE.write_text(
            "# Mitigation of the bundled classifiers\n\n"
            f"`python -m bench.mitigate FOLDER --methods {arguments.methods} --texts {arguments.texts} --draws "
            f"{arguments.draws} --train {arguments.train} --epochs {arguments.epochs} --write` on the test sets of "
            f"TweetEval: {arguments.texts} texts that name somebody for each task (fewer if there are not so many), "
            f"{arguments.draws} held-out names for each country ({', '.join(country_counts)}; others have too few "
            "names that no training text holds). The first 900 such texts of sentiment are left out: they were used to "
            "choose the placeholder of `blind`. Accuracy is that of texts with names; other texts do not change.\n\n"
            + "\n".join(table)
            + "\n\nIn words:\n\n"
            + "\n".join(findings)
            + "\n",
            encoding="utf-8",
        )


if __name__ == "__main__":
    main()
