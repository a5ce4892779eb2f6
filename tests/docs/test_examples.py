"""Examples of the README and the docs: sh blocks, and python blocks of some pages, are run; other commands must parse.

A block with a title is a file that the sh blocks of its page can read. A block without a language holds commands that
need the reader's own models, texts or runs: they are only parsed.
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
import yaml

from geobias import cli
from tests.conftest import Run

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PYTHON_IS_RUN = ["README.md", "docs/index.md", "docs/report.md", "docs/models.md", "docs/extending.md"]
FENCE = re.compile(r'^```(\w*)(?: title="([^"\n]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    page: Path
    language: str
    title: str
    text: str


def blocks(page: Path) -> list[Block]:
    return [Block(page, *parts) for parts in FENCE.findall(page.read_text(encoding="utf-8"))]


def name_page(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def commands(block: Block) -> Iterator[list[str]]:
    """The words of each line, without the comment behind it; a fence without a language may also hold other text."""
    for line in block.text.splitlines():
        if not block.language and line.split()[:1] not in (["geobias"], ["make"]):
            continue
        words = shlex.split(line, comments=True)
        if words:
            yield words


ALL = [block for page in PAGES for block in blocks(page)]
WITH_SHELL = sorted({block.page for block in ALL if block.language == "sh"})


def _parse(words: list[str]) -> None:
    found: Any = typer.main.get_command(cli.make_app())
    found.commands[words[1]].make_context(words[1], words[2:])


@pytest.mark.parametrize("page", PAGES, ids=name_page)
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


@pytest.mark.parametrize("page", WITH_SHELL, ids=name_page)
def test_the_shell_commands_of_a_page_run(page: Path, run: Run) -> None:
    for block in blocks(page):
        if block.title:
            Path(block.title).write_text(block.text, encoding="utf-8")
        elif block.language == "sh":
            for words in commands(block):
                code, _, error = run(*words[1:])
                assert code == 0, f"{shlex.join(words)}: {error}"


def test_the_home_page_and_the_guides_have_commands_that_are_run() -> None:
    assert {name_page(page) for page in WITH_SHELL} >= {
        "docs/index.md",
        "docs/models.md",
        "docs/how-to/own-data.md",
    }


@pytest.mark.parametrize("name", PYTHON_IS_RUN)
def test_the_python_of_a_page_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    python = [block.text for block in blocks(ROOT / name) if block.language == "python"]
    assert python
    names: dict[str, Any] = {"__name__": "example"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for text in python:
            exec(compile(text, name, "exec"), names)


@pytest.mark.parametrize(
    "block", [block for block in ALL if block.language == "python"], ids=lambda block: name_page(block.page)
)
def test_all_python_is_python(block: Block) -> None:
    compile(block.text, block.page.name, "exec")


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8")):
            assert link.startswith("http") or (page.parent / link).exists(), f"{name_page(page)}: {link}"


def test_the_readme_fits_on_a_screen_and_keeps_its_two_commands() -> None:
    lines = PAGES[0].read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 65
    assert [line.split("#")[0].strip() for line in lines if line.startswith("make ")] == ["make audit", "make test"]


def test_the_navigation_of_the_site_has_every_page() -> None:
    """`mkdocs build --strict` fails otherwise; this is faster."""
    navigation = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    listed = list(list_leaves(navigation))
    assert len(listed) == len(set(listed))
    pages = {page.relative_to(ROOT / "docs").as_posix() for page in PAGES[1:]}
    assert {path for path in listed if path.endswith(".md")} == pages


def list_leaves(entry: Any) -> Iterator[str]:
    if isinstance(entry, str):
        yield entry
    else:
        for child in entry.values() if isinstance(entry, dict) else entry:
            yield from list_leaves(child)
