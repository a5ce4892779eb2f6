"""The names audit on the terminal: the paper's Tables 1, 3 and 5 classifier by classifier, then Tables 2 and 4."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from geobias.audits.names.result import NamesResult
from geobias.measures.correlation import FEWEST_DRAWS
from geobias.report.tables import NOTHING, interval, marked, signed, titled_table
from geobias.texts.counterfactuals import GENDERS

MOST_ROWS = 24  # with more countries the terminal shows both ends of the list; the files have all
ENDS_SHOWN = 8
NONE_BEFORE = "none before"
KINDS = ("within", "pooled", "pooled_partial")
LAST_ROWS = ("Overall", "Overall, pooled", "... length fixed")

Row = dict[str, Any]


def tables(result: NamesResult, *, width: int) -> Iterator[Table]:
    """Every table, in the order in which they are read; where labels are many, in several parts that fit the width."""
    for entry in result.classifiers:
        name = entry["model"]["name"]
        for part in (entry, *entry["subsets"]):
            if not part["texts_with_names"]:
                continue
            where = f", {part['column']} {part['value']}" if "column" in part else ""
            yield from _parted(f"{name}{where}: change against the texts as they were", _changes(entry), part, width)
            title = f"{name}{where}: the same against the mean of the countries"
            yield from _parted(title, _against_mean(entry, part), part, width)
            if "original_errors" in part:
                title = f"{name}{where}: errors, one class against the rest, per cent"
                yield from _parted(title, _errors(entry, part), part, width)
        if "correlations" in entry and entry["correlations"]["draws"] >= FEWEST_DRAWS:
            found = entry["correlations"]
            title = (
                f"{name}: do stranger names change it? Correlation x 100 with log-perplexity by {found['lm']} within "
                f"{found['draws']} draws of {found['texts']} texts"
            )
            yield from _parted(title, _local(entry), entry, width)
    if any("correlations" in entry for entry in result.classifiers):
        yield _global(result)


@dataclass(frozen=True)
class _Column:
    """A column of a table by country: its heading, a cell for a country, and cells for rows before or after them."""

    heading: str
    cell: Callable[[Row], str]
    first: str | None = None
    last: tuple[str, ...] = ()
    spare: bool = False  # left out where there is no room


def _parted(title: str, columns: list[_Column], part: Row, width: int) -> Iterator[Table]:
    """The columns in as few tables as the width allows: a number is never cut, and every table names the countries.

    Where one table is too narrow, the columns that can be spared are left to the files.
    """
    rows = _shown(part["countries"])
    names = ["..." if row is None else row["country"] for row in rows]
    has_first, lasts = any(column.first for column in columns), max(len(column.last) for column in columns)
    room = width - max(map(len, (*names, *LAST_ROWS[:lasts], "as they were"))) - 3
    groups = _groups(columns, rows, room)
    if len(groups) > 1:
        groups = _groups([column for column in columns if not column.spare], rows, room)
    for k, group in enumerate(groups):
        table = titled_table(title + (f" ({k + 1} of {len(groups)})" if len(groups) > 1 else ""))
        table.add_column("country", no_wrap=True)
        for column in group:
            table.add_column(column.heading, justify="right", no_wrap=True)
        if has_first:
            table.add_row("as they were", *(column.first or "" for column in group), end_section=True)
        for name, row in zip(names, rows, strict=True):
            table.add_row(name, *(column.cell(row) if row is not None else "" for column in group))
        table.add_section()
        for i in range(lasts):
            table.add_row(LAST_ROWS[i], *(column.last[i] if column.last else "" for column in group))
        yield table


def _groups(columns: list[_Column], rows: list[Row | None], room: int) -> list[list[_Column]]:
    """Columns that fit beside each other."""
    left, group = room, list[_Column]()
    groups = [group]
    for column in columns:
        cells = [column.cell(row) for row in rows if row is not None]
        needed = max(map(len, (*column.heading.split("\n"), *cells, *column.last, column.first or ""))) + 2
        if needed > left and group:
            group, left = [], room
            groups.append(group)
        group.append(column)
        left -= needed
    return groups


def _changes(entry: Row) -> list[_Column]:
    def change(label: str) -> Callable[[Row], str]:
        return lambda row: marked(signed(row["change"][label], 1, NONE_BEFORE), row["inference"]["change"][label])

    return [
        _Column("Δ", lambda row: marked(signed(row["delta"], 2), row["inference"]["delta"])),
        _Column("95 %", lambda row: interval(row["inference"]["delta"], 1)),
        *(_Column(f"{label}\n%", change(label)) for label in entry["labels"]),
        _Column("KL", lambda row: _plain(row["kl"]), spare=True),
    ]


def _against_mean(entry: Row, part: Row) -> list[_Column]:
    by_gender = {(row["code"], row["gender"]): row["inference"]["against_mean"]["delta"] for row in part["by_gender"]}

    def change(label: str) -> Callable[[Row], str]:
        return lambda row: marked(
            signed(row["against_mean"]["change"][label], 1), row["inference"]["against_mean"]["change"][label]
        )

    def of_gender(gender: str) -> Callable[[Row], str]:
        return lambda row: marked(signed(by_gender[row["code"], gender]["value"], 2), by_gender[row["code"], gender])

    shown = [
        gender
        for gender in GENDERS
        if any(by_gender[row["code"], gender]["value"] is not None for row in part["countries"])
    ]
    return [
        _Column(
            "Δ", lambda row: marked(signed(row["against_mean"]["delta"], 2), row["inference"]["against_mean"]["delta"])
        ),
        _Column("95 %", lambda row: interval(row["inference"]["against_mean"]["delta"], 1)),
        *(_Column(f"{label}\n%", change(label)) for label in entry["labels"]),
        *(_Column(f"Δ {gender}\nnames", of_gender(gender), spare=True) for gender in shown),
    ]


def _errors(entry: Row, part: Row) -> list[_Column]:
    """How often a class is predicted where it is not true, and not predicted where it is."""

    def rate(kind: str, label: str) -> Callable[[Row], str]:
        return lambda row: _percent(row["errors"][kind][label])

    return [
        _Column(f"{label}\n{short}", rate(kind, label), first=_percent(part["original_errors"][kind][label]))
        for label in entry["labels"]
        for kind, short in (("false_positive", "false +"), ("false_negative", "false -"))
    ]


def _local(entry: Row) -> list[_Column]:
    found = entry["correlations"]
    here = {row["code"]: row for row in found["within"]["countries"]}

    def pearson(label: str) -> Callable[[Row], str]:
        return lambda row: _sure_hundred(here[row["code"]]["inference"][label])

    return [
        _Column(label, pearson(label), last=tuple(_sure_hundred(found["local"][kind][label]) for kind in KINDS))
        for label in entry["labels"]
    ]


def _global(result: NamesResult) -> Table:
    """Tables 2 and 4: a column for every language."""
    table = titled_table("Correlation x 100 of log-perplexity with each class over the texts as they were")
    table.add_column("classifier", overflow="fold")
    table.add_column("class")
    languages = list(dict.fromkeys(result.texts.languages))
    for language in languages:
        table.add_column(language or "all texts", justify="right", no_wrap=True)
    for entry in result.classifiers:
        found = {part["language"]: part["inference"] for part in entry.get("correlations", {}).get("global", ())}
        for k, label in enumerate(entry["labels"]):
            cells = [_sure_hundred(found[one][label]) if one in found else "refused" for one in languages]
            table.add_row(entry["model"]["name"] if k == 0 else "", label, *cells)
    return table


def notes(result: NamesResult) -> list[str]:
    """What was asked, and what was left out or could not be compared, in words."""
    counts, listed = result.counts, result.renamed.gazetteer
    said = [
        f"{counts['texts']:,} texts, {counts['texts_with_names']:,} of them with names: {counts['people']:,} in "
        f"all, in {counts['mentions']:,} mentions; {counts['countries']} countries x {counts['draws']} draws."
    ]
    if counts["draws"] == 1 and not result.names_fixed:
        said.append(
            "One draw a text does not tell a name from its text, so there are no intervals: give --draws 2 or more, or "
            "--names fixed."
        )
    if counts["rows_without_text"]:
        said.append(f"Rows without a text in the files, left out: {counts['rows_without_text']:,}.")
    if counts["countries_left_out"]:
        left = counts["countries_left_out"]
        said.append(f"Countries with too few names in this script, left out: {len(left)} ({', '.join(left)}).")
    few = [
        f"{listed.country(code)} ({len(listed.names(code, kind))} {kind})"
        for code in result.renamed.countries
        for kind in listed.kinds
        if len(listed.names(code, kind)) < counts["draws"]
    ]
    if few:
        more = f" and {len(few) - ENDS_SHOWN} more" if len(few) > ENDS_SHOWN else ""
        said.append(f"With fewer names than draws, so that names recur: {', '.join(few[:ENDS_SHOWN])}{more}.")
    for entry in result.classifiers:
        said += _notes_of(entry)
    return list(dict.fromkeys(said))


def _notes_of(entry: Row) -> Iterator[str]:
    name = entry["model"]["name"]
    cut, renamed_cut = entry["counts"]["texts_cut"], entry["counts"]["renamed_texts_cut"]
    if cut or renamed_cut:
        yield f"{name}: longer than the model takes, and cut: {cut:,} texts and {renamed_cut:,} renamed versions."
    yield from (f"{name}: {note}" for note in entry["notes"])
    empty = [f"{part['column']} {part['value']}" for part in entry["subsets"] if not part["texts_with_names"]]
    if empty:
        yield f"Nobody is named in the texts of: {', '.join(empty)}."
    if not entry["positive"] or not entry["negative"]:
        yield f"{name}: no Δ, since its labels do not tell good from bad; name them with --positive and --negative."
    never = [label for label, count in entry["countries"][0]["before"].items() if not count]
    if never:
        yield f"{name}: never predicted on the texts as they were, so without a change: {', '.join(never)}."
    p = entry["any_country_differs"]["p"]
    floors = [row["inference"]["placebo"] for row in entry["countries"] if row["inference"]["placebo"] is not None]
    if p is not None and floors:
        yield (
            f"{name}: does Δ differ between countries at all? p = {p:.2g}. Names alone (halves of one country's own) "
            f"move it by up to {min(floors):.2f} to {max(floors):.2f}, by country."
        )
    found = entry.get("correlations")
    if found:
        if found["draws"] < FEWEST_DRAWS:
            yield f"No local correlations: they need perplexities of {FEWEST_DRAWS} draws or more (--perplexity-draws)."
        still = max(max(row["texts_without_variance"].values()) for row in found["within"]["countries"])
        if still and found["draws"] >= FEWEST_DRAWS:
            yield f"{name}: up to {still:,} texts a country do not vary between draws, and have no local correlation."
        if found["texts_cut"]:
            yield f"{found['lm']}: longer than the model takes, and cut: {found['texts_cut']:,} texts."
        for language in found["languages_refused"]:
            share = found["unknown_tokens"][language]
            yield (
                f"{found['lm']} does not know {share:.0%} of the tokens of {language or 'the texts'}: its perplexity "
                "means nothing there and was refused."
            )


def _shown(countries: list[Row]) -> list[Row | None]:
    """All countries; of very many both ends by Delta (by KL where there is none), and None for those between."""
    if len(countries) <= MOST_ROWS:
        return list(countries)
    ranked = sorted(countries, key=lambda row: row["kl"] if row["delta"] is None else row["delta"])  # never both None
    return [*ranked[:ENDS_SHOWN], None, *ranked[-ENDS_SHOWN:]]


def _plain(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.4f}"


def _percent(value: float | None) -> str:
    return NOTHING if value is None else f"{100 * value:.1f}"


def _sure_hundred(estimate: Row) -> str:
    value = estimate["value"]
    return marked(NOTHING if value is None else signed(100 * value, 1), estimate)
