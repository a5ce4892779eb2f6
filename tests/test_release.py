"""What a release needs: metadata, a Dockerfile that copies files that exist, licences that are named, sizes."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import yaml
from packaging.licenses import canonicalize_license_expression

from tests.conftest import Run

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
    assert set(re.findall(r"^\| `geobias\[([\w-]+)\]` \|", page, re.MULTILINE)) == extras


def test_the_weights_for_research_are_named(run: Run) -> None:
    code, out, _ = run("explain", "models")
    text = " ".join(out.split())
    assert code == 0 and "not commercially and not in a product (LICENSE-DATA.md)" in text
    assert text.count("research use") == 4  # one for each tweet classifier
