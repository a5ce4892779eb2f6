"""All tables of a names audit (`--full`): the paper's Tables 1, 3 and 5, then Tables 2 and 4."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rich.table import Table

from geobias.audits.names.rarity_report import describe_covariates
from geobias.audits.names.records import PerplexityCorrelations, RarityAdjustment
from geobias.audits.names.result import (
    ClassErrors,
    ClassifierMeasures,
    CountryChange,
    CountryInference,
    EstimatesFromMean,
    NamesResult,
    SubsetMeasures,
    TextsMeasures,
)
from geobias.measures.correlation import FEWEST_DRAWS
from geobias.measures.estimates import FEWEST_TEXTS_SHOWN, Estimate
from geobias.report.tables import NOTHING, TOO_FEW, interval, marked, signed, titled_table
from geobias.texts.counterfactuals import GENDERS

MOST_ROWS = 24  # with more countries the terminal shows both ends of the list; the files have all
ENDS_SHOWN = 8
NONE_BEFORE = "none before"
OVERALL_ROWS = ("Overall", "Overall, pooled", "... length fixed")


def list_tables(result: NamesResult, width: int) -> Iterator[Table]:
    """Every table, in reading order; where labels are many, in several parts that fit the width."""
    for entry in result.classifiers:
        for part in (entry, *entry.subsets):
            if part.texts_with_names:
                yield from _part_tables(entry, part, width)
        if entry.rarity and entry.rarity.countries:
            title = f"{entry.model.name}: country or name? Held fixed: {describe_covariates(entry.rarity)}"
            yield from _fit_tables(title, list(_rarity_columns(entry, entry.rarity)), entry.countries, width)
        correlations = entry.correlations
        if correlations and correlations.draws >= FEWEST_DRAWS and correlations.texts >= FEWEST_TEXTS_SHOWN:
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
    has_enough = part.texts_with_names >= FEWEST_TEXTS_SHOWN
    missing = NOTHING if has_enough else TOO_FEW
    kl = _Column("KL", [f"{row.kl:.4f}" if row.kl is not None else missing for row in part.countries], is_optional=True)
    tables = {
        "change against the original texts": [*_original_columns(labels, part.countries, missing), kl],
        "the same against the mean of the countries": [
            *_mean_columns(labels, part.countries, missing),
            *_gender_columns(part),
        ],
    }
    if part.original_errors and has_enough:
        columns = _error_columns(labels, part.original_errors, part.countries)
        tables["errors, one class against the rest, per cent"] = columns
    for title, columns in tables.items():
        yield from _fit_tables(f"{name}: {title}", columns, part.countries, width)


@dataclass(frozen=True)
class _Column:
    """A column of a table by country: its heading, the cells of the countries, and cells of the rows around them."""

    heading: str
    cells: Sequence[str]
    original: str = ""  # in a first row, of the original texts
    overall: Sequence[str] = ()  # in the last rows
    is_optional: bool = False  # left out where there is no room


def _fit_tables(
    title: str, columns: Sequence[_Column], countries: Sequence[CountryChange], width: int
) -> Iterator[Table]:
    """The columns in as few tables as the width allows: numbers are never cut, and every table names the countries.

    Where one table is not enough, the optional columns are left to the files.
    """
    rows = _extreme_rows(countries)
    names = ["..." if row is None else countries[row].country for row in rows]
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
            table.add_row("original", *(column.original for column in group), end_section=True)
        for name, row in zip(names, rows, strict=True):
            table.add_row(name, *("" if row is None else column.cells[row] for column in group))
        table.add_section()
        for k in range(overall_count):
            table.add_row(OVERALL_ROWS[k], *(column.overall[k] for column in group))
        yield table


def _group_columns(columns: Sequence[_Column], rows: Sequence[int | None], room: int) -> list[list[_Column]]:
    """Columns that fit next to each other."""
    room_left, group = room, list[_Column]()
    groups = [group]
    for column in columns:
        cells = [column.cells[row] for row in rows if row is not None]
        column_width = max(map(len, (*column.heading.split("\n"), *cells, *column.overall, column.original))) + 2
        if column_width > room_left and group:
            group, room_left = [], room
            groups.append(group)
        group.append(column)
        room_left -= column_width
    return groups


def _extreme_rows(countries: Sequence[CountryChange]) -> list[int | None]:
    """All countries; of very many both ends by Delta (by KL where there is none), and None for those between."""
    if len(countries) <= MOST_ROWS:
        return list(range(len(countries)))
    values = [(country.kl if country.delta is None else country.delta) or 0.0 for country in countries]
    ranked = sorted(range(len(countries)), key=lambda row: values[row])
    return [*ranked[:ENDS_SHOWN], None, *ranked[-ENDS_SHOWN:]]


def _original_columns(labels: Sequence[str], countries: Sequence[CountryChange], missing: str) -> list[_Column]:
    def explain_missing(country: CountryChange, label: str) -> str:
        return TOO_FEW if country.changed_texts.get(label) and country.before[label] else NONE_BEFORE

    estimates = [country.inference for country in countries]
    return _estimate_columns(labels, countries, estimates, explain_missing, missing)


def _mean_columns(labels: Sequence[str], countries: Sequence[CountryChange], missing: str) -> list[_Column]:
    def explain_missing(country: CountryChange, label: str) -> str:
        return TOO_FEW if country.against_mean.changed_texts.get(label) else NOTHING

    estimates = [country.inference.against_mean for country in countries]
    return _estimate_columns(labels, countries, estimates, explain_missing, missing)


def _estimate_columns(
    labels: Sequence[str],
    countries: Sequence[CountryChange],
    rows: Sequence[CountryInference | EstimatesFromMean],
    explain_missing: Callable[[CountryChange, str], str],
    missing_delta: str,
) -> list[_Column]:
    columns = [
        _Column("Δ", [marked(signed(row.delta.value, 2, missing_delta), row.delta) for row in rows]),
        _Column("95 %", [interval(row.delta, 1) for row in rows]),
    ]
    for label in labels:
        changes = [(country, row.change[label]) for country, row in zip(countries, rows, strict=True)]
        cells = [
            marked(signed(change.value, 1, explain_missing(country, label)), change) for country, change in changes
        ]
        columns.append(_Column(f"{label}\n%", cells))
    return columns


def _gender_columns(part: TextsMeasures) -> Iterator[_Column]:
    for gender in GENDERS:
        deltas = [row.inference.against_mean.delta for row in part.by_gender if row.gender == gender]
        if any(delta.value is not None for delta in deltas):
            cells = [marked(signed(delta.value, 2), delta) for delta in deltas]
            yield _Column(f"Δ {gender}\nnames", cells, is_optional=True)
    if part.gender_gaps:
        cells = [marked(signed(gap.difference.value, 2), gap.difference) for gap in part.gender_gaps]
        yield _Column("Δ women's\n- men's", cells, is_optional=True)


def _rarity_columns(entry: ClassifierMeasures, rarity: RarityAdjustment) -> Iterator[_Column]:
    """Delta against the mean, as measured and between names alike; then shared names against unshared ones."""
    for heading, estimates in (
        ("Δ", [country.unadjusted for country in rarity.countries]),
        ("Δ, names\nalike", [country.adjusted for country in rarity.countries]),
    ):
        yield _Column(heading, [marked(signed(estimate.value, 2), estimate) for estimate in estimates])
        yield _Column("95 %", [interval(estimate, 1) for estimate in estimates])
    shared = {effect.code: effect.difference for effect in entry.shared_names}
    if shared:
        cells = [
            marked(signed(shared[row.code].value, 2), shared[row.code]) if row.code in shared else NOTHING
            for row in rarity.countries
        ]
        yield _Column("Δ, shared -\nunshared", cells, is_optional=True)


def _error_columns(labels: Sequence[str], original: ClassErrors, rows: Sequence[CountryChange]) -> list[_Column]:
    """How often a class is predicted where it is not true, and not predicted where it is."""

    def rate(errors: ClassErrors | None, kind: str, label: str) -> str:
        value = None if errors is None else getattr(errors, kind)[label]
        return NOTHING if value is None else f"{100 * value:.1f}"

    return [
        _Column(f"{label}\n{short}", [rate(row.errors, kind, label) for row in rows], rate(original, kind, label))
        for label in labels
        for kind, short in (("false_positive", "false +"), ("false_negative", "false -"))
    ]


def _correlation_columns(labels: Sequence[str], correlations: PerplexityCorrelations) -> list[_Column]:
    local = correlations.local
    return [
        _Column(
            label,
            [_times_hundred(row.inference[label]) for row in correlations.within.countries],
            overall=[_times_hundred(part[label]) for part in (local.within, local.pooled, local.pooled_partial)],
        )
        for label in labels
    ]


def _language_table(entries: Sequence[ClassifierMeasures]) -> Table:
    """Tables 2 and 4: a column for every language."""
    table = titled_table("Correlation x 100 of log-perplexity with each class over the original texts")
    table.add_column("classifier", overflow="fold")
    table.add_column("class")
    correlations = [(entry, entry.correlations) for entry in entries if entry.correlations]
    languages = list(dict.fromkeys(language for _, part in correlations for language in part.unknown_tokens))
    for language in languages:
        table.add_column(language or "all texts", justify="right", no_wrap=True)
    for entry, part in correlations:
        estimates = {row.language: row.inference for row in part.by_language}
        for k, label in enumerate(entry.labels):
            cells = [
                _times_hundred(estimates[language][label]) if language in estimates else "refused"
                for language in languages
            ]
            table.add_row(entry.model.name if k == 0 else "", label, *cells)
    return table


def _times_hundred(estimate: Estimate) -> str:
    return marked(NOTHING if estimate.value is None else signed(100 * estimate.value, 1), estimate)
