"""What `geobias names` prints below its findings: a small table, or with `--full` every table and note; `--preview`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from geobias.audits.inputs import describe_copies
from geobias.audits.names.design import NamesDesign
from geobias.audits.names.finder_spans import SortedSpans, count_spans, describe_spans
from geobias.audits.names.full_tables import list_tables
from geobias.audits.names.gaps import Gap, has_delta, list_gaps, list_leading, list_mirrored, rank_gaps
from geobias.audits.names.gate_and_card import describe_omissions
from geobias.audits.names.rarity_report import describe_rarity
from geobias.audits.names.result import ClassifierMeasures, NamesResult
from geobias.checks import check_number
from geobias.measures.correlation import FEWEST_DRAWS
from geobias.report.findings import EVIDENCE_LABELS
from geobias.report.tables import NOTHING, console, interval, signed, titled_table

MEANING = (
    "Δ is the mean of p(positive) - p(negative), from -100 to +100 points, minus the same on the original texts; the "
    "change of a class is in per cent of its predictions. Any renaming changes texts: compare countries by the "
    "differences from their mean. * marks an adjusted p-value below 0.05; intervals are over texts and names "
    "(docs/statistics.md). It describes the models and lists of common names, not people: names cross borders."
)
FILES = "Every number: tables/*.csv; every renamed text with its scores: counterfactuals.parquet."
ENDS_SHOWN: Final = 2  # countries at each end
MOST_GAPS: Final = 5  # of a classifier without Δ
MOST_SHORT_LISTS = 8
WARNING = "These are real texts. Some may be offensive; they are shown to check the renaming, nothing else."
COUNTRIES_PREVIEWED, MOST_PREVIEWED = 3, 10_000


class _Column(NamedTuple):
    heading: str
    cells: list[str]
    is_optional: bool = False  # left out where there is no room
    justify: str = "right"


def summary_table(result: NamesResult, width: int) -> Table:
    """One classifier: the countries at both ends. Several: the largest gap of each."""
    entries = result.classifiers
    gaps = list_gaps(entries[0])
    if len(entries) > 1 or not gaps:
        unit = ", points" if all(map(has_delta, entries)) else ""
        return _fit_table(f"Largest gap from the mean of countries{unit}", _classifier_columns(entries), width)
    if has_delta(entries[0]):
        ranked = sorted(gaps, key=lambda gap: -gap.value)
        ends = [*ranked[:ENDS_SHOWN], *ranked[max(ENDS_SHOWN, len(ranked) - ENDS_SHOWN) :]]
        return _fit_table("Δ against the mean of countries, points", _country_columns(ends, entries[0]), width)
    top = rank_gaps(gaps)[:MOST_GAPS]
    return _fit_table("Predictions against the mean of countries, per cent", _country_columns(top, entries[0]), width)


def summary_lines(result: NamesResult) -> list[Text]:
    """How many of the spans that a finder marked are probably no people."""
    spans, settings = result.counts.finder_spans, result.settings
    if spans is None or settings.doubtful is None:
        return []
    return [Text(count_spans(spans, settings.finder, settings.doubtful), style="dim")]


def full_report(result: NamesResult, width: int) -> Iterator[RenderableType]:
    """Every table, what was left out, and what the numbers mean."""
    yield from list_tables(result, width)
    yield from list_notes(result)
    yield Text(MEANING, style="dim")
    yield FILES


def _classifier_columns(entries: Sequence[ClassifierMeasures]) -> list[_Column]:
    gaps = [rank_gaps(list_gaps(entry)) for entry in entries]
    counts = [
        f"{len(list_leading(each))} of {len(each)}" if each else NOTHING
        for each, entry in zip(gaps, entries, strict=True)
    ]
    tops = [each[0] if each else None for each in gaps]
    return [
        _Column("classifier", [entry.model.short_name for entry in entries], justify="left"),
        _Column("gap", [_format_gap(top) if top else NOTHING for top in tops]),
        _Column("country", [top.country.country if top else NOTHING for top in tops], justify="left"),
        _Column("95 %", [interval(top.estimate, 1) if top else NOTHING for top in tops], is_optional=True),
        _Column("adj. p", [_format_p(top) if top else EVIDENCE_LABELS["not testable"] for top in tops]),
        _Column("stand out", counts, is_optional=True),
    ]


def _country_columns(gaps: Sequence[Gap], entry: ClassifierMeasures) -> list[_Column]:
    ranked = rank_gaps(list_gaps(entry))
    mirrored = list_mirrored(ranked)
    evidence = [
        f"may mirror {ranked[0].country.country}" if gap in mirrored else EVIDENCE_LABELS[gap.evidence] for gap in gaps
    ]
    columns = [
        _Column("country", [gap.country.country for gap in gaps], justify="left"),
        _Column("gap", [signed(gap.value, 1) for gap in gaps]),
        _Column("95 %", [interval(gap.estimate, 1) for gap in gaps]),
        _Column("adj. p", [_format_p(gap) for gap in gaps]),
        _Column("evidence", evidence, is_optional=True, justify="left"),
    ]
    if any(gap.label is not None for gap in gaps):
        columns.insert(1, _Column("class", [gap.label or "" for gap in gaps], justify="left"))
    return columns


def _fit_table(title: str, columns: list[_Column], width: int) -> Table:
    """Numbers are never cut: optional columns go, the last one first; then the first column folds."""

    def measure_width(column: _Column) -> int:
        return max(map(len, (column.heading, *column.cells))) + 2

    for column in reversed(columns):
        if column.is_optional and sum(map(measure_width, columns)) + 2 > width:
            columns = [each for each in columns if each is not column]
    table = titled_table(title)
    for k, column in enumerate(columns):
        if k == 0:
            table.add_column(column.heading, overflow="fold")
        else:
            table.add_column(column.heading, justify=column.justify, no_wrap=True)  # type: ignore[arg-type]
    for cells in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*cells)
    return table


def _format_gap(gap: Gap) -> str:
    return signed(gap.value, 1) + ("" if gap.label is None else f" % {gap.label}")


def _format_p(gap: Gap) -> str:
    p = gap.estimate.p_adjusted or 0
    return "< 0.001" if p < 0.001 else f"{p:.2g}"


def list_notes(result: NamesResult) -> list[str]:
    """What was scored, and what was left out or could not be compared, in words."""
    counts = result.counts
    copies = describe_copies(counts.texts, counts.copies)
    lines = [
        f"{counts.texts:,} texts{copies}, {counts.texts_with_names:,} of them with names: {counts.people:,} in "
        f"all, in {counts.mentions:,} mentions; {counts.countries} countries x {counts.draws} draws."
    ]
    lines += describe_omissions(result)
    short_lists = [
        f"{country.country} ({names.left} {kind})"
        for country in result.countries
        for kind, names in country.names.items()
        if names.left < counts.draws
    ]
    if short_lists:
        more = f" and {len(short_lists) - MOST_SHORT_LISTS} more" if len(short_lists) > MOST_SHORT_LISTS else ""
        lines.append(
            f"With fewer names than draws, so that names recur: {', '.join(short_lists[:MOST_SHORT_LISTS])}{more}."
        )
    for entry in result.classifiers:
        lines += _classifier_notes(entry)
        lines += _correlation_notes(entry)
        lines += describe_rarity(entry)
    return list(dict.fromkeys(lines))


def _classifier_notes(entry: ClassifierMeasures) -> Iterator[str]:
    name = entry.model.name
    empty = [f"{subset.column} {subset.value}" for subset in entry.subsets if not subset.texts_with_names]
    if empty:
        yield f"Nobody is named in the texts of: {', '.join(empty)}."
    if not entry.positive or not entry.negative:
        yield f"{name}: no Δ, since its labels do not tell good from bad; name them with --positive and --negative."
    never = [label for label, count in entry.countries[0].before.items() if not count]
    if never:
        yield f"{name}: never predicted on the original texts, so without a change: {', '.join(never)}."
    p = entry.any_country_differs.p
    floors = [country.inference.placebo for country in entry.countries if country.inference.placebo is not None]
    if p is not None and floors:
        yield (
            f"{name}: does Δ differ between any countries? p = {p:.2g}, adjusted for all of them. Split-half noise "
            f"floor (what a country's names differ by among themselves): {min(floors):.2f} to {max(floors):.2f} points."
        )


def _correlation_notes(entry: ClassifierMeasures) -> Iterator[str]:
    correlations = entry.correlations
    if correlations is None:
        return
    if correlations.draws < FEWEST_DRAWS:
        yield f"No local correlations: they need perplexities of {FEWEST_DRAWS} draws or more."
    else:
        constant = max(
            count or 0 for country in correlations.within.countries for count in country.texts_without_variance.values()
        )
        if constant:
            yield (
                f"{entry.model.name}: up to {constant:,} texts a country do not vary between draws, and have no local "
                "correlation."
            )
    if correlations.texts_cut:
        yield f"{correlations.lm}: truncated to the model's maximum length: {correlations.texts_cut:,} texts."
    for language in correlations.languages_refused:
        share = correlations.unknown_tokens[language]
        yield (
            f"{correlations.lm} does not know {share:.0%} of the tokens of {language or 'the texts'}: its perplexity "
            "means nothing there and was refused."
        )


def show_preview(design: NamesDesign, count: int) -> None:
    """Original and renamed texts side by side, each text with other countries, so that all are seen."""
    check_number("--preview", count, 1, MOST_PREVIEWED)
    renamed = design.counterfactuals
    texts, countries, _ = renamed.shape
    table = titled_table(f"{texts:,} of {len(design.texts):,} texts name somebody; the first draw of some")
    table.add_column("original", overflow="fold", ratio=1)
    table.add_column("country", no_wrap=True)
    table.add_column("renamed", overflow="fold", ratio=1)
    for i in range(min(count, texts)):
        positions = dict.fromkeys((i * COUNTRIES_PREVIEWED + k) % countries for k in range(COUNTRIES_PREVIEWED))
        for k, c in enumerate(positions):
            original = renamed.texts[i] if k == 0 else ""
            table.add_row(original, renamed.gazetteer.country(renamed.countries[c]), renamed.at(i, c, 0))
        table.add_section()
    out = console()
    out.print(WARNING, style="bold")
    out.print(table)
    if design.finder_spans is not None:
        _show_doubtful_preview(design, design.finder_spans, count)


def _show_doubtful_preview(design: NamesDesign, finder_spans: SortedSpans, count: int) -> None:
    """The first doubtful spans with their reasons and texts, and a line that counts all."""
    out, treatment, texts = console(), design.options.doubtful, design.texts.texts
    table = titled_table(f"Doubtful spans, {'not renamed' if treatment == 'drop' else 'renamed too'}")
    for heading in ("span", "why", "text"):
        table.add_column(heading, overflow="fold")
    pairs = [(text, span) for text, spans in zip(texts, finder_spans.doubtful, strict=True) for span in spans]
    for text, span in pairs[:count]:
        table.add_row(text[span.start : span.end], span.reason, text)
    if pairs:
        out.print(table)
    out.print(describe_spans(finder_spans.summarise(texts), design.finder, treatment))
