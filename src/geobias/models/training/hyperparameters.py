"""The settings of a fine-tuning. Without torch, so that a run's settings can be read without it."""

from __future__ import annotations

from dataclasses import dataclass

from geobias.checks import HIGHEST_SEED, LARGEST_BATCH, MOST_EPOCHS, check_number
from geobias.errors import InputError

LONGEST_INPUT = 1_000_000  # tokens
MOST_VERSIONS = 100  # renamed versions of a text in each epoch, to mitigate


@dataclass(frozen=True)
class Hyperparameters:
    """How a classifier is trained; the defaults are the usual ones."""

    epochs: int = 3
    batch: int = 32
    rate: float = 2e-5
    """The highest learning rate."""
    max_length: int = 128
    """Tokens of a text that are read in training."""
    seed: int = 0

    def __post_init__(self) -> None:
        check_number("--epochs", self.epochs, 1, MOST_EPOCHS)
        check_number("--batch", self.batch, 1, LARGEST_BATCH)
        check_number("--max-length", self.max_length, 8, LONGEST_INPUT)
        check_number("--seed", self.seed, 0, HIGHEST_SEED)
        if not 0 < self.rate < 1:
            raise InputError(f"--rate must be between 0 and 1, not {self.rate}.")
