"""What `geobias names` prints: the paper's Tables 1, 3 and 5 for each classifier, then Tables 2 and 4; the preview."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from geobias.audits.names.design import NamesDesign
from geobias.audits.names.gate_and_card import describe_omissions
from geobias.audits.names.result import (
    ClassErrors,
    ClassifierMeasures,
    CountryChange,
    NamesResult,
    PerplexityCorrelations,
    SubsetMeasures,
    TextsMeasures,
)
from geobias.checks import check_number
from geobias.measures.correlation import FEWEST_DRAWS
from geobias.measures.estimates import Estimate
from geobias.report.runs import shown
from geobias.report.tables import NOTHING, console, interval, marked, show_tables, signed, titled_table
from geobias.texts.counterfactuals import GENDERS

MEANING = (
    "Δ is the mean of p(positive) - p(negative), in points of 100, minus the same on the original texts; the "
    "change of a class is in per cent of its predictions. Any renaming changes texts: what sets countries apart stands "
    "against their mean. * marks an adjusted p-value below 0.05; intervals allow for other texts and other names "
    "(docs/statistics.md). It speaks of the models and of lists of common names, not of people: names cross borders."
)
WARNING = "These are real texts. Some may be offensive; they are shown to check the renaming, nothing else."
COUNTRIES_PREVIEWED, MOST_PREVIEWED = 3, 10_000
MOST_ROWS = 24  # with more countries the terminal shows both ends of the list; the files have all
ENDS_SHOWN = 8
NONE_BEFORE = "none before"
OVERALL_ROWS = ("Overall", "Overall, pooled", "... length fixed")


def show(result: NamesResult, folder: Path) -> None:
    files = "Every number: tables/*.csv; every renamed text with its scores: counterfactuals.parquet."
    show_tables(tables(result, width=console().width), notes(result), [MEANING], f"{files}\nResults: {shown(folder)}")


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


def tables(result: NamesResult, *, width: int) -> Iterator[Table]:
    """Every table, in reading order; where labels are many, in several parts that fit the width."""
    for entry in result.classifiers:
        for part in (entry, *entry.subsets):
            if part.texts_with_names:
                yield from _part_tables(entry, part, width)
        correlations = entry.correlations
        if correlations and correlations.draws >= FEWEST_DRAWS:
            title = (
                f"{entry.model.name}: do stranger names change it? Correlation x 100 with log-perplexity by "
                f"{correlations.lm} within {correlations.draws} draws of {correlations.texts} texts"
            )
            yield from _fit_tables(title, _correlation_columns(entry.labels, correlations), entry.countries, width)
    if any(entry.correlations for entry in result.classifiers):
        yield _language_table(result.classifiers)


def _part_tables(entry: ClassifierMeasures, part: TextsMeasures, width: int) -> Iterator[Table]:
    """The tables of all texts, or of one subset."""
    name, labels = entry.model.name, entry.labels
    if isinstance(part, SubsetMeasures):
        name = f"{name}, {part.column} {part.value}"
    title = f"{name}: change against the original texts"
    yield from _fit_tables(title, _change_columns(labels), part.countries, width)
    title = f"{name}: the same against the mean of the countries"
    yield from _fit_tables(title, _from_mean_columns(labels, part), part.countries, width)
    if part.original_errors:
        title = f"{name}: errors, one class against the rest, per cent"
        yield from _fit_tables(title, _error_columns(labels, part.original_errors), part.countries, width)


@dataclass(frozen=True)
class _Column:
    """A column of a table by country: its heading, the cell of a country, and cells of the rows around them."""

    heading: str
    cell: Callable[[CountryChange], str]
    original: str | None = None  # in a first row, of the original texts
    overall: tuple[str, ...] = ()  # in the last rows
    is_optional: bool = False  # left out where there is no room


def _fit_tables(
    title: str, columns: Sequence[_Column], countries: Sequence[CountryChange], width: int
) -> Iterator[Table]:
    """The columns in as few tables as the width allows: numbers are never cut, and every table names the countries.

    Where one table is not enough, the optional columns are left to the files.
    """
    rows = _extreme_countries(countries)
    names = ["..." if row is None else row.country for row in rows]
    has_original, overall_count = any(column.original for column in columns), max(len(c.overall) for c in columns)
    room = width - max(map(len, (*names, *OVERALL_ROWS[:overall_count], "original"))) - 3
    groups = _group_columns(columns, rows, room)
    if len(groups) > 1:
        groups = _group_columns([column for column in columns if not column.is_optional], rows, room)
    for n, group in enumerate(groups, start=1):
        table = titled_table(title + (f" ({n} of {len(groups)})" if len(groups) > 1 else ""))
        table.add_column("country", no_wrap=True)
        for column in group:
            table.add_column(column.heading, justify="right", no_wrap=True)
        if has_original:
            table.add_row("original", *(column.original or "" for column in group), end_section=True)
        for name, row in zip(names, rows, strict=True):
            table.add_row(name, *(column.cell(row) if row is not None else "" for column in group))
        table.add_section()
        for k in range(overall_count):
            table.add_row(OVERALL_ROWS[k], *(column.overall[k] if column.overall else "" for column in group))
        yield table


def _group_columns(columns: Sequence[_Column], rows: Sequence[CountryChange | None], room: int) -> list[list[_Column]]:
    """Columns that fit beside each other."""
    room_left, group = room, list[_Column]()
    groups = [group]
    for column in columns:
        cells = [column.cell(row) for row in rows if row is not None]
        column_width = max(map(len, (*column.heading.split("\n"), *cells, *column.overall, column.original or ""))) + 2
        if column_width > room_left and group:
            group, room_left = [], room
            groups.append(group)
        group.append(column)
        room_left -= column_width
    return groups


def _extreme_countries(countries: Sequence[CountryChange]) -> list[CountryChange | None]:
    """All countries; of very many both ends by Delta (by KL where there is none), and None for those between."""
    if len(countries) <= MOST_ROWS:
        return list(countries)

    def rank(country: CountryChange) -> float:
        return (country.kl if country.delta is None else country.delta) or 0.0

    ranked = sorted(countries, key=rank)
    return [*ranked[:ENDS_SHOWN], None, *ranked[-ENDS_SHOWN:]]


def _change_columns(labels: Sequence[str]) -> list[_Column]:
    def change(label: str) -> Callable[[CountryChange], str]:
        return lambda row: marked(signed(row.change[label], 1, NONE_BEFORE), row.inference.change[label])

    return [
        _Column("Δ", lambda row: marked(signed(row.delta, 2), row.inference.delta)),
        _Column("95 %", lambda row: interval(row.inference.delta, 1)),
        *(_Column(f"{label}\n%", change(label)) for label in labels),
        _Column("KL", lambda row: NOTHING if row.kl is None else f"{row.kl:.4f}", is_optional=True),
    ]


def _from_mean_columns(labels: Sequence[str], part: TextsMeasures) -> list[_Column]:
    deltas = {(row.code, row.gender): row.inference.against_mean.delta for row in part.by_gender}

    def change(label: str) -> Callable[[CountryChange], str]:
        return lambda row: marked(signed(row.against_mean.change[label], 1), row.inference.against_mean.change[label])

    def gender_delta(gender: str) -> Callable[[CountryChange], str]:
        return lambda row: marked(signed(deltas[row.code, gender].value, 2), deltas[row.code, gender])

    genders = [
        gender for gender in GENDERS if any(deltas[row.code, gender].value is not None for row in part.countries)
    ]
    return [
        _Column("Δ", lambda row: marked(signed(row.against_mean.delta, 2), row.inference.against_mean.delta)),
        _Column("95 %", lambda row: interval(row.inference.against_mean.delta, 1)),
        *(_Column(f"{label}\n%", change(label)) for label in labels),
        *(_Column(f"Δ {gender}\nnames", gender_delta(gender), is_optional=True) for gender in genders),
    ]


def _error_columns(labels: Sequence[str], original: ClassErrors) -> list[_Column]:
    """How often a class is predicted where it is not true, and not predicted where it is."""

    def rate(errors: ClassErrors | None, kind: str, label: str) -> str:
        value = None if errors is None else getattr(errors, kind)[label]
        return NOTHING if value is None else f"{100 * value:.1f}"

    def country_rate(kind: str, label: str) -> Callable[[CountryChange], str]:
        return lambda row: rate(row.errors, kind, label)

    return [
        _Column(f"{label}\n{short}", country_rate(kind, label), original=rate(original, kind, label))
        for label in labels
        for kind, short in (("false_positive", "false +"), ("false_negative", "false -"))
    ]


def _correlation_columns(labels: Sequence[str], correlations: PerplexityCorrelations) -> list[_Column]:
    by_country = {row.code: row.inference for row in correlations.within.countries}

    def pearson(label: str) -> Callable[[CountryChange], str]:
        return lambda row: _times_hundred(by_country[row.code][label])

    overall = (correlations.local.within, correlations.local.pooled, correlations.local.pooled_partial)
    return [
        _Column(label, pearson(label), overall=tuple(_times_hundred(estimates[label]) for estimates in overall))
        for label in labels
    ]


def _language_table(entries: Sequence[ClassifierMeasures]) -> Table:
    """Tables 2 and 4: a column for every language."""
    table = titled_table("Correlation x 100 of log-perplexity with each class over the original texts")
    table.add_column("classifier", overflow="fold")
    table.add_column("class")
    languages = list(
        dict.fromkeys(lang for entry in entries if entry.correlations for lang in entry.correlations.unknown_tokens)
    )
    for language in languages:
        table.add_column(language or "all texts", justify="right", no_wrap=True)
    for entry in entries:
        by_language = entry.correlations.by_language if entry.correlations else []
        estimates = {part.language: part.inference for part in by_language}
        for k, label in enumerate(entry.labels):
            cells = [
                _times_hundred(estimates[language][label]) if language in estimates else "refused"
                for language in languages
            ]
            table.add_row(entry.model.name if k == 0 else "", label, *cells)
    return table


def notes(result: NamesResult) -> list[str]:
    """What was asked, and what was left out or could not be compared, in words."""
    counts = result.counts
    lines = [
        f"{counts.texts:,} texts, {counts.texts_with_names:,} of them with names: {counts.people:,} in "
        f"all, in {counts.mentions:,} mentions; {counts.countries} countries x {counts.draws} draws."
    ]
    if counts.draws == 1 and result.settings.names_are != "fixed":
        lines.append(
            "One draw a text does not tell a name from its text, so there are no intervals: give --draws 2 or more, or "
            "--names fixed."
        )
    lines += describe_omissions(result)
    short_lists = [
        f"{country.country} ({names.left} {kind})"
        for country in result.countries
        for kind, names in country.names.items()
        if names.left < counts.draws
    ]
    if short_lists:
        more = f" and {len(short_lists) - ENDS_SHOWN} more" if len(short_lists) > ENDS_SHOWN else ""
        lines.append(f"With fewer names than draws, so that names recur: {', '.join(short_lists[:ENDS_SHOWN])}{more}.")
    for entry in result.classifiers:
        lines += _classifier_notes(entry)
        lines += _correlation_notes(entry)
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
            f"{name}: does Δ differ between countries at all? p = {p:.2g}. Names alone (halves of one country's own) "
            f"move it by up to {min(floors):.2f} to {max(floors):.2f}, by country."
        )


def _correlation_notes(entry: ClassifierMeasures) -> Iterator[str]:
    correlations = entry.correlations
    if correlations is None:
        return
    if correlations.draws < FEWEST_DRAWS:
        yield f"No local correlations: they need perplexities of {FEWEST_DRAWS} draws or more (--perplexity-draws)."
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
        yield f"{correlations.lm}: longer than the model takes, and cut: {correlations.texts_cut:,} texts."
    for language in correlations.languages_refused:
        share = correlations.unknown_tokens[language]
        yield (
            f"{correlations.lm} does not know {share:.0%} of the tokens of {language or 'the texts'}: its perplexity "
            "means nothing there and was refused."
        )


def _times_hundred(estimate: Estimate) -> str:
    return marked(NOTHING if estimate.value is None else signed(100 * estimate.value, 1), estimate)
