"""How models are asked to decide: every text once, then the answers by case."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from geobias.audits.decide.answers import NO_UNITS, ModelAnswers, OtherAnswers, WayAnswers
from geobias.audits.decide.design import NAME, DecideDesign
from geobias.audits.decide.measure import FEWEST_CASES, measure_decisions
from geobias.audits.decide.question_runner import DecidingModel, QuestionRunner
from geobias.audits.decide.result import DecideResult, DecideSettings
from geobias.audits.plan import Plan, timed
from geobias.audits.served_models import Served, Workload, agree, workload
from geobias.audits.study import RunOptions, Study
from geobias.engine.answer_checks import count_checks
from geobias.errors import InputError
from geobias.measures.arrays import divide
from geobias.measures.crossed_variance import CrossedVariance
from geobias.measures.decisions import average_situations, smallest_effect, summarise_countries
from geobias.models.answers import ANSWER_SETS, Decisions
from geobias.models.load import load_decider, load_weights
from geobias.models.served import DEFAULT_SAMPLES
from geobias.models.sources import is_function_name
from geobias.texts.origins import ORDERS, ScenarioTexts
from geobias.texts.scenarios import CHOICE, NUMBER, YES_NO

LARGEST_LOG_ODDS = 20.0  # of a model that answers with probability 0 or 1
PILOT_COUNTRIES = 8


class DecideStudy(Study[DecidingModel, tuple[ModelAnswers, ...], DecideResult]):
    """The same scenarios, put to every model."""

    audit = "decide"

    def __init__(self, design: DecideDesign, models: Any, options: RunOptions) -> None:
        super().__init__(options)
        self.design = design
        several = models if isinstance(models, list | tuple) else [models]
        self.models = [str(model) if isinstance(model, Path) else model for model in several]

    def settings(self) -> DecideSettings:
        return self.design.settings_for([_name_model(model) for model in self.models])

    def load(self, device: str, dtype: str) -> list[DecidingModel]:
        models = []
        for model in self.models:
            if isinstance(model, Served):
                samples = self._samples
                print(
                    "A server that returns log-probabilities of chats is called once for each question. If it returns "
                    f"none, each is sent {samples} times (--samples): calls are counted at most.",
                    file=sys.stderr,
                )
                agree(model, self.workload(model))
            models.append(self._load_model(model, device, dtype))
        return models

    def ask(self, scorers: Sequence[DecidingModel]) -> tuple[ModelAnswers, ...]:
        return tuple(map(self._ask_model, scorers))

    def measure(self, answers: tuple[ModelAnswers, ...]) -> DecideResult:
        return measure_decisions(self.design, answers)

    @property
    def _samples(self) -> int:
        return self.design.settings.samples or DEFAULT_SAMPLES

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
                        system=self.design.system,
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
        design, identity = self.design, model.identity()
        runner = QuestionRunner(model, identity.name, self.options.progress)
        ways = tuple(self._ask_way(runner, way) for way in design.origin)
        merit = self._ask_merit(runner)
        numbers = self._ask_numbers(runner)
        choices, order = self._ask_choices(runner)
        return ModelAnswers(
            model=identity,
            ways=ways,
            merit=merit,
            numbers=numbers,
            choices=choices,
            order=order,
            decisions=runner.texts,
            distinct=runner.distinct,
            cut=runner.cut,
            work={"decisions_scored": runner.scored},
            sampled=runner.sampled,
            notes=(*model.notes, *runner.notes),
        )

    def _ask_way(self, runner: QuestionRunner, way: str) -> WayAnswers:
        design = self.design
        texts = design.texts(way)
        layout, decisions = design.layout(texts), runner.ask(YES_NO, texts)
        yes = layout.arrange(read_log_odds(decisions).reshape(texts.shape))
        answered = layout.arrange(decisions.answered.reshape(texts.shape))
        refusals = decisions.refusals / np.maximum(decisions.samples, 1)
        real = len(design.countries)
        invented = yes[:, real:-1] if yes.shape[1] > real + 1 else None
        names, genders, covariates = design.names(texts) if way == NAME else (None, None, None)
        return WayAnswers(
            origin=way,
            layout=layout,
            yes=yes[:, :real],
            shares=layout.arrange(decisions.shares[:, 0].reshape(texts.shape))[:, :real],
            answered=answered[:, :real],
            refusals=layout.arrange(refusals.reshape(texts.shape))[:, :real] if (decisions.samples > 0).any() else None,
            invented=invented,
            no_origin=yes[:, -1:],
            names=names,
            genders=genders,
            covariates=covariates,
        )

    def _ask_merit(self, runner: QuestionRunner) -> np.ndarray:
        """Of each case: the favourable log-odds with praise, minus those with blame."""
        parts = []
        for texts in self.design.merit_texts():
            layout = self.design.layout(texts)
            yes = layout.arrange(read_log_odds(runner.ask(YES_NO, texts)).reshape(texts.shape))
            favourable = yes * layout.favours[:, None]
            parts.append(average_situations(favourable, layout.favours, layout.counted)[:, 0])
        return np.asarray(parts[0] - parts[1])

    def _ask_numbers(self, runner: QuestionRunner) -> OtherAnswers | None:
        texts = self.design.number_texts()
        if texts is None or NUMBER not in runner.model.deciders:
            return None
        numbers = runner.ask(NUMBER, texts).expected_number.reshape(texts.shape)
        layout, names, genders = self.design.layout(texts), *self._list_names(texts)
        is_missing = np.isnan(numbers).any(axis=(1, 2))
        if is_missing.any():
            cases = np.unique(layout.case_of_cell[is_missing])
            runner.notes.append(
                f"It answered {len(cases):,} of {len(layout.cases):,} questions for a number with no number for some "
                "people; these answers are left out."
            )
        return OtherAnswers(layout, layout.arrange(numbers) * layout.favours[:, None], names=names, genders=genders)

    def _list_names(self, texts: ScenarioTexts) -> tuple[np.ndarray | None, np.ndarray | None]:
        """The names of numbers or choices, and their genders; None if they show origin in another way."""
        return self.design.names(texts)[:2] if self.design.other_way == NAME else (None, None)

    def _ask_choices(self, runner: QuestionRunner) -> tuple[OtherAnswers | None, np.ndarray | None]:
        """The log-odds of being chosen in both orders; and, of each case, those of the first of two equal people."""
        pair = self.design.choice_texts()
        if pair is None or CHOICE not in runner.model.deciders:
            return None, None
        against, same = pair
        in_order = read_log_odds(runner.ask(CHOICE, against)).reshape(*against.shape[:2], -1, ORDERS)
        layout = self.design.layout(against)
        preference = layout.arrange((in_order[..., 0] - in_order[..., 1]) / 2) * layout.favours[:, None]
        layout_of_same = self.design.layout(same)
        first = layout_of_same.arrange(
            read_log_odds(runner.ask(CHOICE, same)).reshape(*same.shape[:2], -1, ORDERS)[..., 0]
        )
        names, genders = self._list_names(against)
        order = divide(np.nansum(first, axis=(1, 2)), (~np.isnan(first)).sum(axis=(1, 2)))
        return OtherAnswers(layout, preference, names=names, genders=genders), order

    def plan(self) -> Plan:
        """How long the study takes, and how small an effect it can find; for a served model, what would be sent."""
        served = [model for model in self.models if isinstance(model, Served)]
        if served:
            return Plan.of_served(self.workload(served[0]))
        models = self.load(self.options.device, self.options.dtype)
        design, blocks = self.design, [self.design.texts(way) for way in self.design.origin]
        others = sum(len(texts) for _, texts in self.design.list_questions()) - sum(map(len, blocks))
        others += sum(map(len, blocks[1:]))
        steps = []
        for model in models:
            checks = sum(count_checks(each, others) for kind, each in model.deciders.items() if kind != YES_NO)
            name, decider = model.identity().name, model.deciders[YES_NO]
            steps.append(timed(name, decider, blocks[0], besides=others + checks))
        counts = design.count()
        about = (
            f"{counts.cases:,} cases with {counts.yes_helps + counts.yes_harms:,} yes/no questions, {counts.numbers:,} "
            f"numbers and {counts.choices:,} choices, x {counts.countries:,} countries; origin: "
            f"{', '.join(design.origin)}."
        )
        return Plan(about, steps, [self._say_smallest_effect(model) for model in models])

    def _say_smallest_effect(self, model: DecidingModel) -> str:
        """From a pilot of all cases and a few countries: how much a country's effect differs from case to case."""
        name, texts = model.identity().name, self.design.texts(self.design.origin[0])
        size = len(self.design.countries)
        rows = np.unique(np.linspace(0, size - 1, PILOT_COUNTRIES).astype(int))
        pilot = ScenarioTexts(
            texts.scenarios,
            [texts.origins[row] for row in rows],
            texts.showing,
            gazetteer=texts.gazetteer,
            seed=texts.seed,
            paraphrases=1,
        )
        layout = self.design.layout(pilot)
        decisions = Decisions(model.deciders[YES_NO].answers, model.deciders[YES_NO].score(list(pilot)))
        yes = layout.arrange(read_log_odds(decisions).reshape(pilot.shape))
        variance = CrossedVariance(NO_UNITS, yes.shape, layout.counted, names_fixed=True)
        favourable = yes * layout.favours[:, None]
        means = summarise_countries(variance, favourable, layout.favours)
        effect = smallest_effect(means.against_mean()[1], tests=size) if means.is_comparable else None
        if len(layout.cases) < FEWEST_CASES or effect is None:
            return f"{name}: {len(layout.cases)} cases cannot say how small an effect could be found."
        return (
            f"{name}: the smallest difference of a country from the mean of countries that is detected with 80 % "
            f"power, adjusted for {size:,} countries: about {effect:.2f} nats of log-odds."
        )

    def workload(self, served: Served) -> Workload:
        """What would be sent to a server, at most: samples of each answer, or every spelling to be scored."""
        total, system = Workload(0, 0), len(self.design.system or "")
        for kind, texts in self.design.list_questions():
            answers = ANSWER_SETS[kind]
            part = workload(texts, answers.columns, [], name=served.model, each=len(answers.message) + system)
            calls = max(self._samples, sum(len(answers.spellings(word)) for word in answers.words))
            total += part.add_checks(calls)
        return total


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
