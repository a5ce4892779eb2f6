"""`geobias map`: one number of a finished regions run for each country, on the world's map (HERB's Figure 1)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from geobias.audits.pages import read_run, reads_runs
from geobias.audits.regions.files import read_likelihoods
from geobias.audits.regions.result import RegionsResult
from geobias.checks import describe_choices
from geobias.errors import InputError
from geobias.report.figures import save_chart, unmapped, without_data, world_map
from geobias.report.run_folder import add_to_run
from geobias.report.runs import FinishedRun, shown
from geobias.report.tables import console, digits, save_csv
from geobias.texts.templates import Sentences
from geobias.world.countries import DISSOLVED
from geobias.world.shapes import load_countries
from geobias.world.words import Word

VARIANTS = ("c_w", "c_z")
LONGEST_NAME = 60
EXTREMES_SHOWN = 5
ABOUT_THE_MODEL = "It describes the model, not people."


@dataclass(frozen=True)
class CountryValues:
    """The numbers by ISO code, those of the continents themselves by their code, and how to label them."""

    file_name: str
    title: str
    subtitle: str
    legend: str
    countries: Mapping[str, float]
    continents: Mapping[str, float]


@reads_runs
def draw_map(folder: Path, *, word: str | None = None, topic: str | None = None, variant: str | None = None) -> None:
    """Add a map of a word, of a topic or of the score to a finished regions run, and print its extremes."""
    if sum(option is not None for option in (word, topic, variant)) > 1:
        raise InputError(
            "A map shows one value. Use only one of --word, --topic and --variant (default: the bias score)."
        )
    run = read_run(folder, ["regions"])
    names = country_names(run.result)
    if word is not None:
        values = _word_values(run, word)
    elif topic is not None:
        values = _topic_values(run, topic)
    else:
        values = _score_values(run.result, variant or VARIANTS[0])
    if not values.countries:
        raise InputError("No country of this run has a value for this map.")
    chart = world_map(
        values.countries,
        names,
        title=values.title,
        subtitle=values.subtitle,
        legend=values.legend,
        own_values=values.continents,
    )
    known = load_countries()
    rows = [
        {
            "code": code,
            "country": name,
            "continent": known[code].continent_name,
            "value": values.countries.get(code),
            "has_shape": known[code].has_shape,
        }
        for code, name in names.items()
    ]
    with add_to_run(folder) as staging:
        table = staging / "tables" / f"{values.file_name}.csv"
        files = [*save_chart(chart, staging / "figures" / values.file_name), table]
        save_csv(table, rows)
    named = run.result.settings.countries != "all"  # a country that no longer exists is in such a run by choice
    unranked = [] if named else [code for code in DISSOLVED if code in values.countries]
    _show(values, names, unranked, [folder / file.relative_to(staging) for file in files])


def country_names(result: RegionsResult) -> dict[str, str]:
    """The names of a run's countries by ISO code; InputError for a tree of the user's that no map can show."""
    names = {region.id: region.name for region in result.regions if region.level == "country"}
    unknown = [code for code in names if code not in load_countries()]
    if not names or unknown:
        reason = f"{unknown[0]!r} is not an ISO code of a country" if unknown else "it has no level 'country'"
        raise InputError(
            f"The regions of this run cannot be mapped: {reason}. Use a run of `geobias regions` without --tree."
        )
    return names


def _word_values(run: FinishedRun[RegionsResult], word: str) -> CountryValues:
    """f of the sentences that say this word of a country's people."""
    model, templates = run.result.model, run.result.settings.templates
    words = _find_words(run.result, "word", word)
    name = words[0].word
    sentence = Sentences(templates, ["…"], [name]).at(0, 0, 0)
    more = f" and {len(templates) - 1} more (mean)" if len(templates) > 1 else ""
    return CountryValues(
        f"map-word-{_slug(name)}",
        f"How likely {model.short_name} finds “{sentence}”{more}",
        f"f by {model.score}, a mean log-probability: higher is likelier to the model. {ABOUT_THE_MODEL}",
        f"f of “{name}”",
        *_mean_likelihoods(run, words),
    )


