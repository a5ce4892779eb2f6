"""`geobias schema`: the JSON Schema of results.json."""

from __future__ import annotations

import functools
import json
import operator
from typing import Annotated, Any

import typer

from geobias.options import Debug


def schema(
    audit: Annotated[
        str | None, typer.Argument(metavar="[AUDIT]", help="Only the results of this audit (default: of all).")
    ] = None,
    debug: Debug = False,
) -> None:
    """Print the JSON Schema of results.json, for all audits or for one."""
    print(json.dumps(results_schema(audit), indent=1, ensure_ascii=False))


def results_schema(audit: str | None = None) -> dict[str, Any]:
    """The JSON Schema of the results of one audit; without a name of all, told apart by their field `audit`."""
    from pydantic import Field

    from geobias.audits.registry import AUDITS, get_audit
    from geobias.report.results import json_schema

    audits = [get_audit(audit)] if audit else AUDITS
    union: Any = functools.reduce(operator.or_, (row.result_type for row in audits))
    content = json_schema(union if audit else Annotated[union, Field(discriminator="audit")])
    title = f"results.json of geobias {audit}" if audit else "results.json of geobias"
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title} | {
        key: value for key, value in content.items() if key != "title"
    }
