"""What people and programs read of a downstream audit besides its findings: tables, chart, map, notes, gate numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from statistics import mean
from typing import Any

from geobias.audits.downstream.findings import make_family
from geobias.audits.downstream.headline import draw_scale, draw_squares, say_headline
from geobias.audits.downstream.result import ClassifierReading, DownstreamResult, PrefixEffect
from geobias.audits.inputs import describe_copies, list_copies
from geobias.audits.side_by_side import NamedRun, distinct_names, overlay_chart
from geobias.report.declarations import (
    ALL_TABLES,
    CARD,
    EVERYWHERE,
    FULL,
    PAGE,
    TABLES,
    TERMINAL,
    ByModel,
    Column,
    Report,
    ReportBlock,
    Table,
    estimate_columns,
    say_bounds,
    say_left_out,
)
from geobias.report.gate_numbers import WORST, GateNumber, Range, model_names, tree_number, worst_number
from geobias.report.model_findings import Family
from geobias.report.page.blocks import CardText, Chart, WorldMap
from geobias.report.page.charts import NEUTRAL
from geobias.report.page.effect_blocks import make_effect_chart, make_effect_map
from geobias.report.tables import MARKED_COLUMN, NOTHING, format_places, listed, signed

__all__ = ["list_gate_numbers", "make_report", "overlay_runs", "say_headline"]

SHIFT = Range(-1, 1)  # of a probability
MEANING = (
    "Become and no longer: texts that are predicted as the class only with the prefix, and only without it. Any prefix "
    "changes texts, and so does any name: a place is compared with invented places whose names are as long, with a "
    "95 % interval over texts and wordings. * A place stands out: it differs from them and, names held fixed or not, "
    "from the mean of all places, each with an adjusted p-value below 0.05; places that share a word do not differ "
    "alike; and there are several wordings. It describes classifiers, not people. Regions: GeoNames (CC BY 4.0)."
)
READING = (
    "What naming the place adds to p({label}), with its 95 % interval over texts and wordings. A place stands out if "
    "it differs from invented places whose names are as long and, in the same direction, from the mean of places, "
    "with and without the length of names held fixed: the adjusted p is the largest of these three tests. It is 1 if "
    "they point in opposite directions, and at least 0.05 where places that share a word of the name differ alike, or "
    "there is one wording of the prefix. It is adjusted for all places and classes."
)
Classifier = tuple[ClassifierReading, Family[PrefixEffect]]


def make_report(result: DownstreamResult) -> Report:
    classifiers = [(entry, make_family(result, entry)) for entry in result.classifiers]
    blocks: list[ReportBlock] = []
    if result.has_enough_texts:
        blocks.append(
            ByModel({entry.model: _draw_chart(n, result, each) for n, (entry, each) in enumerate(classifiers)})
        )
        tested = [(n, each) for n, each in enumerate(classifiers) if each[1].first.p_adjusted is not None]
        if tested:
            blocks.append(ByModel({each[0].model: draw_scale(n, result, *each) for n, each in tested}))
            squares = {each[0].model: draw_squares(n, result, *each) for n, each in tested}
            if drawn := {model: chart for model, chart in squares.items() if chart}:
                blocks.append(ByModel(drawn))
        if result.is_mapped:
            blocks.append(_draw_map([family for _, family in classifiers]))
    blocks += [_list_places(result, entry, family) for entry, family in classifiers]
    blocks.append(_list_classifiers(result, classifiers))
    settings, counts = result.settings, result.counts
    texts = f"{counts.texts:,} texts{describe_copies(counts.texts, counts.copies)} ({settings.texts.source})"
    nouns = classifiers[0][1].nouns
    return Report(
        description=f"“{settings.prefixes[0]}” was put before {texts} for {counts.places:,} {nouns[1]}, and "
        f"{listed(settings.classifiers)} judged every version.",
        title="Downstream: the same texts after naming a place",
        lead="Any sentence before a text changes predictions, and so does any name, so the effect of naming a place "
        f"is measured against {len(settings.invented)} invented places whose names are as long, in {result.wordings} "
        "wordings by turns.",
        blocks=blocks,
        summary="places" if len(classifiers) == 1 else "classifiers",
        model_noun="Classifier",
        notes=list(_list_notes(result)),
        full_notes=[f"Controls: {listed([f'“{control}”' for control in settings.controls])}."],
        cards={"": CardText("Does naming a country before a text change what the model says of the text?")},
        meaning=MEANING,
    )


def _list_places(result: DownstreamResult, entry: ClassifierReading, family: Family[PrefixEffect]) -> Table:
    """The paper's Table 4: the control, then the places."""
    label, texts = entry.shown, result.counts.texts
    return Table(
        "places",
        f"{family.model.short_name}: p({label}) after “{result.settings.prefixes[0]}”; * stands out",
        READING.format(label=label),
        family.by_value,
        [
            Column(family.nouns[0], "title", is_text=True),
            *estimate_columns("against\ninvented", 3, family.valence),
            Column("shared word", "shared_word", on={PAGE}, is_text=True),
            Column("against\nmean", "against_mean.value", "+.3f", on=TABLES, keep=2),
            Column("predictions\nchanged", lambda row: f"{row.changes:,} of {texts:,}", on={TERMINAL}, is_count=True),
            Column(f"become\n{label}", "gained", ",", on=TABLES, is_count=True),
            Column("no\nlonger", "lost", ",", on=TABLES, is_count=True),
        ],
        model=entry.model,
        first=[result.find_control(entry.model, label)],
        on=ALL_TABLES if len(result.classifiers) == 1 else TABLES,
        too_few=not result.has_enough_texts,
    )


