"""Examples of the README and the docs: what stands in sh and python fences is run, other commands must parse.

A fence without a language holds commands that need models, texts or runs of the reader's: they are only parsed.
"""

from __future__ import annotations

import re
import shlex
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer

from geobias import cli
from tests.conftest import Run

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PYTHON_IS_RUN = ["README.md", "docs/report.md", "docs/extending.md"]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    page: Path
    language: str
    text: str


def blocks(page: Path) -> list[Block]:
    return [Block(page, language, text) for language, text in FENCE.findall(page.read_text(encoding="utf-8"))]


def commands(block: Block) -> Iterator[list[str]]:
    """The words of each line, without the comment behind it; a fence without a language may also hold other text."""
    for line in block.text.splitlines():
        if not block.language and line.split()[:1] not in (["geobias"], ["make"]):
            continue
        words = shlex.split(line, comments=True)
        if words:
            yield words


ALL = [block for page in PAGES for block in blocks(page)]


def _parse(words: list[str]) -> None:
    found: Any = typer.main.get_command(cli.app)
    found.commands[words[1]].make_context(words[1], words[2:])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_parses(page: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for block in blocks(page):
        if block.language not in ("", "sh"):
            continue
        for words in commands(block):
            if words[0] == "geobias":
                _parse(words)
            elif words[0] == "make":
                assert f"\n{words[1]}:" in makefile


def test_a_wrong_command_would_be_found() -> None:
    with pytest.raises(KeyError):
        _parse(["geobias", "region"])
    with pytest.raises(Exception, match="No such option"):
        _parse(["geobias", "regions", "--citys", "5"])


@pytest.mark.slow
def test_the_commands_of_the_readme_run(run: Run) -> None:
    shell = [block for block in ALL if block.language == "sh"]
    assert [block.page.name for block in shell] == ["README.md"]
    for words in commands(shell[0]):
        code, _, error = run(*words[1:])
        assert code == 0, f"{shlex.join(words)}: {error}"
    assert Path("runs/report.html").is_file()


@pytest.mark.parametrize("name", PYTHON_IS_RUN)
@pytest.mark.slow
def test_the_python_of_a_page_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    python = [block.text for block in blocks(ROOT / name) if block.language == "python"]
    assert python
    names: dict[str, Any] = {"__name__": "example"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for text in python:
            exec(compile(text, name, "exec"), names)


@pytest.mark.parametrize("block", [block for block in ALL if block.language == "python"], ids=lambda b: b.page.name)
def test_all_python_is_python(block: Block) -> None:
    compile(block.text, block.page.name, "exec")


def test_links_lead_somewhere_and_the_readme_names_every_page() -> None:
    for page in PAGES:
        for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8")):
            assert link.startswith("http") or (page.parent / link).exists(), f"{page.name}: {link}"
    readme = PAGES[0].read_text(encoding="utf-8")
    assert all(f"(docs/{page.name})" in readme for page in PAGES[1:])
