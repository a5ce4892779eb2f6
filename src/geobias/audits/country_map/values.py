"""One number for each country, out of the folder that `geobias regions` left: what a map shows."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from geobias.audits.regions.terminal import LIKELIHOODS
from geobias.checks import suggest
from geobias.errors import InputError
from geobias.texts.templates import Sentences
from geobias.world.shapes import load_countries
from geobias.world.words import Word, herb_words

VARIANTS = ("c_w", "c_z")
LONGEST_NAME = 60
NAMED = 8  # words or topics, where none is near to what was asked for
OF_THE_MODEL = "It says something of the model, nothing of people."


@dataclass(frozen=True)
class Mapped:
    """The numbers, by ISO code, and what to call them; `own` has those of the continents themselves, by their code."""

    stem: str
    title: str
    subtitle: str
    legend: str
    values: Mapping[str, float]
    own: Mapping[str, float]


def countries_of(results: Mapping[str, Any]) -> dict[str, str]:
    """The names of a run's countries by ISO code; a tree of the user's own may have none that a map knows."""
    names = {entry["id"]: entry["name"] for entry in results["regions"] if entry["level"] == "country"}
    unknown = [code for code in names if code not in load_countries()]
    if not names or unknown:
        why = f"{unknown[0]!r} is no ISO code of a country" if unknown else "it has no level 'country'"
        raise InputError(
            f"The regions of this run cannot be put on a map: {why}. Give a run of `geobias regions` without --tree."
        )
    return names


def mapped_word(folder: Path, results: Mapping[str, Any], word: str) -> Mapped:
    """f of the sentences that say this word of a country's people."""
    words = words_of(results)
    same = [each for each in words if each.word.casefold() == word.strip().casefold()]
    if not same:
        raise InputError(_not_there("word", word, (each.word for each in words)))
    templates = results["settings"]["templates"]
    sentence = Sentences(templates, ["…"], [same[0].word]).at(0, 0, 0)
    more = f" and {len(templates) - 1} more (mean)" if len(templates) > 1 else ""
    values, own = _likelihoods(folder, same)
    return Mapped(
        f"map-word-{_slug(same[0].word)}",
        f"How likely {model_name(results)} finds “{sentence}”{more}",
        f"f by {results['model']['score']}, a mean log-probability: higher is likelier to the model. {OF_THE_MODEL}",
        f"f of “{same[0].word}”",
        values,
        own,
    )


def mapped_topic(folder: Path, results: Mapping[str, Any], topic: str) -> Mapped:
    """The mean of f over the words of a topic."""
    words = words_of(results)
    same = [each for each in words if each.topic.casefold() == topic.strip().casefold()]
    if not same:
        raise InputError(_not_there("topic", topic, (each.topic for each in words)))
    values, own = _likelihoods(folder, same)
    return Mapped(
        f"map-topic-{_slug(same[0].topic)}",
        f"How likely {model_name(results)} finds the {len(same)} words of “{same[0].topic}” of a country's people",
        f"Mean of f by {results['model']['score']}, a mean log-probability: higher is likelier. {OF_THE_MODEL}",
        f"mean f, {same[0].topic}",
        values,
        own,
    )


def mapped_score(results: Mapping[str, Any], variant: str) -> Mapped:
    """The balanced score of each country that has at least two cities in the run."""
    if variant not in VARIANTS:
        raise InputError(f"Unknown variant {variant!r}: choose one of {', '.join(VARIANTS)}.")
    scored = [entry for entry in results["regions"] if entry["pairs"]]
    values, own = (
        {entry["id"]: entry[variant]["balanced"] for entry in scored if entry["level"] == level}
        for level in ("country", "continent")
    )
    if not values:
        raise InputError(
            "The countries of this run have no score of their own, since it has no cities to compare: run `geobias "
            "regions --cities 5`, or give --word or --topic."
        )
    shown = variant.capitalize()
    return Mapped(
        f"map-{variant}",
        f"How differently {model_name(results)} speaks of each country's cities",
        f"Balanced {shown} by {results['model']['score']}: higher means more differently. {OF_THE_MODEL}",
        f"balanced {shown}",
        values,
        own,
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


def words_of(results: Mapping[str, Any]) -> list[Word]:
    """The words of a regions run."""
    given = results["settings"]["words"]
    return list(herb_words()) if given == "herb" else [Word(word, topic) for word, topic in given]


def _likelihoods(folder: Path, words: Iterable[Word]) -> tuple[dict[str, float], dict[str, float]]:
    """f of countries and of continents, the mean over templates and words; what could not be scored is left out."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = [f"{word.topic}/{word.word}" for word in words]
    try:
        table = pq.read_table(folder / LIKELIHOODS, columns=["level", "id", *columns])
    except (OSError, pa.ArrowException) as error:
        raise InputError(
            f"{folder / LIKELIHOODS} is missing or damaged: run the same `geobias regions` again with --out {folder}."
        ) from error
    means = table.to_pandas().groupby(["level", "id"])[columns].mean().mean(axis=1, skipna=False).dropna()
    levels = set(means.index.get_level_values("level"))
    countries_f, continents_f = (
        {str(code): float(f) for code, f in means[level].items()} if level in levels else {}
        for level in ("country", "continent")
    )
    return countries_f, continents_f


def _not_there(kind: str, asked: str, known: Iterable[str]) -> str:
    distinct = list(dict.fromkeys(known))
    near = suggest(asked.casefold(), distinct, most=3)
    hint = f"Did you mean {' or '.join(near)}?" if near else f"There are {', '.join(distinct[:NAMED])}"
    if not near:
        hint += f" and {len(distinct) - NAMED} more." if len(distinct) > NAMED else "."
    return f"The {kind} {asked!r} is not in this run. {hint}"


def model_name(results: Mapping[str, Any]) -> str:
    """A model's name without the long way to its folder."""
    return "/".join(Path(results["model"]["name"]).parts[-2:])


def _slug(text: str) -> str:
    """A word as part of a file's name, in any script; what had to be changed gets a digest, to be told from others."""
    plain = re.sub(r"[^\w-]+", "-", text).strip("-")[:LONGEST_NAME]
    return plain if plain == text else f"{plain}-{hashlib.blake2b(text.encode(), digest_size=4).hexdigest()}".strip("-")
