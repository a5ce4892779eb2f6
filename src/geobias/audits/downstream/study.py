"""How classifiers are asked for every prefixed text, and what a plan says of that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from geobias.audits.downstream.answers import Predictions
from geobias.audits.downstream.design import DownstreamDesign
from geobias.audits.downstream.measure import measure_downstream
from geobias.audits.downstream.result import DownstreamResult, DownstreamSettings
from geobias.audits.labels import find_main_label, read_true_labels
from geobias.audits.plan import PILOT_REGIONS, PILOT_TEXTS, POWER, Plan, timed
from geobias.audits.study import ClassifierStudy, RunOptions
from geobias.engine.ask import ask
from geobias.models.answers import refuse_unused_prompt
from geobias.models.pretrained import count_added_tokens
from geobias.models.scorer import Classifier


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
        # Before the first is scored: a label that the last does not have must not cost an hour.
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
        design = self.design
        return Plan(
            f"{len(design.texts):,} texts x ({len(design.places):,} regions + {len(design.invented)} invented places + "
            f"{design.controls} control{'s' if design.controls > 1 else ''}).",
            [timed(classifier.name, classifier, self.design.prefixed) for classifier in classifiers],
            [self._smallest_effect(classifier) for classifier in classifiers],
        )

    def _read_labels(self, classifier: Classifier) -> tuple[int, np.ndarray | None, tuple[str, ...]]:
        """The position of the class to show, the true labels of the texts, and notes on how they were read."""
        design, name, labels = self.design, classifier.name, classifier.labels
        several_fit = classifier.multi_label or design.threshold is not None
        truth, notes = read_true_labels(design.texts, name, labels, several_fit=several_fit)
        return find_main_label(name, labels, design.positive), truth, classifier.notes + notes

    def _ask_classifier(
        self, classifier: Classifier, shown: int, truth: np.ndarray | None, notes: tuple[str, ...]
    ) -> Predictions:
        design, progress = self.design, self.options.progress
        labels, tokenizer = tuple(classifier.labels), getattr(classifier, "tokenizer", None)
        originals, prefixed = (
            ask(classifier, texts, label=classifier.name, progress=progress) for texts in self.texts_to_classify()
        )
        # Half the memory: a thousand texts may stand before each of 34,000 cities; the rounding is below `ROUNDING`.
        before = originals.scores[:, : len(labels)].astype(np.float32)
        after = prefixed.scores[:, : len(labels)].astype(np.float32)
        first, last = design.controls, design.controls + len(design.places)
        controls, places, invented = np.split(after.reshape(len(before), -1, len(labels)), [first, last], axis=1)
        default_threshold = 0.5 if classifier.multi_label else None
        return Predictions(
            model=classifier.identity(),
            labels=labels,
            multi_label=classifier.multi_label,
            shown=shown,
            threshold=default_threshold if design.threshold is None else design.threshold,
            original=before,
            controls=controls,
            places=places,
            invented=invented,
            rotation=design.rotation,
            truth=truth,
            counts={
                "texts_cut": originals.cut,
                "prefixed_texts": len(prefixed.scores),
                "distinct_prefixed_texts": prefixed.distinct,
                "prefixed_texts_cut": prefixed.cut,
            },
            work={"texts_scored": originals.scored, "prefixed_texts_scored": prefixed.scored},
            notes=notes,
            name_tokens=None if tokenizer is None else count_added_tokens(tokenizer, design.names_in_sentence),
        )

    def _smallest_effect(self, classifier: Classifier) -> str:
        """From a pilot of a few texts and regions: how much a region's effect differs from text to text."""
        texts = len(self.design.texts)
        if texts < 2:
            return f"{classifier.name}: one text cannot say how small an effect could be found."
        rows = np.unique(np.linspace(0, texts - 1, PILOT_TEXTS).astype(int))
        first, last = self.design.controls, self.design.controls + len(self.design.places) - 1
        regions = np.unique(np.linspace(first, last, PILOT_REGIONS).astype(int))
        pilot = [self.design.prefixed.at(i, k, 0) for i in rows for k in (0, *regions)]
        shown = find_main_label(classifier.name, classifier.labels, self.design.positive)
        p = classifier.score(pilot)[:, shown].reshape(len(rows), len(regions) + 1)
        spread = np.median((p[:, 1:] - p[:, :1]).std(axis=0, ddof=1))
        return (
            f"{classifier.name}: the smallest mean difference of p({classifier.labels[shown]}) against the control "
            "that is detected with 80 % power (before adjustment for multiple regions): about "
            f"{POWER * spread / np.sqrt(texts):.4f}."
        )
