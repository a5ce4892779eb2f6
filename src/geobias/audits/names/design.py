"""The design of a names audit: which texts, who is renamed in them, from which countries, and how models are asked.

After Barriere and Cifuentes 2024.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from geobias.audits.inputs import TextsSettings, load_texts, split_list
from geobias.audits.names.result import NamesSettings
from geobias.checks import HIGHEST_SEED, MOST_ROWS, check_number, check_probability, check_size
from geobias.errors import InputError
from geobias.models.classifiers.prompted import Prompt, read_prompt_options
from geobias.models.entity_finders import EMBEDDED_FINDER, load_finder
from geobias.models.functions import function_name
from geobias.models.scorer import Scorer
from geobias.texts.counterfactuals import Counterfactuals
from geobias.texts.people import Person, find_people, find_places
from geobias.texts.user_texts import Texts
from geobias.world.gazetteer import (
    ENOUGH,
    PAPER_COUNTRIES,
    Gazetteer,
    load_city_gazetteer,
    load_gazetteer,
    read_gazetteer,
)

ENTITIES = ("person", "place")
PERPLEXITIES = ("pll", "pll-word")
FORMS = ("mean", "sum")
NAMES_ARE = ("random", "fixed")
MOST_DRAWS = 10_000


@dataclass(frozen=True, kw_only=True)
class NamesDesign:
    """What every classifier is asked alike, and how its answers are read."""

    texts: Texts = field(repr=False)
    named: np.ndarray = field(repr=False)  # positions of the texts that name somebody
    counterfactuals: Counterfactuals = field(repr=False)
    countries_left_out: tuple[str, ...]  # codes of those with too few names
    finder: str
    entity: str
    scripts: str
    positive: tuple[str, ...] = ()  # labels; without any they are known by their names
    negative: tuple[str, ...] = ()
    threshold: float | None = None
    prompt: Prompt | None = None  # how language models among the classifiers are asked for a label
    lm: Any = None  # name of a language model, or a loaded one; None: the base model of each classifier
    perplexity: str | None = None  # pll or pll-word of a masked LM; None: what fits the kind of model
    perplexity_form: str = "mean"
    perplexity_draws: int = 5
    perplexity_texts: int | None = None  # how many of the texts that name somebody; None: all
    names_are: str = "random"

    @property
    def names_fixed(self) -> bool:
        """Whether intervals and tests take the names as they are, and not as a sample of more."""
        return self.names_are == "fixed"

    def settings_for(self, classifiers: Sequence[str]) -> NamesSettings:
        counterfactuals = self.counterfactuals
        return NamesSettings(
            texts=TextsSettings.describe(self.texts),
            finder=self.finder,
            mentions=_digest_mentions(counterfactuals.people),
            entity=self.entity,
            countries=list(counterfactuals.countries),
            draws=counterfactuals.draws,
            seed=counterfactuals.seed,
            scripts=self.scripts,
            names=counterfactuals.gazetteer.digest,
            positive=list(self.positive) or "by name",
            negative=list(self.negative) or "by name",
            threshold=self.threshold,
            lm=_model_name(self.lm),
            perplexity=self.perplexity or "by kind of model",
            perplexity_form=self.perplexity_form,
            perplexity_draws=self.perplexity_draws,
            perplexity_texts=self.perplexity_texts or "all",
            names_are=self.names_are,
            prompt=self.prompt.settings if self.prompt else None,
            classifiers=list(classifiers),
        )


def design_names(
    *,
    texts: Any = None,
    column: str = "text",
    spans: str | None = None,
    label: str | None = None,
    subsets: str | Sequence[str] = (),
    limit: int | None = None,
    finder: str | None = None,
    entity: str = "person",
    countries: str | Sequence[str] | None = None,
    draws: int = 50,
    seed: int = 0,
    scripts: str = "latin",
    gazetteer: str | Path | None = None,
    names: str = "random",
    positive: str | Sequence[str] = (),
    negative: str | Sequence[str] = (),
    threshold: float | None = None,
    labels: str | None = None,
    prompt: str | None = None,
    calibrate: bool = False,
    lm: Any = None,
    perplexity: str | None = None,
    perplexity_form: str = "mean",
    perplexity_draws: int = 5,
    perplexity_texts: int | None = None,
    device: str = "auto",
) -> NamesDesign:
    """Resolve the options into texts, people and countries; raise InputError for what is wrong with them.

    The finder reads the texts here, on `device`; no classifier is asked.
    """
    _check_choice("--entity", entity, ENTITIES)
    _check_choice("--perplexity-form", perplexity_form, FORMS)
    _check_choice("--names", names, NAMES_ARE)
    if perplexity not in (None, *PERPLEXITIES):
        raise InputError(f"Unknown perplexity {perplexity!r}: choose {' or '.join(PERPLEXITIES)}.")
    check_number("--draws", draws, 1, MOST_DRAWS)
    check_number("--seed", seed, 0, HIGHEST_SEED)
    check_number("--perplexity-draws", perplexity_draws, 0, MOST_DRAWS)
    if perplexity_texts is not None:
        check_number("--perplexity-texts", perplexity_texts, 1, MOST_ROWS)
    check_probability("--threshold", threshold)
    if finder is not None and not finder.strip():
        raise InputError("--finder is empty: leave it out, or name one.")
    if isinstance(lm, str) and not lm.strip():
        raise InputError("--lm is empty: leave it out, or name a language model.")
    label_prompt = read_prompt_options(labels, prompt, calibrate)
    name_lists = _choose_gazetteer(entity, gazetteer, scripts)
    codes, left_out = _choose_countries(name_lists, countries)
    source = load_texts(texts, column=column, spans=spans, label=label, subsets=subsets, limit=limit, entity=entity)
    if finder is not None and source.spans is not None:
        raise InputError("The texts bring spans of their own: leave out --finder, or --spans.")
    finder = finder or EMBEDDED_FINDER
    persons = _find_people(source, finder, entity, name_lists, device)
    named = np.flatnonzero([bool(row) for row in persons])
    if not len(named):
        raise InputError(f"No {entity} was found in any of the {len(source)} texts of {source.source}.")
    check_size(len(named) * len(codes) * draws, "renamed texts", "use fewer --draws, --countries or texts (--limit)")
    counterfactuals = Counterfactuals(
        [source.texts[i] for i in named], [persons[i] for i in named], name_lists, codes, draws=draws, seed=seed
    )
    return NamesDesign(
        texts=source,
        named=named,
        counterfactuals=counterfactuals,
        countries_left_out=left_out,
        finder=finder if source.spans is None else "given spans",
        entity=entity,
        scripts=scripts,
        positive=tuple(split_list(positive, "--positive")),
        negative=tuple(split_list(negative, "--negative")),
        threshold=threshold,
        prompt=label_prompt,
        lm=lm,
        perplexity=perplexity,
        perplexity_form=perplexity_form,
        perplexity_draws=perplexity_draws,
        perplexity_texts=perplexity_texts,
        names_are=names,
    )


def _check_choice(option: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        raise InputError(f"{option} is {' or '.join(choices)}, not {value!r}.")


def _find_people(
    texts: Texts, finder: str, entity: str, name_lists: Gazetteer, device: str
) -> list[tuple[Person, ...]]:
    """The people (or places) of every text, by the spans that the texts bring or by the finder."""
    spans = texts.spans
    if spans is None:
        spans = tuple(map(tuple, load_finder(finder, entity=entity, device=device)(texts.texts)))
    if entity == "place":
        return [find_places(text, row) for text, row in zip(texts.texts, spans, strict=True)]
    return [find_people(text, row, name_lists) for text, row in zip(texts.texts, spans, strict=True)]


def _choose_gazetteer(entity: str, file: str | Path | None, scripts: str) -> Gazetteer:
    if entity == "place":
        if file is not None:
            raise InputError("--gazetteer is a list of people's names: leave it out with --entity place.")
        return load_city_gazetteer(scripts)
    return load_gazetteer(scripts) if file is None else read_gazetteer(Path(file), scripts)


def _choose_countries(
    name_lists: Gazetteer, names: str | Sequence[str] | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The codes of the countries to draw names from, and of those that "all" leaves out for lack of names."""
    if names == "all" or (names is None and not set(PAPER_COUNTRIES) <= set(name_lists.codes)):
        left_out = tuple(code for code in name_lists.codes if name_lists.find_short_lists(code))
        codes = tuple(code for code in name_lists.codes if code not in left_out)
        if not codes:
            raise InputError(f"No country has {ENOUGH} names of every kind ({', '.join(name_lists.kinds)}).")
        return codes, left_out
    codes = PAPER_COUNTRIES
    if names is not None:
        codes = tuple(dict.fromkeys(name_lists.find(name.strip()) for name in split_list(names, "--countries")))
    if not codes:
        raise InputError("--countries is empty: leave it out, or name at least one.")
    for code in codes:
        for kind, count in name_lists.find_short_lists(code):
            raise InputError(
                f"{name_lists.country(code)} has {count} {kind} names in this script, and {ENOUGH} are needed: leave "
                "it out, or try --scripts all."
            )
    return codes, ()


def _digest_mentions(people_by_text: Sequence[Sequence[Person]]) -> str:
    """What tells apart two ways of finding names in the same texts."""
    spans = [
        [(mention.start, mention.end) for person in persons for mention in person.mentions]
        for persons in people_by_text
    ]
    return hashlib.blake2b(json.dumps(spans).encode(), digest_size=16).hexdigest()


def _model_name(model: Any) -> str | None:
    if model is None or isinstance(model, str | Path):
        return None if model is None else str(model)
    if callable(model) and not isinstance(model, Scorer):
        return function_name(model)
    return str(getattr(model, "name", None) or type(model).__name__)
