"""What a release needs: metadata, a Dockerfile that copies files that exist, licences that are named, sizes."""

from __future__ import annotations

import fnmatch
import re
import tomllib
from pathlib import Path

import yaml
from hatchling.builders.wheel import WheelBuilder
from packaging.licenses import canonicalize_license_expression

import geobias

PROJECT = Path(__file__).parents[1]
METADATA = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_metadata() -> None:
    versions = {each.rsplit(" ", 1)[1] for each in METADATA["classifiers"] if re.search(r":: 3\.\d+$", each)}
    workflow = yaml.safe_load((PROJECT / ".github/workflows/tests.yml").read_text(encoding="utf-8"))
    assert versions == set(workflow["jobs"]["test"]["strategy"]["matrix"]["python"])
    assert METADATA["requires-python"] == f">={min(versions, key=lambda version: int(version.split('.')[1]))}"
    assert canonicalize_license_expression(METADATA["license"]).startswith("MIT AND ")
    for name in (METADATA["readme"], *METADATA["license-files"]):
        assert (PROJECT / name).is_file()
    for module in METADATA["entry-points"]["pytest11"].values():
        assert (PROJECT / "src" / f"{module.replace('.', '/')}.py").is_file()


def test_the_container_copies_what_there_is() -> None:
    lines = (PROJECT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    copies = {name for line in lines if line.startswith("COPY ") for name in line.split()[1:-1]}
    assert copies and all((PROJECT / name).exists() for name in copies)
    ignored = (PROJECT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert ignored[0] == "*" and {line.removeprefix("!") for line in ignored if line.startswith("!")} == copies
    assert {METADATA["readme"], *METADATA["license-files"]} <= copies  # the build fails without them
    assert lines[-2:] == ['ENTRYPOINT ["geobias"]', 'CMD ["audit"]']


def test_the_container_does_not_run_as_root() -> None:
    """And any user that `docker run --user` gives it can write its folders and, in the user's folder, ./runs."""
    text = (PROJECT / "Dockerfile").read_text(encoding="utf-8")
    user = re.findall(r"^USER (\d+)", text, re.MULTILINE)[-1]
    assert int(user) > 0 and text.index(f"USER {user}") > text.rindex("\nRUN ")
    variables = dict(pair.split("=") for line in re.findall(r"^ENV (.+)", text, re.MULTILINE) for pair in line.split())
    for folder in ("HOME", "GEOBIAS_CACHE", "HF_HOME"):
        assert Path(variables[folder]).parts[:2] == ("/", "tmp")
    folder = re.findall(r"^WORKDIR (.+)", text, re.MULTILINE)[-1]
    assert f"RUN mkdir --mode=1777 {folder}\n" in text
    pages = [PROJECT / "README.md", *PROJECT.glob("docs/**/*.md")]
    commands = [match for page in pages for match in re.findall(r"docker run [^`]*", page.read_text(encoding="utf-8"))]
    assert commands and all('--user "$(id -u):$(id -g)"' in each and f":{folder}" in each for each in commands)


def test_every_extra_is_documented() -> None:
    page = (PROJECT / "docs/how-to/install.md").read_text(encoding="utf-8")
    extras = set(METADATA["optional-dependencies"]) - {"dev", "recipes", "bench", "bench-llama"}
    assert set(re.findall(r"^\| `\.\[([\w-]+)\]` \|", page, re.MULTILINE)) == extras


def test_every_file_that_ships_has_its_licence_told_once() -> None:
    """Files that are no code: LICENSE-DATA.md has one row for each, and the expression has the licences of all rows."""
    builder = WheelBuilder(str(PROJECT))
    shipped = {file.distribution_path.removeprefix("geobias/") for file in builder.recurse_included_files()}
    shipped = {name for name in shipped if not name.endswith((".py", ".pyc"))}
    lines = (PROJECT / "LICENSE-DATA.md").read_text(encoding="utf-8").splitlines()
    rows = [line.split(" | ") for line in lines if line.startswith("| `")]
    named = [{name for path in re.findall("`(.+?)`", row[0]) for name in fnmatch.filter(shipped, path)} for row in rows]
    assert sorted(name for names in named for name in names) == sorted(shipped)
    assert all(fnmatch.filter(shipped, path) for row in rows for path in re.findall("`(.+?)`", row[0]))
    licences = {licence for row in rows if not row[3].startswith("none needed: ") for licence in row[3].split(" AND ")}
    assert licences == set(METADATA["license"].split(" AND ")) and not any("LicenseRef" in each for each in licences)


def test_addresses_are_one_constant_until_the_owner_sets_them() -> None:
    """And while they are, nothing is published and nobody is told to install geobias from a package index."""
    address, email = METADATA["urls"]["Repository"], METADATA["authors"][0]["email"]
    citation = yaml.safe_load((PROJECT / "CITATION.cff").read_text(encoding="utf-8"))
    security = (PROJECT / "SECURITY.md").read_text(encoding="utf-8")
    assert citation["repository-code"] == address and email in security
    assert address.endswith(email.split("@")[1])
    if address.endswith(".invalid"):
        assert "geobias.invalid" in (PROJECT / ".github/workflows/release.yml").read_text(encoding="utf-8")
        index = re.compile(r"(?:pip3?|pipx|tool) install (?:-\S+ )*['\"]?geobias|uvx geobias|pipx run|from 'geobias")
        pages = [PROJECT / "action.yml", *PROJECT.glob("*.md"), *PROJECT.glob("docs/**/*"), *PROJECT.glob("src/**/*")]
        for page in (page for page in pages if page.suffix in (".md", ".ipynb", ".py", ".yml")):
            assert not index.search(page.read_text(encoding="utf-8")), page


def test_the_newest_entry_of_the_changelog_is_dated_and_of_this_version() -> None:
    text = (PROJECT / "CHANGELOG.md").read_text(encoding="utf-8")
    entry = re.search(r"^## (\S+) \((.+)\)$", text, re.MULTILINE)
    assert entry and entry[1] == geobias.__version__ and re.fullmatch(r"\d{4}-\d\d-\d\d", entry[2])
