"""The downstream audit on the page: how naming a place before a text changes predictions, beyond any prefix."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from geobias.audits.downstream.contrasts import ClassifierContrasts, Contrast
from geobias.audits.downstream.gate_and_card import describe_dissolved, place_name
from geobias.audits.downstream.result import ClassifierShifts, DownstreamResult, PlaceShift
from geobias.audits.inputs import describe_copies, list_copies
from geobias.audits.side_by_side import NamedRun, distinct_names, overlay_chart
from geobias.measures.estimates import Estimate
from geobias.report.page.blocks import Block, Chart, MapCountry, MapMeasure, Row, Section, Table, WorldMap
from geobias.report.page.charts import Valence, dots
from geobias.report.page.country_blocks import (
    Difference,
    blocks_by_model,
    describe_ends,
    estimate_cells,
    title_differences,
)
from geobias.report.runs import FinishedRun
from geobias.report.tables import NOTHING, TOO_FEW, listed, signed
from geobias.world.shapes import load_countries

SHOWN_EACH_WAY = 12  # in the chart
MOST_ROWS = 300  # of the table


def describe(result: DownstreamResult) -> str:
    """What was scored, in a sentence."""
    counts, settings = result.counts, result.settings
    judges = listed([entry.model.name for entry in result.classifiers])
    copies = describe_copies(counts.texts, counts.copies)
    return (
        f"“{settings.prefix}” was put before {counts.texts:,} texts{copies} ({settings.texts.source}) for "
        f"{counts.regions:,} {'countries' if result.is_mapped else 'cities'}, and {judges} judged every version."
    )


def section(run: FinishedRun[DownstreamResult], name: str) -> Section:
    result = run.result
    families = [ClassifierContrasts(result, entry) for entry in result.classifiers]
    world_map = [_map(name, families)] if result.is_mapped and result.has_enough_texts else []

    def choose(key: str, make_block: Callable[[str, ClassifierContrasts], Chart | Table | None]) -> list[Block]:
        return [*blocks_by_model(f"{name}-{key}", "Classifier", families, make_block)]

    return Section(
        id=name,
        title="Downstream: the same texts after naming a place",
        lead="Any sentence before a text changes predictions, and so does any name, so the effect of naming a place is "
        f"measured against {_describe_reference(result)}.",
        blocks=[
            *choose("moved", _shift_chart),
            *world_map,
            *choose("places", _place_table),
            _verdicts(name, result),
        ],
        notes=list(_notes(result)),
    )


def _describe_reference(result: DownstreamResult) -> str:
    invented = len(result.settings.invented)
    if not invented:
        return f"“{result.settings.control}”, which names none"
    return f"{invented} invented places whose names are as long, in {result.wordings} wordings by turns"


def overlay_runs(runs: Sequence[NamedRun]) -> Chart | None:
    """Several runs in one chart; those of too few texts take no part."""
    entries = [(entry, run) for run in runs if run.result.has_enough_texts for entry in run.result.classifiers]
    names = distinct_names([(entry.model.name, run) for entry, run in entries])
    rows = [
        {
            "classifier": name,
            "class": label,
            "value": sum(abs(place.classes[label].against_control or 0) for place in entry.regions)
            / len(entry.regions),
            **dict.fromkeys(("low", "high", "p_adjusted")),
            "marked": False,
        }
        for name, (entry, _) in zip(names, entries, strict=True)
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


def _notes(result: DownstreamResult) -> Iterator[str]:
    counts = result.counts
    if counts.rows_without_text:
        yield f"{counts.rows_without_text:,} rows without a text."
    yield from list_copies(counts.copies)
    if counts.countries_without_city:
        yield f"Countries of which no city is known, left out: {', '.join(counts.countries_without_city)}."
    yield from describe_dissolved(counts.dissolved_countries)
    for entry in result.classifiers:
        cut = entry.counts.prefixed_texts_cut
        yield from (f"{entry.model.name}: {note}" for note in entry.notes)
        if cut:
            yield f"{entry.model.name}: {cut:,} texts with their prefix were truncated to the model's maximum length."


def _map(name: str, families: Sequence[ClassifierContrasts]) -> WorldMap:
    shapes = load_countries()
    countries = {
        place.id or "": MapCountry(
            place.name,
            shapes[place.id or ""].continent_name,
            facts=[_describe_flips(family.entry, family.entry.regions[row]) for family in families],
        )
        for row, place in enumerate(families[0].entry.regions)
    }
    measures = [
        MapMeasure(
            f"{family.model.name}: p({family.entry.shown}) against {family.reference}",
            "mean difference",
            f"How much naming the country changes p({family.entry.shown}), the mean over texts; "
            f"{_describe_colours(family.tone)}.",
            {contrast.place.id or "": _test_contrast(contrast) for contrast in family.contrasts},
            baseline=f"{families[0].reference} and the mean of countries",
            centre=0,
            tone=family.tone,
            model=family.model.name,
        )
        for family in families
    ]
    return WorldMap(
        f"{name}-map",
        "How naming a country changes the predictions",
        "Choose a classifier. Click a country, or find it by name, for its interval and how many predictions flip.",
        "A world map whose countries are coloured by how much naming them changes the chosen classifier's predictions; "
        "the ranking next to it has the same numbers.",
        measures,
        countries,
    )


def _describe_colours(tone: int) -> str:
    return {1: "orange is lower", -1: "orange is higher", 0: "green is higher, purple lower"}[tone]


def _describe_flips(entry: ClassifierShifts, place: PlaceShift) -> str:
    shift = place.classes[entry.shown]
    return f"{entry.model.name}: {shift.gained:,} texts became {entry.shown}, {shift.lost:,} no longer are"


def _choose_valence(family: ClassifierContrasts) -> Valence:
    label = family.entry.shown
    return Valence(family.tone, f"{label} likelier", f"{label} less likely")


def _shift_chart(chart_id: str, family: ClassifierContrasts) -> Chart | None:
    """The regions that move the shown class most, each way."""
    result, label = family.result, family.entry.shown
    if not result.has_enough_texts:
        return None
    likelier, less_likely = (
        [place_name(result, contrast.place) for contrast in family.list_standing_out(sign)] for sign in (1, -1)
    )
    title = title_differences(
        family.model,
        [_test_contrast(contrast) for contrast in family.contrasts],
        [
            Difference("naming", likelier, f"makes {label} likelier"),
            Difference("naming", less_likely, f"makes {label} less likely"),
        ],
        f"no clear change of p({label}) with the place",
        result.findings,
    )
    rows, cut = [_chart_row(result, contrast) for contrast in family.by_value], ""
    if len(rows) > 2 * SHOWN_EACH_WAY:
        cut = f" The {SHOWN_EACH_WAY} highest and the {SHOWN_EACH_WAY} lowest of {len(rows):,}."
        rows = [*rows[:SHOWN_EACH_WAY], *rows[-SHOWN_EACH_WAY:]]
    return Chart(
        chart_id,
        title,
        f"Dot: mean difference of p({label}), which goes from 0 to 1, against {family.reference}; line: 95 % interval "
        f"over texts and wordings. Clear: it differs from {family.reference} and from the mean of places (adjusted p < "
        f"0.05).{cut}",
        f"Places by p({label}). {describe_ends(rows, 'region', 3, f'against {family.reference}')}",
        dots(
            rows,
            label="region",
            title=f"difference of p({label}) from {family.reference}",
            order=[row["region"] for row in rows],
            valence=_choose_valence(family),
        ),
        rows,
    )


def _test_contrast(contrast: Contrast) -> Estimate:
    """The difference, with the p-value by which a place stands out (`contrasts.py`)."""
    return replace(contrast.estimate, p_adjusted=contrast.p_adjusted)


def _chart_row(result: DownstreamResult, contrast: Contrast) -> Row:
    shift = contrast.shift
    return {
        "region": place_name(result, contrast.place),
        **vars(_test_contrast(contrast)),
        "marked": contrast.stands_out,
        "mean_difference": shift.mean_difference,
        "gained": shift.gained,
        "lost": shift.lost,
    }


def _place_table(table_id: str, family: ClassifierContrasts) -> Table:
    """One row for each place; of very many those at both ends."""
    result, label, ranked, cut = family.result, family.entry.shown, family.by_value, ""
    if len(ranked) > MOST_ROWS:
        cut = f" The {MOST_ROWS // 2} highest and the {MOST_ROWS // 2} lowest of {len(ranked):,}: tables/regions.csv"
        cut += " has all."
        ranked = [*ranked[: MOST_ROWS // 2], *ranked[-MOST_ROWS // 2 :]]
    return Table(
        table_id,
        f"{family.model.short_name}: all {result.place_noun}",
        f"What naming the place adds to p({label}), with its 95 % interval over texts and wordings. "
        f"{_explain_tests(family)} It is adjusted for all places and classes.{cut}",
        [_place_row(family, contrast) for contrast in ranked],
    )


def _explain_tests(family: ClassifierContrasts) -> str:
    if family.has_invented:
        return (
            "A place stands out if it differs from invented places whose names are as long and, in the same direction, "
            "from the mean of places, with and without the length of names held fixed: the adjusted p is the largest "
            "of these three tests. It is 1 if they point in opposite directions, and at least 0.05 where places that "
            "share a word of the name differ alike, or there is one wording of the prefix."
        )
    return (
        "A place stands out if it differs from the control and, in the same direction, from the mean of places: the "
        "adjusted p is the larger of these two tests. It is 1 if they point in opposite directions, and for a place "
        "that may only mirror another, which moves the mean."
    )


def _place_row(family: ClassifierContrasts, contrast: Contrast) -> dict[str, str]:
    result, label, shift = family.result, family.entry.shown, contrast.shift
    mean = shift.inference.against_mean
    interval, p_adjusted, evidence = estimate_cells(_test_contrast(contrast), 4, _choose_valence(family)).values()
    numbers = {
        f"p({label}) against\n{family.reference}": signed(contrast.value, 4),
        "95 % interval": interval,
        "against the\nmean of places": NOTHING if mean is None else signed(mean.value, 4),
        "adjusted p,\nall tests": p_adjusted,
        "evidence": _name_evidence(result, contrast, evidence),
        f"texts that\nbecome {label}": f"{shift.gained:,}",
        "that no\nlonger are": f"{shift.lost:,}",
    }
    if not result.has_enough_texts:
        numbers = dict.fromkeys(numbers, TOO_FEW)
    return {"place": place_name(result, contrast.place), **numbers, "texts": f"{result.counts.texts:,}"}


def _name_evidence(result: DownstreamResult, contrast: Contrast, evidence: str) -> str:
    if contrast.mirrored:
        return f"may mirror {place_name(result, contrast.mirrored)}"
    return f"may be the word “{contrast.shared_word}”" if contrast.shared_word else evidence


def _verdicts(name: str, result: DownstreamResult) -> Table:
    """Verdicts that flip, and, where the true ones are known, how good they are."""
    entries, rows = result.classifiers, []
    for entry in entries:
        shifts = entry.shown_shifts
        flips = [shift.gained + shift.lost for shift in shifts]
        most = flips.index(max(flips))
        gained, lost = (sum(getattr(shift, side) for shift in shifts) / len(shifts) for side in ("gained", "lost"))
        row = {
            "flips to/from it,\nthe control": f"{entry.shown_control.gained:,}/{entry.shown_control.lost:,}",
            "the mean\nof places": f"{gained:.1f}/{lost:.1f}",
            "the place\nwith most": f"{entry.regions[most].name} {shifts[most].gained:,}/{shifts[most].lost:,}"
            if flips[most]
            else NOTHING,
        }
        for measure, title in (("accuracy", "accuracy"), ("macro_f1", "macro-F1")):
            if entry.performance:
                values = (getattr(performance, measure) for performance in vars(entry.performance).values())
                row[f"{title}: original,\ncontrol, places"] = ", ".join(
                    NOTHING if value is None else f"{value:.3f}" for value in values
                )
        if not result.has_enough_texts:
            row = dict.fromkeys(row, TOO_FEW)
        rows.append({"classifier": entry.model.name, "class": entry.shown, **row})
    return Table(
        f"{name}-verdicts",
        "How many predictions change" + (", and performance" if entries[0].performance else ""),
        "Texts that are predicted as the class with the prefix only, and those that are so without it only.",
        rows,
    )
