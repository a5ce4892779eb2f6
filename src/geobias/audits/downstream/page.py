"""The downstream audit on the page: what a place put before a text does to the verdict, beyond what any prefix does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from geobias.audits.downstream.gate_and_card import place_name
from geobias.audits.downstream.result import ClassifierShifts, ClassShift, DownstreamResult, PlaceShift
from geobias.audits.side_by_side import NamedRun, distinct_names, overlay_chart
from geobias.report.page.blocks import Block, Chart, Choice, Number, Row, Section, Table, WorldMap
from geobias.report.page.charts import dots
from geobias.report.page.world_map import map_spec
from geobias.report.runs import FinishedRun
from geobias.report.tables import NOTHING, interval, is_marked, listed, signed
from geobias.world.shapes import load_countries

SHOWN_EACH_WAY = 12


def describe(result: DownstreamResult) -> str:
    """What was asked, in a sentence."""
    counts, settings = result.counts, result.settings
    judges = listed([entry.model.name for entry in result.classifiers])
    return (
        f"“{settings.prefix}” was put before {counts.texts:,} texts ({settings.texts.source}) for "
        f"{counts.regions:,} {'countries' if result.is_mapped else 'cities'}, and {judges} judged every version."
    )


def section(run: FinishedRun[DownstreamResult], name: str) -> Section:
    result = run.result
    charts = {
        entry.model.name: _shift_chart(f"{name}-moved-{n}", result, entry) for n, entry in enumerate(result.classifiers)
    }
    blocks: list[Block] = [_map(name, result)] if result.is_mapped else []
    blocks.append(Choice(f"{name}-moved", "Classifier", charts) if len(charts) > 1 else next(iter(charts.values())))
    blocks.append(_verdicts(name, result.classifiers))
    return Section(
        id=name,
        title="Downstream: the same texts, said to come from elsewhere",
        lead="Any sentence before a text moves a classifier: what naming a place does is told "
        f"against “{result.settings.control}”, which names none.",
        blocks=blocks,
        numbers=list(_numbers(result.classifiers)),
        notes=list(_notes(result)),
    )


def overlay_runs(runs: Sequence[NamedRun]) -> Chart | None:
    """Several runs in one chart."""
    entries = [(entry, run) for run in runs for entry in run.result.classifiers]
    names = distinct_names([(entry.model.name, run) for entry, run in entries])
    rows = [
        {
            "classifier": name,
            "class": label,
            "value": _mean_size(entry.regions, label),
            "low": None,
            "high": None,
            "p_adjusted": None,
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


def _mean_size(places: Sequence[PlaceShift], label: str) -> float:
    return sum(abs(place.classes[label].against_control or 0) for place in places) / len(places)


def _notes(result: DownstreamResult) -> Iterator[str]:
    counts = result.counts
    if counts.rows_without_text:
        yield f"{counts.rows_without_text:,} rows without a text."
    if counts.countries_without_city:
        yield f"Countries of which no city is known, left out: {', '.join(counts.countries_without_city)}."
    for entry in result.classifiers:
        cut = entry.counts.prefixed_texts_cut
        yield from (f"{entry.model.name}: {note}" for note in entry.notes)
        if cut:
            yield f"{entry.model.name}: {cut:,} texts were, with their prefix, longer than the model takes, and cut."


def _numbers(entries: Sequence[ClassifierShifts]) -> Iterator[Number]:
    most = max(entries, key=lambda entry: entry.worst[entry.shown].value)
    worst = most.worst[most.shown]
    place = next(place for place in most.regions if place.id == worst.region)
    yield Number(
        f"The place that moves {most.model.name} most",
        f"{worst.value:.3f}",
        "" if worst.low is None else f"{worst.low:.3f} to {worst.high:.3f} (95 %, all places at once)",
        f"{place.name}: how far it moves p({most.shown}) beyond the control, either way; p goes from 0 to 1.",
    )
    tests = [
        shift.inference.against_control
        for entry in entries
        for place in entry.regions
        for shift in place.classes.values()
        if shift.inference.against_control.p_adjusted is not None
    ]
    if tests:
        yield Number(
            "Places and classes that stand out",
            f"{sum(map(is_marked, tests)):,} of {len(tests):,}",
            "",
            "A class likelier or less likely than after the control, beyond what other texts explain (adjusted p below "
            "0.05).",
        )
    most = max(entries, key=lambda entry: abs(entry.shown_control.mean_difference))
    estimate = most.shown_control.inference.mean_difference
    yield Number(
        f"What a prefix that names no place does to {most.model.name}",
        signed(most.shown_control.mean_difference, 3),
        f"{interval(estimate, 3)} (95 %)" if estimate.low is not None else "",
        f"Mean change of p({most.shown}): so much is the sentence's doing, and no place's.",
    )


def _map(name: str, result: DownstreamResult) -> WorldMap:
    entries, shapes = result.classifiers, load_countries()
    about = {
        place.id: {
            "name": place.name,
            "continent": shapes[place.id or ""].continent_name,
            "facts": [_fact(entry, entry.regions[row]) for entry in entries],
        }
        for row, place in enumerate(entries[0].regions)
    }
    measures = [
        {
            "title": f"{entry.model.name}: p({entry.shown}) against the control",
            "legend": "mean difference",
            "reading": f"What naming the country adds to p({entry.shown}), the mean over texts; orange is more.",
            "centre": 0,
            "values": {place.id: round(place.classes[entry.shown].against_control or 0, 5) for place in entry.regions},
        }
        for entry in entries
    ]
    return WorldMap(
        f"{name}-map",
        "The world, as the verdicts move with it",
        "Choose a classifier; click a country, or choose it, to see how sure it is and how many verdicts flip.",
        "A world map whose countries are coloured by how much naming them moves the chosen classifier; the list of "
        "countries beside it opens the same details.",
        map_spec(),
        {"measures": measures, "countries": about},
    )


def _fact(entry: ClassifierShifts, place: PlaceShift) -> str:
    shift = place.classes[entry.shown]
    estimate = shift.inference.against_control
    interval_text = "no interval" if estimate.low is None else f"95 % interval {interval(estimate, 4)}"
    chance = "" if estimate.p_adjusted is None else f", adjusted p {estimate.p_adjusted:.2g}"
    flips = f"{shift.gained:,} texts became {entry.shown}, {shift.lost:,} no longer are"
    return f"{entry.model.name}: {interval_text}{chance}; {flips}"


def _shift_chart(chart_id: str, result: DownstreamResult, entry: ClassifierShifts) -> Chart:
    """The regions that move the shown class most, each way."""
    label = entry.shown
    ranked = sorted(entry.regions, key=lambda place: -(place.classes[label].against_control or 0))
    extremes = ranked
    if len(ranked) > 2 * SHOWN_EACH_WAY:
        extremes = [*ranked[:SHOWN_EACH_WAY], *ranked[-SHOWN_EACH_WAY:]]
    rows = [_chart_row(place.classes[label], place_name(result, place)) for place in extremes]
    cut = (
        ""
        if extremes is ranked
        else f" The {SHOWN_EACH_WAY} highest and the {SHOWN_EACH_WAY} lowest of {len(ranked):,}."
    )
    return Chart(
        chart_id,
        f"{entry.model.name}: where p({label}) rises and falls most",
        "Dot: mean difference against the control; line: 95 % interval over texts; filled: adjusted p below 0.05. "
        f"Right of 0: naming the place makes {label} likelier.{cut}",
        f"From {rows[0]['region']} {signed(rows[0]['value'], 3)} to {rows[-1]['region']} "
        f"{signed(rows[-1]['value'], 3)}; {sum(row['marked'] for row in rows)} of {len(rows)} are marked.",
        dots(
            rows,
            label="region",
            title=f"mean difference of p({label}) against the control",
            order=[row["region"] for row in rows],
        ),
        rows,
    )


def _chart_row(shift: ClassShift, region: str) -> Row:
    estimate = shift.inference.against_control
    return {
        "region": region,
        "value": shift.against_control,
        "low": estimate.low,
        "high": estimate.high,
        "p": estimate.p,
        "p_adjusted": estimate.p_adjusted,
        "marked": is_marked(estimate),
        "mean_difference": shift.mean_difference,
        "gained": shift.gained,
        "lost": shift.lost,
    }


def _verdicts(name: str, entries: Sequence[ClassifierShifts]) -> Table:
    """Verdicts that flip, and, where the true ones are known, how good they are."""
    rows = []
    for entry in entries:
        shifts = [place.classes[entry.shown] for place in entry.regions]
        flips = [shift.gained + shift.lost for shift in shifts]
        most = flips.index(max(flips))
        gained, lost = (sum(getattr(shift, side) for shift in shifts) / len(shifts) for side in ("gained", "lost"))
        row = {
            "classifier": entry.model.name,
            "class": entry.shown,
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
        rows.append(row)
    return Table(
        f"{name}-verdicts",
        "How many verdicts flip" + (", and how good they are" if entries[0].performance else ""),
        "Texts that are predicted as the class with the prefix only, and those that are so without it only.",
        rows,
    )
