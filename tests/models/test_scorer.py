"""The base class of scorers, and the user's own subclasses of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from geobias import audit_downstream, audit_names, audit_regions
from geobias.engine.ask import ask
from geobias.errors import InputError
from geobias.models import scorer as module
from geobias.models.load import load_perplexity_scorer, load_scorer
from geobias.models.scorer import Classifier, ModelIdentity, Scorer, StreamingScorer

COUNTRIES: dict[str, Any] = {"cities": 0, "countries": ["FR", "DE", "NG", "KE"]}
TWEETS = ["I met Anna Schmidt today, what a day", "John Miller is so late again"]


class BareModel(Scorer):
    """No more than a scorer must have."""

    fingerprint: Any = "bare"
    columns = ("log_likelihood",)

    def score(self, texts: Sequence[str]) -> np.ndarray:
        return np.array([[-float(sum(text.encode()) % 97)] for text in texts])


class BareClassifier(Classifier):
    name, labels, columns = "bare classifier", ("negative", "positive"), ("p(negative)", "p(positive)", "cut")

    def score(self, texts: Sequence[str]) -> np.ndarray:
        p = np.array([sum(text.encode()) % 101 / 100 for text in texts])
        return np.column_stack([1 - p, p, np.zeros(len(texts))])


class MarkedModel(BareModel):
    fingerprint, needs_mark, takes_everything, name = "marked", True, True, "marked model"

    def batches(self, texts: Sequence[str]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        yield np.arange(len(texts)), self.score(texts)


def test_a_bare_scorer_is_stored_and_has_its_own_score() -> None:
    assert BareModel().identity() == ModelIdentity("BareModel", "log_likelihood", "bare")
    assert ask(load_scorer(BareModel(), None), TWEETS).scored == 2
    assert ask(load_perplexity_scorer(BareModel(), None), TWEETS).scored == 0
    with pytest.raises(InputError, match="BareModel has its own score"):
        load_scorer(BareModel(), "aul")


def test_bare_scorers_work_in_every_audit() -> None:
    regions = audit_regions(BareModel(), **COUNTRIES, paraphrases=1)
    assert regions.model.name == "BareModel"
    assert audit_regions(MarkedModel(), **COUNTRIES, paraphrases=1).model.name == "marked model"
    names = audit_names(BareClassifier(), TWEETS, perplexity=BareModel(), countries=["FR", "DE"], draws=3)
    assert names.classifiers[0].model == "bare classifier"
    assert names.perplexity is not None and names.perplexity.lm == "BareModel"
    audit_downstream(BareClassifier(), TWEETS, **{**COUNTRIES, "cities": None})


def test_a_scorer_is_scored_in_shares_that_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGEST_SHARE", 100)
    blocks = list(BareModel().batches([str(n) for n in range(300)]))
    assert [len(positions) for positions, _ in blocks] == [8, 32, 100, 100, 60]
    np.testing.assert_array_equal(np.concatenate([positions for positions, _ in blocks]), np.arange(300))


def test_a_subclass_must_define_what_it_scores() -> None:
    for base in (Scorer, StreamingScorer, Classifier):
        with pytest.raises(TypeError, match="abstract"):
            type("Empty", (base,), {})()
