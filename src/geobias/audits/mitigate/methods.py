"""The methods of mitigation: how they are named, and which models each is for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from geobias.audits.inputs import split_list
from geobias.checks import check_number, describe_choices
from geobias.errors import InputError
from geobias.models.sources import PICKLES, SKOPS
from geobias.models.training.hyperparameters import MOST_VERSIONS
from geobias.models.wrappers import MOST_COPIES

DEFAULT_METHODS = "blind,average:8"
WRAPPERS = ("blind", "average")
METHODS = ("blind", "average", "augment", "pair", "align")
NEEDS_LABELS = ("augment", "pair")
COPIES = {"average": ("K of average:K", MOST_COPIES), "augment": ("N of augment:N", MOST_VERSIONS)}
DEFAULT_COPIES = 8
# Of a language model after mitigation: the least variance over words (a share of that before) that counts as help, and
# the most that it may lose to be recommended: per cent of perplexity, percentage points of the capitals that it knows.
LEAST_WORD_VARIANCE = 0.5
MOST_PERPLEXITY_RISE, MOST_CAPITALS_LOST = 5.0, 2.0
LARGEST_STRENGTHS = {"pair": 1000.0, "align": 1.0}  # the weight of the penalty; the share of the change that is kept
MEANINGS = {
    "blind": "names replaced by one placeholder before the model reads the text",
    "average": "mean over K versions of a text with names of K countries",
    "augment": "training on texts with names of other countries",
    "pair": "training with a penalty where the logits differ between names",
    "align": "training so that all regions get the mean distribution over descriptions",
}


@dataclass(frozen=True)
class Method:
    """A method with its strength: K of average, the weight of pair, the share of align."""

    name: str
    strength: float | None = None

    @property
    def label(self) -> str:
        """As the user writes it: "average:8"."""
        return self.name if self.strength is None else f"{self.name}:{self.strength:g}"

    @property
    def is_wrapper(self) -> bool:
        return self.name in WRAPPERS


def parse_methods(methods: str | Sequence[str]) -> list[Method]:
    """Methods as the user names them, "blind,average:8", each once; InputError for what cannot be used."""
    parsed = [_parse_method(method.strip()) for method in split_list(methods, "--method")]
    if not parsed:
        raise InputError(f"--method is empty. {describe_choices('', METHODS)}")
    return list(dict.fromkeys(parsed))


def check_trainable(model: Any, methods: Sequence[Method]) -> None:
    """Refuse to train what a name shows to be a server or a file of scikit-learn; nothing is loaded."""
    name = str(model) if isinstance(model, str | Path) else ""
    is_other_file = name.lower().endswith((SKOPS, *PICKLES)) and not Path(name).expanduser().is_dir()
    if ("://" in name or is_other_file) and not all(method.is_wrapper for method in methods):
        raise InputError(f"{name} cannot be trained: it is no Hugging Face model. Use blind or average:8.")


def _parse_method(text: str) -> Method:
    name, separator, strength = text.partition(":")
    if name not in METHODS:
        raise InputError(f"Unknown --method {text!r}. {describe_choices(name, METHODS)}")
    if separator and (not strength or name == "blind"):
        problem = "has no value after the colon" if not strength else "takes no value"
        raise InputError(f"--method {text!r} {problem}. Remove the colon, or see `geobias mitigate --help`.")
    if name in COPIES and (strength or name == "average"):
        copies = _parse_number(text, strength or str(DEFAULT_COPIES))
        title, most = COPIES[name]
        if copies % 1:
            raise InputError(f"{title} must be a whole number, not {strength}.")
        check_number(title, int(copies), 1, most)
        return Method(name, copies)
    if name in LARGEST_STRENGTHS and strength:
        number, largest = _parse_number(text, strength), LARGEST_STRENGTHS[name]
        if not 0 < number <= largest:
            raise InputError(f"The strength in --method {text!r} must be above 0 and at most {largest:g}.")
        return Method(name, number)
    return Method(name)


def _parse_number(text: str, strength: str) -> float:
    try:
        return float(strength)
    except ValueError:
        raise InputError(f"--method {text!r} needs a number after the colon.") from None
