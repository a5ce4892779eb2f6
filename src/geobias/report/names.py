"""The names audit on the terminal: the paper's Tables 1, 3 and 5 classifier by classifier, then Tables 2 and 4."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.table import Table

from geobias.audits.names_result import NamesResult
from geobias.prompts.counterfactuals import GENDERS
from geobias.report.tables import NOTHING, signed, titled_table

MOST_ROWS = 24  # with more countries the terminal shows both ends of the list; the files have all
ENDS_SHOWN = 8
NONE_BEFORE = "none before"

Row = dict[str, Any]


def tables(result: NamesResult) -> Iterator[Table]:
    """Every table, in the order in which they are read."""
    for entry in result.classifiers:
        name = entry["model"]["name"]
        for part in (entry, *entry["subsets"]):
            where = f", {part['column']} {part['value']}" if "column" in part else ""
            yield _changes(f"{name}{where}: change against the texts as they were", entry, part)
            yield _against_mean(f"{name}{where}: the same against the mean of the countries", entry, part)
            if "original_errors" in part:
                yield _errors(f"{name}{where}: errors, per cent", entry, part)
        if "correlations" in entry and entry["correlations"]["within"]["countries"]:
            yield _local(entry)
    if any("correlations" in entry for entry in result.classifiers):
        yield _global(result)


def _changes(title: str, entry: Row, part: Row) -> Table:
    table = _by_country(title)
    _columns(table, ["Δ", *(f"{label}\n%" for label in entry["labels"]), "KL"])
    for row in _shown(part["countries"]):
        if row is None:
            table.add_row("...")
            continue
        changes = [signed(row["change"][label], 1, NONE_BEFORE) for label in entry["labels"]]
        table.add_row(row["country"], signed(row["delta"], 2), *changes, _plain(row["kl"]))
    return table


def _against_mean(title: str, entry: Row, part: Row) -> Table:
    table = _by_country(title)
    headings = [f"{label}\n%" for label in entry["labels"]]
    _columns(table, ["Δ", *headings, *(f"Δ {gender}\nnames" for gender in GENDERS)])
    by_gender = {(row["code"], row["gender"]): row["against_mean"]["delta"] for row in part["by_gender"]}
    for row in _shown(part["countries"]):
        if row is None:
            table.add_row("...")
            continue
        found = row["against_mean"]
        changes = [signed(found["change"][label], 1) for label in entry["labels"]]
        genders = [signed(by_gender[row["code"], gender], 2) for gender in GENDERS]
        table.add_row(row["country"], signed(found["delta"], 2), *changes, *genders)
    return table


def _errors(title: str, entry: Row, part: Row) -> Table:
    """One class against the rest: how often it is predicted where it is not true, and not predicted where it is."""
    table = _by_country(title)
    kinds = (("false_positive", "false +"), ("false_negative", "false -"))
    _columns(table, [f"{label}\n{short}" for label in entry["labels"] for _, short in kinds])
    rows = [("as they were", part["original_errors"])]
    rows += [("...", None) if row is None else (row["country"], row["errors"]) for row in _shown(part["countries"])]
    for i, (name, errors) in enumerate(rows):
        cells = [_percent(errors[kind][label]) for label in entry["labels"] for kind, _ in kinds] if errors else []
        table.add_row(name, *cells, end_section=i == 0)
    return table


def _local(entry: Row) -> Table:
    found = entry["correlations"]
    table = _by_country(
        f"{entry['model']['name']}: do stranger names change it? Correlation x 100 with log-perplexity by {found['lm']}"
    )
    _columns(table, [*entry["labels"], "texts"])
    order = {row["code"]: row for row in found["within"]["countries"]}
    for row in _shown(entry["countries"]):
        if row is None:
            table.add_row("...")
            continue
        here = order[row["code"]]
        cells = [_hundred(here["pearson"][label]) for label in entry["labels"]]
        table.add_row(row["country"], *cells, f"{max(here['texts'].values()):,}")
    table.add_section()
    for name, kind in (("Overall", "within"), ("Overall, pooled", "pooled")):
        table.add_row(name, *(_hundred(found[kind]["overall"][label]) for label in entry["labels"]), "")
    return table


def _global(result: NamesResult) -> Table:
    """Tables 2 and 4: a column for every language."""
    table = titled_table("Correlation x 100 of log-perplexity with each class over the texts as they were")
    table.add_column("classifier", overflow="fold")
    table.add_column("class")
    languages = list(dict.fromkeys(result.texts.languages))
    for language in languages:
        table.add_column(language or "all texts", justify="right", no_wrap=True)
    for entry in result.classifiers:
        found = {part["language"]: part["pearson"] for part in entry.get("correlations", {}).get("global", ())}
        for k, label in enumerate(entry["labels"]):
            cells = [_hundred(found[one][label]) if one in found else "refused" for one in languages]
            table.add_row(entry["model"]["name"] if k == 0 else "", label, *cells)
    return table


def notes(result: NamesResult) -> list[str]:
    """What was asked, and what was left out or could not be compared, in words."""
    counts, listed = result.counts, result.renamed.gazetteer
    said = [
        f"{counts['texts']:,} texts, {counts['texts_with_names']:,} of them with names: {counts['people']:,} in "
        f"{counts['mentions']:,} mentions; {counts['countries']} countries x {counts['draws']} draws."
    ]
    if counts["rows_without_text"]:
        said.append(f"Rows without a text, left out: {counts['rows_without_text']:,}.")
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
    cut = entry["counts"]["texts_cut"] + entry["counts"]["renamed_texts_cut"]
    if cut:
        yield f"{name}: {cut:,} texts were longer than the model takes, and cut."
    if not entry["positive"] or not entry["negative"]:
        yield f"{name}: no Δ, since its labels do not tell good from bad; name them with --positive and --negative."
    never = [label for label, count in entry["countries"][0]["before"].items() if not count]
    if never:
        yield f"{name}: never predicted on the texts as they were, so without a change: {', '.join(never)}."
    found = entry.get("correlations")
    if found:
        if found["note"]:
            yield f"{name}: {found['note']}"
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
    ranked = sorted(countries, key=lambda row: row["kl"] if row["delta"] is None else row["delta"])
    return [*ranked[:ENDS_SHOWN], None, *ranked[-ENDS_SHOWN:]]


def _by_country(title: str) -> Table:
    table = titled_table(title)
    table.add_column("country", overflow="fold")
    return table


def _columns(table: Table, headings: list[str]) -> None:
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)


def _plain(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.4f}"


def _percent(value: float | None) -> str:
    return NOTHING if value is None else f"{100 * value:.1f}"


def _hundred(value: float | None) -> str:
    return NOTHING if value is None else signed(100 * value, 1)
