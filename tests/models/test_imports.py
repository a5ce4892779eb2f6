"""The modules of `models/` import each other in one direction, imports inside functions included."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import geobias.models

ROOT = Path(geobias.models.__file__).parent
PACKAGE = "geobias.models"


def module_name(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join((PACKAGE, *(part for part in parts if part != "__init__")))


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def find_imports(node: ast.AST) -> set[str]:
    """Return the modules that a syntax tree imports anywhere; what only type checkers see does not count."""
    if is_type_checking(node):
        return set()
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names}
    if isinstance(node, ast.ImportFrom):
        return {str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)}
    return {name for child in ast.iter_child_nodes(node) for name in find_imports(child)}


def import_graph() -> dict[str, set[str]]:
    sources = {module_name(file): file.read_text(encoding="utf-8") for file in ROOT.rglob("*.py")}
    return {
        module: {name for name in find_imports(ast.parse(source)) if name in sources and name != PACKAGE}
        for module, source in sources.items()
    }


def test_there_is_no_import_cycle() -> None:
    graph = import_graph()
    assert f"{PACKAGE}.scorer" in graph[f"{PACKAGE}.load"]
    assert set(TopologicalSorter(graph).static_order()) == set(graph)  # a cycle raises CycleError


def test_no_model_imports_the_factory() -> None:
    """Only training does: it takes a model by name, and makes another."""
    importing = [module for module, imports in import_graph().items() if f"{PACKAGE}.load" in imports]
    assert [module for module in importing if not module.startswith(f"{PACKAGE}.training.")] == []


def test_the_base_classes_import_no_model() -> None:
    assert import_graph()[f"{PACKAGE}.scorer"] == set()
