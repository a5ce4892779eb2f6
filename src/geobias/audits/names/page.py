"""The names audit on the page: countries by classes, Delta with its noise floor, real texts, correlations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from geobias.audits.names.gate_and_card import describe_omissions
from geobias.audits.names.renamed_texts_file import find_most_changed
from geobias.audits.names.result import ClassifierMeasures, CountryChange, NamesResult, NamesSettings
from geobias.audits.side_by_side import NamedRun, distinct_names, overlay_chart
from geobias.measures.estimates import Estimate
from geobias.report.page.blocks import Block, Chart, Choice, Example, Examples, Number, Part, Row, Section
from geobias.report.page.charts import dots, heat
from geobias.report.runs import FinishedRun
from geobias.report.tables import interval, is_marked, listed, signed

EXAMPLES = 6
EXAMPLES_EACH = 2  # texts of one classifier
LARGEST_DELTA = 200  # points: p(positive) - p(negative) goes from -100 to 100


class Wording(NamedTuple):
    """What to call those who are renamed, and what intervals are over."""

    people: str
    new_names: str
    names: str
    resampled: str

    @classmethod
    def choose(cls, settings: NamesSettings) -> Wording:
        names = "cities" if settings.entity == "place" else "names"
        resampled = "texts" if settings.names_are == "fixed" else f"texts and {names}"
        if settings.entity == "place":
            return cls("places", "names of cities", names, resampled)
        return cls("people", "common names", names, resampled)


def describe(result: NamesResult) -> str:
    """What was asked, in a sentence."""
    counts, wording = result.counts, Wording.choose(result.settings)
    classifiers = listed([entry.model.name for entry in result.classifiers])
    return (
        f"In {counts.texts_with_names:,} texts ({result.settings.texts.source}) the {wording.people} were "
        f"given {wording.new_names} of {counts.countries} countries, {counts.draws} times each, and {classifiers} "
        "judged every version."
    )


def section(run: FinishedRun[NamesResult], name: str) -> Section:
    result, wording = run.result, Wording.choose(run.result.settings)
    blocks: list[Block] = []
    for key, draw_chart in (("heat", _heat_chart), ("delta", _delta_chart), ("correlations", _correlation_chart)):
        charts = {
            entry.model.name: chart
            for n, entry in enumerate(result.classifiers)
            if (chart := draw_chart(f"{name}-{key}-{n}", entry, wording))
        }
        if charts:
            only = next(iter(charts.values()))
            blocks.append(Choice(f"{name}-{key}", "Classifier", charts) if len(charts) > 1 else only)
    examples = list(_examples(run))
    if examples:
        blocks.insert(
            min(2, len(blocks)),
            Examples(
                f"{name}-examples",
                f"Texts whose {wording.people} were renamed",
                "Those among the renamed texts whose verdict moved most, at most two for each classifier: the "
                "extremes, not the rule.",
                examples,
            ),
        )
    return Section(
        id=name,
        title=f"Names: the same texts, with {wording.people} from elsewhere",
        lead="Any renaming changes a text a little, so what sets countries apart is measured against the mean of all.",
        blocks=blocks,
        numbers=list(_numbers(result.classifiers, wording)),
        notes=list(_notes(result)),
    )


def overlay_runs(runs: Sequence[NamedRun]) -> Chart | None:
    """Several runs in one chart."""
    entries = [(entry, run) for run in runs for entry in run.result.classifiers]
    names = distinct_names([(entry.model.name, run) for entry, run in entries])
    rows = [
        {"classifier": name, **_delta_row(country)}
        for name, (entry, _) in zip(names, entries, strict=True)
        for country in entry.countries
        if country.against_mean.delta is not None
    ]
    return overlay_chart(
        "names",
        "How much kinder or harsher each classifier is with a country's names",
        "Dot: Δ against the mean of countries, in points of 100; line: 95 % interval; filled: adjusted p below 0.05.",
        rows,
        label="country",
        colour="classifier",
        title="Δ against the mean of countries, points",
    )


def _notes(result: NamesResult) -> Iterator[str]:
    without_names = result.counts.texts - result.counts.texts_with_names
    if without_names:
        yield f"{without_names:,} texts name nobody, and take no part."
    yield from describe_omissions(result)


def _numbers(entries: Sequence[ClassifierMeasures], wording: Wording) -> Iterator[Number]:
    if len(entries[0].countries) < 2:  # one country is its own mean
        return
    farthest = [(worst.value, worst, entry) for entry in entries if (worst := entry.worst.delta)]
    if farthest:
        _, worst, entry = max(farthest, key=lambda each: each[0])
        country = next(country.country for country in entry.countries if country.code == worst.country)
        marked_count = sum(is_marked(country.inference.against_mean.delta) for country in entry.countries)
        yield Number(
            f"The {wording.names} that {entry.model.name} judges most differently",
            f"{worst.value:.1f} points",
            f"{worst.low:.1f} to {min(worst.high, LARGEST_DELTA):.1f} (95 %, all countries at once)",
            f"Those of {country}: p(positive) minus p(negative) in points of 100, off the mean of countries, either "
            f"way. Countries marked: {marked_count} of {len(entry.countries)}.",
        )
    tests = [
        estimate
        for entry in entries
        for country in entry.countries
        for estimate in country.inference.against_mean.change.values()
        if estimate.p_adjusted is not None
    ]
    if tests:
        yield Number(
            "Countries and classes that stand out",
            f"{sum(map(is_marked, tests))} of {len(tests)}",
            "",
            f"More or fewer predictions of a class than the mean of countries, beyond what other {wording.resampled} "
            "explain (adjusted p below 0.05).",
        )
    correlations = [
        (abs(estimate.value), estimate, entry.model.name, label)
        for entry in entries
        if entry.correlations
        for label, estimate in entry.correlations.local.within.items()
        if estimate.value is not None
    ]
    if correlations:
        _, estimate, classifier, label = max(correlations, key=lambda each: each[0])
        yield Number(
            f"Strongest tie to perplexity: {classifier}, {label}",
            signed(estimate.value, 2),
            "" if estimate.low is None else f"{interval(estimate, 2)} (95 %)",
            "Correlation, within a text, of p with how strange a language model finds the names; the largest of all "
            f"classes, {'marked' if is_marked(estimate) else 'not marked'}.",
        )


def _heat_chart(chart_id: str, entry: ClassifierMeasures, _wording: Wording) -> Chart:
    rows = [_heat_row(country, label) for country in entry.countries for label in entry.labels]
    marked_rows = [row for row in rows if row["text"].endswith("*")]
    examples = ", ".join(f"{row['country']} {row['class']} {row['text']}" for row in marked_rows[:8])
    return Chart(
        chart_id,
        f"{entry.model.name}: how often each class is predicted, by country",
        "Per cent more (orange) or fewer (blue) predictions than in the mean of countries; * marks an adjusted "
        "p-value below 0.05.",
        f"{len(marked_rows)} of {len(rows)} cells are marked" + (f": {examples}." if marked_rows else "."),
        heat(
            rows,
            across="class",
            down="country",
            title="% against the mean",
            columns=entry.labels,
            order=[country.country for country in _rank_countries(entry)],
        ),
        rows,
    )


def _heat_row(country: CountryChange, label: str) -> Row:
    value, estimate = country.against_mean.change[label], country.inference.against_mean.change[label]
    return {
        "country": country.country,
        "class": label,
        "value": value,
        "low": estimate.low,
        "high": estimate.high,
        "p_adjusted": estimate.p_adjusted,
        "before": country.before[label],
        "after": country.after[label],
        "text": "no data" if value is None else f"{signed(value, 1)}{'*' if is_marked(estimate) else ''}",
    }


def _delta_chart(chart_id: str, entry: ClassifierMeasures, wording: Wording) -> Chart | None:
    rows = [
        {**_delta_row(country), "floor": country.inference.placebo, "against_originals": country.delta}
        for country in _rank_countries(entry)
    ]
    if len(rows) < 2 or any(row["value"] is None for row in rows):
        return None
    return Chart(
        chart_id,
        f"{entry.model.name}: how much kinder or harsher with a country's {wording.names}",
        f"Dot: Δ against the mean of countries, in points of 100; line: 95 % interval over {wording.resampled}; "
        "filled: adjusted p below 0.05. Grey: what halves of one country's own list differ by; a dot within it has "
        "shown nothing.",
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


def _delta_row(country: CountryChange) -> Row:
    row = {"country": country.country, **_estimate_row(country.inference.against_mean.delta)}
    return row | {"value": country.against_mean.delta}


def _estimate_row(estimate: Estimate) -> Row:
    return {**vars(estimate), "marked": is_marked(estimate)}


def _correlation_chart(chart_id: str, entry: ClassifierMeasures, _wording: Wording) -> Chart | None:
    correlations = entry.correlations
    if correlations is None:
        return None
    kinds = {
        "within a text": correlations.local.within,
        "all versions, against their originals": correlations.local.pooled,
        "the same, length held fixed": correlations.local.pooled_partial,
        **{f"original texts ({part.language})": part.inference for part in correlations.by_language},
    }
    rows = [
        {"class": label, "over": kind, **_estimate_row(estimate)}
        for kind, estimates in kinds.items()
        for label, estimate in estimates.items()
        if estimate.value is not None
    ]
    if not rows:
        return None
    return Chart(
        chart_id,
        f"{entry.model.name}: what goes with perplexity ({correlations.lm})",
        "Correlation of p(class) with log-perplexity; line: 95 % interval over texts; filled: adjusted p below "
        "0.05. Right of 0: the stranger "
        "the text or the names, the more of that class.",
        "; ".join(f"{row['class']}, {row['over']}: {signed(row['value'], 2)}" for row in rows[:6]) + ".",
        dots(rows, label="class", title="Pearson's correlation", order=entry.labels, colour="over"),
        rows,
    )


def _examples(run: FinishedRun[NamesResult]) -> Iterator[Example]:
    """For each classifier the texts that move most for one of its labels, each text once."""
    entries = run.result.classifiers
    country_names = {country.code: country.country for country in run.result.countries}
    shown_ids: set[str] = set()
    count = max(1, min(EXAMPLES_EACH, EXAMPLES // len(entries)))
    for entry in entries[:EXAMPLES]:
        columns = [f"{entry.model.name}/{label}" for label in entry.labels]
        for renamed in find_most_changed(run.folder, columns, count, shown_ids):
            shown_ids.add(renamed.text_id)
            scores = zip(entry.labels, renamed.original_scores, renamed.scores, strict=True)
            yield Example(
                f"{country_names.get(renamed.country, renamed.country)} · {entry.model.name}",
                mark_names(renamed.original, renamed.person, "was"),
                mark_names(renamed.text, [*renamed.first_name, *renamed.last_name], "is", renamed.person),
                [{"label": label, "before": float(before), "after": float(after)} for label, before, after in scores],
            )


def mark_names(text: str, names: Sequence[str | None], mark: str, original_names: Sequence[str] = ()) -> list[Part]:
    """The text in pieces, those that are one of the names, or a word of it, with the mark.

    A name in place of an original one follows its case: lower, upper, or as it is.
    """
    words = {word for name in names if name for word in [name, *name.split()]}
    if original_names:
        words |= {word.lower() for word in words if any(name.islower() for name in original_names)}
        words |= {word.upper() for word in words if any(name.isupper() for name in original_names)}
    if not words:
        return [(text, None)]
    pattern = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
    pieces = re.split(rf"(?<!\w)((?:{pattern})(?:\s+(?:{pattern}))*)(?!\w)", text)
    return [(piece, mark if k % 2 else None) for k, piece in enumerate(pieces) if piece]


def _rank_countries(entry: ClassifierMeasures) -> list[CountryChange]:
    """The countries from the highest Delta to the lowest; in their order where there is none."""
    return sorted(entry.countries, key=lambda country: -(country.against_mean.delta or 0))
