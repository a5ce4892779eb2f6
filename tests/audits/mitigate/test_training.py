"""Methods that train a Hugging Face classifier: what is trained on is not tested, and the result is a model folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import transformers

import geobias
from geobias.audits.mitigate.design import MitigateDesign
from geobias.audits.study import prepare
from geobias.world.gazetteer import is_for_mitigation, list_words, load_gazetteer, select_held_out
from tests.conftest import Run, _byte_bpe, _config, save_random_model
from tests.models.mitigated.planted import find_everybody, make_texts

FINDER = "tests.models.mitigated.planted:find_everybody"


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny random classifier of two moods."""
    tokenizer = _byte_bpe()
    config: Any = _config("roberta", len(tokenizer))
    config.id2label, config.label2id = {0: "negative", 1: "positive"}, {"negative": 0, "positive": 1}
    folder = tmp_path_factory.mktemp("classifier")
    return save_random_model(transformers.AutoModelForSequenceClassification, config, tokenizer, folder)


def list_rows(count: int = 40) -> list[dict[str, str]]:
    return [{"text": text, "label": "positive" if "good" in text else "negative"} for text in make_texts(count)]


def design(**options: Any) -> MitigateDesign:
    defaults = {"label": "label", "method": "augment", "finder": find_everybody, "countries": "PL,FR", "out": "fixed"}
    return cast(MitigateDesign, prepare(geobias.mitigate, "embedded/sentiment", **(defaults | options)).design)


def test_training_texts_are_not_tested_and_their_names_are_for_mitigation() -> None:
    half = design(texts=list_rows(), method="augment,pair")
    assert half.train is not None and half.train_counterfactuals is not None
    assert not set(half.train.texts) & set(half.texts.texts) and len(half.train) == len(half.texts) == 20
    names = [name for _, name in half.train_counterfactuals.name_index[2]]
    assert len(names) > 500 and all(map(is_for_mitigation, names))
    others = design(texts=list_rows(12), train=list_rows(30))
    assert others.train is not None and len(others.train) == 18  # without those that are tested
    with pytest.raises(geobias.InputError, match="is also in --texts"):
        design(texts=list_rows(12), train=list_rows(12))


def test_names_in_training_texts_and_the_placeholder_are_not_tested() -> None:
    gazetteer = select_held_out(load_gazetteer())
    both = zip(*(gazetteer.names("PL", kind)[:20] for kind in ("male", "last")), strict=True)
    texts = make_texts(40, [f"{first.upper()} {last}" for first, last in both])
    rows = [{"text": text, "label": "positive"} for text in texts]
    trained = design(texts=rows, method="blind,augment", countries="PL,GB", draws=30)
    assert trained.train is not None
    training_words = {word for text in trained.train.texts for word in list_words(text)}
    names = [name for _, name in trained.counterfactuals.name_index[2]]
    assert len(names) > 100 and not any(training_words.issuperset(list_words(name)) for name in names)
    assert "Sam" in gazetteer.names("GB", "male") and "Sam" not in names


def test_limit_and_spans_are_also_of_the_training_texts() -> None:
    rows = [row | {"at": find_everybody([row["text"]])[0]} for row in list_rows(40)]
    train = design(texts=rows[:20], train=rows[20:], spans="at", limit=5).train
    assert train is not None and len(train) == 5 and train.spans is not None


def test_trained_models_are_folders_and_training_is_not_repeated(classifier: Path, run: Run, tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "method": "augment:1,pair:1", "texts": list_rows(), "label": "label", "finder": FINDER,
        "countries": "PL,FR", "draws": 2, "epochs": 1, "device": "cpu",
    }  # fmt: skip
    result = geobias.mitigate(str(classifier), out="fixed", **options)
    assert [row.folder for row in result.mitigated] == ["models/augment-1", "models/pair-1"]
    assert all(row.texts_per_text == 1 and row.recall is None for row in result.mitigated)
    assert result.counts.training_texts == 20 and result.counts.texts == 20
    weights = tmp_path / "fixed/models/augment-1/model.safetensors"
    written = weights.stat().st_mtime_ns
    again = geobias.mitigate(str(classifier), out="fixed", **options)
    assert weights.stat().st_mtime_ns == written and again.to_dict() == result.to_dict()
    plain, mitigated = (
        geobias.load_classifier(name, device="cpu").score(make_texts(4))
        for name in ("fixed/models/augment-1", "mitigated:fixed/models/augment-1")
    )
    np.testing.assert_array_equal(plain, mitigated)
