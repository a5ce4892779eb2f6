"""Parts of the page that no other audit has: classes by country, names alike, perplexity, and texts to read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, Final

import numpy as np

from geobias.audits.names.answers import ClassifierAnswers
from geobias.audits.names.cautions import describe_held_fixed
from geobias.audits.names.design import NamesDesign
from geobias.audits.names.inference import delta_values
from geobias.audits.names.result import (
    KINDNESS,
    TONE_OF_EMOTIONS,
    ChangedText,
    ClassifierReading,
    NamesResult,
    find_tone,
)
from geobias.audits.names.rows import ClassEffect, CountryEffect
from geobias.measures.estimates import FEWEST_TEXTS_SHOWN
from geobias.report.findings import MOST_EXAMPLES, ExampleText
from geobias.report.page.blocks import Chart, Example, Examples, Row
from geobias.report.page.charts import dots, heat
from geobias.report.page.effect_blocks import Difference, title_differences
from geobias.report.page.finding_cards import mark_names
from geobias.report.tables import TOO_FEW, is_marked, listed, signed
from geobias.texts.counterfactuals import Counterfactuals
from geobias.texts.doubtful_spans import sort_spans
from geobias.world.gazetteer import Gazetteer, load_gazetteer

NEVER = "never predicted"
AS_MEASURED, HELD_FIXED = "as measured", "names alike"
WITHIN = "within a text"
OVER = {
    "within": WITHIN,
    "pooled": "all versions, against their originals",
    "pooled, length fixed": "the same, length held fixed",
}
MOST_SHOWN: Final = 6  # on the page
MOST_OF_EACH: Final = 2  # texts of one finding or one classifier
CANDIDATES: Final = 12  # texts that moved most: some of them have no clear name


def draw_heat_map(chart_id: str, result: NamesResult, entry: ClassifierReading) -> Chart | None:
    """Countries by classes: per cent more or fewer predictions than in the mean of countries; only where tested."""
    effects = result.list_classes(entry.model)
    if all(effect.p_adjusted is None for effect in effects):
        return None
    order = {row.code: -row.value for row in result.list_deltas(entry.model)}
    effects.sort(key=lambda effect: order[effect.code])
    tones = {label: find_tone(entry, label) for label in entry.labels}
    predicted = {effect.label for effect in effects if effect.before or effect.after}
    rows = [describe_cell(effect, NEVER if effect.label not in predicted else TOO_FEW) for effect in effects]
    marked_rows = [row for row in rows if row["marked"]]
    few = sum(row["text"] == TOO_FEW for row in rows)
    examples = ", ".join(f"{row['country']} {row['class']} {row['text']}" for row in marked_rows[:8])
    grey = " Grey: a class that is neither good nor bad." if 0 in tones.values() else ""
    too_few = f" “{TOO_FEW}”: fewer than five texts changed, so there is no number." if few else ""
    return Chart(
        chart_id,
        _title_cells(result, entry, effects, rows),
        "Predictions of a class, in per cent more or fewer than in the mean of countries (not in points); full colour "
        f"and *: clear (adjusted p < 0.05).{grey}{too_few}",
        f"{len(marked_rows)} of {len(rows)} cells are clear"
        + (f": {examples}." if marked_rows else ".")
        + (f" {few} cells rest on too few texts." if few else ""),
        heat(
            rows,
            across="class",
            down="country",
            columns=tones,
            order=list(dict.fromkeys(row["country"] for row in rows)),
        ),
        rows,
    )


def describe_cell(effect: ClassEffect, missing: str) -> Row:
    estimate = effect.against_mean
    is_clear = estimate.value is not None and effect.is_clear_as_measured and effect.mirrors is None
    return {
        "country": effect.place,
        "class": effect.label,
        "value": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "p_adjusted": estimate.p_adjusted,
        "marked": is_clear,
        "before": effect.before,
        "after": effect.after,
        "text": missing if estimate.value is None else f"{signed(estimate.value, 1)}{'*' if is_clear else ''}",
    }


def _title_cells(
    result: NamesResult, entry: ClassifierReading, effects: Sequence[ClassEffect], rows: Sequence[Row]
) -> str:
    """The classes that some countries' names get more or fewer predictions of."""
    marked_rows = [row for row in rows if row["marked"]]
    clear = [
        Difference("names common in", countries, f"get {more} predictions of {label}")
        for label in entry.labels
        for sign, more in ((1, "more"), (-1, "fewer"))
        if (countries := [row["country"] for row in marked_rows if row["class"] == label and row["value"] * sign > 0])
    ]
    if len(clear) > 2:
        classes = [label for label in entry.labels if any(row["class"] == label for row in marked_rows)]
        return f"{entry.short_name}: predictions of {listed(classes)} differ by country"
    nothing = "no clear difference in how often a class is predicted"
    return title_differences(result.find_model(entry), [each.against_mean for each in effects], clear, nothing)


