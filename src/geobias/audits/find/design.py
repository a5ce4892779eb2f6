"""The design of an audit of finders: which marked texts, who is renamed in them, and with names of which countries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from geobias.audits.find.result import FindSettings
from geobias.audits.inputs import TextsSettings, load_texts
from geobias.audits.renaming import choose_countries, digest_mentions, rename_people
from geobias.errors import InputError
from geobias.models.finders import EMBEDDED_FINDER, Span
from geobias.texts.counterfactuals import Counterfactuals
from geobias.texts.people import Mention, find_people
from geobias.texts.user_texts import Texts, find_first_copies
from geobias.world.gazetteer import FEWEST_NAMES, Gazetteer, load_gazetteer, read_gazetteer, select_unseen

TRAINING_PART = "btc.train"  # ids of the bundled tweets that the bundled finder learned from begin so
SAMPLE = 529  # bundled tweets that it did not learn from; they come first
CASES = ("lower", "upper")
RECASED_DRAWS = 2  # draws whose names are also read in lower and upper case


@dataclass(frozen=True)
class MentionInText:
    """One mention: its text (a position among the texts that name somebody), and whose it is in that text."""

    text: int
    person: int
    mention: Mention

    @property
    def span(self) -> Span:
        return self.mention.start, self.mention.end


@dataclass(frozen=True)
class FindDesign:
    """What every finder reads alike."""

    texts: Texts = field(repr=False)
    named: np.ndarray = field(repr=False)  # positions of the texts that name somebody
    counterfactuals: Counterfactuals = field(repr=False)
    scripts: str
    seed: int
    countries_left_out: tuple[str, ...]  # codes of those with too few names
    held_out: bool  # whether names and texts of the bundled finder's training are left out

    @property
    def draws(self) -> int:
        return self.counterfactuals.draws

    @cached_property
    def mentions(self) -> list[MentionInText]:
        """Every mention, in the order of the texts and within a text by position."""
        return [
            MentionInText(i, k, mention)
            for i, persons in enumerate(self.counterfactuals.people)
            for k, mention in sorted(
                ((k, mention) for k, person in enumerate(persons) for mention in person.mentions),
                key=lambda pair: pair[1].start,
            )
        ]

    @cached_property
    def first_mentions(self) -> np.ndarray:
        """For each text that names somebody, the position of its first mention; then the number of mentions."""
        counts = np.bincount([mention.text for mention in self.mentions])
        return np.concatenate([[0], np.cumsum(counts)])

    @property
    def recased_draws(self) -> int:
        return min(RECASED_DRAWS, self.draws)

    @property
    def text_count(self) -> int:
        """How many texts each finder reads: original, renamed, and with names in other case."""
        texts, countries, draws = self.counterfactuals.shape
        return len(self.texts) + texts * countries * (draws + len(CASES) * self.recased_draws)

    def take_pilot(self, texts: int, draws: int) -> FindDesign:
        """The first draws of a few texts, evenly spread."""
        rows = np.unique(np.linspace(0, len(self.named) - 1, texts).astype(int))
        counterfactuals = self.counterfactuals.part(rows, draws)
        return replace(self, named=self.named[rows], counterfactuals=counterfactuals)

    def settings_for(self, finders: Sequence[str]) -> FindSettings:
        counterfactuals = self.counterfactuals
        return FindSettings(
            texts=TextsSettings.describe(self.texts),
            mentions=digest_mentions(counterfactuals.people),
            countries=list(counterfactuals.countries),
            draws=self.draws,
            seed=self.seed,
            scripts=self.scripts,
            names=counterfactuals.gazetteer.digest,
            held_out=self.held_out,
            finders=list(finders),
        )


def choose_names(
    file: str | Path | None, scripts: str, countries: str | Sequence[str] | None, *, held_out: bool
) -> tuple[Gazetteer, tuple[str, ...], tuple[str, ...]]:
    """The names to draw from, the codes of their countries, and those of countries with too few names."""
    gazetteer = load_gazetteer(scripts) if file is None else read_gazetteer(Path(file), scripts)
    codes, left_out = choose_countries(gazetteer, countries)
    if not held_out:
        return gazetteer, codes, left_out
    gazetteer = select_unseen(gazetteer)
    codes, short = _keep_long_lists(gazetteer, codes, countries)
    return gazetteer, codes, left_out + short


def load_marked_texts(source: Any, *, column: str, spans: str | None, limit: int | None, held_out: bool) -> Texts:
    """Distinct texts with the spans of people; of the bundled tweets those that the bundled finder did not learn."""
    if source is not None and spans is None:
        raise InputError(
            "--texts needs --spans: the column with the offsets of the people, such as [[0, 5]]. Finders are compared "
            "with these offsets."
        )
    texts = load_texts(source, column=column, spans=spans, limit=limit, sample=SAMPLE)
    if source is None and held_out:
        texts = texts.take(row for row, key in enumerate(texts.ids) if not key.startswith(TRAINING_PART))
    return texts.drop_copies(find_first_copies(texts.texts, texts.spans))


def rename_marked(
    texts: Texts, gazetteer: Gazetteer, codes: Sequence[str], *, draws: int, seed: int
) -> tuple[np.ndarray, Counterfactuals]:
    """The positions of the texts that name somebody, and their versions with names of every country."""
    assert texts.spans is not None
    people = [find_people(text, spans, gazetteer) for text, spans in zip(texts.texts, texts.spans, strict=True)]
    named, counterfactuals = rename_people(texts, people, gazetteer, codes, draws=draws, seed=seed)
    if not len(named):
        raise InputError(f"None of the {len(texts)} texts of {texts.source} has a marked person. Check --spans.")
    return named, counterfactuals


def _keep_long_lists(
    gazetteer: Gazetteer, codes: Sequence[str], names: str | Sequence[str] | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The countries with enough names that training did not use, and the others; refuse one that the user names."""
    short = {code: lists for code in codes if (lists := gazetteer.find_short_lists(code, FEWEST_NAMES))}
    if short and (names not in (None, "all") or len(short) == len(codes)):
        code, lists = next(iter(short.items()))
        kind, count = lists[0]
        raise InputError(
            f"{gazetteer.country(code)} has {count} {kind} names that {EMBEDDED_FINDER} was not trained with; "
            f"at least {FEWEST_NAMES} are needed. Remove the country from --countries, or audit another finder."
        )
    return tuple(code for code in codes if code not in short), tuple(short)
