"""One number for each country, out of a finished run of `geobias regions`: what a map shows."""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from geobias.audits.regions.files import LIKELIHOODS, word_column
from geobias.audits.regions.result import RegionsResult
from geobias.errors import InputError
from geobias.report.parquet import column_values, damaged, read_columns
from geobias.report.runs import FinishedRun
from geobias.texts.templates import Sentences
from geobias.world.shapes import load_countries
from geobias.world.words import Word

VARIANTS = ("c_w", "c_z")
LONGEST_NAME = 60
SUGGESTIONS = 8  # words or topics named where none is near to what was asked for
ABOUT_THE_MODEL = "It says something of the model, nothing of people."


@dataclass(frozen=True)
class CountryValues:
    """The numbers by ISO code, those of the continents themselves by their code, and how to label them."""

    file_name: str
    title: str
    subtitle: str
    legend: str
    countries: Mapping[str, float]
    continents: Mapping[str, float]


def country_names(result: RegionsResult) -> dict[str, str]:
    """The names of a run's countries by ISO code; InputError for a tree of the user's that no map can show."""
    names = {region.id: region.name for region in result.regions if region.level == "country"}
    unknown = [code for code in names if code not in load_countries()]
    if not names or unknown:
        reason = f"{unknown[0]!r} is no ISO code of a country" if unknown else "it has no level 'country'"
        raise InputError(
            f"The regions of this run cannot be put on a map: {reason}. Give a run of `geobias regions` without --tree."
        )
    return names


def word_values(run: FinishedRun[RegionsResult], word: str) -> CountryValues:
    """f of the sentences that say this word of a country's people."""
    result, name = run.result, word.strip().casefold()
    matches = [each for each in result.words if each.word.casefold() == name]
    if not matches:
        raise InputError(_explain_unknown("word", word, (each.word for each in result.words)))
    name, templates = matches[0].word, result.settings.templates
    sentence = Sentences(templates, ["…"], [name]).at(0, 0, 0)
    more = f" and {len(templates) - 1} more (mean)" if len(templates) > 1 else ""
    return CountryValues(
        f"map-word-{_slug(name)}",
        f"How likely {result.model.short_name} finds “{sentence}”{more}",
        f"f by {result.model.score}, a mean log-probability: higher is likelier to the model. {ABOUT_THE_MODEL}",
        f"f of “{name}”",
        *_mean_likelihoods(run, matches),
    )


def topic_values(run: FinishedRun[RegionsResult], topic: str) -> CountryValues:
    """The mean of f over the words of a topic."""
    result, name = run.result, topic.strip().casefold()
    matches = [each for each in result.words if each.topic.casefold() == name]
    if not matches:
        raise InputError(_explain_unknown("topic", topic, (each.topic for each in result.words)))
    name = matches[0].topic
    return CountryValues(
        f"map-topic-{_slug(name)}",
        f"How likely {result.model.short_name} finds the {len(matches)} words of “{name}” of a country's people",
        f"Mean of f by {result.model.score}, a mean log-probability: higher is likelier. {ABOUT_THE_MODEL}",
        f"mean f, {name}",
        *_mean_likelihoods(run, matches),
    )


def score_values(result: RegionsResult, variant: str) -> CountryValues:
    """The balanced score of each country that has at least two cities in the run."""
    if variant not in VARIANTS:
        raise InputError(f"Unknown variant {variant!r}: choose one of {', '.join(VARIANTS)}.")
    by_level: dict[str, dict[str, float]] = {"country": {}, "continent": {}}
    for region in result.regions:
        score: float | None = getattr(region, variant).balanced
        if region.pairs and region.level in by_level and score is not None:
            by_level[region.level][region.id] = score
    if not by_level["country"]:
        raise InputError(
            "The countries of this run have no score of their own, since it has no cities to compare: run `geobias "
            "regions --cities 5`, or give --word or --topic."
        )
    label = variant.capitalize()
    return CountryValues(
        f"map-{variant}",
        f"How differently {result.model.short_name} speaks of each country's cities",
        f"Balanced {label} by {result.model.score}: higher means more differently. {ABOUT_THE_MODEL}",
        f"balanced {label}",
        by_level["country"],
        by_level["continent"],
    )


def map_rows(values: Mapping[str, float], names: Mapping[str, str]) -> list[dict[str, Any]]:
    """A row for each country of the run, with an empty value where there is none."""
    known = load_countries()
    return [
        {
            "code": code,
            "country": name,
            "continent": known[code].continent_name,
            "value": values.get(code),
            "has_shape": known[code].has_shape,
        }
        for code, name in names.items()
    ]


def _mean_likelihoods(
    run: FinishedRun[RegionsResult], words: Sequence[Word]
) -> tuple[dict[str, float], dict[str, float]]:
    """f of countries and of continents, the mean over templates and words; what could not be scored is left out."""
    result, path = run.result, run.folder / LIKELIHOODS
    columns = [word_column(word) for word in words]
    table = read_columns(path, columns)
    regions, templates = result.regions[1:], len(result.settings.templates)
    if len(table) != templates * len(regions):
        raise damaged(path)
    means = column_values(table, columns).reshape(templates, len(regions), len(columns)).mean(axis=(0, 2))
    by_country, by_continent = (
        {
            region.id: float(value)
            for region, value in zip(regions, means, strict=True)
            if region.level == level and not np.isnan(value)
        }
        for level in ("country", "continent")
    )
    return by_country, by_continent


def _explain_unknown(kind: str, name: str, known: Iterable[str]) -> str:
    distinct = list(dict.fromkeys(known))
    near = difflib.get_close_matches(name.casefold(), distinct, n=3)
    if near:
        hint = f"Did you mean {' or '.join(near)}?"
    else:
        more = f" and {len(distinct) - SUGGESTIONS} more." if len(distinct) > SUGGESTIONS else "."
        hint = f"There are {', '.join(distinct[:SUGGESTIONS])}{more}"
    return f"The {kind} {name!r} is not in this run. {hint}"


def _slug(text: str) -> str:
    """A word as part of a file's name, in any script; what had to be changed gets a digest, to be told from others."""
    plain = re.sub(r"[^\w-]+", "-", text).strip("-")[:LONGEST_NAME]
    return plain if plain == text else f"{plain}-{hashlib.blake2b(text.encode(), digest_size=4).hexdigest()}".strip("-")