def _topic_values(run: FinishedRun[RegionsResult], topic: str) -> CountryValues:
    """The mean of f over the words of a topic."""
    model, words = run.result.model, _find_words(run.result, "topic", topic)
    name = words[0].topic
    return CountryValues(
        f"map-topic-{_slug(name)}",
        f"How likely {model.short_name} finds the {len(words)} words of “{name}” of a country's people",
        f"Mean of f by {model.score}, a mean log-probability: higher is likelier. {ABOUT_THE_MODEL}",
        f"mean f, {name}",
        *_mean_likelihoods(run, words),
    )


def _score_values(result: RegionsResult, variant: str) -> CountryValues:
    """The balanced score of each country that has at least two cities in the run."""
    if variant not in VARIANTS:
        raise InputError(f"Unknown --variant {variant!r}. {describe_choices(variant, VARIANTS)}")
    scores = [getattr(region, variant).balanced if region.pairs else None for region in result.regions]
    countries, continents = _split_levels(result, np.array(scores, dtype=float))
    if not countries:
        raise InputError(
            "The countries of this run have no bias score, because it has no cities. Run `geobias regions --cities 5`, "
            "or use --word or --topic."
        )
    label = variant.capitalize()
    return CountryValues(
        f"map-{variant}",
        f"How differently {result.model.short_name} describes each country's cities",
        f"Balanced {label} by {result.model.score}: higher means more differently. {ABOUT_THE_MODEL}",
        f"balanced {label}",
        countries,
        continents,
    )


def _find_words(result: RegionsResult, kind: str, name: str) -> list[Word]:
    """The words whose `kind`, word or topic, is this name."""
    matches = [word for word in result.words if getattr(word, kind).casefold() == name.strip().casefold()]
    if matches:
        return matches
    known = list(dict.fromkeys(getattr(word, kind) for word in result.words))
    raise InputError(f"The {kind} {name!r} is not in this run. {describe_choices(name, known)}")


def _mean_likelihoods(
    run: FinishedRun[RegionsResult], words: Sequence[Word]
) -> tuple[dict[str, float], dict[str, float]]:
    """f of countries and of continents, the mean over templates and words."""
    likelihoods, _ = read_likelihoods(run, words)
    return _split_levels(run.result, likelihoods.mean(axis=(0, 2)))


def _split_levels(result: RegionsResult, values: np.ndarray) -> tuple[dict[str, float], dict[str, float]]:
    """Of a value for each region, those of countries and of continents by their ids; what has none is left out."""
    by_level: dict[str, dict[str, float]] = {"country": {}, "continent": {}}
    for region, value in zip(result.regions, values.tolist(), strict=True):
        if region.level in by_level and not np.isnan(value):
            by_level[region.level][region.id] = value
    return by_level["country"], by_level["continent"]


def _slug(text: str) -> str:
    """A word as part of a file's name, in any script; what had to be changed gets a digest, to be told from others."""
    plain = re.sub(r"[^\w-]+", "-", text).strip("-")[:LONGEST_NAME]
    return plain if plain == text else f"{plain}-{hashlib.blake2b(text.encode(), digest_size=4).hexdigest()}".strip("-")


def _show(values: CountryValues, names: Mapping[str, str], unranked: Sequence[str], files: Sequence[Path]) -> None:
    out, numbers = console(), values.countries
    out.print(values.title, style="bold")
    out.print(values.subtitle, style="dim")
    ranked = sorted(numbers.keys() - unranked, key=lambda code: (-numbers[code], code))
    highest, lowest = ranked[:EXTREMES_SHOWN], ranked[EXTREMES_SHOWN:][: -EXTREMES_SHOWN - 1 : -1]
    for label, codes in (("Highest", highest), ("Lowest", lowest)):
        if codes:
            out.print(f"{label}: {', '.join(f'{names[code]} {digits(numbers[code])}' for code in codes)}.")
    if unranked:
        out.print(f"Not ranked (dissolved countries): {', '.join(names[code] for code in unranked)}.")
    out.print(
        f"{len(numbers)} of the run's {len(names)} countries have a value. {len(without_data(numbers))} countries of "
        "the map have none: they are hatched, or empty circles."
    )
    without_shape = [code for code in numbers if not load_countries()[code].has_shape]
    if without_shape:
        absent = [names[country.code] for country in unmapped(numbers)]
        more = f"; {len(absent)} are not on the map ({', '.join(absent)})" if absent else ""
        out.print(f"{len(without_shape)} have no outline and are drawn as circles{more}.")
    for file in files:
        out.print(str(shown(file)), soft_wrap=True)
