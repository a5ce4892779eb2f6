"""Every audit, one row each. The command line, the page, the model card, the gate and `compare` read this table.

An audit is a package with these modules:

| module | holds | read by |
|---|---|---|
| `command.py` | the Typer command, named like the audit | the command line |
| `result.py` | the result class named in the row: what results.json holds | everything |
| `files.py` | `write_files(folder, result)`: CSV tables and Parquet files of a run | `study.py` |
| `page.py` | `describe(result)`: what was asked, in a sentence; `section(run, id)`: its part of the page | page, card |
| `gate_and_card.py` | optional: `card_rows(result)`, `gate_numbers(result)` | `card`, `gate` |
| `compare.py` | optional: `compare_runs(first, second)` | `compare` |

Nothing of an audit is imported before it is used, so that `geobias --help` answers at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from geobias.errors import InputError

if TYPE_CHECKING:
    from geobias.report.results import AuditResult


@dataclass(frozen=True)
class Audit:
    """One row: the name of the audit, and the class of its results."""

    name: str
    result: str
    package: str = ""  # unless it is geobias.audits.NAME

    def load(self, module: str, attribute: str) -> Any:
        """An attribute of one of the audit's modules."""
        return getattr(import_module(f"{self._package}.{module}"), attribute)

    def find(self, module: str, attribute: str) -> Callable[..., Any] | None:
        """The same for optional parts; None where the audit has none."""
        if find_spec(f"{self._package}.{module}") is None:
            return None
        return getattr(import_module(f"{self._package}.{module}"), attribute, None)

    @property
    def result_type(self) -> type[AuditResult]:
        kind: type[AuditResult] = self.load("result", self.result)
        return kind

    @property
    def _package(self) -> str:
        return self.package or f"geobias.audits.{self.name}"


AUDITS = [
    Audit("regions", "RegionsResult"),
    Audit("names", "NamesResult"),
    Audit("downstream", "DownstreamResult"),
    Audit("finetune", "FinetuneResult"),
    Audit("reproduce", "ReproduceResult"),
    Audit("drift", "DriftResult"),
    Audit("compare", "CompareResult"),
]


def get_audit(name: str) -> Audit:
    for audit in AUDITS:
        if audit.name == name:
            return audit
    raise InputError(f"geobias has no audit {name!r}: there are {', '.join(audit.name for audit in AUDITS)}.")


def audits_with(module: str, attribute: str) -> list[str]:
    """The names of the audits that have this optional part."""
    return [audit.name for audit in AUDITS if audit.find(module, attribute)]
