"""`geobias.audit_names`: the audit as a Python function, and how the models are asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from geobias.audits.consent import Served, Workload, workload
from geobias.audits.labels import find_label_tones, read_true_labels
from geobias.audits.names.answers import ClassifierAnswers, Perplexities, RenamedTextCounts
from geobias.audits.names.design import NamesDesign, design_names
from geobias.audits.names.measure import measure_names
from geobias.audits.names.perplexity import PerplexityModel, load_perplexity_models, score_perplexities
from geobias.audits.names.result import NamesResult, NamesSettings
from geobias.audits.plan import PILOT_DRAWS, PILOT_TEXTS, POWER, Plan, timed
from geobias.audits.study import ClassifierStudy, RunOptions
from geobias.engine.ask import ask
from geobias.errors import InputError
from geobias.measures.names_bootstrap import FEWEST_TEXTS, NamesBootstrap, NameUnits
from geobias.models.classifiers.prompted import refuse_unused_prompt
from geobias.models.scorer import EMBEDDED_CLASSIFIERS, LOG_LIKELIHOOD, Classifier, ScorerLike
from geobias.models.served.served_lm import ServedLM

if TYPE_CHECKING:
    from geobias.models.language.language_model import LanguageModel


def audit_names(
    classifier: Any = EMBEDDED_CLASSIFIERS[0],
    texts: Any = None,
    *,
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
    lm: str | Path | Callable[[list[str]], Any] | ScorerLike | LanguageModel | None = None,
    perplexity: str | None = None,
    perplexity_form: str = "mean",
    perplexity_draws: int = 5,
    perplexity_texts: int | None = None,
    device: str = "auto",
    dtype: str = "auto",
    ray: str | None = None,
    out: str | Path | None = None,
    progress: bool | None = None,
) -> NamesResult:
    """How a classifier treats people by the country that their names come from (Barriere and Cifuentes 2024).

    `classifier` is a Hugging Face id, a folder, a function from texts to probabilities (itself, or as
    "package.module:function"), a scikit-learn pipeline (itself, or as a .skops file), a loaded classifier, or a list of
    such; with `labels` ("negative,positive") also a language model. `texts` is a file, a list of texts, a pandas or
    polars frame or column, a Hugging Face dataset, or {language: any of these}; by default 100 tweets that ship inside.
    `lm` is whatever `audit_regions` takes as a model.
    The options are those of `geobias names`; with `out` the same folder is written.
    """
    design = design_names(
        texts=texts,
        column=column,
        spans=spans,
        label=label,
        subsets=subsets,
        limit=limit,
        finder=finder,
        entity=entity,
        countries=countries,
        draws=draws,
        seed=seed,
        scripts=scripts,
        gazetteer=gazetteer,
        names=names,
        positive=positive,
        negative=negative,
        threshold=threshold,
        labels=labels,
        prompt=prompt,
        calibrate=calibrate,
        lm=lm,
        perplexity=perplexity,
        perplexity_form=perplexity_form,
        perplexity_draws=perplexity_draws,
        perplexity_texts=perplexity_texts,
        device=device,
    )
    options = RunOptions(device=device, dtype=dtype, ray=ray, out=out, progress=progress)
    return NamesStudy(design, classifier, options).run()


@dataclass(frozen=True)
class _LabelReading:
    """How the labels of a classifier are read."""

    positive: list[int]
    negative: list[int]
    truth: np.ndarray | None
    notes: tuple[str, ...]


class NamesStudy(ClassifierStudy[tuple[ClassifierAnswers, ...], NamesResult]):
    """The same renamed texts, put to every classifier, and to the language models of their perplexities."""

    audit = "names"

    def __init__(self, design: NamesDesign, classifiers: Any, options: RunOptions) -> None:
        super().__init__(classifiers, design.prompt, options)
        self.design = design
        self.perplexity_models: dict[str, PerplexityModel] = {}  # by classifier; empty before `load`

    def texts_to_classify(self) -> list[Sequence[str]]:
        return [self.design.texts.texts, self.design.counterfactuals]

    def settings(self) -> NamesSettings:
        return self.design.settings_for(self.classifier_names)

    def load(self, device: str, dtype: str) -> list[Classifier]:
        design = self.design
        classifiers = super().load(device, dtype)
        if design.perplexity_draws:
            self.perplexity_models = load_perplexity_models(
                classifiers, design.lm, design.perplexity, device=device, dtype=dtype
            )
        return classifiers

    def workload(self, served: Served) -> Workload:
        """Also the texts whose perplexity the served model gives."""
        design, load = self.design, super().workload(served)
        if design.perplexity_draws and design.lm is None:
            lm = ServedLM(served.endpoint(), begin=served.begin)
            fingerprints = lm.known_fingerprints(design.perplexity or lm.perplexity_method)[:1]
            renamed = design.counterfactuals.part(range(len(design.named)), design.perplexity_draws)
            for texts in (design.texts.texts, renamed):
                load += workload(texts, (LOG_LIKELIHOOD, "tokens"), fingerprints, name=served.model)
        return load

    def ask(self, scorers: Sequence[Classifier]) -> tuple[ClassifierAnswers, ...]:
        names = [classifier.name for classifier in scorers]
        if not names or len(set(names)) < len(names):
            raise InputError(
                f"Give one classifier or several, each with a name of its own, not: {', '.join(names) or 'none'}."
            )
        refuse_unused_prompt(self.prompt, scorers)
        # Before the first is asked: a label that the last does not have must not cost an hour.
        readings = [self._read_labels(classifier) for classifier in scorers]
        perplexities: dict[int, Perplexities] = {}  # by scorer: classifiers may share one
        answers = []
        for classifier, reading in zip(scorers, readings, strict=True):
            model = self.perplexity_models.get(classifier.name)
            answers.append(self._ask_classifier(classifier, reading, model, perplexities))
        return tuple(answers)

    def measure(self, answers: tuple[ClassifierAnswers, ...]) -> NamesResult:
        return measure_names(self.design, answers)

    def plan(self) -> Plan:
        """How long the study takes, and how small an effect it can find; for a served model, what would be sent."""
        if self.served:
            return Plan.of_served(self.workload(self.served))
        design, renamed = self.design, self.design.counterfactuals
        classifiers = self.load(self.options.device, self.options.dtype)
        texts, countries, draws = renamed.shape
        steps = [timed(classifier.name, classifier, renamed) for classifier in classifiers]
        scored = renamed.part(range(min(design.perplexity_texts or texts, texts)), design.perplexity_draws)
        for scorer in {id(model.scorer): model.scorer for model in self.perplexity_models.values()}.values():
            steps.append(timed(f"perplexity by {scorer.identity().name}", scorer, scored))
        return Plan(
            f"{texts:,} of {len(design.texts):,} texts name somebody; {countries} countries x {draws} draws.",
            steps,
            [self._smallest_effect(classifier) for classifier in classifiers],
        )

    def _read_labels(self, classifier: Classifier) -> _LabelReading:
        design = self.design
        tones = find_label_tones(classifier.name, classifier.labels, design.positive, design.negative)
        several_fit = classifier.multi_label or design.threshold is not None
        truth = read_true_labels(design.texts, classifier.name, classifier.labels, several_fit=several_fit)
        return _LabelReading(*tones, *truth)

    def _ask_classifier(
        self,
        classifier: Classifier,
        reading: _LabelReading,
        perplexity_model: PerplexityModel | None,
        perplexities: dict[int, Perplexities],
    ) -> ClassifierAnswers:
        """One classifier, then the language model that goes with it, unless `perplexities` has its answers."""
        design, progress, labels = self.design, self.options.progress, tuple(classifier.labels)
        originals = ask(classifier, design.texts.texts, label=classifier.name, progress=progress)
        renamed = ask(classifier, design.counterfactuals, label=classifier.name, progress=progress)
        if perplexity_model and id(perplexity_model.scorer) not in perplexities:
            scorer = perplexity_model.scorer
            perplexities[id(scorer)] = score_perplexities(design, scorer, progress)
        default_threshold = 0.5 if classifier.multi_label else None
        return ClassifierAnswers(
            model=classifier.identity(),
            labels=labels,
            multi_label=classifier.multi_label,
            positive=reading.positive,
            negative=reading.negative,
            threshold=default_threshold if design.threshold is None else design.threshold,
            original=originals.scores[:, : len(labels)],
            renamed=renamed.scores[:, : len(labels)].reshape(*design.counterfactuals.shape, len(labels)),
            truth=reading.truth,
            counts=RenamedTextCounts(
                texts_cut=originals.cut,
                renamed_texts=len(renamed.scores),
                distinct_renamed_texts=renamed.distinct,
                renamed_texts_cut=renamed.cut,
            ),
            work={"texts_scored": originals.scored, "renamed_texts_scored": renamed.scored},
            notes=reading.notes + (perplexity_model.notes if perplexity_model else ()),
            perplexities=perplexities[id(perplexity_model.scorer)] if perplexity_model else None,
        )

    def _smallest_effect(self, classifier: Classifier) -> str:
        """From a pilot of a few texts and draws, whose variances over texts, names and single answers are scaled up."""
        design, renamed = self.design, self.design.counterfactuals
        texts, _, draws = renamed.shape
        rows = np.unique(np.linspace(0, texts - 1, PILOT_TEXTS).astype(int))
        positive, negative = find_label_tones(classifier.name, classifier.labels, design.positive, design.negative)
        if not positive or not negative or len(rows) < FEWEST_TEXTS:
            return f"{classifier.name}: no Δ, or too few texts to say how small an effect could be found."
        pilot = renamed.part(rows, PILOT_DRAWS)
        p = classifier.score(list(pilot))[:, : len(classifier.labels)].reshape(*pilot.shape, -1)
        delta = 100 * (p[..., positive].sum(axis=-1) - p[..., negative].sum(axis=-1))
        bootstrap = NamesBootstrap(NameUnits(*pilot.name_units()), pilot.shape, np.ones(pilot.shape[::2], dtype=bool))
        text_variance, name_variance, noise_variance = bootstrap.variance_components(delta)
        name_lists = renamed.gazetteer
        names_listed = np.median(
            [sum(len(name_lists.names(code, kind)) for kind in name_lists.kinds) for code in renamed.countries]
        )
        names_in_pilot = np.median((bootstrap.occurrences > 0).sum(axis=0))
        variance = (
            text_variance * len(rows) / texts
            + name_variance * min(names_in_pilot / names_listed, 1.0)
            + noise_variance * len(rows) * pilot.draws / (texts * draws)
        )
        effect = POWER * float(np.median(np.sqrt(variance)))
        return (
            f"{classifier.name}: the smallest difference of a country's Δ from the mean of countries that would be "
            f"found 4 times of 5 (before correction for many countries): about {effect:.1f} points."
        )
