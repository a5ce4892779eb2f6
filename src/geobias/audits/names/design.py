"""The design of a names audit: which texts, who is renamed in them, from which countries, and how models are prompted.

After Barriere and Cifuentes 2024.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from geobias.audits.doubts import doubt_finder, doubt_names, refuse_unread
from geobias.audits.inputs import (
    MOST_DRAWS,
    NobodyNamedError,
    TextsSettings,
    choose_countries,
    describe_copies,
    digest_mentions,
    load_texts,
    rename_people,
)
from geobias.audits.names.result import FinderSpans, NamesCounts, NamesSettings
from geobias.checks import HIGHEST_SEED, check_number, check_probability, describe_choices, split_list
from geobias.errors import InputError
from geobias.measures.crossed_variance import FEWEST_ANSWERS, FEWEST_DRAWS, FEWEST_TEXTS
from geobias.models.answers import Prompt
from geobias.models.finders import EMBEDDED_FINDER, load_entity_finder, load_finder
from geobias.models.functions import function_name
from geobias.models.kinds import read_model_object
from geobias.models.scorer import Scorer
from geobias.report.findings import LanguageDoubt
from geobias.texts.counterfactuals import Counterfactuals
from geobias.texts.doubtful_spans import REASONS, DoubtfulSpan, sort_spans
from geobias.texts.people import Span, find_people
from geobias.texts.user_texts import Spans, Texts, find_first_copies
from geobias.world.gazetteer import Gazetteer, load_gazetteer, read_gazetteer

MOST_EXAMPLES = 3  # doubtful names for each reason


@dataclass(frozen=True)
class SortedSpans:
    """The clear and the doubtful spans of every text."""

    clear: list[list[Span]]
    doubtful: list[list[DoubtfulSpan]]

    @classmethod
    def sort(cls, texts: Sequence[str], spans: Sequence[Sequence[Span]], gazetteer: Gazetteer) -> SortedSpans:
        pairs = [sort_spans(text, text_spans, gazetteer) for text, text_spans in zip(texts, spans, strict=True)]
        return cls([clear for clear, _ in pairs], [doubtful for _, doubtful in pairs])

    def merge(self) -> list[list[Span]]:
        """The clear and the doubtful spans of every text together."""
        return [
            sorted([*clear, *((span.start, span.end) for span in doubtful)])
            for clear, doubtful in zip(self.clear, self.doubtful, strict=True)
        ]

    def summarise(self, texts: Sequence[str]) -> FinderSpans:
        names: dict[str, Counter[str]] = {reason: Counter() for reason in REASONS}
        for text, spans in zip(texts, self.doubtful, strict=True):
            for span in spans:
                names[span.reason][text[span.start : span.end]] += 1
        by_reason = {reason: counter.total() for reason, counter in names.items() if counter}
        doubtful = sum(by_reason.values())
        return FinderSpans(
            total=sum(map(len, self.clear)) + doubtful,
            doubtful=doubtful,
            doubtful_by_reason=by_reason,
            examples={reason: [name for name, _ in names[reason].most_common(MOST_EXAMPLES)] for reason in by_reason},
        )


@dataclass(frozen=True, kw_only=True)
class NamesDesign:
    """What is the same for every classifier, and how its answers are read."""

    texts: Texts = field(repr=False)
    rows: Sequence[int] = field(repr=False)  # of the texts among those that were read, copies included
    named: np.ndarray = field(repr=False)  # positions of the texts that name somebody
    counterfactuals: Counterfactuals = field(repr=False)
    countries_left_out: tuple[str, ...]  # codes of those with too few names
    finder: str
    finder_spans: SortedSpans | None = field(repr=False)  # None: spans of the user
    doubtful: str
    scripts: str
    names_are: str
    language_doubts: list[LanguageDoubt]
    positive: list[str]
    negative: list[str]
    threshold: float | None
    prompt: Prompt | None  # for language models among the classifiers
    perplexity: Any
    perplexity_draws: int

    @property
    def seed(self) -> int:
        return self.counterfactuals.seed

    def settings_for(self, classifiers: Sequence[str]) -> NamesSettings:
        counterfactuals = self.counterfactuals
        return NamesSettings(
            texts=TextsSettings.describe(self.texts),
            finder=self.finder,
            doubtful=None if self.finder_spans is None else self.doubtful,
            mentions=digest_mentions(counterfactuals.people),
            countries=list(counterfactuals.countries),
            draws=counterfactuals.draws,
            seed=self.seed,
            scripts=self.scripts,
            names=counterfactuals.gazetteer.digest,
            positive=self.positive or "by name",
            negative=self.negative or "by name",
            threshold=self.threshold,
            perplexity=_name_model(self.perplexity),
            perplexity_draws=self.perplexity_draws,
            names_are=self.names_are,
            prompt=self.prompt.settings if self.prompt else None,
            classifiers=list(classifiers),
        )

    def count(self) -> NamesCounts:
        counterfactuals, spans = self.counterfactuals, self.finder_spans
        persons = [person for row in counterfactuals.people for person in row]
        return NamesCounts.count(
            self.texts,
            texts_with_names=len(self.named),
            people=len(persons),
            mentions=sum(len(person.mentions) for person in persons),
            draws=counterfactuals.draws,
            countries=len(counterfactuals.countries),
            finder_spans=None if spans is None else spans.summarise(self.texts.texts),
            countries_left_out=[counterfactuals.gazetteer.country(code) for code in self.countries_left_out],
        )


def design_names(
    texts: Any,
    *,
    column: str,
    spans: str | None,
    label: str | None,
    subsets: str | Sequence[str],
    limit: int | None,
    finder: str | None,
    doubtful: str,
    countries: str | Sequence[str] | None,
    draws: int,
    seed: int,
    scripts: str,
    gazetteer: str | Path | None,
    names: str,
    positive: str | Sequence[str],
    negative: str | Sequence[str],
    threshold: float | None,
    prompt: Prompt | None,
    perplexity: Any,
    perplexity_draws: int,
    device: str,
) -> NamesDesign:
    """Resolve the options into texts, people and countries; raise InputError for what is wrong with them.

    The finder reads the texts here, on `device`; no classifier is scored.
    """
    _check_choice("doubtful", doubtful, ("drop", "keep"))
    _check_choice("names", names, ("random", "fixed"))
    check_number("--draws", draws, 1, MOST_DRAWS)
    check_number("--seed", seed, 0, HIGHEST_SEED)
    check_number("perplexity_draws", perplexity_draws, 1, MOST_DRAWS)
    check_probability("threshold", threshold)
    if isinstance(perplexity, str) and not perplexity.strip():
        raise InputError("--perplexity is empty. Name a language model, or remove it.")
    perplexity = read_model_object(perplexity)
    lists = load_gazetteer(scripts) if gazetteer is None else read_gazetteer(Path(gazetteer), scripts)
    codes, left_out = choose_countries(lists, countries)
    texts = load_texts(texts, column=column, spans=spans, label=label, subsets=subsets, limit=limit)
    texts, rows, given, doubts = _find_spans(texts, finder, device)
    finder_spans = None
    if texts.spans is None:  # those that the user gave are never doubtful
        finder_spans = SortedSpans.sort(texts.texts, given, lists)
        given = [tuple(row) for row in (finder_spans.clear if doubtful == "drop" else finder_spans.merge())]
    people = [find_people(text, row, lists) for text, row in zip(texts.texts, given, strict=True)]
    named, counterfactuals = rename_people(texts, people, lists, codes, draws=draws, seed=seed)
    if not len(named):
        refuse_unread(texts, doubts, most=0)
        has_doubtful = finder_spans is not None and any(finder_spans.doubtful)
        raise NobodyNamedError(
            f"None of the {len(texts)} texts{describe_copies(len(texts), texts.copies)} of {texts.source} names a "
            f"person.{' All spans are doubtful: check them with --preview.' if has_doubtful else ''}"
        )
    return NamesDesign(
        texts=texts,
        rows=rows,
        named=named,
        counterfactuals=counterfactuals,
        countries_left_out=left_out,
        finder=finder or EMBEDDED_FINDER if texts.spans is None else "given spans",
        finder_spans=finder_spans,
        doubtful=doubtful,
        scripts=scripts,
        names_are=names,
        language_doubts=[*doubts, *doubt_names(counterfactuals)],
        positive=split_list(positive, "--positive"),
        negative=split_list(negative, "--negative"),
        threshold=threshold,
        prompt=prompt,
        perplexity=perplexity,
        perplexity_draws=perplexity_draws,
    )


def _check_choice(option: str, value: str, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise InputError(f"Unknown {option} {value!r}. {describe_choices(value, allowed)}")


def _find_spans(
    texts: Texts, name: str | None, device: str
) -> tuple[Texts, Sequence[int], Sequence[Spans], list[LanguageDoubt]]:
    """The distinct texts and their rows, their spans, and whether the finder reads their language."""
    if name is not None and not name.strip():
        raise InputError("--finder is empty. Name a finder, or remove it.")
    if name is not None and texts.spans is not None:
        raise InputError("The texts have their own spans. Remove --finder or --spans.")
    spans, doubts = texts.spans, list[LanguageDoubt]()
    if spans is None:
        finder = load_entity_finder(name or EMBEDDED_FINDER, device=device)
        doubts = doubt_finder(texts.texts, finder)
        if name is None:
            refuse_unread(texts, doubts)
        spans = tuple(map(tuple, load_finder(finder)(texts.texts)))
    rows = find_first_copies(texts.texts, spans)
    return texts.drop_copies(rows), rows, [spans[row] for row in rows], doubts


def _name_model(model: Any) -> str | None:
    if model is None or isinstance(model, str | Path):
        return None if model is None else str(model)
    if callable(model) and not isinstance(model, Scorer):
        return function_name(model)
    return str(getattr(model, "name", None) or type(model).__name__)


class MissingData(NamedTuple):
    """Why a design gives no interval, and the options that would."""

    reason: str
    remedy: str
    options: str
    alternative: str = ""


def explain_missing_data(texts: int, countries: int, draws: int, *, names_fixed: bool) -> MissingData | None:
    """For a design too small to be tested; None for all others."""
    if countries < 2:
        return MissingData("one country has no mean of countries to differ from", "Add countries", "--countries all")
    if texts < FEWEST_TEXTS:
        reason = f"tests need at least {FEWEST_TEXTS} texts that name somebody, and there are {texts}"
        return MissingData(reason, "Use more texts", "--texts FILE")
    if not names_fixed and draws < FEWEST_DRAWS:
        reason = "with one draw per text, the effect of a name cannot be separated from that of its text"
        return MissingData(reason, "Draw more names", "--draws 50", " (or names='fixed' from Python)")
    if not names_fixed and texts * draws < FEWEST_ANSWERS:
        reason = f"tests need at least {FEWEST_ANSWERS} renamed texts per country, and there are {texts * draws}"
        return MissingData(reason, "Draw more names", f"--draws {-(-FEWEST_ANSWERS // texts)}")
    return None
