"""What a clean install contains: built as a wheel, unpacked into an empty folder, used from there."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
PROJECT = Path(__file__).parent.parent
LARGEST_WHEEL = 60_000_000  # bytes; it has 47 MB, and package indexes refuse more than 100


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=PROJECT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    assert wheel.stat().st_size < LARGEST_WHEEL
    site = folder / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    return site


def use(installed: Path, code: str) -> None:
    """Run code against the unpacked wheel, not the checkout, without a network."""
    check = f"import geobias; assert geobias.__file__.startswith({str(installed)!r}), geobias.__file__\n"
    environment = os.environ | {"PYTHONPATH": str(installed), "HF_HUB_OFFLINE": "1"}
    subprocess.run([sys.executable, "-c", check + code], check=True, cwd=installed, env=environment)


def test_the_embedded_model_and_the_words_are_there(installed: Path) -> None:
    use(
        installed,
        """
from geobias.world.words import herb_words
assert len(herb_words()) == 112
scores = geobias.load().scorer("aul").score(["People in France are kind."])
assert scores[0, 0] < 0
""",
    )


def test_the_classifiers_the_finder_and_the_sample_are_there(installed: Path) -> None:
    use(
        installed,
        """
import spacy
from pathlib import Path
from transformers import pipeline
inside = Path(geobias.__file__).parent
for task in ("sentiment", "emotion", "hate", "offensive"):
    assert pipeline("text-classification", str(inside / "models/bundled/weights" / task))("What a day!")[0]["score"] > 0
assert spacy.load(inside / "models/bundled/weights/entities")("Angela Merkel").ents
assert (inside / "texts/data/tweets.jsonl.xz").is_file()
""",
    )


def test_the_package_is_typed_and_licensed(installed: Path) -> None:
    assert (installed / "geobias/py.typed").exists()
    for name in ("LICENSE", "LICENSE-DATA.md"):
        assert list(installed.glob(f"geobias-*.dist-info/licenses/{name}"))


def test_the_papers_tables_are_there(installed: Path) -> None:
    use(
        installed,
        """
from geobias.papers.reproduce import list_tables
from geobias.papers.tables import read_published
assert all(len(list_tables(paper)) >= 5 for paper in ("herb", "names"))
assert len(read_published("herb", "table_5").rows) == 4
""",
    )


def test_a_smoke_audit_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    use(
        installed,
        f"""
import sys
from geobias.cli import main
sys.argv = ["geobias", *"downstream embedded/hate --limit 6 --countries IE,MX --out".split(), {str(folder)!r}]
try:
    main()
except SystemExit as stopped:
    assert not stopped.code
""",
    )
    assert (folder / "results.json").is_file() and (folder / "report.html").stat().st_size > 100_000


def test_the_entry_points_are_there(installed: Path) -> None:
    (file,) = installed.glob("geobias-*.dist-info/entry_points.txt")
    text = file.read_text()
    assert "geobias = geobias.cli:main" in text and "[pytest11]\ngeobias = geobias.pytest_plugin" in text
