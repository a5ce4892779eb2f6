"""How finders are run on the renamed texts, and how long that takes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, product
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from geobias.audits.find.answers import FinderAnswers, Outcome, judge_mentions, judge_predictions
from geobias.audits.find.design import CASES, FindDesign
from geobias.audits.find.gate_and_card import describe_power
from geobias.audits.find.measure import measure_finders
from geobias.audits.find.measure_shares import RenamedShares
from geobias.audits.find.result import FindResult, FindSettings
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

TEXTS_AT_ONCE = 2000
Item = TypeVar("Item")


def list_finders(finders: Any) -> tuple[list[str | EntityFinder], bool]:
    """One finder or several, and whether the bundled one is among them; a name is loaded when the study runs."""
    several = finders if isinstance(finders, list | tuple) else [finders]
    entries = [str(finder) if isinstance(finder, str | Path) else load_entity_finder(finder) for finder in several]
    names = [finder if isinstance(finder, str) else finder.name for finder in entries]
    if not names or len(set(names)) < len(names):
        raise InputError(f"Pass at least one finder, each with a different name, not: {', '.join(names) or 'none'}.")
    return entries, EMBEDDED_FINDER in names


class RenamedText(NamedTuple):
    """A renamed text, the numbers of its text, country and draw, and where its names stand."""

    position: tuple[int, int, int]
    text: str
    spans: list[Span]


class FindStudy(Study[EntityFinder, tuple[FinderAnswers, ...], FindResult]):
    """The same renamed texts, read by every finder."""

    audit = "find"

    def __init__(self, design: FindDesign, finders: Sequence[str | EntityFinder], options: RunOptions) -> None:
        super().__init__(options)
        self.design, self.finders = design, finders

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
                else describe_power(finder.name, difference)
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
        first = self.design.first_mentions
        outcomes = np.zeros((first[-1], len(self.design.counterfactuals.countries), draws), dtype=np.int8)
        for batch in _split_batches(self._render_texts(case, draws)):
            answers = finder.find([renamed.text for renamed in batch])
            for renamed, entities in zip(batch, answers, strict=True):
                text, country, draw = renamed.position
                outcomes[first[text] : first[text + 1], country, draw] = judge_mentions(
                    renamed.text, renamed.spans, entities
                )
            advance(len(batch))
        return outcomes

    def _render_texts(self, case: str | None, draws: int) -> Iterator[RenamedText]:
        counterfactuals = self.design.counterfactuals
        texts, countries, _ = counterfactuals.shape
        for text, country, draw in product(range(texts), range(countries), range(draws)):
            yield RenamedText((text, country, draw), *counterfactuals.render(text, country, draw, case))


def _split_batches(items: Iterable[Item]) -> Iterator[list[Item]]:
    remaining = iter(items)
    while batch := list(islice(remaining, TEXTS_AT_ONCE)):
        yield batch
