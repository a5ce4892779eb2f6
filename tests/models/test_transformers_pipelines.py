"""Pipelines of transformers: the model inside gives the same numbers as when it is loaded by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import transformers

import geobias
from geobias.errors import InputError
from geobias.models.answers import make_prompt
from geobias.models.load import load, load_classifier, load_perplexity_scorer, load_scorer
from geobias.models.model_files import load_tokenizer
from geobias.models.sources import embedded_folder

TEXTS = ["People in France are kind.", "Thanks, John! What a wonderful day.", "It was awful and sad."]


@pytest.fixture(scope="module")
def sentiment() -> Any:
    return pipeline_of("sentiment-analysis", embedded_folder() / "sentiment")


def pipeline_of(task: str, folder: Path, **options: Any) -> Any:
    make: Any = transformers.pipeline  # its overloads name every task
    if folder.name == "sentiment":  # the bundled classifiers share a tokenizer
        options["tokenizer"] = load_tokenizer(str(folder), {})
    return make(task, str(folder), **options)


def test_a_classification_pipeline_gives_the_pipelines_probabilities(sentiment: Any) -> None:
    classifier = load_classifier(sentiment)
    answers = [{row["label"]: row["score"] for row in rows} for rows in sentiment(TEXTS, top_k=None)]
    expected = [[answer[label] for label in classifier.labels] for answer in answers]
    np.testing.assert_allclose(classifier.score(TEXTS)[:, :-1], expected, atol=1e-5)
    assert classifier.name.endswith("sentiment") and classifier.fingerprint


@pytest.mark.parametrize(("function", "total"), [("softmax", 1), ("sigmoid", None)])
def test_the_function_of_the_pipeline_is_applied(function: str, total: int | None) -> None:
    pipeline = pipeline_of("text-classification", embedded_folder() / "sentiment", function_to_apply=function)
    classifier = load_classifier(pipeline)
    answers = [{row["label"]: row["score"] for row in rows} for rows in pipeline(TEXTS, top_k=None)]
    scores = classifier.score(TEXTS)[:, :-1]
    np.testing.assert_allclose(
        scores, [[answer[label] for label in classifier.labels] for answer in answers], atol=1e-5
    )
    assert classifier.multi_label == (total is None)


def test_raw_logits_are_refused() -> None:
    pipeline = pipeline_of("text-classification", embedded_folder() / "sentiment", function_to_apply="none")
    with pytest.raises(InputError, match="returns no probabilities"):
        load_classifier(pipeline)


@pytest.mark.parametrize(("task", "kind"), [("fill-mask", "bert"), ("text-generation", "gpt2")])
def test_language_models(task: str, kind: str, small_models: dict[str, Path]) -> None:
    pipeline = pipeline_of(task, small_models[kind])
    by_name = load(small_models[kind])
    assert type(load(pipeline)) is type(by_name)
    np.testing.assert_allclose(load_scorer(pipeline, None).score(TEXTS), load_scorer(by_name, None).score(TEXTS))
    np.testing.assert_allclose(
        load_perplexity_scorer(pipeline, None).score(TEXTS), load_perplexity_scorer(by_name, None).score(TEXTS)
    )


def test_a_generating_pipeline_is_prompted(small_models: dict[str, Path]) -> None:
    pipeline = pipeline_of("text-generation", small_models["gpt2"])
    with pytest.raises(InputError, match=r"is a language model\. Add the labels"):
        load_classifier(pipeline)
    classifier = load_classifier(pipeline, prompt=make_prompt("good,bad", "{text} It is"))
    assert classifier.labels == ("good", "bad")


def test_a_changed_configuration_changes_the_fingerprint() -> None:
    pipeline = pipeline_of("text-classification", embedded_folder() / "sentiment")
    before = load_classifier(pipeline).fingerprint
    pipeline.model.config.id2label = dict(enumerate("abc"))
    classifier = load_classifier(pipeline)
    assert classifier.labels == ("a", "b", "c") and classifier.fingerprint != before


def test_what_is_refused(sentiment: Any, small_models: dict[str, Path]) -> None:
    class Own(type(sentiment)):  # type: ignore[misc]
        pass

    own = Own(model=sentiment.model, tokenizer=sentiment.tokenizer)
    features = pipeline_of("feature-extraction", small_models["bert"])
    with pytest.raises(InputError, match="is not a language model: use a classifier with"):
        load(sentiment)
    with pytest.raises(InputError, match=r"A feature-extraction pipeline is not supported\. Pass one for text-class"):
        load_classifier(features)
    with pytest.raises(InputError, match="Own is a custom pipeline"):
        load_classifier(own)
    with pytest.raises(InputError, match="has no tokenizer"):
        load_classifier(sentiment.model)
    with pytest.raises(InputError, match="has no tokenizer"):
        load_scorer(features.model, None)
    for thing in (5, {"a": 1}, b"bert"):
        with pytest.raises(InputError, match=r"is not a language model\. Pass a Hugging Face id"):
            load(thing)
        with pytest.raises(InputError, match=r"is not a classifier\. Pass a Hugging Face id"):
            load_classifier(thing)


@pytest.mark.slow
def test_audits_take_pipelines(sentiment: Any, small_models: dict[str, Path], tmp_path: Path) -> None:
    lm = pipeline_of("fill-mask", small_models["bert"])
    texts = ["Mary was late again.", "Thanks, John!"]
    countries = ["FR", "MA"]
    names = geobias.audit_names(sentiment, texts, countries=countries, draws=2, perplexity=lm, out=tmp_path / "names")
    assert names.settings.perplexity == str(small_models["bert"])
    assert names.classifiers[0].model.endswith("sentiment")
    regions = geobias.audit_regions(
        lm, cities=0, countries=["FR", "DE", "NG", "KE"], paraphrases=1, out=tmp_path / "regions"
    )
    assert regions.model.name == str(small_models["bert"]) and regions.model.score == "conditional"
    downstream = geobias.audit_downstream([sentiment], texts, countries=countries)
    assert downstream.classifiers[0].labels == ["negative", "neutral", "positive"]
