"""How models are asked to decide: every text once, then the answers by case."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from geobias.audits.decide.answers import CaseLayout, ModelAnswers, OtherAnswers, WayAnswers, cross_names
from geobias.audits.decide.design import FEWEST_CASES, NAME, DecideDesign
from geobias.audits.decide.measure import measure_decisions
from geobias.audits.decide.result import DecideResult, DecideSettings
from geobias.audits.plan import Plan, Served, Workload, agree, timed, workload
from geobias.audits.study import RunOptions, Study
from geobias.engine.answer_checks import count_checks
from geobias.engine.ask import ask
from geobias.errors import InputError
from geobias.measures.arrays import divide
from geobias.measures.crossed_variance import FEWEST_DRAWS
from geobias.measures.decisions import average_situations, smallest_effect, summarise_countries
from geobias.models.answers import ANSWER_SETS, Decider, Decisions
from geobias.models.load import load_decider, load_weights
from geobias.models.scorer import ModelIdentity
from geobias.models.served import DEFAULT_SAMPLES
from geobias.models.sources import is_function_name
from geobias.texts.counterfactuals import GENDERS
from geobias.texts.origins import ORDERS, ScenarioTexts
from geobias.texts.scenarios import CHOICE, NUMBER, YES_NO

Put = Callable[[str, ScenarioTexts], Decisions]
LARGEST_LOG_ODDS = 20.0  # of a model that answers with probability 0 or 1
PILOT_COUNTRIES = 8


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


class DecideStudy(Study[DecidingModel, tuple[ModelAnswers, ...], DecideResult]):
    """The same scenarios, put to every model."""

    audit = "decide"

    def __init__(self, design: DecideDesign, models: Any, options: RunOptions) -> None:
        super().__init__(options, design)
        self.samples = design.settings.samples or DEFAULT_SAMPLES
        several = models if isinstance(models, list | tuple) else [models]
        self.models = [str(model) if isinstance(model, Path) else model for model in several]

    def settings(self) -> DecideSettings:
        return self.design.settings_for([_name_model(model) for model in self.models])

    def load(self, device: str, dtype: str) -> list[DecidingModel]:
        models = []
        for model in self.models:
            if isinstance(model, Served):
                print(
                    "A server that returns log-probabilities of chats is called once for each question. If it returns "
                    f"none, each is sent {self.samples} times (--samples): calls are counted at most.",
                    file=sys.stderr,
                )
                agree(model, self.workload(model))
            models.append(self._load_model(model, device, dtype))
        return models

    def ask(self, scorers: Sequence[DecidingModel]) -> tuple[ModelAnswers, ...]:
        return tuple(map(self._ask_model, scorers))

    def measure(self, answers: tuple[ModelAnswers, ...]) -> DecideResult:
        return measure_decisions(self.design, answers)

    def _load_model(self, model: Any, device: str, dtype: str) -> DecidingModel:
        if isinstance(model, DecidingModel):
            return model
        begin = ""
        if isinstance(model, Served):
            model, begin = model.endpoint(), model.begin
        elif isinstance(model, str) and not is_function_name(model):
            model = load_weights(model, device=device, dtype=dtype)  # once for all kinds of questions
        deciders, notes = {}, []
        for kind, answers in ANSWER_SETS.items():
            if self.design.of_kind(kind):
                try:
                    deciders[kind] = load_decider(
                        model,
                        answers,
                        system=self.design.settings.system,
                        samples=self.design.settings.samples,
                        begin=begin,
                        device=device,
                        dtype=dtype,
                    )
                except InputError as error:
                    if kind == YES_NO:
                        raise
                    notes.append(f"It was not asked questions of the kind {kind}: {error}")
        return DecidingModel(deciders, tuple(notes))

    def _ask_model(self, model: DecidingModel) -> ModelAnswers:
        design, identity, counts = self.design, model.identity(), list[list[int]]()

        def put(kind: str, texts: ScenarioTexts) -> Decisions:
            answers = ask(model.deciders[kind], texts, label=identity.name, progress=self.options.progress)
            decisions = Decisions(model.deciders[kind].answers, answers.scores)
            is_sampled = bool((decisions.samples > 1).any())
            counts.append([len(texts), answers.cut, answers.scored, is_sampled])
            return decisions

        ways = tuple(self._ask_way(put, way) for way in design.ways)
        praised, blamed = (_ask_without_origin(put, texts) for texts in design.merit_texts())
        kinds = {scenario.kind for scenario in design.scenarios} & model.deciders.keys()
        numbers: OtherAnswers | None = None
        notes = [*model.notes]
        if NUMBER in kinds:
            texts = design.number_texts()
            numbers = self._make_others(texts, put(NUMBER, texts).expected_number.reshape(texts.shape))
            is_missing = (numbers.layout.counted[:, None] & np.isnan(numbers.values)).any(axis=(1, 2))
            if is_missing.any():
                notes.append(
                    f"It answered {is_missing.sum():,} of {len(is_missing):,} questions for a number with no number "
                    "for some people; these answers are left out."
                )
        choices, order = self._ask_choices(put) if CHOICE in kinds else (None, None)
        fewest = FEWEST_DRAWS * len(GENDERS)
        if NAME in design.ways and design.settings.draws < fewest:
            notes.append(f"Intervals by gender need at least two draws of each: --draws {fewest}.")
        decisions, cut, scored, sampled = map(sum, zip(*counts, strict=True))
        return ModelAnswers(
            model=identity,
            ways=ways,
            merit=praised - blamed,
            numbers=numbers,
            choices=choices,
            order=order,
            decisions=decisions,
            cut=cut,
            scored=scored,
            sampled=bool(sampled),
            notes=tuple(notes),
        )

    def _ask_way(self, put: Put, way: str) -> WayAnswers:
        """Yes/no questions about people of every country, and the controls."""
        texts, real = self.design.texts(way), len(self.design.countries)
        layout, decisions = CaseLayout(texts), put(YES_NO, texts)
        refusals = decisions.refusals / np.maximum(decisions.samples, 1)
        numbers = read_log_odds(decisions), decisions.shares[:, 0], decisions.answered, refusals
        yes, shares, answered, refusals = (layout.arrange(each.reshape(texts.shape)) for each in numbers)
        return WayAnswers(
            origin=way,
            layout=layout,
            shown=self.design.show_names(texts, layout),
            yes=yes[:, :real],
            shares=shares[:, :real],
            answered=answered[:, :real],
            refusals=refusals[:, :real] if (decisions.samples > 0).any() else None,
            invented=yes[:, real:-1] if yes.shape[1] > real + 1 else None,
            no_origin=yes[:, -1:],
        )

    def _ask_choices(self, put: Put) -> tuple[OtherAnswers, np.ndarray]:
        """The log-odds of being chosen in both orders; and, of each case, those of the first of two equal people."""
        against, same = self.design.choice_texts()
        in_order, first = (
            read_log_odds(put(CHOICE, texts)).reshape(*texts.shape[:2], -1, ORDERS) for texts in (against, same)
        )
        first = CaseLayout(same).arrange(first[..., 0])
        order = divide(np.nansum(first, axis=(1, 2)), (~np.isnan(first)).sum(axis=(1, 2)))
        return self._make_others(against, (in_order[..., 0] - in_order[..., 1]) / 2), order

    def _make_others(self, texts: ScenarioTexts, values: np.ndarray) -> OtherAnswers:
        """Numbers or choices with the names that they show, signed so that higher is better for the person."""
        layout = CaseLayout(texts)
        shown = self.design.show_names(texts, layout)
        return OtherAnswers(layout, shown, layout.arrange(values) * layout.favours[:, None])

    def plan(self) -> Plan:
        """How long the study takes, and how small an effect it can find; for a served model, what would be sent."""
        served = [model for model in self.models if isinstance(model, Served)]
        if served:
            return Plan.of_served(self.workload(served[0]))
        models = self.load(self.options.device, self.options.dtype)
        design, blocks = self.design, [self.design.texts(way) for way in self.design.ways]
        others = sum(len(texts) for _, texts in self.design.list_questions()) - sum(map(len, blocks))
        others += sum(map(len, blocks[1:]))
        steps = []
        for model in models:
            checks = sum(count_checks(each, others) for kind, each in model.deciders.items() if kind != YES_NO)
            name, decider = model.identity().name, model.deciders[YES_NO]
            steps.append(timed(name, decider, blocks[0], besides=others + checks))
        counts = design.counts
        about = (
            f"{counts.cases:,} cases with {counts.yes_helps + counts.yes_harms:,} yes/no questions, {counts.numbers:,} "
            f"numbers and {counts.choices:,} choices, x {counts.countries:,} countries; origin: "
            f"{', '.join(design.ways)}."
        )
        return Plan(about, steps, [self._say_smallest_effect(model) for model in models])

    def _say_smallest_effect(self, model: DecidingModel) -> str:
        """From a pilot of all cases and a few countries: how much a country's effect differs from case to case."""
        name, design, countries = model.identity().name, self.design, self.design.countries
        few = [countries[row] for row in np.unique(np.linspace(0, len(countries) - 1, PILOT_COUNTRIES).astype(int))]
        options: dict[str, Any] = {"gazetteer": design.gazetteer, "seed": design.settings.seed, "paraphrases": 1}
        texts = ScenarioTexts(design.of_kind(YES_NO), few, design.ways[0], **options)
        decider, layout = model.deciders[YES_NO], CaseLayout(texts)
        yes = layout.arrange(read_log_odds(Decisions(decider.answers, decider.score(list(texts)))).reshape(texts.shape))
        variance = cross_names(None, len(few), layout.counted)
        means = summarise_countries(variance, yes * layout.favours[:, None], layout.favours)
        effect = smallest_effect(means.against_mean()[1], tests=len(countries)) if means.is_comparable else None
        if len(layout.cases) < FEWEST_CASES or effect is None:
            return f"{name}: {len(layout.cases)} cases cannot say how small an effect could be found."
        return (
            f"{name}: the smallest difference of a country from the mean of countries that is detected with 80 % "
            f"power, adjusted for {len(countries):,} countries: about {effect:.2f} nats of log-odds."
        )

    def workload(self, served: Served) -> Workload:
        """What would be sent to a server, at most: samples of each answer, or every spelling to be scored."""
        total, system = Workload(0, 0), len(self.design.settings.system or "")
        for kind, texts in self.design.list_questions():
            answers = ANSWER_SETS[kind]
            part = workload(texts, answers.columns, [], name=served.model, each=len(answers.message) + system)
            calls = max(self.samples, sum(len(answers.spellings(word)) for word in answers.words))
            total += part.add_checks(calls)
        return total


def _ask_without_origin(put: Put, texts: ScenarioTexts) -> np.ndarray:
    """Of each case: the favourable log-odds of yes/no questions about a person without an origin."""
    layout = CaseLayout(texts)
    yes = layout.arrange(read_log_odds(put(YES_NO, texts)).reshape(texts.shape))
    return average_situations(yes * layout.favours[:, None], layout.favours, layout.counted)[:, 0]


def read_log_odds(decisions: Decisions) -> np.ndarray:
    """Log-odds of the first answer against the second, finite; NaN where neither is answered."""
    log_odds = np.where(decisions.answered > 0, decisions.log_odds, np.nan)
    return np.clip(log_odds, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)


def _name_model(model: Any) -> str:
    if isinstance(model, Served):
        return model.model
    if isinstance(model, DecidingModel):
        return model.identity().name
    return str(getattr(model, "name", None) or getattr(model, "__name__", None) or model)
