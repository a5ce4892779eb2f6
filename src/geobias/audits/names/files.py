"""The files of a names run: CSV tables, and every renamed text with its scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from geobias.audits.names.gender_gaps import list_split
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
        "gender_gaps": _gender_gap_rows(parts),
        "scripts": _script_rows(parts),
        "correlations": _correlation_rows(parts),
        "rarity": _rarity_rows(parts),
        "names": _name_rows(parts),
        "name_lists": _list_rows(result),
    }
    for name, rows in tables.items():
        write_csv(folder / "tables" / f"{name}.csv", rows)
    write_renamed_texts(folder, result)


def _list_parts(entry: ClassifierMeasures) -> Iterator[Part]:
    """All texts, then each subset."""
    about = {"classifier": entry.model.name}
    yield about | ({"subset": "", "value": ""} if entry.subsets else {}), entry
    for subset in entry.subsets:
        yield {**about, "subset": subset.column, "value": subset.value}, subset


def _country_rows(parts: Iterable[Part]) -> Iterator[Row]:
    """tables/countries.csv: Delta and KL."""
    for about, part in parts:
        for country in part.countries:
            yield {
                **about,
                "country": country.country,
                "code": country.code,
                **_delta_columns(country),
                "placebo": country.inference.placebo,
                "kl": country.kl,
                "kl_from_mean": country.against_mean.kl,
                "renamed_texts": country.renamed_texts,
            }


def _class_rows(about: Row, countries: Sequence[CountryChange]) -> Iterator[Row]:
    """tables/classes.csv: counts and change of every class; tables/genders.csv: the same by gender, and Delta."""
    for country in countries:
        inference = country.inference
        gender = {"gender": country.gender} if isinstance(country, GenderChange) else {}
        for label in country.change:
            yield {
                **about,
                "country": country.country,
                "code": country.code,
                **gender,
                "label": label,
                "before": country.before[label],
                "after": country.after[label],
                **_estimate_columns("change", inference.change[label]),
                "changed_texts": country.changed_texts.get(label),
                **_estimate_columns("change_from_mean", inference.against_mean.change[label]),
                "changed_texts_from_mean": country.against_mean.changed_texts.get(label),
                **(_delta_columns(country) if gender else {}),
                **{kind: rates[label] for kind, rates in (vars(country.errors) if country.errors else {}).items()},
            }


def _gender_gap_rows(parts: Iterable[Part]) -> Iterator[Row]:
    """tables/gender_gaps.csv: Delta against the mean of women's and of men's names, and whether they differ."""
    for about, part in parts:
        for each in list_split(part):
            row = {**about, "country": each.gap.country, "code": each.gap.code}
            row |= {"delta_women": each.women.value, "delta_men": each.men.value}
            yield row | _estimate_columns("difference", each.gap.difference)


def _script_rows(parts: Iterable[Part]) -> Iterator[Row]:
    """tables/scripts.csv: Delta of names in a country's own script, against the mean and against its Latin names."""
    for about, part in parts:
        for gap in part.scripts:
            row = {**about, "country": gap.country, "code": gap.code, "renamed_texts": gap.renamed_texts}
            row |= _estimate_columns("delta_own_script_from_mean", gap.own_script)
            yield row | _estimate_columns("own_minus_latin", gap.difference)


def _delta_columns(country: CountryChange) -> Row:
    from_mean = _estimate_columns("delta_from_mean", country.inference.against_mean.delta)
    return _estimate_columns("delta", country.inference.delta) | from_mean


def _estimate_columns(name: str, estimate: Estimate) -> Row:
    """A number, its interval, its p-value and its adjusted one."""
    return {name if key == "value" else f"{name}_{key}": number for key, number in vars(estimate).items()}


def _correlation_rows(parts: Iterable[Part]) -> Iterator[Row]:
    """tables/correlations.csv: global ones by language, local ones by country and overall."""
    for about, part in parts:
        correlations = part.correlations
        if correlations is None:
            continue
        about = {**about, "lm": correlations.lm}
        for entry in correlations.by_language:
            names = {**about, "kind": "global", "language": entry.language, "country": ""}
            for row in _label_rows(names, entry.pearson, entry.inference):
                yield {**row, "texts": entry.texts}
        for kind in ("within", "pooled"):
            by_country, overall = getattr(correlations, kind), getattr(correlations.local, kind)
            names = {**about, "kind": kind, "language": "", "country": "Overall"}
            for country in by_country.countries:
                for row in _label_rows(names | {"country": country.country}, country.pearson, country.inference):
                    texts, left_out = country.texts, country.texts_without_variance
                    yield {**row, "texts": texts[row["label"]], "texts_without_variance": left_out[row["label"]]}
            yield from _label_rows(names, by_country.overall, overall)


def _rarity_rows(parts: Iterable[Part]) -> Iterator[Row]:
    """tables/rarity.csv: Delta against the mean, as measured and with covariates held fixed; shared names."""
    for about, part in parts:
        if part.rarity is None:
            continue
        shared = {effect.code: effect for effect in part.shared_names}
        for country in part.rarity.countries:
            row = {
                **about,
                "country": country.country,
                "code": country.code,
                **{f"{name}_from_mean": value for name, value in country.covariates.items()},
                **_estimate_columns("delta_from_mean", country.unadjusted),
                **_estimate_columns("delta_rarity_fixed", country.adjusted),
                **_estimate_columns("delta_explained", country.explained),
            }
            if effect := shared.get(country.code):
                row |= {"shared_names": effect.shared, "unshared_names": effect.unshared}
                row |= _estimate_columns("shared_minus_unshared", effect.difference)
            yield row


def _label_rows(names: Row, pearson: Row, estimates: Mapping[str, Estimate]) -> Iterator[Row]:
    for label, value in pearson.items():
        yield {**names, "label": label, **_estimate_columns("pearson", estimates[label]), "pearson": value}


def _name_rows(parts: Iterable[Part]) -> Iterator[Row]:
    """tables/names.csv: every name with its effect on Delta, those that are tested first, the largest first."""
    for about, part in parts:
        for each in part.single_names.effects if part.single_names else []:
            yield about | vars(each) | {"countries": " ".join(each.countries)}


def _list_rows(result: NamesResult) -> Iterator[Row]:
    """tables/name_lists.csv: how many names each country has, how many the texts show, and how many others have."""
    for country in result.countries:
        row: Row = {"country": country.country, "code": country.code}
        for kind, names in country.names.items():
            row |= {f"{kind}_left": names.left, f"{kind}_of": names.total, f"{kind}_used": names.used}
        if country.sharing:
            row |= vars(country.sharing)
        yield row
