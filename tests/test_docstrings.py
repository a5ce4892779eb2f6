"""The docstrings of the public API: every parameter and attribute is documented, and the examples run."""

from __future__ import annotations

import doctest
import inspect
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

import geobias
from geobias.report.results import AuditResult

SECTION = re.compile(r"^(?P<title>[A-Z][A-Za-z ]+)\n-+$", re.MULTILINE)
ENTRY = re.compile(r"^(?P<names>\w+(?:, \w+)*)(?: : (?P<type>.+))?$", re.MULTILINE)
FUNCTIONS = [name for name in geobias.__all__ if inspect.isfunction(getattr(geobias, name))]
CLASSES = [name for name in geobias.__all__ if inspect.isclass(getattr(geobias, name))]
ERRORS = [name for name in CLASSES if issubclass(getattr(geobias, name), Exception)]
INTERNAL = {
    "summarise",
    "list_tidy_rows",
    "rows",
    "get_design",
    "model_identities",
    "list_effects",
    "find_control",
    *("find_model", "list_deltas", "list_classes", "list_subsets", "list_parts"),
    *("ask", "ask_all", "learn_labels", "check_scores", "known_fingerprints", "describe"),
}  # of results and models; not for users


def list_sections(documented: Any) -> dict[str, str]:
    """The text of every section of a docstring, by its title."""
    text = inspect.getdoc(documented) or ""
    matches = list(SECTION.finditer(text))
    ends = [*(match.start() for match in matches[1:]), len(text)]
    return {match["title"]: text[match.end() : end] for match, end in zip(matches, ends, strict=False)}


def list_entries(section: str) -> list[str]:
    """The names that a section documents, those of one line too."""
    return [name for match in ENTRY.finditer(section) for name in match["names"].split(", ")]


def list_parameters(function: Any) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name != "self"]


def list_methods(kind: type) -> Iterator[tuple[str, Any]]:
    for name, method in inspect.getmembers(kind, inspect.isfunction):
        if not name.startswith("_") and name not in INTERNAL and method.__module__.startswith("geobias"):
            yield name, method


METHODS = [f"{name}.{method}" for name in CLASSES for method, _ in list_methods(getattr(geobias, name))]


def get_method(path: str) -> Any:
    kind, method = path.split(".")
    return getattr(getattr(geobias, kind), method)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_document_what_they_take_and_return(name: str) -> None:
    function = getattr(geobias, name)
    sections = list_sections(function)
    assert list_entries(sections["Parameters"]) == list_parameters(function)  # in the order of the signature
    assert {"Returns", "Raises", "Examples"} <= sections.keys()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_defaults_are_those_of_the_signature(name: str) -> None:
    function = getattr(geobias, name)
    for parameter, value in re.findall(r"^(\w+) : .*, default (.+)$", list_sections(function)["Parameters"], re.M):
        default = inspect.signature(function).parameters[parameter].default
        assert default == eval(value), f"{parameter}: {value}, but {default!r}"


@pytest.mark.parametrize("path", METHODS)
def test_methods_document_their_parameters(path: str) -> None:
    method = get_method(path)
    assert list_entries(list_sections(method).get("Parameters", "")) == list_parameters(method)
    assert inspect.getdoc(method)


@pytest.mark.parametrize("name", sorted(set(CLASSES) - set(ERRORS)))
def test_classes_document_their_attributes(name: str) -> None:
    kind = getattr(geobias, name)
    inherited = fields(AuditResult) if issubclass(kind, AuditResult) else ()  # documented once, there
    sections = list_sections(kind)
    assert "Examples" in sections
    attributes = list_entries(sections.get("Attributes", ""))
    if is_dataclass(kind):
        assert {field.name for field in fields(kind)} - {field.name for field in inherited} <= set(attributes)
    elif "__init__" in vars(kind):
        assert list_entries(sections["Parameters"]) == list_parameters(kind.__init__)
    known = {field.name for field in fields(kind)} if is_dataclass(kind) else set()
    known |= set(dir(kind)) | set(inspect.get_annotations(kind))
    known |= set(re.findall(r"self\.(\w+)", inspect.getsource(kind)))
    assert set(attributes) <= known
    properties = {name for name, _ in inspect.getmembers(kind, lambda value: isinstance(value, property))}
    own = {name for name in properties & set(vars(kind)) if not name.startswith("_")}
    assert own - INTERNAL - {"fingerprint"} <= set(attributes)


@pytest.mark.parametrize("name", geobias.__all__)
def test_the_first_line_is_a_whole_sentence(name: str) -> None:
    first, *rest = (inspect.getdoc(getattr(geobias, name)) or "").split("\n")
    assert first.endswith(".") and (not rest or not rest[0])


def list_examples() -> list[doctest.DocTest]:
    finder = doctest.DocTestFinder(recurse=False)
    found: list[doctest.DocTest] = []
    for name in (*FUNCTIONS, *CLASSES):
        for test in finder.find(getattr(geobias, name), name, globs={"geobias": geobias}):
            if any(not example.options.get(doctest.SKIP) for example in test.examples):
                found.append(test)
    return found


@pytest.mark.parametrize("example", list_examples(), ids=lambda test: test.name)
def test_the_examples_run(example: doctest.DocTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    output: list[str] = []
    options = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
    result = doctest.DocTestRunner(optionflags=options).run(example, out=output.append)
    assert not result.failed, "".join(output)


def test_the_examples_that_run_cover_the_audits_that_take_seconds() -> None:
    audits = {"audit_names", "audit_regions", "audit_downstream", "audit_finders"}
    assert audits | {"gate", "load", "load_classifier"} <= {test.name for test in list_examples()}
