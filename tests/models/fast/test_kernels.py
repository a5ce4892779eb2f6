"""Kernels of a GPU, interpreted: each gives what torch gives, and models that use them the scores of those without."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.functional import linear, scaled_dot_product_attention

from geobias.models.fast import kernels
from geobias.models.fast.fast_path import PACKED
from geobias.models.load import load_classifier, load_masked, load_weights
from geobias.texts.templates import Sentences, select_texts
from tests.models.classifiers.test_huggingface import saved

TEXTS = ["People in France are kind.", "The lazy dog."]


def random(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize(("count", "words", "width"), [(1, 5, 8), (140, 300, 72), (1100, 257, 64)])
@pytest.mark.slow
def test_sums_over_a_vocabulary_that_is_never_written(
    gpu_kernels: ModuleType, dtype: torch.dtype, count: int, words: int, width: int
) -> None:
    states, weight, bias = (one.to(dtype) for one in (random(count, width), 3 * random(words, width), random(words)))
    logits = linear(states.double(), weight.double(), bias.double())
    found = gpu_kernels.projected_log_sum(states, weight, bias)
    np.testing.assert_allclose(found, logits.logsumexp(1), atol=1e-4)
    np.testing.assert_allclose(gpu_kernels.log_sum(logits.float()), logits.logsumexp(1), atol=1e-4)
    rows = torch.arange(count).flip(0)
    targets = (7 * rows + 2) % words
    np.testing.assert_allclose(
        gpu_kernels.projected_at(states, weight, bias, rows, targets), logits[rows, targets], atol=1e-4
    )


def test_a_maximum_that_rises_from_block_to_block(gpu_kernels: ModuleType) -> None:
    logits = torch.linspace(-200, 90, 20_000)[None] + random(2, 20_000)
    np.testing.assert_allclose(gpu_kernels.log_sum(logits), logits.double().logsumexp(1), rtol=1e-6)


def test_half_precision(gpu_kernels: ModuleType) -> None:
    """Triton's interpreter knows no products of bfloat16."""
    dtype = torch.float16
    query, key, value = (random(3, 91, 2, 16).transpose(1, 2).to(dtype) * n for n in (1, 2, 3))
    expected = scaled_dot_product_attention(query.float(), key.float(), value.float()).transpose(1, 2)
    np.testing.assert_allclose(gpu_kernels.attention_within(query, key, value).float(), expected, atol=0.02)


def test_the_length_of_texts_is_bounded_by_what_a_gpu_has_room_for(
    gpu_kernels: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def texts(tokens: int, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
        states = torch.zeros(1, 1, tokens, 16, dtype=dtype)
        return states, states

    assert gpu_kernels.attends(*texts(64, torch.float32)) and not gpu_kernels.attends(*texts(65, torch.float32))
    assert gpu_kernels.attends(*texts(128, torch.float16)) and not gpu_kernels.attends(*texts(129, torch.float16))
    small = gpu_kernels.attention_within

    def out_of_room(query: torch.Tensor, *others: torch.Tensor) -> torch.Tensor:
        if query.shape[2] > 64:
            raise ValueError("out of resource: shared memory")
        return small(query, *others)

    monkeypatch.setattr(gpu_kernels, "attention_within", out_of_room)
    gpu_kernels._longest.cache_clear()
    assert gpu_kernels.attends(*texts(64, torch.float16)) and not gpu_kernels.attends(*texts(65, torch.float16))


def test_a_machine_on_which_they_do_not_compile_has_none(
    gpu_kernels: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_compiler(_: torch.Tensor) -> torch.Tensor:
        raise RuntimeError("Failed to find C compiler.")

    monkeypatch.setattr(gpu_kernels, "log_sum", no_compiler)
    gpu_kernels._compiles.cache_clear()
    assert not gpu_kernels.ready(torch.zeros(1))


@pytest.mark.parametrize("kind", ["bert", "distilbert", "gpt2"])
def test_a_model_gives_the_same_scores(
    small_models: dict[str, Path], kind: str, request: pytest.FixtureRequest
) -> None:
    methods = ("mean", "conditional") if kind == "gpt2" else ("aul", "pll", "conditional")
    texts = [f"{text.removesuffix('.')} [[kind]]." for text in TEXTS]
    sentences = Sentences(["People in {region} are {description}."], ["France", "the dog", "Nigeria"], ["kind", "lazy"])
    some = select_texts(sentences, np.arange(6))

    def scores(lm: Any) -> dict[str, np.ndarray]:
        given = {method: (texts if method == "conditional" else TEXTS) for method in methods}
        found = {method: lm.scorer(method).score(texts) for method, texts in given.items()}
        return found | {"template": lm.scorer(methods[0]).score(some)}

    plain = scores(load_weights(small_models[kind]))
    request.getfixturevalue("gpu_kernels")
    lm = load_weights(small_models[kind])
    assert lm.fast.attention == (None if kind == "gpt2" else PACKED)  # its attention is causal
    for method, values in scores(lm).items():
        np.testing.assert_allclose(values, plain[method], atol=2e-5, err_msg=method)


def test_the_vocabulary_is_summed_unwritten(
    small_models: dict[str, Path], gpu_kernels: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    lm = load_masked(small_models["bert"])
    plain = lm.scorer("aul").score(TEXTS)
    monkeypatch.setattr(kernels, "sums_best_in_kernel", lambda weight: True)
    for parameter in lm.model.parameters():
        parameter.data = parameter.data.clone()  # as they begin on a GPU; in a file they begin anywhere
    lm.to("cpu")
    projection = lm.fast.head.projection if lm.fast.head else None
    assert projection is not None and projection.sums_in_kernel
    monkeypatch.setattr(projection, "slices", lambda: pytest.fail("all the numbers were made"))
    np.testing.assert_allclose(lm.scorer("aul").score(TEXTS), plain, atol=2e-5)


def test_a_classifier_gives_the_same(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    folder = saved(tmp_path)
    plain = load_classifier(folder).score(TEXTS)
    request.getfixturevalue("gpu_kernels")
    classifier: Any = load_classifier(folder)
    assert classifier.fast.attention == PACKED
    np.testing.assert_allclose(classifier.score(TEXTS), plain, atol=1e-5)


def test_layers_stay_as_they_are_where_a_kernel_fails(
    gpu_kernels: ModuleType, small_models: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> torch.Tensor:
        raise ValueError("no such kernel")

    for module in (kernels, gpu_kernels):
        monkeypatch.setattr(module, "attention_within", fails)
    lm = load_masked(small_models["bert"])
    assert lm.fast.attention is None
    assert np.isfinite(lm.scorer("pll").score(TEXTS)).all()
