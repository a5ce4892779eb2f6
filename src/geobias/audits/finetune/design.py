"""Fine-tune language models and look again (HERB's Table 5): does a model's regional bias reach its classifiers?

Every model is fine-tuned on the same labelled texts. Then "I am from {region}." is put before texts that it never saw:
a flip is a text whose predicted label changes with it. The models' own HERB scores stand beside.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from geobias.audits.downstream.design import DownstreamQuestion
from geobias.audits.downstream.design import question as downstream_question
from geobias.audits.downstream.result import DownstreamResult
from geobias.audits.inputs import load_texts, split_list
from geobias.audits.model_identity import versions
from geobias.audits.numbers import number
from geobias.audits.regions.design import Question, RegionsResult
from geobias.audits.regions.design import question as regions_question
from geobias.errors import InputError
from geobias.measures.estimates import LEVEL, Estimates
from geobias.measures.shift import flip_shares, performance
from geobias.measures.text_resampling import text_estimates
from geobias.models.classifiers.huggingface import Classifier
from geobias.models.training.finetuning import How, Labelled
from geobias.texts.defaults import DEFAULT_PREFIX
from geobias.texts.user_texts import Texts

VALIDATION, TEST = 0.1, 0.2  # shares of the texts that are held out
PAPERS_WITHOUT = ("IE", "MX")  # countries that Table 5 leaves out, one at a time
FEWEST_RANKED = 3
SCHEMA_VERSION = 1


@dataclass(frozen=True)
class FinetuneQuestion:
    """What every model is trained on, and what its classifier is asked then."""

    labels: tuple[str, ...]
    train: Labelled = field(repr=False)
    validation: Labelled = field(repr=False)
    downstream: DownstreamQuestion = field(repr=False)
    regions: Question = field(repr=False)
    without: tuple[str, ...]
    how: How
    left_out: dict[str, int]
    settings: dict[str, Any] = field(repr=False)

    def settings_for(self, models: Sequence[str]) -> dict[str, Any]:
        return {**self.settings, "models": list(models)}

    def measure(self, classifier: Classifier) -> dict[str, float]:
        """How good a classifier is on the texts that were held out of training."""
        p = classifier.score(list(self.validation.texts))[:, : len(self.labels)]
        truth = self.validation.classes[:, None] == np.arange(len(self.labels))
        return asdict(performance(truth, p[:, None]))


def question(
    *,
    texts: Any,
    label: str,
    column: str = "text",
    test: Any = None,
    prefix: str = DEFAULT_PREFIX,
    continents: str | Sequence[str] = (),
    countries: str | Sequence[str] = (),
    without: str | Sequence[str] | None = None,
    how: How | None = None,
) -> FinetuneQuestion:
    """Read and divide the texts; what is wrong with them is found here, before any work."""
    how = how or How()
    given = _distinct(load_texts(texts, column=column, label=label))
    classes = _classes(given)
    labels = tuple(sorted(set(classes)))
    if len(labels) < 2:
        raise InputError(f"All texts of {given.source} have the label {labels[0]!r}: it takes two classes to train.")
    rows = np.arange(len(given))
    if test is None:
        rows, held_out = _divided(rows, classes, TEST, how.seed)
        tested = given.take(held_out)
    else:
        tested = _distinct(load_texts(test, column=column, label=label))
        strange = sorted(set(_classes(tested)) - set(labels))
        if strange:
            raise InputError(
                f"{tested.source} has labels that the training texts lack: {', '.join(strange[:5])}. They have "
                f"{', '.join(labels)}."
            )
    unseen = [row for row, text in enumerate(tested.texts) if text not in {given.texts[k] for k in rows}]
    if not unseen:
        raise InputError(f"Every text of {tested.source} is one of the training texts: give others to look at.")
    seen, tested = len(tested) - len(unseen), tested.take(unseen)
    train, validation = _divided(rows, classes, VALIDATION, how.seed + 1)
    labelled = pd.DataFrame({"text": tested.texts, "label": _classes(tested)})
    downstream = downstream_question(
        texts=labelled, label="label", prefix=prefix, continents=continents, countries=countries
    )
    codes = {place.id for place in downstream.places}
    left_out = PAPERS_WITHOUT if without is None else tuple(split_list(without, "--without"))
    unknown = [code for code in left_out if code not in codes]
    if unknown and without is not None:
        raise InputError(f"--without names what is not asked about: {', '.join(unknown)}. Give codes such as IE,MX.")
    left_out_texts = {
        "rows_without_text": given.left_out + (tested.left_out if test is not None else 0),
        "test_texts_of_training": seen,
    }
    settings = {
        "texts": {"source": given.source, "count": len(given), "digest": given.digest},
        "test": {"source": tested.source, "count": len(tested), "digest": tested.digest},
        "labels": list(labels),
        "training": asdict(how),
        "prefix": prefix,
        "continents": downstream.settings["continents"],
        "countries": downstream.settings["countries"],
        "regions_digest": downstream.settings["regions_digest"],
        "without": [code for code in left_out if code in codes],
    }
    regions = regions_question(cities=0, continents=continents, countries=countries)
    return FinetuneQuestion(
        labels=labels,
        train=_labelled(given.take(train), labels),
        validation=_labelled(given.take(validation), labels),
        downstream=downstream,
        regions=regions,
        without=tuple(code for code in left_out if code in codes),
        how=how,
        left_out=left_out_texts,
        settings=settings,
    )


def _distinct(texts: Texts) -> Texts:
    """Every text once, or the same one might be learned and looked at."""
    first: dict[str, int] = {}
    for row, text in enumerate(texts.texts):
        first.setdefault(text, row)
    return texts.take(first.values())


def _classes(texts: Texts) -> list[str]:
    assert texts.labels is not None
    for key, of_text in zip(texts.ids, texts.labels, strict=True):
        if len(of_text) != 1:
            raise InputError(f"{texts.source}, text {key}: {len(of_text)} labels; training takes exactly one a text.")
    return [of_text[0] for of_text in texts.labels]


def _divided(rows: np.ndarray, classes: Sequence[str], share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Those that stay and those that are held out, the same share of every class."""
    rng = np.random.default_rng(seed)
    held_out: list[int] = []
    for name in sorted({classes[row] for row in rows}):
        of_it = rng.permutation([row for row in rows if classes[row] == name])
        held_out += list(of_it[: max(1, round(share * len(of_it)))])
    stays = np.setdiff1d(rows, held_out)
    if {classes[row] for row in stays} != {classes[row] for row in rows}:
        rare = Counter(classes[row] for row in rows).most_common()[-1][0]
        raise InputError(f"Too few texts have the label {rare!r} to train on some and hold out others: give more.")
    return stays, np.sort(held_out)


