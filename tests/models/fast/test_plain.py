"""The switch: without any fast part every model gives the same scores, by plain transformers code."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from geobias.models import fast
from geobias.models.fast import fast_path, head, shared_prefixes, templates, token_tree
from geobias.models.load import load_classifier, load_weights
from geobias.texts.templates import Sentences, TextSelection, mark
from tests.conftest import CAUSAL, MASKED, SCORE_ONLY, SEQ2SEQ, Run
from tests.models.classifiers.test_huggingface import saved

TEXTS = ["People in France are kind.", "People in Nigeria are hard-working.", "The lazy dog.", "France"]
MARKED = [f"People in {region} are {mark(word)}." for region in ("France", "Chad") for word in ("kind", "loyal and")]
REGIONS, WORDS = ["France", "Nigeria", "Chad", "The dog"], ["kind", "hard-working", "shy", "quick"]
# Everything that a model may enter only on the fast path.
ENTRANCES: tuple[tuple[Any, str], ...] = (
    (fast_path, "packed_attention"),
    (fast_path, "find_packed_attention"),
    (fast_path, "PackedLayers"),
    (fast_path, "replace_forward"),
    (head.PositionHead, "__init__"),
    (head, "replace_forward"),
    (fast_path, "pack"),
    (head.Projection, "__init__"),
    (shared_prefixes, "find_runs"),
    (templates.TemplateTokens, "__init__"),
    (token_tree.TokenTree, "__init__"),
)


@pytest.fixture
def plain_only(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Turns the switch off; whoever enters a fast part from then on fails."""

    def switch() -> None:
        monkeypatch.setenv(fast.VARIABLE, "0")
        for owner, name in ENTRANCES:
            monkeypatch.setattr(owner, name, lambda *_, name=name, **__: pytest.fail(f"{name} was entered"))

    return switch


def block(*, marked: bool) -> TextSelection:
    sentences = Sentences(["People in {region} are {description}."], REGIONS, WORDS, marked=marked)
    return TextSelection(sentences, np.arange(len(sentences)))


@pytest.mark.parametrize("kind", [*MASKED, *CAUSAL, *SEQ2SEQ])
def test_language_models(
    kind: str,
    small_models: dict[str, Path],
    plain_only: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("geobias.models.language_model.SAMPLE_SIZE", -1000)  # also few are composed

    def scores(lm: Any) -> dict[str, np.ndarray]:
        scorers = {method: lm.scorer(method) for method in lm.methods}
        given = {method: MARKED if scorer.needs_mark else TEXTS for method, scorer in scorers.items()}
        by_text = {method: scorers[method].score(texts) for method, texts in given.items()}
        in_block = {f"{name} block": one.score(block(marked=one.needs_mark)) for name, one in scorers.items()}
        return by_text | in_block

    quick = load_weights(small_models[kind])
    assert "read_positions" in quick.fast_parts
    expected = scores(quick)
    plain_only()
    plain = load_weights(small_models[kind])
    assert plain.fast_parts == () and plain.scorer().fast_parts == ()
    for method, values in scores(plain).items():
        np.testing.assert_allclose(values, expected[method], atol=3e-5, err_msg=method)


@pytest.mark.parametrize("kind", ["bert", "roberta", "distilbert", "deberta"])
def test_classifiers(kind: str, tmp_path: Path, plain_only: Callable[[], None]) -> None:
    folder = saved(tmp_path, kind)
    expected = load_classifier(folder).score(TEXTS)
    plain_only()
    classifier: Any = load_classifier(folder)
    assert classifier.fast_parts == ()
    np.testing.assert_allclose(classifier.score(TEXTS), expected, atol=1e-6)


def test_plain_scores_are_stored_by_themselves(small_models: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    quick = load_weights(small_models["bert"]).scorer("aul").fingerprint
    monkeypatch.setenv(fast.VARIABLE, "0")
    assert load_weights(small_models["bert"]).scorer("aul").fingerprint == f"{quick}:plain"


def test_a_copy_in_another_process_stays_plain(small_models: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers get a pickled scorer, move it to their device, and need not know the switch."""
    monkeypatch.setenv(fast.VARIABLE, "0")
    sent = pickle.dumps(load_weights(small_models["gpt2"]).scorer("mean"))
    monkeypatch.delenv(fast.VARIABLE)
    received = pickle.loads(sent)
    received.to("cpu")
    assert received.fast_parts == () and np.isfinite(received.score(TEXTS)[:, 0]).all()


def test_parts_left_out_one_by_one(small_models: dict[str, Path]) -> None:
    for part in load_weights(small_models["gpt2"]).fast_parts:
        with fast.leave_out(part):
            assert part not in load_weights(small_models["gpt2"]).fast_parts


def test_the_variable_of_the_command_line(
    run: Run, small_models: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(fast.VARIABLE, "1")  # and back to what it was after the test
    few = ("--countries", "FR,DE,ES", "--cities", "0", "--json", *SCORE_ONLY)
    code, quick, _ = run("regions", small_models["bert"], *few, "--out", "quick")
    assert code == 0
    monkeypatch.setattr(head.PositionHead, "__init__", lambda *_: pytest.fail("the fast path was entered"))
    monkeypatch.setenv("GEOBIAS_FAST", "0")
    code, plain, _ = run("regions", small_models["bert"], *few, "--out", "plain")
    assert code == 0
    assert ':plain"' in plain and ':plain"' not in quick  # the fingerprint says so


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_on_a_gpu(small_models: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    quick = load_weights(small_models["bert"], device="cuda", dtype="float32")
    assert "packed_attention" in quick.fast_parts
    expected = quick.scorer("pll").score(TEXTS)
    monkeypatch.setenv(fast.VARIABLE, "0")
    plain = load_weights(small_models["bert"], device="cuda", dtype="float32")
    np.testing.assert_allclose(plain.scorer("pll").score(TEXTS), expected, atol=1e-3)
