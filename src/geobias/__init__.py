"""geobias audits language models and text classifiers for bias by place and nationality."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from geobias.api import audit_downstream, audit_drift, audit_names, audit_regions
    from geobias.audits.downstream.result import DownstreamResult
    from geobias.audits.drift.design import DriftResult
    from geobias.audits.names.result import NamesResult
    from geobias.audits.regions.design import RegionsResult
    from geobias.errors import GeobiasError, InputError
    from geobias.models.load import load, load_classifier
    from geobias.models.scorer import Scorer
    from geobias.models.served.chat_classifier import ServedClassifier
    from geobias.models.served.endpoint import Endpoint
    from geobias.models.served.served_lm import ServedLM

__all__ = [
    "DownstreamResult",
    "DriftResult",
    "Endpoint",
    "GeobiasError",
    "InputError",
    "NamesResult",
    "RegionsResult",
    "Scorer",
    "ServedClassifier",
    "ServedLM",
    "audit_downstream",
    "audit_drift",
    "audit_names",
    "audit_regions",
    "load",
    "load_classifier",
]
__version__ = "0.1.0"

_HOME = {
    "DownstreamResult": "geobias.audits.downstream.result",
    "DriftResult": "geobias.audits.drift.design",
    "Endpoint": "geobias.models.served.endpoint",
    "GeobiasError": "geobias.errors",
    "InputError": "geobias.errors",
    "NamesResult": "geobias.audits.names.result",
    "RegionsResult": "geobias.audits.regions.design",
    "Scorer": "geobias.models.scorer",
    "ServedClassifier": "geobias.models.served.chat_classifier",
    "ServedLM": "geobias.models.served.served_lm",
    "audit_downstream": "geobias.api",
    "audit_drift": "geobias.api",
    "audit_names": "geobias.api",
    "audit_regions": "geobias.api",
    "load": "geobias.models.load",
    "load_classifier": "geobias.models.load",
}


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def __getattr__(name: str) -> Any:
    """Names are imported when first used, so that `import geobias` and `geobias --help` answer at once."""
    if name in _HOME:
        from importlib import import_module

        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'geobias' has no attribute {name!r}")
