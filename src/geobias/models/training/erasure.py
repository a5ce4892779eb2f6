"""LEACE: remove from a classifier's last representation everything that a linear probe could tell of a concept.

Belrose et al. (2023), "LEACE: Perfect linear concept erasure in closed form", theorem 4.3. The closed form is written
out here: it is a few lines, it needs float64 and plain covariances without shrinkage so that the probe is exactly at
chance, and it is folded into a layer's weights, for which there is no function elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from geobias.errors import InputError
from geobias.models.pretrained import longest_input
from geobias.models.scorer import PROBE
from geobias.models.training.epochs import Tokens, pad_batch
from geobias.progress import progress_bar
from geobias.texts.counterfactuals import Counterfactuals
from geobias.world.countries import load_geonames

SMALLEST_VARIANCE = 1e-12  # of a direction, as a share of the largest: below it is rounding of float32
SMALLEST_CORRELATION = 1e-7  # of a direction with the concept
BATCH_TOKENS = 4096
MOST_REPRESENTATIONS = 20_000  # renamed texts that an eraser is fitted to


@dataclass(frozen=True)
class Eraser:
    """The affine map x -> x - removal (x - mean)."""

    mean: np.ndarray
    removal: np.ndarray
    directions: int
    """How many directions of the representation the concept had: the rank of `removal`."""
    rank: int
    """In how many directions the representations vary at all."""

    def apply(self, representations: np.ndarray) -> np.ndarray:
        """Return the representations (rows) without the concept."""
        erased: np.ndarray = representations - (representations - self.mean) @ self.removal.T
        return erased

    @property
    def leaves_any(self) -> bool:
        """Whether the representations still vary without the concept."""
        return self.directions < self.rank

    def describe(self, representations: np.ndarray) -> dict[str, Any]:
        """How much it takes from these representations."""
        change = self.apply(representations) - representations
        return {
            "directions_erased": self.directions,
            "dimensions": representations.shape[1],
            "variance_erased": float((change**2).sum() / ((representations - self.mean) ** 2).sum()),
        }


def fit_leace(representations: np.ndarray, concepts: np.ndarray) -> Eraser:
    """Fit the least-squares concept eraser to representations (rows) and the class of the concept of each.

    Of all affine maps r for which no linear probe does better on r(x) than a constant, this one has the smallest mean
    of |r(x) - x|^2. With W = (Sigma_xx^(1/2))^+ and P the orthogonal projection onto the columns of W Sigma_xz::

        r(x) = x - W^+ P W (x - E[x])
    """
    x = np.asarray(representations, dtype=np.float64)
    mean = x.mean(axis=0)
    classes = np.eye(int(concepts.max()) + 1)[concepts]
    covariance = np.cov(x, rowvar=False, bias=True).reshape(x.shape[1], x.shape[1])
    cross_covariance = (x - mean).T @ (classes - classes.mean(axis=0)) / len(x)
    variances, axes = np.linalg.eigh(covariance)
    varies = variances > SMALLEST_VARIANCE * variances[-1]
    deviations, axes = np.sqrt(variances[varies]), axes[:, varies]
    whiten, unwhiten = axes / deviations @ axes.T, axes * deviations @ axes.T
    left, correlations, _ = np.linalg.svd(whiten @ cross_covariance, full_matrices=False)
    basis = left[:, correlations > SMALLEST_CORRELATION]
    return Eraser(mean, unwhiten @ basis @ basis.T @ whiten, basis.shape[1], axes.shape[1])


def find_output_layer(name: str, model: Any, tokenizer: Any) -> torch.nn.Linear:
    """Return the linear layer whose output is the logits; refuse a model that has none, or one without a bias."""
    outputs: list[tuple[torch.nn.Linear, torch.Tensor]] = []

    def remember(module: torch.nn.Linear, inputs: Any, output: torch.Tensor) -> None:
        outputs.append((module, output))

    layers = [module for module in model.modules() if isinstance(module, torch.nn.Linear)]
    handles = [layer.register_forward_hook(remember) for layer in layers]
    try:
        logits = _run(model, pad_batch(tokenizer, tokenizer([PROBE, f"{PROBE} {PROBE}"], truncation=True)["input_ids"]))
    finally:
        for handle in handles:
            handle.remove()
    for layer, output in reversed(outputs):
        if output.shape == logits.shape and torch.equal(output, logits):
            if layer.bias is None:
                break
            return layer
    raise InputError(
        f"{name} ({type(model).__name__}) cannot be erased: its logits are not the output of one linear layer with a "
        "bias. Use pair or augment."
    )


def read_representations(
    model: Any,
    layer: torch.nn.Module,
    tokenizer: Any,
    ids: Sequence[Tokens],
    *,
    label: str = "representations",
    progress: bool | None = None,
) -> np.ndarray:
    """Return what the layer reads for each text (rows of token ids), in float64."""
    rows: list[np.ndarray] = []
    order = np.argsort([len(tokens) for tokens in ids], kind="stable")
    with _keep_inputs(layer, rows), progress_bar(label, len(ids), progress) as advance:
        for positions in _split(order, ids):
            _run(model, pad_batch(tokenizer, [ids[k] for k in positions]))
            advance(len(positions))
    representations = np.concatenate(rows)
    return representations[np.argsort(order)]


def fold_eraser(eraser: Eraser, layer: torch.nn.Linear) -> None:
    """Change the weights of a layer so that it computes what it did for erased representations.

    No layer follows, so nothing can undo the erasure.
    """
    weight = layer.weight.detach().double().cpu().numpy()
    change = weight @ eraser.removal
    with torch.no_grad():
        layer.weight.sub_(torch.from_numpy(change).to(layer.weight))
        layer.bias.add_(torch.from_numpy(change @ eraser.mean).to(layer.bias))


def select_concept_texts(counterfactuals: Counterfactuals, concept: str) -> tuple[list[str], np.ndarray]:
    """Renamed texts and the class of the concept of each: the same texts and number of draws for every country.

    Texts then say nothing about the concept; only names do.
    """
    texts, countries, draws = counterfactuals.shape
    groups = list(counterfactuals.countries)
    if concept == "continent":
        entries = load_geonames().get_countries()
        if unknown := [code for code in groups if code not in entries]:
            raise InputError(f"{unknown[0]!r} is on no known continent. Erase the country instead.")
        groups = [entries[code]["continentcode"] for code in groups]
    distinct = sorted(set(groups))
    if len(distinct) < 2:
        raise InputError(f"Erasing the {concept} needs names of at least two. Add countries.")
    if not texts:
        raise InputError("None of the texts names a person. Add texts that do.")
    rows = min(texts, max(1, MOST_REPRESENTATIONS // countries))
    used_draws = min(draws, max(1, MOST_REPRESENTATIONS // (rows * countries)))
    positions = [(row, c, k) for row in range(rows) for c in range(countries) for k in range(used_draws)]
    renamed = [counterfactuals.at(*position) for position in positions]
    return renamed, np.array([distinct.index(groups[c]) for _, c, _ in positions])


def erase_concept(
    name: str, network: Any, tokenizer: Any, texts: Sequence[str], concepts: np.ndarray, *, progress: bool | None = None
) -> dict[str, Any]:
    """Erase a concept from what the model's output layer reads; return what to say about it."""
    layer = find_output_layer(name, network, tokenizer)
    ids = tokenizer(list(texts), truncation=True, max_length=longest_input(network, tokenizer))["input_ids"]
    representations = read_representations(network, layer, tokenizer, ids, label=name, progress=progress)
    eraser = fit_leace(representations, concepts)
    if not eraser.leaves_any:
        raise InputError(
            f"Erasing {int(concepts.max()) + 1} classes would leave nothing of the {eraser.rank} directions in which "
            f"the representations of {name} vary. Use fewer countries, more texts, or continents."
        )
    fold_eraser(eraser, layer)
    return eraser.describe(representations)


@torch.no_grad()
def _run(model: Any, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    model.eval()
    logits: torch.Tensor = model(**{name: tensor.to(model.device) for name, tensor in batch.items()}).logits
    return logits


@contextmanager
def _keep_inputs(layer: torch.nn.Module, rows: list[np.ndarray]) -> Iterator[None]:
    """Inside, whatever the layer reads is appended to the rows."""
    handle = layer.register_forward_pre_hook(
        lambda module, inputs: rows.append(inputs[0].detach().double().cpu().numpy())
    )
    try:
        yield
    finally:
        handle.remove()


def _split(order: np.ndarray, ids: Sequence[Tokens]) -> Iterator[list[int]]:
    """Positions in this order, which is by length, in batches of about the same number of tokens."""
    batch: list[int] = []
    for k in map(int, order):
        if batch and (len(batch) + 1) * len(ids[k]) > BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(k)
    if batch:
        yield batch
