"""`docs/reference/results.md`: the fields of results.json, from its JSON Schema.

    python docs/make_results_page.py      # or: make docs

A test compares the file with `render_results()`.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

from geobias.audits.registry import BUNDLED, results_schema

FILE = Path(__file__).parent / "reference" / "results.md"
COMMON = ("schema_version", "audit", "settings", "findings", "versions")
COMMON_TYPES = {"audit": "string", "settings": "object; each audit has its own class, named below"}
ATTRIBUTE = re.compile(r"^(\w+) : .+\n((?:    .+\n?)+)", re.MULTILINE)
HEAD = """\
# Results

After this page you can read `results.json`, the machine-readable result of a run. Its content is the same for the same
settings and models, whenever and wherever it runs; `run.json` next to it has the date and the duration. In Python the
same fields are attributes of the [result](api.md#results), and `result.to_dict()` returns them.

```console
$ geobias names --json | jq '.farthest[0]'
$ geobias explain schema names                 # the JSON Schema of results.json
```

Every field is always present; a value that does not exist is `null`. Names of classes are those of the JSON Schema.
"""


def render_results() -> str:
    """The whole page: what all results have, each audit, then the classes that they use."""
    classes: dict[str, Any] = results_schema()["$defs"]
    parts = [HEAD, "## Fields of every result\n", _render_common(classes)]
    for audit in BUNDLED:
        definition, descriptions = classes[audit.result], _read_attributes(audit.result_type)
        settings = _format_type(definition["properties"]["settings"])
        parts += [
            f"## {audit.result}\n",
            f"`geobias {audit.name}`: {_cell(definition['description'])} Its `settings` are {settings}.\n",
            _render_table(definition, classes, descriptions, leave_out=COMMON),
        ]
    parts.append("## Classes\n")
    for name in sorted(set(classes) - {audit.result for audit in BUNDLED}, key=str.lower):
        definition = classes[name]
        if "properties" in definition:
            description = _cell(definition.get("description", ""))
            parts += [f"### {name}\n", *([f"{description}\n"] if description else [])]
            parts.append(_render_table(definition, classes, {}))
    return "\n".join(parts)


def _read_attributes(kind: type) -> dict[str, str]:
    """The section Attributes of a class's docstring, by field."""
    return {name: " ".join(text.split()) for name, text in ATTRIBUTE.findall(inspect.getdoc(kind) or "")}


def _render_common(classes: dict[str, Any]) -> str:
    audit = BUNDLED[0]
    properties, descriptions = classes[audit.result]["properties"], _read_attributes(audit.result_type)
    rows = [(name, COMMON_TYPES.get(name) or _format_type(properties[name]), descriptions[name]) for name in COMMON]
    return _join_rows(rows)


def _render_table(
    definition: dict[str, Any], classes: dict[str, Any], descriptions: dict[str, str], leave_out: tuple[str, ...] = ()
) -> str:
    """A row for each field; a field without a description has that of its class."""
    rows = []
    for name, field in definition["properties"].items():
        if name not in leave_out:
            inherited = [classes[link].get("description", "") for link in re.findall(r"/(\w+)'", str(field))[:1]]
            text = descriptions.get(name) or field.get("description") or "".join(inherited)
            rows.append((name, _format_type(field), text))
    return _join_rows(rows)


def _join_rows(rows: list[tuple[str, str, str]]) -> str:
    lines = [f"| `{name}` | {kind} | {_cell(text)} |" for name, kind, text in rows]
    return "\n".join(["| field | type | description |", "|---|---|---|", *lines, ""])


def _format_type(field: dict[str, Any]) -> str:
    """A type in words, with links to classes."""
    if "$ref" in field:
        name = field["$ref"].rsplit("/", 1)[1]
        return f"[{name}](#{name.lower()})"
    for key in ("anyOf", "oneOf"):
        if key in field:
            kinds = dict.fromkeys(map(_format_type, field[key]))
            return " or ".join(kind for kind in kinds if not (kind == "integer" and "number" in kinds))
    if "const" in field:
        return f"`{field['const']}`"
    if "enum" in field:
        return " or ".join(f"`{value}`" for value in field["enum"])
    kind = field.get("type", "any value")
    if kind == "array":
        return f"list of {_format_type(field.get('items', {}))}"
    if kind == "object":
        values = field.get("additionalProperties")
        return f"object of {_format_type(values)}" if isinstance(values, dict) else "object"
    return {"null": "`null`"}.get(kind, kind)


def _cell(text: str) -> str:
    """A cell of a table; underscores outside of code are no emphasis."""
    pieces = " ".join(text.split()).replace("|", "\\|").split("`")
    return "`".join(piece if number % 2 else piece.replace("_", "\\_") for number, piece in enumerate(pieces))


if __name__ == "__main__":
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(render_results(), encoding="utf-8")
