"""LEACE: the concept is gone for every linear probe, nothing else moves more than it must, folding is exact."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import transformers

from geobias.errors import InputError
from geobias.models.training.erasure import Eraser, find_output_layer, fit_leace, fold_eraser, read_representations
from tests.conftest import TOKENIZERS, _config, _wordpiece

TEXTS = ["People in France are kind.", "The dog jumps.", "People in Nigeria are honest and kind.", "The quick fox."] * 5


def draw_data(seed: int = 0, classes: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Correlated representations in which a concept shifts the mean."""
    rng = np.random.default_rng(seed)
    concepts = rng.integers(classes, size=300)
    x = rng.normal(size=(300, 12)) @ rng.normal(size=(12, 12)) + 2 * rng.normal(size=(classes, 12))[concepts]
    return x + 5, concepts


def explain_share(x: np.ndarray, concepts: np.ndarray) -> float:
    """The share of the variance of the concept's indicators that least squares explains: 0 is chance."""
    z = np.eye(concepts.max() + 1)[concepts]
    z = z - z.mean(axis=0)
    design = np.column_stack([x, np.ones(len(x))])
    residual = z - design @ np.linalg.lstsq(design, z, rcond=None)[0]
    return float(1 - (residual**2).sum() / (z**2).sum())


def project_orthogonally(x: np.ndarray, concepts: np.ndarray) -> np.ndarray:
    """The simplest eraser: remove the span of the differences of class means."""
    means = np.array([x[concepts == k].mean(axis=0) for k in range(concepts.max() + 1)]) - x.mean(axis=0)
    _, sizes, directions = np.linalg.svd(means, full_matrices=False)
    directions = directions[sizes > 1e-9 * sizes[0]]
    return x - (x - x.mean(axis=0)) @ directions.T @ directions


def test_no_linear_probe_finds_the_concept() -> None:
    x, concepts = draw_data()
    eraser = fit_leace(x, concepts)
    assert explain_share(x, concepts) > 0.3
    assert abs(explain_share(eraser.apply(x), concepts)) < 1e-10
    assert eraser.directions == 3 and eraser.rank == 12
    np.testing.assert_allclose(eraser.removal @ eraser.removal, eraser.removal, atol=1e-10)


def test_it_moves_representations_least() -> None:
    x, concepts = draw_data()

    def measure_move(erased: np.ndarray) -> float:
        assert abs(explain_share(erased, concepts)) < 1e-9
        return float(((erased - x) ** 2).sum(axis=1).mean())

    least = measure_move(fit_leace(x, concepts).apply(x))
    assert least < 0.9 * measure_move(project_orthogonally(x, concepts))
    # Brute force: all erasers remove the class means along a complement of their span; none of 200 others is better.
    rng = np.random.default_rng(1)
    means = np.array([x[concepts == k].mean(axis=0) for k in range(4)]) - x.mean(axis=0)
    span = np.linalg.svd(means, full_matrices=False)[2][:3]
    best = fit_leace(x, concepts).removal
    for size in np.repeat([1e-3, 1e-2, 1e-1, 1.0], 50):
        readers = span @ best + size * rng.normal(size=span.shape)
        removal = span.T @ np.linalg.solve(readers @ span.T, readers)
        other = Eraser(x.mean(axis=0), removal, 3, 12)
        assert measure_move(other.apply(x)) > least


def test_a_concept_that_nothing_shows_leaves_all_as_it_is() -> None:
    x = np.repeat(draw_data()[0], 2, axis=0)
    eraser = fit_leace(x, np.tile([0, 1], 300))
    assert eraser.directions == 0
    np.testing.assert_array_equal(eraser.apply(x), x)


def test_directions_without_variance_do_no_harm() -> None:
    x, concepts = draw_data()
    x = np.column_stack([x, x[:, 0] + x[:, 1], np.full(len(x), 3.0)])
    eraser = fit_leace(x, concepts)
    assert eraser.rank == 12
    assert abs(explain_share(eraser.apply(x), concepts)) < 1e-8


def build_classifier(kind: str) -> tuple[Any, Any]:
    tokenizer = TOKENIZERS.get(kind, _wordpiece)()
    config = _config(kind, len(tokenizer))
    config.num_labels = 3
    torch.manual_seed(3)
    model = transformers.AutoModelForSequenceClassification.from_config(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    return model, tokenizer


@pytest.mark.parametrize("kind", ["bert", "roberta", "distilbert", "deberta", "albert", "electra", "bart"])
def test_the_folded_model_answers_as_the_head_for_erased_representations(kind: str) -> None:
    model, tokenizer = build_classifier(kind)
    layer = find_output_layer(kind, model, tokenizer)
    ids = tokenizer(TEXTS)["input_ids"]
    x = read_representations(model, layer, tokenizer, ids, progress=False)
    eraser = fit_leace(x, np.tile([0, 0, 1, 1], 5))
    with torch.no_grad():
        before = torch.cat([model(torch.tensor([row])).logits for row in ids])
        np.testing.assert_allclose(layer(torch.from_numpy(x).float()), before, atol=1e-5)  # these are what it reads
        expected = layer(torch.from_numpy(eraser.apply(x)).float())
        fold_eraser(eraser, layer)
        after = torch.cat([model(torch.tensor([row])).logits for row in ids])
    assert (after - before).abs().max() > 1e-3
    np.testing.assert_allclose(after, expected, atol=1e-5)


def test_a_head_without_bias_is_refused() -> None:
    model, tokenizer = build_classifier("gpt2")
    tokenizer.pad_token = tokenizer.eos_token
    model.config.pad_token_id = tokenizer.pad_token_id
    with pytest.raises(InputError, match=r"gpt2 \(GPT2ForSequenceClassification\) cannot be erased.*pair or augment"):
        find_output_layer("gpt2", model, tokenizer)
