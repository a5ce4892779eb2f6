"""Every audit, one row each. The command line, the page, the model card, the gate and `compare` read this table.

An audit is a package with these modules ("How an audit is made" in docs/architecture.md):

| module | holds | read by |
|---|---|---|
| `audit.py` | the public function `audit_NAME`: its signature and docstring are the options | the command line |
| `design.py`, `measure.py` | what is asked; from answers to rows | `audit.py` |
| `result.py` | the result class named in the row: what results.json holds | everything |
| `findings.py` | `list_findings(result)`: what it concludes, in words (`report/model_findings.py`) | everything |
| `report.py` | optional: `make_report(result)`, `list_gate_numbers(result)`, `overlay_runs(runs)` | `reports.py` |
| `answers.py` | optional: `write_answers(folder, result)`: answers.parquet | `reports.py` |
| `compare.py` | optional: `compare_runs(first, second)` | `compare` |

Nothing of an audit is imported before it is used, so that `geobias --help` answers at once.

Other packages add audits by an entry point of the group `geobias.audits`: `NAME = "PACKAGE.result:RESULT_CLASS"`. An
audit in a single module has these names in it: `NAME = "MODULE:RESULT_CLASS"`. It needs the function, the result and
`list_findings`.
"""

from __future__ import annotations

import functools
import logging
import operator
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any, cast

from geobias.checks import describe_choices
from geobias.errors import InputError
from geobias.extensions import AUDITS as EXTERNAL
from geobias.extensions import list_extensions

if TYPE_CHECKING:
    from geobias.report.results import AuditResult

log = logging.getLogger("geobias")


@dataclass(frozen=True)
class Audit:
    """One row: the name of the audit, and the class of its results."""

    name: str
    result: str
    package: str = ""  # unless it is geobias.audits.NAME
    is_single_module: bool = False
    function_name: str = ""  # unless it is audit_NAME

    def load(self, module: str, attribute: str) -> Any:
        """An attribute of one of the audit's modules."""
        return getattr(import_module(self._locate(module)), attribute)

    def find(self, module: str, attribute: str) -> Callable[..., Any] | None:
        """The same for optional parts; None where the audit has none."""
        name = self._locate(module)
        part = getattr(import_module(name), attribute, None) if find_spec(name) else None
        return cast("Callable[..., Any] | None", part)

    def _locate(self, module: str) -> str:
        """Where a part of the audit is: a module of its package, or the only module that it has."""
        return self._package if self.is_single_module else f"{self._package}.{module}"

    @property
    def function(self) -> Callable[..., Any]:
        """The public function, which a command is made from."""
        return cast("Callable[..., Any]", self.load("audit", self.function_name or f"audit_{self.name}"))

    @property
    def result_type(self) -> type[AuditResult]:
        return cast("type[AuditResult]", self.load("result", self.result))

    @property
    def _package(self) -> str:
        return self.package or f"geobias.audits.{self.name}"


BUNDLED = (
    Audit("regions", "RegionsResult"),
    Audit("names", "NamesResult"),
    Audit("downstream", "DownstreamResult"),
    Audit("find", "FindResult", function_name="audit_finders"),
    Audit("decide", "DecideResult", function_name="audit_decisions"),
    Audit("mitigate", "MitigateResult", function_name="mitigate"),
    Audit("compare", "CompareResult", function_name="compare"),
)


@functools.cache
def list_audits() -> tuple[Audit, ...]:
    """All audits: the bundled ones, then those of other installed packages."""
    return (*BUNDLED, *list_external_audits([audit.name for audit in BUNDLED]))


def list_external_audits(names: Collection[str]) -> Iterator[Audit]:
    """A row for each audit of another installed package; one with the name of a bundled audit is left out."""
    for name, point in list_extensions(EXTERNAL).items():
        if name in names:
            log.warning("Another package declares an audit %r, which geobias has already: it is left out.", name)
        else:
            package = point.module.removesuffix(".result")
            yield Audit(name, point.attr, package, is_single_module=package == point.module)


def get_audit(name: str) -> Audit:
    audits = {audit.name: audit for audit in list_audits()}
    if name not in audits:
        raise InputError(f"Unknown audit {name!r}. {describe_choices(name, list(audits))}")
    return audits[name]


def results_schema(audit: str | None = None) -> dict[str, Any]:
    """The JSON Schema of the results of one audit; without a name of all bundled ones, told apart by `audit`."""
    from pydantic import Field

    from geobias.report.results import json_schema

    audits = [get_audit(audit)] if audit else BUNDLED
    union: Any = functools.reduce(operator.or_, (row.result_type for row in audits))
    content = json_schema(union if audit else Annotated[union, Field(discriminator="audit")])
    title = {"title": f"results.json of geobias {audit}" if audit else "results.json of geobias"}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | title | content | title
