"""The JSON Schema of results.json: current, valid, and true of real results."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from geobias.audits.registry import BUNDLED, get_audit, results_schema
from geobias.report.results import from_json, to_json
from tests.conftest import Run
from tests.regression.commands import FUNCTIONS, INPUTS, run_command

COMMITTED = Path(__file__).parents[2] / "docs" / "schema" / "results.schema.json"
NAMES = [audit.name for audit in BUNDLED]
SMALL = ["regions-tree", "regions-other", "regions-distances", "regions-templates", "names", "names-feelings",
         "downstream", "downstream-second", "compare-downstream", "compare-regions"]  # fmt: skip


def test_the_committed_schema_is_current() -> None:
    assert json.loads(COMMITTED.read_text(encoding="utf-8")) == results_schema(), "run `make schema`"


def test_the_schema_tells_audits_apart() -> None:
    schema = results_schema()
    Draft202012Validator.check_schema(schema)
    assert sorted(schema["discriminator"]["mapping"]) == sorted(NAMES)
    assert schema["discriminator"]["propertyName"] == "audit" and len(schema["oneOf"]) == len(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_each_audit_has_a_schema(name: str) -> None:
    schema = results_schema(name)
    Draft202012Validator.check_schema(schema)
    assert schema["properties"]["audit"]["const"] == name
    assert {"schema_version", "audit", "settings", "versions"} <= set(schema["required"])
    assert "work" not in schema["properties"]
    for definition in (schema, *schema["$defs"].values()):
        if "properties" in definition:  # all of them are written, also where they are null
            assert set(definition["required"]) == set(definition["properties"])


def test_fields_have_the_literal_below_them_as_description_also_inherited_ones() -> None:
    base = results_schema()["$defs"]["ModelIdentity"]["properties"]
    assert "digest of weights" in base["fingerprint"]["description"] and "description" not in base["name"]
    for name in ("names", "regions"):  # their classes inherit it
        assert results_schema(name)["properties"]["findings"]["description"].startswith("What the audit concludes")


def test_the_command_prints_it(run: Run) -> None:
    code, out, err = run("explain", "schema", "downstream")
    assert code == 0, err
    assert json.loads(out) == results_schema("downstream")
    code, out, _ = run("explain", "schema")
    assert code == 0 and json.loads(out) == results_schema()
    code, _, err = run("explain", "schema", "horoscope")
    assert code == 2 and "Unknown audit 'horoscope'" in err


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The results.json of small runs of function models."""
    folder = tmp_path_factory.mktemp("runs")
    for name, content in INPUTS.items():
        (folder / name).write_text(content, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("GEOBIAS_CACHE", str(folder / "cache"))
        patch.syspath_prepend(str(folder))
        patch.delitem(sys.modules, "model", raising=False)  # of an earlier test
        for name in SMALL:
            run_command(name, FUNCTIONS[name])
    return {name: json.loads((folder / name / "results.json").read_text(encoding="utf-8")) for name in SMALL}


@pytest.mark.parametrize("name", SMALL)
def test_results_are_read_as_they_were_written(results: dict[str, Any], name: str) -> None:
    content = results[name]
    assert to_json(from_json(get_audit(content["audit"]).result_type, content)) == content
