"""geobias audits language models for bias by place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from geobias.api import audit_regions
    from geobias.audits.regions import RegionsResult
    from geobias.errors import GeobiasError, InputError
    from geobias.models.scorer import Scorer, load

__all__ = ["GeobiasError", "InputError", "RegionsResult", "Scorer", "audit_regions", "load"]
__version__ = "0.1.0"

_HOME = {
    "GeobiasError": "geobias.errors",
    "InputError": "geobias.errors",
    "RegionsResult": "geobias.audits.regions",
    "Scorer": "geobias.models.scorer",
    "audit_regions": "geobias.api",
    "load": "geobias.models.scorer",
}


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def __getattr__(name: str) -> Any:
    """Names are imported when first used, so that `import geobias` and `geobias --help` answer at once."""
    if name in _HOME:
        from importlib import import_module

        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'geobias' has no attribute {name!r}")
