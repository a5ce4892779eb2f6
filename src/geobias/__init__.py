"""geobias audits language models and text classifiers for bias by place and nationality."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from geobias.audits.compare.audit import compare
    from geobias.audits.compare.result import CompareResult
    from geobias.audits.downstream.audit import audit_downstream
    from geobias.audits.downstream.result import DownstreamResult
    from geobias.audits.drift.audit import audit_drift
    from geobias.audits.drift.result import DriftResult
    from geobias.audits.finetune.audit import audit_finetune
    from geobias.audits.finetune.result import FinetuneResult
    from geobias.audits.gate.audit import GateReport, gate
    from geobias.audits.names.audit import audit_names
    from geobias.audits.names.result import NamesResult
    from geobias.audits.regions.audit import audit_regions
    from geobias.audits.regions.result import RegionsResult
    from geobias.audits.reproduce.audit import reproduce
    from geobias.audits.reproduce.result import ReproduceResult
    from geobias.errors import GeobiasError, InputError
    from geobias.models.load import load, load_classifier
    from geobias.models.scorer import Scorer
    from geobias.models.served.chat_classifier import ServedClassifier
    from geobias.models.served.endpoint import Endpoint
    from geobias.models.served.served_lm import ServedLM

__version__ = "0.1.0"

_MODULES = {  # where each public name is defined
    "CompareResult": "geobias.audits.compare.result",
    "DownstreamResult": "geobias.audits.downstream.result",
    "DriftResult": "geobias.audits.drift.result",
    "Endpoint": "geobias.models.served.endpoint",
    "FinetuneResult": "geobias.audits.finetune.result",
    "GateReport": "geobias.audits.gate.audit",
    "GeobiasError": "geobias.errors",
    "InputError": "geobias.errors",
    "NamesResult": "geobias.audits.names.result",
    "RegionsResult": "geobias.audits.regions.result",
    "ReproduceResult": "geobias.audits.reproduce.result",
    "Scorer": "geobias.models.scorer",
    "ServedClassifier": "geobias.models.served.chat_classifier",
    "ServedLM": "geobias.models.served.served_lm",
    "audit_downstream": "geobias.audits.downstream.audit",
    "audit_drift": "geobias.audits.drift.audit",
    "audit_finetune": "geobias.audits.finetune.audit",
    "audit_names": "geobias.audits.names.audit",
    "audit_regions": "geobias.audits.regions.audit",
    "compare": "geobias.audits.compare.audit",
    "gate": "geobias.audits.gate.audit",
    "load": "geobias.models.load",
    "load_classifier": "geobias.models.load",
    "reproduce": "geobias.audits.reproduce.audit",
}
__all__ = [
    "CompareResult",
    "DownstreamResult",
    "DriftResult",
    "Endpoint",
    "FinetuneResult",
    "GateReport",
    "GeobiasError",
    "InputError",
    "NamesResult",
    "RegionsResult",
    "ReproduceResult",
    "Scorer",
    "ServedClassifier",
    "ServedLM",
    "audit_downstream",
    "audit_drift",
    "audit_finetune",
    "audit_names",
    "audit_regions",
    "compare",
    "gate",
    "load",
    "load_classifier",
    "reproduce",
]


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def __getattr__(name: str) -> Any:
    """Names are imported when first used, so that `import geobias` and `geobias --help` answer at once."""
    if name in _MODULES:
        from importlib import import_module

        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module 'geobias' has no attribute {name!r}")
