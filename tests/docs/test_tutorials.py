"""The notebooks of docs/tutorials run, and their pages are made from them."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest

from docs.make_tutorials import DATA, execute, list_notebooks, render, strip_outputs

NOTEBOOKS = list_notebooks()
by_name = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def test_there_are_four_tutorials() -> None:
    assert [path.stem for path in NOTEBOOKS] == [
        "audit-a-classifier",
        "describe-the-world",
        "from-red-gate-to-shipped-model",
        "reproduce-the-papers",
    ]
    assert DATA.stat().st_size < 6_000


@by_name
def test_a_notebook_is_valid_and_stored_without_output(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert code
    assert all(not cell.outputs and cell.execution_count is None for cell in code)
    assert path.stat().st_size < 20_000


@by_name
def test_a_page_has_the_cells_of_its_notebook(path: Path) -> None:
    page = path.with_suffix(".md").read_text(encoding="utf-8")
    expected = render(nbformat.read(path, as_version=4), path.stem)
    assert strip_outputs(page) == expected, f"{path.stem}.md is stale: run `python docs/make_tutorials.py {path.stem}`"
    assert page.count("```text\n") >= 3, "a page shows real output"
    assert len(page) < 20_000


@by_name
@pytest.mark.slow
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    folder = tmp_path / "notebook"
    folder.mkdir()
    notebook = execute(path, folder)
    page = render(notebook, path.stem, folder)
    assert strip_outputs(page) == render(nbformat.read(path, as_version=4), path.stem)
    assert str(folder) not in page
