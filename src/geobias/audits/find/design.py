"""What finders are asked: which marked texts, who is renamed in them, with names of which countries; and the study."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice, product
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from geobias.audits.find.answers import FinderAnswers, Outcome, judge_mentions, judge_predictions
from geobias.audits.find.measure import RenamedShares, measure_finders
from geobias.audits.find.result import FindResult, FindSettings
from geobias.audits.inputs import (
    TextsSettings,
    choose_countries,
    digest_mentions,
    drop_short_lists,
    load_texts,
    rename_people,
)
from geobias.audits.plan import PILOT_DRAWS, PILOT_TEXTS, Plan, Step
from geobias.audits.study import RunOptions, Study
from geobias.engine.answer_checks import CHECKED_TEXTS, NondeterministicModel
from geobias.errors import InputError
from geobias.models.finders import (
    EMBEDDED_FINDER,
    PERSON,
    EntityFinder,
    FunctionFinder,
    Span,
    load_entity_finder,
)
from geobias.progress import progress_bar
from geobias.texts.counterfactuals import Counterfactuals
from geobias.texts.people import Mention, find_people
from geobias.texts.user_texts import Texts, find_first_copies
from geobias.world.gazetteer import Gazetteer, load_gazetteer, read_gazetteer, select_unseen

TRAINING_PART = "btc.train"  # ids of the bundled tweets that the bundled finder learned from begin so
SAMPLE = 529  # bundled tweets that it did not learn from; they come first
CASES = ("lower", "upper")
RECASED_DRAWS = 2  # draws whose names are also read in lower and upper case
TEXTS_AT_ONCE = 2000
Item = TypeVar("Item")


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

    @cached_property
    def fewest_names(self) -> list[int]:
        """Of each country, how many different names are shown of the kind that has the fewest."""
        counterfactuals = self.counterfactuals
        return [min(counterfactuals.count_names(c).values()) for c in range(len(counterfactuals.countries))]

    def list_new_names(self, mention: MentionInText, country: int, case: str | None = None) -> list[str]:
        """What stands for a mention in each draw, as written or in another case."""
        new_names = self.counterfactuals.new_names(mention.text, country)[mention.person]
        return [mention.mention.render(new.first, new.last, case) for new in new_names]

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
    reason = f"that {EMBEDDED_FINDER} was not trained with"
    codes, short = drop_short_lists(gazetteer, codes, countries, reason, ", or audit another finder")
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


def list_finders(finders: Any) -> tuple[list[str | EntityFinder], bool]:
    """One finder or several, and whether the bundled one is among them; a name is loaded when the study runs."""
    several = finders if isinstance(finders, list | tuple) else [finders]
    entries = [str(finder) if isinstance(finder, str | Path) else load_entity_finder(finder) for finder in several]
    names = [finder if isinstance(finder, str) else finder.name for finder in entries]
    if not names or len(set(names)) < len(names):
        raise InputError(f"Pass at least one finder, each with a different name, not: {', '.join(names) or 'none'}.")
    return entries, EMBEDDED_FINDER in names


class FindStudy(Study[EntityFinder, tuple[FinderAnswers, ...], FindResult]):
    """The same renamed texts, read by every finder."""

    audit = "find"

    def __init__(self, design: FindDesign, finders: Sequence[str | EntityFinder], options: RunOptions) -> None:
        super().__init__(options, design)
        self.finders = finders

    def settings(self) -> FindSettings:
        return self.design.settings_for([finder if isinstance(finder, str) else finder.name for finder in self.finders])

    def load(self, device: str, dtype: str) -> list[EntityFinder]:
        finders = [load_entity_finder(finder, device=device) for finder in self.finders]
        for finder in finders:
            finder.require(PERSON)
        return finders

    def ask(self, scorers: Sequence[EntityFinder]) -> tuple[FinderAnswers, ...]:
        return tuple(self._ask_finder(finder) for finder in scorers)

    def measure(self, answers: tuple[FinderAnswers, ...]) -> FindResult:
        return measure_finders(self.design, answers)

    def plan(self) -> Plan:
        """How long the study takes, and how small a difference it can find, from a pilot of a few texts and draws."""
        design, shares = self.design, RenamedShares(self.design)
        pilot = FindStudy(design.take_pilot(PILOT_TEXTS, PILOT_DRAWS), self.finders, self.options)
        pilot_shares = RenamedShares(pilot.design)
        steps, effects = [], []
        for finder in self.load(self.options.device, self.options.dtype):
            began = time.perf_counter()
            outcomes = pilot._read_renamed(finder, None, pilot.design.draws, lambda count: None)
            seconds = (time.perf_counter() - began) / len(pilot.design.counterfactuals)
            again = 2 * CHECKED_TEXTS if isinstance(finder, FunctionFinder) else 0
            steps.append(Step(finder.name, design.text_count + again, seconds))
            values = pilot_shares.average_mentions(outcomes == Outcome.RECALL)
            difference = shares.detectable_difference(values, pilot_shares)
            effects.append(
                f"{finder.name}: the pilot says nothing about how small a difference could be found."
                if difference is None
                else f"{finder.name}: a country that differs from the mean by {100 * difference:.1f} percentage points "
                "is detected with 80 % power."
            )
        texts, countries, draws = design.counterfactuals.shape
        return Plan(
            f"{texts:,} texts name somebody; {countries} countries x {draws} draws.", steps, effects, keeps_scores=False
        )

    def _ask_finder(self, finder: EntityFinder) -> FinderAnswers:
        design = self.design
        with progress_bar(finder.name, design.text_count, self.options.progress) as advance:
            original, prediction_counts, correct_counts = self._read_originals(finder, advance)
            renamed = self._read_renamed(finder, None, design.draws, advance)
            recased = {case: self._read_renamed(finder, case, design.recased_draws, advance) for case in CASES}
            again = self._ask_twice(finder)
        return FinderAnswers(finder.identity(), renamed, recased, original, prediction_counts, correct_counts, again)

    def _ask_twice(self, finder: EntityFinder) -> NondeterministicModel | None:
        """Whether a function gives other answers to some renamed texts in a second call; a loaded model does not."""
        if not isinstance(finder, FunctionFinder):
            return None
        counterfactuals, rng = self.design.counterfactuals, np.random.default_rng(self.design.seed)
        places = rng.choice(len(counterfactuals), min(CHECKED_TEXTS, len(counterfactuals)), replace=False)
        positions = np.transpose(np.unravel_index(places, counterfactuals.shape)).tolist()
        texts = [counterfactuals.render(*position)[0] for position in positions]
        first, second = (list(map(sorted, finder.find(texts))) for _ in range(2))
        differing = sum(entities != again for entities, again in zip(first, second, strict=True))
        return NondeterministicModel(finder.name, len(texts), differing, 1.0) if differing else None

    def _read_originals(
        self, finder: EntityFinder, advance: Callable[[int], None]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Outcomes of the mentions as they are written; people marked in each text, and how many of them are right."""
        design, texts = self.design, self.design.texts.texts
        mentions: dict[int, list[Span]] = {}
        for mention in design.mentions:
            mentions.setdefault(int(design.named[mention.text]), []).append(mention.span)
        outcomes: list[int] = []
        predictions = []
        for rows in _split_batches(range(len(texts))):
            for row, entities in zip(rows, finder.find([texts[row] for row in rows]), strict=True):
                spans = mentions.get(row, [])
                outcomes += judge_mentions(texts[row], spans, entities)
                predictions.append(judge_predictions(texts[row], spans, entities))
            advance(len(rows))
        counts = np.array(predictions).reshape(-1, 2)
        return np.array(outcomes, dtype=np.int8), counts[:, 0], counts[:, 1]

    def _read_renamed(
        self, finder: EntityFinder, case: str | None, draws: int, advance: Callable[[int], None]
    ) -> np.ndarray:
        """mentions x countries x draws: the outcome of every mention of the renamed texts."""
        first, counterfactuals = self.design.first_mentions, self.design.counterfactuals
        texts, countries, _ = counterfactuals.shape
        outcomes = np.zeros((first[-1], countries, draws), dtype=np.int8)
        for batch in _split_batches(product(range(texts), range(countries), range(draws))):
            renamed = [counterfactuals.render(*position, case) for position in batch]
            answers = finder.find([text for text, _ in renamed])
            for (row, country, draw), (text, spans), entities in zip(batch, renamed, answers, strict=True):
                outcomes[first[row] : first[row + 1], country, draw] = judge_mentions(text, spans, entities)
            advance(len(batch))
        return outcomes


def _split_batches(items: Iterable[Item]) -> Iterator[list[Item]]:
    remaining = iter(items)
    while batch := list(islice(remaining, TEXTS_AT_ONCE)):
        yield batch