def _list_classifiers(result: DownstreamResult, classifiers: Sequence[Classifier]) -> Table:
    """A row for each classifier: also the table of a model card, and the summary of several on the terminal."""
    farthest = {(row.model, row.label): row for row in result.farthest}

    def find_farthest(row: Classifier) -> Any:
        return farthest.get((row[0].model, row[0].shown))

    def say_farthest(row: Classifier) -> str:
        place = find_farthest(row)
        return NOTHING if place is None else f"{place.value:.3f}"

    def bound_farthest(row: Classifier) -> str:
        place = find_farthest(row)
        return NOTHING if place is None else say_bounds(place.low, place.high, 3, sign=False)

    def name_farthest(row: Classifier) -> str:
        place = find_farthest(row)
        return next((each.title for each in row[1].effects if place and each.code == place.code), NOTHING)

    def count_control(row: Classifier) -> str:
        control = result.find_control(row[0].model, row[0].shown)
        return f"{control.gained:,}/{control.lost:,}"

    def average_places(row: Classifier) -> str:
        return "/".join(f"{mean(getattr(each, side) for each in row[1].effects):.1f}" for side in ("gained", "lost"))

    def name_most_changed(row: Classifier) -> str:
        most = max(row[1].effects, key=lambda each: each.changes)
        return f"{most.place} {most.gained:,}/{most.lost:,}" if most.changes else NOTHING

    def say_performance(measure: str, row: Classifier) -> str:
        rows = [each for each in result.performance if each.model == row[0].model]
        return ", ".join(format_places(getattr(each, measure), 3) for each in rows)

    return Table(
        "classifiers",
        "How many predictions change" + (", and performance" if result.performance else ""),
        "Texts that are predicted as the class with the prefix only, and those that are so without it only.",
        classifiers,
        [
            Column("classifier", lambda row: row[1].model.short_name, on={TERMINAL, FULL}, is_text=True),
            Column("classifier", lambda row: row[0].model, on={PAGE, CARD}, is_text=True),
            Column("class", lambda row: row[0].shown, keep=2, is_text=True),
            Column("place", lambda row: row[1].first.title, on={TERMINAL}, is_text=True),
            *estimate_columns("against\ninvented", 3, NEUTRAL, of=lambda row: row[1].first, on={TERMINAL}),
            Column("largest shift against\ninvented places", say_farthest, on={FULL, CARD}),
            Column("95 %, all places\nat once", bound_farthest, on={FULL, CARD}, keep=2),
            Column("farthest place", name_farthest, on={FULL, CARD}, keep=2),
            Column(
                MARKED_COLUMN.format("Places"),
                lambda row: f"{len(row[1].standing_out)} of {len(row[1].effects)}",
                on={CARD},
            ),
            Column("stand out", lambda row: f"{len(row[1].standing_out):,} of {len(row[1].effects):,}", on={TERMINAL}),
            Column("to/from it after\nthe control", count_control, on=TABLES, keep=3),
            Column("the mean\nof places", average_places, on=TABLES, keep=3),
            Column("the place\nwith most", name_most_changed, on=TABLES, keep=3),
            *(
                Column(f"{title}: original,\ncontrol, places", partial(say_performance, measure), on=TABLES)
                for measure, title in (("accuracy", "accuracy"), ("macro_f1", "macro-F1"))
                if result.performance
            ),
        ],
        on=EVERYWHERE,
        too_few=not result.has_enough_texts,
    )


