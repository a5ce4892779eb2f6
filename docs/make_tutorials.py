"""Run the notebooks in `docs/tutorials` and write each as a Markdown page with its text output.

    python docs/make_tutorials.py                       # all tutorials
    python docs/make_tutorials.py describe-the-world    # one

The notebook is the source. Its page, `NAME.md` beside it, is what the documentation site shows. Notebooks are stored
without output.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).with_name("tutorials")
DATA = FOLDER / "reviews.csv"
CELL_SECONDS = 300
CHART = "*The notebook shows a chart here.*\n"
OUTPUT = re.compile(r"\n(?:```text\n.*?\n```\n|" + re.escape(CHART) + ")", re.DOTALL)


def list_notebooks() -> list[Path]:
    return sorted(FOLDER.glob("*.ipynb"))


def execute(path: Path, folder: Path) -> Any:
    """Run a notebook in `folder` and return it with its output."""
    shutil.copy(DATA, folder)
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(notebook, timeout=CELL_SECONDS, resources={"metadata": {"path": str(folder)}})
    client.execute()
    return notebook


def render(notebook: Any, name: str, folder: Path | None = None) -> str:
    """Return a notebook as Markdown. Paths in the output become relative to `folder`, where it ran."""
    parts = []
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown":
            parts.append(cell.source + "\n")
            if number == 0:
                parts.append(f"To run it yourself, download the notebook: [{name}.ipynb]({name}.ipynb).\n")
            continue
        parts.append(f"```python\n{cell.source}\n```\n")
        parts += _render_outputs(cell.outputs, folder)
    return "\n".join(parts)


def strip_outputs(page: str) -> str:
    """Return a page as `render` writes it for a notebook without output."""
    return OUTPUT.sub("", page)


def _render_outputs(outputs: list[Any], folder: Path | None) -> Iterator[str]:
    texts = []
    for output in outputs:
        if output.output_type == "stream":
            texts.append(output.text if output.name == "stdout" else "")
        elif output.data.get("text/plain", "").startswith("Plot("):
            yield CHART
        else:
            texts.append(output.data.get("text/plain", ""))
    text = "\n".join(filter(None, (text.rstrip() for text in texts)))
    if folder is not None:
        text = text.replace(f"{folder}/", "")
    if text:
        yield f"```text\n{text}\n```\n"


def main(names: list[str]) -> None:
    for path in list_notebooks():
        if names and path.stem not in names:
            continue
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch).resolve()
            page = render(execute(path, folder), path.stem, folder)
        path.with_suffix(".md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
