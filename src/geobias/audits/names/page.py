"""The names audit on the page: countries by classes, Delta with what names alone do, real texts, correlations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from geobias.measures.estimates import SIGNIFICANT
from geobias.report.answers import most_moved
from geobias.report.page.parts import Block, Chart, Choice, Example, Examples, Number, Part, Row, Section
from geobias.report.page.theme import dots, heat
from geobias.report.tables import interval, is_marked, listed, signed

EXAMPLES = 6
MOST = 200  # points that a difference of two differences of probabilities can have
EXAMPLES_OF_ONE = 2  # texts that one classifier may show


class Wording(NamedTuple):
    """What to call what was renamed, and what intervals allow for."""

    who: str
    given: str
    names: str
    drawn: str


def wording(results: Mapping[str, Any]) -> Wording:
    settings = results["settings"]
    drawn = "texts" if settings.get("names_are") == "fixed" else "texts and names"
    if settings["entity"] == "place":
        return Wording("places", "names of cities", "cities", drawn.replace("names", "cities"))
    return Wording("people", "common names", "names", drawn)


def names_section(folder: Path, results: Mapping[str, Any], name: str) -> Section:
    entries, said = results["classifiers"], wording(results)
    blocks: list[Block] = []
    for key, label, chart in (
        ("heat", "Classifier", _heat),
        ("delta", "Classifier", _delta),
        ("correlations", "Classifier", _correlations),
    ):
        charts = {
            entry["model"]["name"]: found
            for n, entry in enumerate(entries)
            if (found := chart(f"{name}-{key}-{n}", entry, said))
        }
        if charts:
            blocks.append(Choice(f"{name}-{key}", label, charts) if len(charts) > 1 else next(iter(charts.values())))
    examples = list(_examples(folder, results))
    if examples:
        blocks.insert(
            min(2, len(blocks)),
            Examples(
                f"{name}-examples",
                f"Texts whose {said.who} were renamed",
                "Those among the renamed texts whose verdict moved most, at most two for each classifier: the "
                "extremes, not the rule.",
                examples,
            ),
        )
    return Section(
        id=name,
        title=f"Names: the same texts, with {said.who} from elsewhere",
        lead="Any renaming changes a text a little, so what sets countries apart is measured against the mean of all.",
        blocks=blocks,
        numbers=list(_numbers(entries, said)),
        notes=list(_notes(results)),
    )


def asked(results: Mapping[str, Any]) -> str:
    counts, said = results["counts"], wording(results)
    classifiers = [entry["model"]["name"] for entry in results["classifiers"]]
    return (
        f"In {counts['texts_with_names']:,} texts ({results['settings']['texts']['source']}) the {said.who} were "
        f"given {said.given} of "
        f"{counts['countries']} countries, {counts['draws']} times each, and {listed(classifiers)} judged every "
        "version."
    )


def _notes(results: Mapping[str, Any]) -> Iterator[str]:
    counts = results["counts"]
    without = counts["texts"] - counts["texts_with_names"]
    if without:
        yield f"{without:,} texts name nobody, and take no part."
    if counts["rows_without_text"]:
        yield f"{counts['rows_without_text']:,} rows without a text."
    if counts["countries_left_out"]:
        yield f"Countries with too few names, left out: {', '.join(counts['countries_left_out'])}."
    for entry in results["classifiers"]:
        yield from (f"{entry['model']['name']}: {note}" for note in entry["notes"])
        cut = entry["counts"]["renamed_texts_cut"]
        if cut:
            yield f"{entry['model']['name']}: {cut:,} renamed texts were longer than the model takes, and cut."


def _numbers(entries: Sequence[Row], said: Wording) -> Iterator[Number]:
    if len(entries[0]["countries"]) < 2:  # one country is its own mean
        return
    toned = [entry for entry in entries if entry["worst"]["delta"]]
    if toned:
        most = max(toned, key=lambda entry: entry["worst"]["delta"]["value"])
        worst = most["worst"]["delta"]
        country = next(row["country"] for row in most["countries"] if row["code"] == worst["country"])
        marked = sum(is_marked(row["inference"]["against_mean"]["delta"]) for row in most["countries"])
        yield Number(
            f"The {said.names} that {most['model']['name']} judges most differently",
            f"{worst['value']:.1f} points",
            f"{worst['low']:.1f} to {min(worst['high'], MOST):.1f} (95 %, all countries at once)",
            f"Those of {country}: p(positive) minus p(negative) in points of 100, off the mean of countries, either "
            f"way. Countries marked: {marked} of {len(most['countries'])}.",
        )
    tests = [
        (sure["p_adjusted"], entry, row, label)
        for entry in entries
        for row in entry["countries"]
        for label, sure in row["inference"]["against_mean"]["change"].items()
        if sure["p_adjusted"] is not None
    ]
    if tests:
        marked = sum(p < SIGNIFICANT for p, *_ in tests)
        yield Number(
            "Countries and classes that stand out",
            f"{marked} of {len(tests)}",
            "",
            f"More or fewer predictions of a class than the mean of countries, beyond what other {said.drawn} "
            "explain (adjusted p below 0.05).",
        )
    strongest = max(
        (
            (abs(sure["value"]), sure, entry["model"]["name"], label)
            for entry in entries
            for label, sure in (entry.get("correlations") or {}).get("local", {}).get("within", {}).items()
            if sure["value"] is not None
        ),
        key=lambda found: found[0],
        default=None,
    )
    if strongest:
        _, sure, classifier, label = strongest
        yield Number(
            f"Strongest tie to perplexity: {classifier}, {label}",
            signed(sure["value"], 2),
            "" if sure["low"] is None else f"{interval(sure, 2)} (95 %)",
            "Correlation, within a text, of p with how strange a language model finds the names; the largest of all "
            f"classes, {'marked' if is_marked(sure) else 'not marked'}.",
        )


def _heat(key: str, entry: Row, _said: Wording) -> Chart:
    rows = []
    for row in entry["countries"]:
        for label in entry["labels"]:
            value, sure = row["against_mean"]["change"][label], row["inference"]["against_mean"]["change"][label]
            star = "*" if is_marked(sure) else ""
            rows.append(
                {
                    "country": row["country"],
                    "class": label,
                    "value": value,
                    "low": sure["low"],
                    "high": sure["high"],
                    "p_adjusted": sure["p_adjusted"],
                    "before": row["before"][label],
                    "after": row["after"][label],
                    "text": "no data" if value is None else f"{signed(value, 1)}{star}",
                }
            )
    marked = [row for row in rows if row["text"].endswith("*")]
    return Chart(
        key,
        f"{entry['model']['name']}: how often each class is predicted, by country",
        "Per cent more (orange) or fewer (blue) predictions than in the mean of countries; * marks an adjusted "
        "p-value below 0.05.",
        f"{len(marked)} of {len(rows)} cells are marked"
        + (
            ": " + ", ".join(f"{row['country']} {row['class']} {row['text']}" for row in marked[:8]) + "."
            if marked
            else "."
        ),
        heat(
            rows,
            across="class",
            down="country",
            title="% against the mean",
            columns=entry["labels"],
            order=[row["country"] for row in _ranked(entry)],
        ),
        rows,
    )


def _delta(key: str, entry: Row, said: Wording) -> Chart | None:
    rows = [
        {
            "country": row["country"],
            "value": row["against_mean"]["delta"],
            **{part: row["inference"]["against_mean"]["delta"][part] for part in ("low", "high", "p", "p_adjusted")},
            "marked": is_marked(row["inference"]["against_mean"]["delta"]),
            "floor": row["inference"]["placebo"],
            "against_originals": row["delta"],
        }
        for row in _ranked(entry)
    ]
    if len(rows) < 2 or any(row["value"] is None for row in rows):
        return None
    return Chart(
        key,
        f"{entry['model']['name']}: how much kinder or harsher with a country's {said.names}",
        f"Dot: Δ against the mean of countries, in points of 100; line: 95 % interval over {said.drawn}; "
        "filled: adjusted p below "
        "0.05. Grey: what halves of one country's own list differ by; a dot within it has shown nothing.",
        f"From {rows[0]['country']} {signed(rows[0]['value'], 1)} to {rows[-1]['country']} "
        f"{signed(rows[-1]['value'], 1)} points; "
        f"{sum(row['marked'] for row in rows)} of {len(rows)} countries are marked.",
        dots(
            rows,
            label="country",
            title="Δ against the mean of countries, points",
            order=[row["country"] for row in rows],
            floor=True,
        ),
        rows,
    )


def _correlations(key: str, entry: Row, _said: Wording) -> Chart | None:
    found = entry.get("correlations")
    if not found:
        return None
    rows = []
    kinds = {
        "within a text": found["local"]["within"],
        "all versions, against their originals": found["local"]["pooled"],
        "the same, length held fixed": found["local"]["pooled_partial"],
        **{f"original texts ({part['language']})": part["inference"] for part in found["global"]},
    }
    for kind, by_label in kinds.items():
        rows += [
            {
                "class": label,
                "over": kind,
                **{part: one[part] for part in ("value", "low", "high", "p", "p_adjusted")},
                "marked": is_marked(one),
            }
            for label, one in by_label.items()
            if one["value"] is not None
        ]
    if not rows:
        return None
    return Chart(
        key,
        f"{entry['model']['name']}: what goes with perplexity ({found['lm']})",
        "Correlation of p(class) with log-perplexity; line: 95 % interval over texts; filled: adjusted p below "
        "0.05. Right of 0: the stranger "
        "the text or the names, the more of that class.",
        "; ".join(f"{row['class']}, {row['over']}: {signed(row['value'], 2)}" for row in rows[:6]) + ".",
        dots(rows, label="class", title="Pearson's correlation", order=entry["labels"], colour="over"),
        rows,
    )


def _examples(folder: Path, results: Mapping[str, Any]) -> Iterator[Example]:
    """For each classifier the texts that moved most for one of its labels, each text once."""
    entries = results["classifiers"]
    names = {row["code"]: row["country"] for row in entries[0]["countries"]}
    seen: set[str] = set()
    each = max(1, min(EXAMPLES_OF_ONE, EXAMPLES // len(entries)))
    for entry in entries[:EXAMPLES]:
        columns = [f"{entry['model']['name']}/{label}" for label in entry["labels"]]
        for moved in most_moved(folder, columns, each, seen):
            seen.add(moved.text_id)
            said = zip(entry["labels"], moved.scores_before, moved.scores, strict=True)
            yield Example(
                f"{names.get(moved.country, moved.country)} · {entry['model']['name']}",
                marked_text(moved.before, moved.person, "was"),
                marked_text(moved.text, [*moved.first_name, *moved.last_name], "is", moved.person),
                [{"label": label, "before": float(before), "after": float(after)} for label, before, after in said],
            )


def marked_text(text: str, names: Sequence[str | None], whose: str, like: Sequence[str] = ()) -> list[Part]:
    """The text in pieces; wherever one of the names stands as a word of its own, or a part of it does, it is marked.

    A name is written as those it stands for (`like`) were: all small, all capitals, or as it is.
    """
    words = {word for name in names if name for word in [name, *name.split()]}
    if like:
        words |= {word.lower() for word in words if any(name.islower() for name in like)}
        words |= {word.upper() for word in words if any(name.isupper() for name in like)}
    if not words:
        return [(text, None)]
    pattern = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
    pieces = re.split(rf"(?<!\w)((?:{pattern})(?:\s+(?:{pattern}))*)(?!\w)", text)
    return [(piece, whose if k % 2 else None) for k, piece in enumerate(pieces) if piece]


def _ranked(entry: Row) -> list[Row]:
    """The countries from the kindest Delta to the harshest; as they are, where there is none."""
    return sorted(entry["countries"], key=lambda row: -(row["against_mean"]["delta"] or 0))
