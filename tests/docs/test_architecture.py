"""The tree in docs/architecture.md is the tree of folders."""

from __future__ import annotations

import re
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src/geobias"
PAGE = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
LISTED = (
    ".",
    "world",
    "texts",
    "models",
    "engine",
    "measures",
    "report",
    "audits",
    "cli",
)  # folders whose files are all named


def test_each_part_fits_on_a_page() -> None:
    tree, how_to = PAGE.split("\n## How an audit is made\n")
    assert tree.count("\n") <= 80 and how_to.count("\n") <= 60


def test_every_folder_is_named() -> None:
    folders = {path.parent.relative_to(SOURCE) for path in SOURCE.rglob("*.py")} - {Path(".")}
    assert [str(folder) for folder in folders if f"{folder.name}/" not in PAGE] == []


def test_every_file_of_the_shared_folders_is_named() -> None:
    names = re.findall(r"[\w*]+\.py", PAGE)
    files = [file for folder in LISTED for file in (SOURCE / folder).glob("*.py") if not file.name.startswith("__")]
    assert [str(file) for file in files if not any(fnmatch(file.name, name) for name in names)] == []


def test_every_file_that_is_named_exists() -> None:
    files = {path.name for folder in (SOURCE, ROOT / "tests") for path in folder.rglob("*.py")}
    assert [name for name in re.findall(r"[\w*]+\.py", PAGE) if not any(fnmatch(file, name) for file in files)] == []
