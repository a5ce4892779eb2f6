"""The baseline: logistic regression on single words and pairs of words, tuned on the dev part."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise, product

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from recipes.classifiers.encoded import Encoded
from recipes.classifiers.scores import best_shift, shift_direction

FEWEST_TEXTS = 2  # of a word or pair
INVERSE_PENALTIES = (0.3, 1.0, 3.0, 10.0, 30.0)  # the usual C
RARE_FIRST = (0.0, 0.5, 1.0)  # how far rare labels weigh more: 0 not at all, 1 until all count alike


class BagOfWords:
    """Words and pairs of words of training texts; features are TF-IDF of length 1."""

    def __init__(self, words: list[np.ndarray], device: torch.device) -> None:
        self.device = device
        counts = Counter(term for text in words for term in self.terms(text))
        kept = sorted(term for term, count in counts.items() if count >= FEWEST_TEXTS)
        self.columns = {term: column for column, term in enumerate(kept)}
        self.rarity = np.log((1 + len(words)) / (1 + np.array([counts[term] for term in kept]))) + 1

    @staticmethod
    def terms(text: np.ndarray) -> set[tuple[int, ...]]:
        words = text.tolist()
        return {(word,) for word in words} | set(pairwise(words))

    def features(self, words: list[np.ndarray]) -> Tensor:
        rows, columns, values = [], [], []
        for row, text in enumerate(words):
            own = [self.columns[term] for term in self.terms(text) if term in self.columns]
            weights = self.rarity[own]
            rows += [row] * len(own)
            columns += own
            values += list(weights / max(np.linalg.norm(weights), 1e-9))
        size = (len(words), len(self.columns))
        matrix = torch.sparse_coo_tensor(torch.tensor([rows, columns]), torch.tensor(values).float(), size)
        return matrix.to(self.device).coalesce()


def fit(features: Tensor, transposed: Tensor, labels: Tensor, weights: Tensor, inverse_penalty: float) -> Tensor:
    """Penalised multinomial logistic regression; the last row of the solution is the bias."""
    width = int(labels.max()) + 1
    solution = torch.zeros(features.shape[1] + 1, width, device=features.device, requires_grad=True)
    optimizer = torch.optim.LBFGS([solution], max_iter=150, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        with torch.no_grad():  # the gradient by hand: that of a sparse product is slow
            logits = (torch.sparse.mm(features, solution[:-1]) + solution[-1]).requires_grad_()
        misfit = (weights * F.cross_entropy(logits, labels, reduction="none")).sum()
        [slope] = torch.autograd.grad(misfit, logits)
        penalty = solution.detach()[:-1] / inverse_penalty
        solution.grad = torch.cat([torch.sparse.mm(transposed, slope) + penalty, slope.sum(0, keepdim=True)])
        return misfit.detach() + solution.detach()[:-1].square().sum() / (2 * inverse_penalty)

    optimizer.step(loss)
    return solution.detach()


def predict_baseline(
    train: Encoded, dev: Encoded, others: list[Encoded], task: str, width: int, device: torch.device
) -> tuple[list[np.ndarray], dict[str, float]]:
    """Fit with several settings, choose by macro F1 on the dev part, and predict the labels of the other texts."""
    train = train.select(train.labels[task] >= 0)
    bag = BagOfWords(train.words, device)
    features, dev_features = bag.features(train.words), bag.features(dev.words)
    transposed = features.t().coalesce()
    labels = torch.from_numpy(train.labels[task]).to(device)
    counts = torch.bincount(labels, minlength=width).float()
    direction = shift_direction(dev.labels[task], width)
    best: tuple[float, Tensor, dict[str, float]] = (-1.0, features, {})
    for inverse_penalty, power in product(INVERSE_PENALTIES, RARE_FIRST):
        weights = (len(labels) / (width * counts)).pow(power)[labels]
        solution = fit(features, transposed, labels, weights, inverse_penalty)
        shift, score = best_shift(dev.labels[task], logits_of(solution, dev_features))
        if score > best[0]:
            settings = {"C": inverse_penalty, "rare first": power, "shift": round(shift, 1), "dev": round(score, 1)}
            best = (score, solution, settings)
    _, solution, settings = best
    shifted = settings["shift"] * direction
    answers = [(logits_of(solution, bag.features(other.words)) + shifted).argmax(1) for other in others]
    return answers, settings


def logits_of(solution: Tensor, features: Tensor) -> np.ndarray:
    return (torch.sparse.mm(features, solution[:-1]) + solution[-1]).cpu().numpy()