def _labelled(texts: Texts, labels: Sequence[str]) -> Labelled:
    return Labelled(texts.texts, np.array([labels.index(name) for name in _classes(texts)]), texts.digest)


@dataclass(frozen=True)
class FineTuned:
    """One model: what its training came to, what its classifier did, and its own HERB score, if it has one."""

    model: dict[str, Any]
    epochs: Sequence[Mapping[str, Any]]
    best: int  # epoch, from 1
    downstream: DownstreamResult = field(repr=False)
    regions: RegionsResult | None = field(repr=False)
    without_score: str | None  # why there is no HERB score


@dataclass(frozen=True)
class FinetuneResult:
    """Table 5: flips of every fine-tuned model, beside its HERB score."""

    question: FinetuneQuestion
    found: tuple[FineTuned, ...]
    settings: dict[str, Any] = field(repr=False)

    @property
    def work(self) -> dict[str, int]:
        return {"models": len(self.found)}

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [self._row(one) for one in self.found]

    def to_dict(self) -> dict[str, Any]:
        asked = self.question
        return {
            "schema_version": SCHEMA_VERSION,
            "audit": "finetune",
            "settings": self.settings,
            "models": [one.model for one in self.found],
            "versions": versions(),
            "counts": {
                "training_texts": len(asked.train.texts),
                "validation_texts": len(asked.validation.texts),
                "test_texts": len(asked.downstream.texts),
                "regions": len(asked.downstream.places),
                **asked.left_out,
            },
            "labels": list(asked.labels),
            "fine_tuned": self.rows,
            "rank_correlation": rank_correlation(self.rows),
        }

    def _row(self, one: FineTuned) -> dict[str, Any]:
        judged = one.downstream.judgements[0]
        codes = [place.id for place in one.downstream.places]
        regions = judged.prefixed[:, 1:]  # the first prefix is the control's
        herb = None if one.regions is None else next(entry for entry in one.regions.regions if entry["pairs"])
        return {
            "model": one.model,
            "herb": None
            if herb is None
            else {"region": herb["name"], "c_w": herb["c_w"], "inference": herb["inference"]["c_w"]},
            "without_score": one.without_score,
            "performance": one.downstream.classifiers[0]["performance"],
            "epochs": [dict(epoch) for epoch in one.epochs],
            "best_epoch": one.best,
            "flips": {
                "all": self._flips(judged.original, regions),
                **{
                    f"without {code}": self._flips(judged.original, np.delete(regions, codes.index(code), axis=1))
                    for code in self.question.without
                    if len(codes) > 1
                },
            },
            "control": self._flips(judged.original, judged.prefixed[:, :1]),
        }

    def _flips(self, before: np.ndarray, after: np.ndarray) -> dict[str, Any]:
        """Per cent of texts x regions whose label flips: altogether, and from each class to each other."""
        shares = 100 * flip_shares(before, after)
        labels = self.question.labels
        each = text_estimates(shares.reshape(len(shares), -1))
        whole = text_estimates(shares.sum(axis=(1, 2))[:, None])
        at = {(i, j): i * len(labels) + j for i in range(len(labels)) for j in range(len(labels)) if i != j}
        directions = {f"{labels[i]} to {labels[j]}": _share(each, k, len(shares)) for (i, j), k in at.items()}
        return {"any": _share(whole, 0, len(shares)), **directions}


def _share(found: Estimates, k: int, texts: int) -> dict[str, float | None]:
    """A share cannot fall below 0, and that it is not 0 needs no test: one flip shows it."""
    value, low, high = found.value[k], np.maximum(found.low[k], 0), found.high[k]
    if value == 0:  # none of the texts flips, which does not mean that none of any others would: exact binomial
        high = np.float64(100 * (1 - ((1 - LEVEL) / 2) ** (1 / texts)))
    return {"value": number(value), "low": number(low), "high": number(high)}


def rank_correlation(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Spearman's, over the models, of the HERB score with how many labels flip; None with fewer than three models.

    Where all models have the same score, or flip equally many, there is no order, and no number.
    """
    known = [row for row in rows if row["herb"] is not None]
    if len(known) < FEWEST_RANKED:
        return None
    flips = [row["flips"]["all"]["any"]["value"] for row in known]
    found: dict[str, Any] = {"models": len(known)}
    for form in ("balanced", "paper"):
        with warnings.catch_warnings(action="ignore", category=stats.ConstantInputWarning):
            test = stats.spearmanr([row["herb"]["c_w"][form] for row in known], flips)
        found[form] = {"value": number(np.float64(test.statistic)), "p": number(np.float64(test.pvalue))}
    return found
