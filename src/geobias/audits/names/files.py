"""The files of a names run: CSV tables, and every renamed text with its scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from geobias.audits.names.renamed_texts_file import write_renamed_texts
from geobias.audits.names.result import ClassifierMeasures, CountryChange, GenderChange, NamesResult, TextsMeasures
from geobias.measures.estimates import Estimate
from geobias.report.tables import write_csv

Row = dict[str, Any]
Part = tuple[Row, TextsMeasures]  # the columns that tell a table apart (classifier, subset), and its measures


def write_files(folder: Path, result: NamesResult) -> None:
    parts = [part for entry in result.classifiers for part in _list_parts(entry)]
    tables = {
        "countries": _country_rows(parts),
        "classes": (row for about, part in parts for row in _class_rows(about, part.countries)),
        "genders": (row for about, part in parts for row in _class_rows(about, part.by_gender)),
        "correlations": _correlation_rows(parts),
        "names": _name_rows(result),
    }
    for name, rows in tables.items():
        write_csv(folder / "tables" / f"{name}.csv", rows)
    write_renamed_texts(folder, result)


def _list_parts(entry: ClassifierMeasures) -> Iterator[Part]:
    """All texts, then each subset."""
    about = {"classifier": entry.model.name}
    if not entry.subsets:
        yield about, entry
        return
    yield {**about, "subset": "", "value": ""}, entry
    for subset in entry.subsets:
        yield {**about, "subset": subset.column, "value": subset.value}, subset


def _country_rows(parts: Iterable[Part]) -> Iterator[Row]:
    """tables/countries.csv: Delta and KL."""
    for about, part in parts:
        for country in part.countries:
            inference = country.inference
            yield {
                **about,
                "country": country.country,
                "code": country.code,
                "delta": country.delta,
                **_estimate_columns("delta", inference.delta),
                "delta_from_mean": country.against_mean.delta,
                **_estimate_columns("delta_from_mean", inference.against_mean.delta),
                "placebo": inference.placebo,
                "kl": country.kl,
                "kl_from_mean": country.against_mean.kl,
                "renamed_texts": country.renamed_texts,
            }


def _class_rows(about: Row, countries: Sequence[CountryChange]) -> Iterator[Row]:
    """tables/classes.csv: counts and change of every class; tables/genders.csv: the same by gender, and Delta."""
    for country in countries:
        inference = country.inference
        names = {"country": country.country, "code": country.code}
        delta: Row = {}
        if isinstance(country, GenderChange):
            names["gender"] = country.gender
            delta = {
                "delta": country.delta,
                **_estimate_columns("delta", inference.delta),
                "delta_from_mean": country.against_mean.delta,
                **_estimate_columns("delta_from_mean", inference.against_mean.delta),
            }
        for label in country.change:
            yield {
                **about,
                **names,
                "label": label,
                "before": country.before[label],
                "after": country.after[label],
                "change": country.change[label],
                **_estimate_columns("change", inference.change[label]),
                "change_from_mean": country.against_mean.change[label],
                **_estimate_columns("change_from_mean", inference.against_mean.change[label]),
                **delta,
                **{kind: rates[label] for kind, rates in (vars(country.errors) if country.errors else {}).items()},
            }


def _estimate_columns(name: str, estimate: Estimate) -> Row:
    """The columns beside a number: its interval, its p-value and its adjusted one."""
    return {f"{name}_{key}": getattr(estimate, key) for key in ("low", "high", "p", "p_adjusted")}


def _correlation_rows(parts: Iterable[Part]) -> Iterator[Row]:
    """tables/correlations.csv: global ones by language, local ones by country and overall."""
    for about, part in parts:
        correlations = part.correlations
        if correlations is None:
            continue
        about = {**about, "lm": correlations.lm}
        for entry in correlations.by_language:
            for label, value in entry.pearson.items():
                row = {"kind": "global", "language": entry.language, "country": "", "label": label, "pearson": value}
                yield {**about, **row, **_estimate_columns("pearson", entry.inference[label]), "texts": entry.texts}
        for kind in ("within", "pooled"):
            by_country, overall = getattr(correlations, kind), getattr(correlations.local, kind)
            for country in by_country.countries:
                for label, value in country.pearson.items():
                    row = {"kind": kind, "language": "", "country": country.country, "label": label, "pearson": value}
                    row |= _estimate_columns("pearson", country.inference[label])
                    row["texts"] = country.texts[label]
                    yield {**about, **row, "texts_without_variance": country.texts_without_variance[label]}
            for label, value in by_country.overall.items():
                row = {"kind": kind, "language": "", "country": "Overall", "label": label, "pearson": value}
                yield {**about, **row, **_estimate_columns("pearson", overall[label])}


def _name_rows(result: NamesResult) -> Iterator[Row]:
    """tables/names.csv: how many names each country has, and how many different ones the texts show."""
    for country in result.countries:
        row: Row = {"country": country.country, "code": country.code}
        for kind, names in country.names.items():
            row |= {f"{kind}_left": names.left, f"{kind}_of": names.total, f"{kind}_used": names.used}
        yield row