def draw_alike_chart(chart_id: str, result: NamesResult, entry: ClassifierReading) -> Chart | None:
    """Delta of every country as measured and between names alike; None where nothing was held fixed."""
    countries = [row for row in result.names_alike if (row.model, row.label) == (entry.model, None)]
    if not countries:
        return None
    ranked = sorted(countries, key=lambda country: -(country.unadjusted.value or 0))
    rows: list[Row] = [
        {"country": country.place, "delta": kind, **vars(estimate), "marked": is_marked(estimate)}
        for country in ranked
        for kind, estimate in ((AS_MEASURED, country.unadjusted), (HELD_FIXED, country.adjusted))
    ]
    counts = {kind: sum(row["marked"] for row in rows if row["delta"] == kind) for kind in (AS_MEASURED, HELD_FIXED)}
    held_fixed = describe_held_fixed(result, entry.model, None)
    return Chart(
        chart_id,
        f"{entry.short_name}: {_title_alike(rows, *counts.values())}",
        f"Circle: Δ against the mean of countries, in points (-100 to +100); square: what remains between names of "
        f"equal length, spelling and frequency ({held_fixed}); line: 95 % interval; clear: adjusted p < 0.05. How rare "
        "a name is in a model's training data may itself follow from where its texts come from.",
        f"Clear as measured (adjusted p < 0.05): {counts[AS_MEASURED]} of {len(ranked)} countries; with length, "
        f"spelling and frequency held fixed: {counts[HELD_FIXED]}. "
        + "; ".join(
            f"{country.place} {signed(country.unadjusted.value, 1)}, then {signed(country.adjusted.value, 1)} points"
            for country in (ranked[0], ranked[-1])
        )
        + ".",
        dots(
            rows,
            label="country",
            title="Δ against the mean of countries, points",
            order=[country.place for country in ranked],
            shape="delta",
            valence=TONE_OF_EMOTIONS if entry.has_emotions else KINDNESS,
        ),
        rows,
    )


def _title_alike(rows: Sequence[Row], before: int, after: int) -> str:
    """How many countries stand out before and after: counts, since not to be clear is no proof of no difference."""
    if all(row["p_adjusted"] is None for row in rows if row["delta"] == AS_MEASURED):
        return "country, or length, spelling and frequency of names? Too little data to tell"
    if not before and not after:
        return "no country stands out, whether or not length, spelling and frequency of names are held fixed"
    return (
        f"{before} of {len(rows) // 2} countries stand out as measured, {after} with length, spelling and frequency of "
        "names held fixed"
    )


def draw_correlation_chart(chart_id: str, result: NamesResult, entry: ClassifierReading) -> Chart | None:
    counts = result.perplexity
    if counts is None or counts.texts < FEWEST_TEXTS_SHOWN:
        return None
    rows: list[Row] = [
        {
            "class": row.label,
            "over": OVER.get(row.over) or f"original texts ({row.language})".removesuffix(" ()"),
            **vars(row.correlation),
            "marked": is_marked(row.correlation),
        }
        for row in sorted(result.correlations, key=lambda row: row.over == "originals")
        if (row.model, row.place) == (entry.model, None) and row.correlation.value is not None
        if row.texts is None or row.texts >= FEWEST_TEXTS_SHOWN
    ]
    if not rows:
        return None
    return Chart(
        chart_id,
        _title_correlations(entry, rows),
        f"Dot: correlation of p(class) with the log-perplexity of {counts.lm}, which is high for unusual texts; line: "
        "95 % interval over texts; filled: clear (adjusted p < 0.05). Right of 0: the more unusual, the likelier the "
        "class.",
        "; ".join(f"{row['class']}, {row['over']}: {signed(row['value'], 2)}" for row in rows[:6]) + ".",
        dots(rows, label="class", title="Pearson's correlation", order=entry.labels, colour="over"),
        rows,
    )


