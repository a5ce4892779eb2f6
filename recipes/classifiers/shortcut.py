"""What words alone say about a label: a bag-of-words model, and validation weights that take its hints away.

In a hate-speech set collected by keywords, the keywords nearly decide the label, and a classifier that learns
just them fails on tweets collected otherwise. Following Clark et al. (2019), the classifier is trained as one
half of a product of experts whose other half is this bag-of-words model, already trained: what words alone
explain brings no reward, so the classifier learns what is left. Used alone later, it leans less on words.
"""

import collections
import re

import numpy as np
import torch
import torch.nn.functional as F

FOLDS = 5
LEAST_COUNT = 3
INVERSE_PENALTY = 1.0  # the usual C of logistic regression
BINS = 5


def words_of(text: str) -> set[str]:
    """Return the lower-cased words and hashtags of a tweet."""
    return set(re.findall(r"#?\w+", text.lower()))


def vocabulary_of(texts: list[str]) -> dict[str, int]:
    """Number the words met in at least LEAST_COUNT texts."""
    counts = collections.Counter(word for text in texts for word in words_of(text))
    return {word: i for i, word in enumerate(sorted(w for w, n in counts.items() if n >= LEAST_COUNT))}


def indicators(texts: list[str], vocabulary: dict[str, int]) -> torch.Tensor:
    """Return which words each text holds, and a last column of ones for the bias."""
    matrix = torch.zeros(len(texts), len(vocabulary) + 1)
    matrix[:, -1] = 1
    for row, text in enumerate(texts):
        for word in words_of(text):
            if word in vocabulary:
                matrix[row, vocabulary[word]] = 1
    return matrix


def fit(matrix: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return the weights of a penalised logistic regression."""
    weights = torch.zeros(matrix.shape[1], requires_grad=True)
    optimizer = torch.optim.LBFGS([weights], max_iter=60, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        misfit = F.binary_cross_entropy_with_logits(matrix @ weights, labels, reduction="sum")
        total = (misfit + weights[:-1].square().sum() / (2 * INVERSE_PENALTY)) / len(labels)
        total.backward()
        return total

    optimizer.step(loss)
    return weights.detach()


def word_log_odds(texts: list[str], labels: np.ndarray, others: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the log-odds of label 1 by words alone, for the training texts and for other texts.

    Those of a training text come from a model that did not see it, those of the others from one that saw all.
    """
    vocabulary = vocabulary_of(texts)
    matrix, target = indicators(texts, vocabulary), torch.tensor(labels, dtype=torch.float32)
    fold = torch.arange(len(texts)) % FOLDS
    inside = torch.zeros(len(texts))
    for number in range(FOLDS):
        inside[fold == number] = matrix[fold == number] @ fit(matrix[fold != number], target[fold != number])
    outside = indicators(others, vocabulary) @ fit(matrix, target)
    return inside.numpy(), outside.numpy()


def balancing_weights(log_odds: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return weights under which words alone say nothing: labels are mixed alike in every bin of log-odds."""
    edges = np.quantile(log_odds, np.linspace(0, 1, BINS + 1)[1:-1])
    bins = np.searchsorted(edges, log_odds)
    weights = np.zeros(len(labels))
    for number in range(BINS):
        inside = bins == number
        for label in (0, 1):
            is_cell = inside & (labels == label)
            if is_cell.any():
                weights[is_cell] = inside.sum() * (labels == label).mean() / is_cell.sum()
    return weights
