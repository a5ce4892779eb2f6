"""The base class of scorers, and bare objects that are wrapped as one."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from geobias import audit_downstream, audit_names, audit_regions
from geobias.engine.ask import ask
from geobias.errors import InputError
from geobias.models import scorer as module
from geobias.models.kinds import as_scorer
from geobias.models.load import load_perplexity_scorer, load_scorer
from geobias.models.scorer import Classifier, ModelIdentity, Scorer, StreamingScorer

COUNTRIES: dict[str, Any] = {"cities": 0, "countries": ["FR", "DE", "NG", "KE"]}
TWEETS = ["I met Anna Schmidt today, what a day", "John Miller is so late again"]


class BareModel:
    """No more than the three attributes."""

    fingerprint, columns = "bare", ("log_likelihood",)

    def score(self, texts: Sequence[str]) -> np.ndarray:
        return np.array([[-float(sum(text.encode()) % 97)] for text in texts])


class BareClassifier:
    fingerprint, name, base, multi_label = None, "bare classifier", None, False
    labels, columns = ("negative", "positive"), ("p(negative)", "p(positive)", "cut")

    def score(self, texts: Sequence[str]) -> np.ndarray:
        p = np.array([sum(text.encode()) % 101 / 100 for text in texts])
        return np.column_stack([1 - p, p, np.zeros(len(texts))])


class MarkedModel(BareModel):
    """A bare object with optional attributes of a scorer."""

    fingerprint, needs_mark, takes_everything, name = "marked", True, True, "marked model"

    def batches(self, texts: Sequence[str]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        yield np.arange(len(texts)), self.score(texts)


def test_a_bare_object_gets_all_defaults() -> None:
    scorer = as_scorer(BareModel())
    assert isinstance(scorer, Scorer) and as_scorer(scorer) is scorer
    assert not (scorer.paid or scorer.needs_mark or scorer.looks_back_only or scorer.takes_everything)
    assert scorer.identity() == ModelIdentity("BareModel", "log_likelihood", "bare")
    scorer.to("cpu")


def test_optional_attributes_of_a_bare_object_are_used() -> None:
    scorer = as_scorer(MarkedModel())
    assert scorer.needs_mark and scorer.takes_everything and scorer.name == "marked model"
    assert len(list(scorer.batches(["a", "b", "c"] * 50))) == 1


def test_a_wrapped_object_survives_pickling() -> None:
    for bare in (BareModel(), MarkedModel()):
        copy = pickle.loads(pickle.dumps(as_scorer(bare)))
        np.testing.assert_array_equal(copy.score(TWEETS), bare.score(TWEETS))
        assert copy.fingerprint == bare.fingerprint and copy.needs_mark == isinstance(bare, MarkedModel)


def test_scores_of_a_bare_object_are_stored() -> None:
    assert ask(load_scorer(BareModel(), None), TWEETS).scored == 2
    assert ask(load_perplexity_scorer(BareModel(), None), TWEETS).scored == 0


def test_a_bare_object_has_its_own_score() -> None:
    with pytest.raises(InputError, match="BareModel has its own score"):
        load_scorer(BareModel(), "aul")


@pytest.mark.slow
def test_bare_objects_work_in_every_audit() -> None:
    regions = audit_regions(BareModel(), **COUNTRIES, paraphrases=1)
    assert regions.model.name == "BareModel"
    assert audit_regions(MarkedModel(), **COUNTRIES, paraphrases=1).model.name == "marked model"
    names = audit_names(BareClassifier(), TWEETS, perplexity=BareModel(), countries=["FR", "DE"], draws=3)
    assert names.classifiers[0].model == "bare classifier"
    assert names.perplexity is not None and names.perplexity.lm == "BareModel"
    audit_downstream(BareClassifier(), TWEETS, **{**COUNTRIES, "cities": None})


def test_a_scorer_is_scored_in_shares_that_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGEST_SHARE", 100)
    blocks = list(as_scorer(BareModel()).batches([str(n) for n in range(300)]))
    assert [len(positions) for positions, _ in blocks] == [8, 32, 100, 100, 60]
    np.testing.assert_array_equal(np.concatenate([positions for positions, _ in blocks]), np.arange(300))


def test_a_subclass_must_define_what_it_scores() -> None:
    for base in (Scorer, StreamingScorer, Classifier):
        with pytest.raises(TypeError, match="abstract"):
            type("Empty", (base,), {})()
