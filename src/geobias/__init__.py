"""geobias audits language models and text classifiers for bias by place and nationality."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from geobias.audits.compare.audit import compare
    from geobias.audits.compare.result import CompareResult
    from geobias.audits.decide.audit import audit_decisions
    from geobias.audits.decide.result import DecideResult
    from geobias.audits.downstream.audit import audit_downstream
    from geobias.audits.downstream.result import DownstreamResult
    from geobias.audits.evidence.manifest import verify_evidence
    from geobias.audits.find.audit import audit_finders
    from geobias.audits.find.result import FindResult
    from geobias.audits.finished_runs import gate, read_run, write_evidence, write_report
    from geobias.audits.gate.report import GateReport
    from geobias.audits.mitigate.audit import mitigate
    from geobias.audits.mitigate.result import MitigateResult
    from geobias.audits.names.audit import audit_names
    from geobias.audits.names.result import NamesResult
    from geobias.audits.overview.audit import audit
    from geobias.audits.overview.result import Overview
    from geobias.audits.regions.audit import audit_regions
    from geobias.audits.regions.result import RegionsResult
    from geobias.errors import GeobiasError, InputError
    from geobias.integrations import export
    from geobias.models.endpoint import Endpoint
    from geobias.models.load import load, load_classifier
    from geobias.models.saved_wrappers import save_mitigated
    from geobias.models.scorer import Scorer
    from geobias.models.served import ServedClassifier
    from geobias.models.served_lm import ServedLM
    from geobias.models.wrappers import AveragingClassifier, BlindClassifier
    from geobias.papers.reproduce import reproduce
    from geobias.papers.tables import Reproduction
    from geobias.report.findings import Finding

__version__ = "0.2.0"

_MODULES = {  # where each public name is defined
    "AveragingClassifier": "geobias.models.wrappers",
    "BlindClassifier": "geobias.models.wrappers",
    "CompareResult": "geobias.audits.compare.result",
    "DecideResult": "geobias.audits.decide.result",
    "DownstreamResult": "geobias.audits.downstream.result",
    "Endpoint": "geobias.models.endpoint",
    "FindResult": "geobias.audits.find.result",
    "Finding": "geobias.report.findings",
    "GateReport": "geobias.audits.gate.report",
    "GeobiasError": "geobias.errors",
    "InputError": "geobias.errors",
    "MitigateResult": "geobias.audits.mitigate.result",
    "NamesResult": "geobias.audits.names.result",
    "Overview": "geobias.audits.overview.result",
    "RegionsResult": "geobias.audits.regions.result",
    "Reproduction": "geobias.papers.tables",
    "Scorer": "geobias.models.scorer",
    "ServedClassifier": "geobias.models.served",
    "ServedLM": "geobias.models.served_lm",
    "audit": "geobias.audits.overview.audit",
    "audit_decisions": "geobias.audits.decide.audit",
    "audit_downstream": "geobias.audits.downstream.audit",
    "audit_finders": "geobias.audits.find.audit",
    "audit_names": "geobias.audits.names.audit",
    "audit_regions": "geobias.audits.regions.audit",
    "compare": "geobias.audits.compare.audit",
    "export": "geobias.integrations",
    "gate": "geobias.audits.finished_runs",
    "load": "geobias.models.load",
    "load_classifier": "geobias.models.load",
    "mitigate": "geobias.audits.mitigate.audit",
    "read_run": "geobias.audits.finished_runs",
    "reproduce": "geobias.papers.reproduce",
    "save_mitigated": "geobias.models.saved_wrappers",
    "verify_evidence": "geobias.audits.evidence.manifest",
    "write_evidence": "geobias.audits.finished_runs",
    "write_report": "geobias.audits.finished_runs",
}
__all__ = [
    "AveragingClassifier",
    "BlindClassifier",
    "CompareResult",
    "DecideResult",
    "DownstreamResult",
    "Endpoint",
    "FindResult",
    "Finding",
    "GateReport",
    "GeobiasError",
    "InputError",
    "MitigateResult",
    "NamesResult",
    "Overview",
    "RegionsResult",
    "Reproduction",
    "Scorer",
    "ServedClassifier",
    "ServedLM",
    "audit",
    "audit_decisions",
    "audit_downstream",
    "audit_finders",
    "audit_names",
    "audit_regions",
    "compare",
    "export",
    "gate",
    "load",
    "load_classifier",
    "mitigate",
    "read_run",
    "reproduce",
    "save_mitigated",
    "verify_evidence",
    "write_evidence",
    "write_report",
]


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def __getattr__(name: str) -> Any:
    """Names are imported when first used, so that `import geobias` and `geobias --help` answer at once."""
    if name in _MODULES:
        from importlib import import_module

        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module 'geobias' has no attribute {name!r}")
