"""A model with its deciders, and the runner that puts questions to it."""

from __future__ import annotations

from dataclasses import dataclass, field

from geobias.engine.ask import ask
from geobias.models.answers import Decider, Decisions
from geobias.models.scorer import ModelIdentity
from geobias.texts.scenarios import YES_NO
from geobias.texts.templates import LazyTexts


@dataclass(frozen=True)
class DecidingModel:
    """A model with its deciders for each kind of question."""

    deciders: dict[str, Decider]
    notes: tuple[str, ...] = ()  # kinds of questions that it cannot answer

    @property
    def fast_parts(self) -> tuple[str, ...]:
        return self.deciders[YES_NO].fast_parts

    def identity(self) -> ModelIdentity:
        return self.deciders[YES_NO].identity()


@dataclass
class QuestionRunner:
    """Puts questions to one model, and counts them."""

    model: DecidingModel
    label: str
    progress: bool | None
    texts: int = 0
    distinct: int = 0
    cut: int = 0
    scored: int = 0
    sampled: bool = False
    notes: list[str] = field(default_factory=list)

    def ask(self, kind: str, texts: LazyTexts) -> Decisions:
        decider = self.model.deciders[kind]
        answers = ask(decider, texts, label=self.label, progress=self.progress)
        self.texts += len(texts)
        self.distinct += answers.distinct
        self.cut += answers.cut
        self.scored += answers.scored
        decisions = Decisions(decider.answers, answers.scores)
        self.sampled |= bool((decisions.samples > 1).any())
        return decisions
