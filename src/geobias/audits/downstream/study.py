"""How classifiers are asked for every prefixed text, and what a plan says of that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from geobias.audits.downstream.answers import Predictions
from geobias.audits.downstream.measure import measure_downstream
from geobias.audits.downstream.result import DownstreamResult
from geobias.audits.labels import find_main_label
from geobias.audits.plan import PILOT_REGIONS, PILOT_TEXTS, POWER
from geobias.audits.study import ClassifierStudy
from geobias.engine.ask import ask
from geobias.models.pretrained import count_added_tokens
from geobias.models.scorer import Classifier


class DownstreamStudy(ClassifierStudy[Predictions, DownstreamResult]):
    """The same prefixed texts, put to every classifier."""

    audit = "downstream"

    def texts_to_classify(self) -> list[Sequence[str]]:
        return [self.design.texts.texts, self.design.prefixed]

    def measure(self, answers: tuple[Predictions, ...]) -> DownstreamResult:
        return measure_downstream(self.design, answers)

    def read_labels(self, classifier: Classifier) -> dict[str, Any]:
        reading = super().read_labels(classifier)
        return reading | {"shown": find_main_label(classifier.name, classifier.labels, self.design.positive)}

    def ask_classifier(self, classifier: Classifier, reading: dict[str, Any]) -> Predictions:
        design, labels = self.design, len(classifier.labels)
        originals, prefixed = (
            ask(classifier, texts, label=classifier.name, progress=self.options.progress)
            for texts in self.texts_to_classify()
        )
        # Half the memory: a thousand texts may stand before each of 34,000 cities; the rounding is below `ROUNDING`.
        before, after = (each.scores[:, :labels].astype(np.float32) for each in (originals, prefixed))
        first, last = design.controls, design.controls + len(design.places)
        controls, places, invented = np.split(after.reshape(len(before), -1, labels), [first, last], axis=1)
        tokenizer = getattr(classifier, "tokenizer", None)
        return Predictions(
            **reading,
            model=classifier.identity(),
            original=before,
            controls=controls,
            places=places,
            invented=invented,
            rotation=design.rotation,
            counts={
                "texts_cut": originals.cut,
                "prefixed_texts": len(prefixed.scores),
                "distinct_prefixed_texts": prefixed.distinct,
                "prefixed_texts_cut": prefixed.cut,
            },
            work={"texts_scored": originals.scored, "prefixed_texts_scored": prefixed.scored},
            name_tokens=None if tokenizer is None else count_added_tokens(tokenizer, design.names_in_sentence),
        )

    def describe_size(self) -> str:
        design = self.design
        return (
            f"{len(design.texts):,} texts x ({len(design.places):,} regions + {len(design.invented)} invented places + "
            f"{design.controls} control{'s' if design.controls > 1 else ''})."
        )

    def find_smallest_effect(self, classifier: Classifier) -> str:
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