def _title_correlations(entry: ClassifierReading, rows: Sequence[Row]) -> str:
    """What correlates with unusual names within a text, where all else is the same."""
    within = [row for row in rows if row["over"] == WITHIN]
    if not within:
        return f"{entry.short_name}: correlation with perplexity"
    signs = {row["class"]: "more" if row["value"] > 0 else "less" for row in within if row["marked"]}
    if not signs:
        return f"{entry.short_name}: no class is clearly correlated with unusual names"
    classes = listed([f"{more} {label}" for label, more in signs.items()])
    return f"{entry.short_name}: unusual names correlate with {classes}"


def choose_examples(result: NamesResult, effect: CountryEffect) -> list[ExampleText]:
    """Up to five texts; none for a result read from disk, which has no answers in memory."""
    texts, named, renamed = result.texts, result.named, result.counterfactuals
    answers = next((each for each in result.answers if each.model.name == effect.model), None)
    if texts is None or named is None or renamed is None or answers is None:
        return []
    country = list(renamed.countries).index(effect.code or "")
    sign = 1 if effect.value > 0 else -1
    changes = sign * _list_changes(answers, named, effect)  # texts x countries x draws, above 0 as the finding says
    from_mean = changes[:, country].mean(axis=1) - changes.mean(axis=(1, 2))
    examples: list[ExampleText] = []
    for i in np.argsort(-from_mean, kind="stable"):
        draws = np.flatnonzero(changes[i, country] > 0)
        if from_mean[i] <= 0 or len(examples) == MOST_EXAMPLES:
            break
        if not len(draws) or _is_doubtful(renamed, i):
            continue
        by_change = draws[np.argsort(changes[i, country, draws], kind="stable")]
        draw = int(by_change[len(by_change) // 2])  # the median version: the largest change may be one odd name
        row = int(named[i])
        before, after = answers.original[row], answers.renamed[i, country, draw]
        k = _choose_label(answers, effect, sign * (after - before))
        text = _render(renamed, int(i), country, draw)
        label, numbers = answers.labels[k], (float(before[k]), float(after[k]))
        examples.append(ExampleText(**text, text_id=texts.ids[row], label=label, before=numbers[0], after=numbers[1]))
    return examples


def _list_changes(answers: ClassifierAnswers, named: np.ndarray, effect: CountryEffect) -> np.ndarray:
    """texts x countries x draws: the renamed text minus its original, in delta or in the probability of a class."""
    original = answers.original[named]
    if effect.of_class is None:
        return delta_values(answers, original)
    k = answers.labels.index(effect.of_class)
    return np.asarray(answers.renamed[..., k] - original[:, None, None, k])


def _choose_label(answers: ClassifierAnswers, effect: CountryEffect, changes: np.ndarray) -> int:
    """The class to show: that of the finding; for delta the one with a tone that moved most in its direction."""
    if effect.of_class is not None:
        return answers.labels.index(effect.of_class)
    toned = {k: -changes[k] for k in answers.negative} | {k: changes[k] for k in answers.positive}
    return max(toned, key=lambda k: round(float(toned[k]), 6))  # of two classes that sum to 1 always the same


def _is_doubtful(renamed: Counterfactuals, text: int) -> bool:
    """Whether something was renamed that is probably no person."""
    spans = [(mention.start, mention.end) for person in renamed.people[text] for mention in person.mentions]
    return bool(sort_spans(renamed.texts[text], spans, renamed.gazetteer)[1])


def _render(renamed: Counterfactuals, text: int, country: int, draw: int) -> dict[str, Any]:
    """The original and the renamed text, and the names in both."""
    original = renamed.texts[text]
    changed, spans = renamed.render(text, country, draw)
    mentions = sorted((mention.start, mention.end) for person in renamed.people[text] for mention in person.mentions)
    return {
        "original": original,
        "changed": changed,
        "original_names": [original[start:end] for start, end in mentions],
        "changed_names": [changed[start:end] for start, end in spans],
    }


def list_changed_texts(design: NamesDesign, answers: ClassifierAnswers) -> list[ChangedText]:
    """The renamed texts whose probabilities differ most from their original, one version of each text."""
    renamed, named = design.counterfactuals, design.named
    originals = answers.original[named]
    largest = np.array([np.abs(answers.renamed[i] - original).max() for i, original in enumerate(originals)])
    gazetteer = load_gazetteer("all")
    found: list[ChangedText] = []
    for i in np.argsort(-largest, kind="stable")[:CANDIDATES].tolist():
        distance = np.abs(answers.renamed[i] - originals[i]).max(axis=-1)  # countries x draws
        country, draw = (int(k) for k in np.unravel_index(distance.argmax(), distance.shape))
        people = [person.text for person in renamed.people[i]]
        if largest[i] and len(found) < MOST_SHOWN and has_clear_names(renamed.texts[i], people, gazetteer):
            found.append(
                ChangedText(
                    place=renamed.gazetteer.country(renamed.countries[country]),
                    text_id=design.texts.ids[named[i]],
                    **_render(renamed, i, country, draw),
                    before=dict(zip(answers.labels, originals[i].tolist(), strict=True)),
                    after=dict(zip(answers.labels, answers.renamed[i, country, draw].tolist(), strict=True)),
                )
            )
    return found


def has_clear_names(text: str, people: Sequence[str], gazetteer: Gazetteer) -> bool:
    """Whether all are names beyond doubt: not in lower case, unless a list has them ("bae" is no person)."""
    spans = [match.span() for name in people for match in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text)]
    if sort_spans(text, spans, gazetteer)[1]:
        return False
    return all(
        not name.islower() or any(gazetteer.is_first(word) or gazetteer.is_last(word) for word in name.split())
        for name in people
    )


def show_examples(result: NamesResult) -> Examples | None:
    """Texts behind findings, then those that changed most; each once, none whose "person" is more likely a word."""
    shown: dict[str, Example] = {}
    for group in chain(_list_of_findings(result), _list_of_classifiers(result)):
        new = [(text_id, example) for text_id, example in group if text_id not in shown]
        shown |= dict(new[: min(MOST_OF_EACH, MOST_SHOWN - len(shown))])
    if not shown:
        return None
    return Examples(
        "examples",
        "Texts whose people were renamed",
        "Texts behind the findings first, then those whose prediction changed most: extremes, not typical cases.",
        list(shown.values()),
    )


def _list_of_findings(result: NamesResult) -> Iterator[list[tuple[str, Example]]]:
    gazetteer = load_gazetteer("all")
    names = {model.name: model.short_name for model in result.models}
    for finding in result.findings:
        place = " · ".join(filter(None, [finding.subject, names.get(finding.model, finding.model)]))
        yield [
            (each.text_id, _mark(place, each, {each.label: each.before}, {each.label: each.after}))
            for each in finding.examples
            if has_clear_names(each.original, each.original_names, gazetteer)
        ]


def _list_of_classifiers(result: NamesResult) -> Iterator[list[tuple[str, Example]]]:
    for entry in result.classifiers:
        yield [
            (each.text_id, _mark(f"{each.place} · {entry.short_name}", each, each.before, each.after))
            for each in result.examples.get(entry.model, ())
        ]


def _mark(place: str, text: ExampleText | ChangedText, before: dict[str, float], after: dict[str, float]) -> Example:
    return Example(
        place,
        mark_names(text.original, text.original_names, "was"),
        mark_names(text.changed, text.changed_names, "is", text.original_names),
        [{"label": label, "before": before[label], "after": after[label]} for label in before],
    )
