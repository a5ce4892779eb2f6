"""The design of a names audit: which texts, who is renamed in them, from which countries, and how models are prompted.

After Barriere and Cifuentes 2024.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from geobias.audits.inputs import TextsSettings, describe_copies, load_texts, split_list
from geobias.audits.languages import doubt_finder, doubt_names, refuse_unread
from geobias.audits.names.finder_spans import SortedSpans
from geobias.audits.names.result import NamesSettings
from geobias.audits.names.scripts import rename_in_own_script
from geobias.audits.renaming import (
    MOST_DRAWS,
    NobodyNamedError,
    choose_countries,
    digest_mentions,
    rename_people,
)
from geobias.checks import HIGHEST_SEED, check_number, check_probability, describe_choices
from geobias.errors import InputError
from geobias.models.answers import Prompt, read_prompt_options
from geobias.models.finders import EMBEDDED_FINDER, load_entity_finder, load_finder
from geobias.models.functions import function_name
from geobias.models.kinds import read_model_object
from geobias.models.scorer import Scorer
from geobias.report.findings import LanguageDoubt
from geobias.texts.counterfactuals import Counterfactuals
from geobias.texts.people import Person, find_people
from geobias.texts.user_texts import Spans, Texts, find_first_copies
from geobias.world.gazetteer import Gazetteer, load_gazetteer, read_gazetteer


@dataclass(frozen=True, kw_only=True)
class NamesOptions:
    """The options of `audit_names`, as the user gives them."""

    texts: Any = None
    column: str = "text"
    spans: str | None = None
    label: str | None = None
    subsets: str | Sequence[str] = ()
    limit: int | None = None
    finder: str | None = None
    doubtful: str = "drop"
    countries: str | Sequence[str] | None = None
    draws: int = 50
    seed: int = 0
    scripts: str = "latin"
    gazetteer: str | Path | None = None
    names: str = "random"
    positive: str | Sequence[str] = ()  # labels; without any they are known by their names
    negative: str | Sequence[str] = ()
    threshold: float | None = None
    labels: str | None = None
    prompt: str | None = None
    calibrate: bool = False
    perplexity: Any = None  # name of a language model, or a loaded one; None: no perplexities
    perplexity_draws: int = 5


@dataclass(frozen=True)
class NamesDesign:
    """What is the same for every classifier, and how its answers are read."""

    options: NamesOptions = field(repr=False)
    texts: Texts = field(repr=False)
    rows: Sequence[int] = field(repr=False)  # of the texts among those that were read, copies included
    named: np.ndarray = field(repr=False)  # positions of the texts that name somebody
    counterfactuals: Counterfactuals = field(repr=False)
    countries_left_out: tuple[str, ...]  # codes of those with too few names
    finder: str
    finder_spans: SortedSpans | None = field(repr=False)  # None: spans of the user
    language_doubts: list[LanguageDoubt]
    positive: list[str]
    negative: list[str]
    prompt: Prompt | None  # for language models among the classifiers
    own_scripts: Counterfactuals | None = field(default=None, repr=False)  # of countries with names in both scripts

    def settings_for(self, classifiers: Sequence[str]) -> NamesSettings:
        options, counterfactuals = self.options, self.counterfactuals
        return NamesSettings(
            texts=TextsSettings.describe(self.texts),
            finder=self.finder,
            doubtful=None if self.finder_spans is None else options.doubtful,
            mentions=digest_mentions(counterfactuals.people),
            countries=list(counterfactuals.countries),
            draws=options.draws,
            seed=options.seed,
            scripts=options.scripts,
            names=counterfactuals.gazetteer.digest,
            positive=self.positive or "by name",
            negative=self.negative or "by name",
            threshold=options.threshold,
            perplexity=_model_name(options.perplexity),
            perplexity_draws=options.perplexity_draws,
            names_are=options.names,
            prompt=self.prompt.settings if self.prompt else None,
            classifiers=list(classifiers),
        )


def design_names(options: NamesOptions, device: str = "auto") -> NamesDesign:
    """Resolve the options into texts, people and countries; raise InputError for what is wrong with them.

    The finder reads the texts here, on `device`; no classifier is scored.
    """
    _check_options(options)
    options = replace(options, perplexity=read_model_object(options.perplexity))
    finder = options.finder or EMBEDDED_FINDER
    prompt = read_prompt_options(options.labels, options.prompt, options.calibrate)
    file, scripts = options.gazetteer, options.scripts
    gazetteer = load_gazetteer(scripts) if file is None else read_gazetteer(Path(file), scripts)
    codes, left_out = choose_countries(gazetteer, options.countries)
    texts = load_texts(
        options.texts,
        column=options.column,
        spans=options.spans,
        label=options.label,
        subsets=options.subsets,
        limit=options.limit,
    )
    if options.finder is not None and texts.spans is not None:
        raise InputError("The texts have their own spans. Remove --finder or --spans.")
    spans, doubts = texts.spans, list[LanguageDoubt]()
    if spans is None:
        spans, doubts = _find_spans(texts, options, device)
    rows = find_first_copies(texts.texts, spans)
    texts, spans = texts.drop_copies(rows), tuple(spans[row] for row in rows)
    people, finder_spans = _find_people(texts, spans, options, gazetteer)
    named, counterfactuals = rename_people(texts, people, gazetteer, codes, draws=options.draws, seed=options.seed)
    if not len(named):
        refuse_unread(texts, doubts, most=0)
        copies = describe_copies(len(texts), texts.copies)
        raise NobodyNamedError(
            f"None of the {len(texts)} texts{copies} of {texts.source} names a person."
            + (" All spans are doubtful: check them with --preview." if _has_doubtful(finder_spans) else "")
        )
    own_scripts = rename_in_own_script(counterfactuals) if options.scripts == "latin" else None
    return NamesDesign(
        options,
        texts,
        rows,
        named,
        counterfactuals,
        countries_left_out=left_out,
        finder=finder if texts.spans is None else "given spans",
        finder_spans=finder_spans,
        language_doubts=[*doubts, *doubt_names(counterfactuals)],
        positive=split_list(options.positive, "--positive"),
        negative=split_list(options.negative, "--negative"),
        prompt=prompt,
        own_scripts=own_scripts,
    )


def _check_options(options: NamesOptions) -> None:
    choices = {
        "doubtful": (options.doubtful, ("drop", "keep")),
        "--names": (options.names, ("random", "fixed")),
    }
    for option, (value, allowed) in choices.items():
        if value not in allowed:
            raise InputError(f"Unknown {option} {value!r}. {describe_choices(value, allowed)}")
    check_number("--draws", options.draws, 1, MOST_DRAWS)
    check_number("--seed", options.seed, 0, HIGHEST_SEED)
    check_number("perplexity_draws", options.perplexity_draws, 1, MOST_DRAWS)
    check_probability("--threshold", options.threshold)
    if options.finder is not None and not options.finder.strip():
        raise InputError("--finder is empty. Name a finder, or remove it.")
    if isinstance(options.perplexity, str) and not options.perplexity.strip():
        raise InputError("--perplexity is empty. Name a language model, or remove it.")


def _find_spans(texts: Texts, options: NamesOptions, device: str) -> tuple[tuple[Spans, ...], list[LanguageDoubt]]:
    """The spans of the finder, and whether it reads the language of the texts."""
    finder = load_entity_finder(options.finder or EMBEDDED_FINDER, device=device)
    doubts = doubt_finder(texts.texts, finder)
    if options.finder is None:
        refuse_unread(texts, doubts)
    return tuple(map(tuple, load_finder(finder)(texts.texts))), doubts


def _find_people(
    texts: Texts, spans: Sequence[Spans], options: NamesOptions, gazetteer: Gazetteer
) -> tuple[list[tuple[Person, ...]], SortedSpans | None]:
    """The people of every text by its spans, and the finder's spans; those that the user gave are never doubtful."""
    finder_spans = None
    if texts.spans is None:
        finder_spans = SortedSpans.sort(texts.texts, spans, gazetteer)
        spans = [tuple(row) for row in (finder_spans.clear if options.doubtful == "drop" else finder_spans.merge())]
    return [find_people(text, row, gazetteer) for text, row in zip(texts.texts, spans, strict=True)], finder_spans


def _has_doubtful(finder_spans: SortedSpans | None) -> bool:
    return finder_spans is not None and bool(finder_spans.has_doubtful.any())


def _model_name(model: Any) -> str | None:
    if model is None or isinstance(model, str | Path):
        return None if model is None else str(model)
    if callable(model) and not isinstance(model, Scorer):
        return function_name(model)
    return str(getattr(model, "name", None) or type(model).__name__)
