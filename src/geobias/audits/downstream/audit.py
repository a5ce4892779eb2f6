"""`geobias.audit_downstream`: the audit as a Python function, and how the classifiers are asked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from geobias.audits.downstream.design import DownstreamDesign, design_downstream
from geobias.audits.downstream.measure import measure_downstream
from geobias.audits.downstream.result import ClassifierCounts, DownstreamResult, DownstreamSettings, Predictions
from geobias.audits.labels import find_main_label, read_true_labels
from geobias.audits.plan import PILOT_REGIONS, PILOT_TEXTS, POWER, Plan, timed
from geobias.audits.study import ClassifierStudy, RunOptions
from geobias.engine.ask import ask
from geobias.models.classifiers.prompted import refuse_unused_prompt
from geobias.models.scorer import EMBEDDED_CLASSIFIERS, Classifier
from geobias.texts.defaults import DEFAULT_PREFIX


def audit_downstream(
    classifier: Any = EMBEDDED_CLASSIFIERS[0],
    texts: Any = None,
    *,
    column: str = "text",
    label: str | None = None,
    limit: int | None = None,
    prefix: str = DEFAULT_PREFIX,
    control: str | None = None,
    regions: str = "countries",
    cities: int | str | None = None,
    continents: str | Sequence[str] = (),
    countries: str | Sequence[str] = (),
    positive: str | None = None,
    threshold: float | None = None,
    labels: str | None = None,
    prompt: str | None = None,
    calibrate: bool = False,
    device: str = "auto",
    dtype: str = "auto",
    ray: str | None = None,
    out: str | Path | None = None,
    progress: bool | None = None,
) -> DownstreamResult:
    """How a classifier judges the same texts, said to come from region after region (HERB, Table 4 and Figure 4).

    `classifier` and `texts` are whatever `audit_names` takes. `regions` is countries, cities (each country's `cities`
    largest, by name) or city-country ("Lyon, France"). `control` is a prefix that names no region, by default the
    prefix with "here". The options are those of `geobias downstream`; with `out` the same folder is written.
    """
    design = design_downstream(
        texts=texts,
        column=column,
        label=label,
        limit=limit,
        prefix=prefix,
        control=control,
        regions=regions,
        cities=cities,
        continents=continents,
        countries=countries,
        positive=positive,
        threshold=threshold,
        labels=labels,
        prompt=prompt,
        calibrate=calibrate,
    )
    options = RunOptions(device=device, dtype=dtype, ray=ray, out=out, progress=progress)
    return DownstreamStudy(design, classifier, options).run()


class DownstreamStudy(ClassifierStudy[tuple[Predictions, ...], DownstreamResult]):
    """The same prefixed texts, put to every classifier."""

    audit = "downstream"

    def __init__(self, design: DownstreamDesign, classifiers: Any, options: RunOptions) -> None:
        super().__init__(classifiers, design.prompt, options)
        self.design = design

    def texts_to_classify(self) -> list[Sequence[str]]:
        return [self.design.texts.texts, self.design.prefixed]

    def settings(self) -> DownstreamSettings:
        return self.design.settings_for(self.classifier_names)

    def ask(self, scorers: Sequence[Classifier]) -> tuple[Predictions, ...]:
        refuse_unused_prompt(self.prompt, scorers)
        # Before the first is asked: a label that the last does not have must not cost an hour.
        readings = [self._read_labels(classifier) for classifier in scorers]
        return tuple(
            self._ask_classifier(classifier, *reading) for classifier, reading in zip(scorers, readings, strict=True)
        )

    def measure(self, answers: tuple[Predictions, ...]) -> DownstreamResult:
        return measure_downstream(self.design, answers)

    def plan(self) -> Plan:
        """How long the study takes, and how small an effect it can find; for a served model, what would be sent."""
        if self.served:
            return Plan.of_served(self.workload(self.served))
        classifiers = self.load(self.options.device, self.options.dtype)
        texts, prefixes, _ = self.design.prefixed.shape
        return Plan(
            f"{texts:,} texts x {prefixes - 1:,} regions, and the control.",
            [timed(classifier.name, classifier, self.design.prefixed) for classifier in classifiers],
            [self._smallest_effect(classifier) for classifier in classifiers],
        )

    def _read_labels(self, classifier: Classifier) -> tuple[int, np.ndarray | None, tuple[str, ...]]:
        """The position of the class to show, the true labels of the texts, and notes on how they were read."""
        design = self.design
        shown = find_main_label(classifier.name, classifier.labels, design.positive)
        several_fit = classifier.multi_label or design.threshold is not None
        truth, notes = read_true_labels(design.texts, classifier.name, classifier.labels, several_fit=several_fit)
        return shown, truth, notes

    def _ask_classifier(
        self, classifier: Classifier, shown: int, truth: np.ndarray | None, notes: tuple[str, ...]
    ) -> Predictions:
        design, progress = self.design, self.options.progress
        labels = tuple(classifier.labels)
        originals = ask(classifier, design.texts.texts, label=classifier.name, progress=progress)
        prefixed = ask(classifier, design.prefixed, label=classifier.name, progress=progress)
        # Half the memory: a thousand texts may stand before each of 34,000 cities; the rounding is below `ROUNDING`.
        before = originals.scores[:, : len(labels)].astype(np.float32)
        after = prefixed.scores[:, : len(labels)].astype(np.float32)
        default_threshold = 0.5 if classifier.multi_label else None
        return Predictions(
            model=classifier.identity(),
            labels=labels,
            multi_label=classifier.multi_label,
            shown=shown,
            threshold=default_threshold if design.threshold is None else design.threshold,
            original=before,
            prefixed=after.reshape(*design.prefixed.shape[:2], len(labels)),
            truth=truth,
            counts=ClassifierCounts(
                texts_cut=originals.cut,
                prefixed_texts=len(prefixed.scores),
                distinct_prefixed_texts=prefixed.distinct,
                prefixed_texts_cut=prefixed.cut,
            ),
            work={"texts_scored": originals.scored, "prefixed_texts_scored": prefixed.scored},
            notes=notes,
        )

    def _smallest_effect(self, classifier: Classifier) -> str:
        """From a pilot of a few texts and regions: how much a region's effect differs from text to text."""
        texts, prefixes, _ = self.design.prefixed.shape
        if texts < 2:
            return f"{classifier.name}: one text cannot say how small an effect could be found."
        rows = np.unique(np.linspace(0, texts - 1, PILOT_TEXTS).astype(int))
        regions = np.unique(np.linspace(1, prefixes - 1, PILOT_REGIONS).astype(int))
        pilot = [self.design.prefixed.at(i, k, 0) for i in rows for k in (0, *regions)]
        shown = find_main_label(classifier.name, classifier.labels, self.design.positive)
        p = classifier.score(pilot)[:, shown].reshape(len(rows), len(regions) + 1)
        spread = np.median((p[:, 1:] - p[:, :1]).std(axis=0, ddof=1))
        return (
            f"{classifier.name}: the smallest mean difference of p({classifier.labels[shown]}) against the control "
            "that would be found 4 times of 5 (before correction for many regions): about "
            f"{POWER * spread / np.sqrt(texts):.4f}."
        )