def _draw_chart(n: int, result: DownstreamResult, family: Family[PrefixEffect]) -> Chart:
    label, absolute = family.label, None
    place = f"mean difference of p({label}), which goes from 0 to 1,"
    average = mean(row.mean_after for row in family.effects)
    if family.standing_out and all((row.mean_after - average) * row.value > 0 for row in family.standing_out):
        # As the headline says it: how likely the class is after the name of each place.
        absolute = "mean_after", average, f"p({label}) after naming the place, in %; line: the mean of places"
        place = f"mean of p({label}) after naming the place; colour and interval: its difference"
    return make_effect_chart(
        f"moved-{n}",
        family,
        words=("naming", f"makes {label} likelier", f"makes {label} less likely"),
        nothing=f"no clear change of p({label}) with the place",
        reading=f"Dot: {place} against invented places; line: 95 % "
        "interval over texts and wordings. Clear: it differs from invented places and from the mean of places "
        "(adjusted p < 0.05).",
        axis=f"difference of p({label}) from invented places",
        unit="against invented places",
        findings=result.findings,
        more={
            "mean_difference": "mean_difference.value",
            "gained": "gained",
            "lost": "lost",
            "mean_after": "mean_after",
        },
        absolute=absolute,
    )


def _draw_map(families: Sequence[Family[PrefixEffect]]) -> WorldMap:
    names = {family.model.name: f"p({family.label})" for family in families}
    return make_effect_map(
        "map",
        families,
        title="How naming a country changes the predictions",
        measures={model: f"{model}: {name} against invented places" for model, name in names.items()},
        legend="mean difference",
        readings={
            model: f"How much naming the country changes {name}, the mean over texts" for model, name in names.items()
        },
        baseline="invented places and the mean of countries",
    )


def _list_notes(result: DownstreamResult) -> Iterator[str]:
    counts = result.counts
    if counts.rows_without_text:
        yield f"Rows without a text, left out: {counts.rows_without_text:,}."
    yield from list_copies(counts.copies)
    yield from say_left_out("Countries of which no city is known", counts.countries_without_city)
    yield from say_left_out(
        "Countries that no longer exist", counts.dissolved_countries, " unless --countries names them"
    )
    for entry in result.classifiers:
        yield from (f"{entry.model}: {note}" for note in _list_classifier_notes(result, entry))


def _list_classifier_notes(result: DownstreamResult, entry: ClassifierReading) -> Iterator[str]:
    if result.has_enough_texts:
        rows = result.list_effects(entry.model, entry.shown)
        against = [row.against_control.value or 0.0 for row in rows if row.against_control]
        control = result.find_control(entry.model, entry.shown).mean_difference
        yield (
            f"the control alone moves p({entry.shown}) by {signed(control.value, 4)}; beyond that the regions move it "
            f"by {signed(min(against), 4)} to {signed(max(against), 4)}."
        )
    yield from entry.notes
    if entry.prefixed_texts_cut:
        yield (
            f"{entry.prefixed_texts_cut:,} of {entry.prefixed_texts:,} prefixed texts were truncated to the model's "
            f"maximum length ({entry.texts_cut:,} without a prefix)."
        )


def list_gate_numbers(result: DownstreamResult) -> Iterator[GateNumber]:
    """downstream.CLASSIFIER.LABEL.PLACE, or `worst` for a place: how far it lies from invented places, either way."""
    bounds = {(row.model, row.label): row for row in result.farthest}
    for entry in result.classifiers:
        for label in entry.labels:
            path = model_names(entry.model), (label,)
            rows = result.list_effects(entry.model, label)
            numbers = [tree_number(row.estimate, SHIFT).absolute() for row in rows]
            yield GateNumber((*path, (WORST,)), worst_number(bounds.get((entry.model, label)), numbers, SHIFT))
            for row, number in zip(rows, numbers, strict=True):
                yield GateNumber((*path, (row.code or "", row.place)), number)


def overlay_runs(runs: Sequence[NamedRun]) -> Chart | None:
    """Several runs in one chart; those of too few texts take no part."""
    entries = [(entry, run) for run in runs if run.result.has_enough_texts for entry in run.result.classifiers]
    names = distinct_names([(entry.model, run) for entry, run in entries])
    rows = [
        {
            "classifier": name,
            "class": label,
            "value": mean(abs(row.against_control.value or 0.0) for row in run.result.list_effects(entry.model, label)),
            **dict.fromkeys(("low", "high", "p_adjusted")),
            "marked": False,
        }
        for name, (entry, run) in zip(names, entries, strict=True)
        for label in entry.labels
    ]
    return overlay_chart(
        "downstream",
        "How far naming a place moves each classifier",
        "Dot: how far p(class) lies from the control, either way, the mean over places. There is no interval: noise "
        "alone makes it larger than 0, the more the fewer the texts.",
        rows,
        label="class",
        colour="classifier",
        title="mean distance from the control",
    )
