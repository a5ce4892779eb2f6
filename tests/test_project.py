"""The project's own files agree with each other."""

from __future__ import annotations

import importlib.metadata
import re
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.version import Version

import geobias

PROJECT = Path(__file__).parents[1]
WORKFLOWS = sorted(PROJECT.glob(".github/workflows/*.yml"))


def read(name: str) -> str:
    return (PROJECT / name).read_text(encoding="utf-8")


def test_the_version_is_written_once() -> None:
    """In the package. The changelog's first heading is that version's."""
    project = tomllib.loads(read("pyproject.toml"))
    assert "version" in project["project"]["dynamic"]
    assert project["tool"]["hatch"]["version"]["path"] == "src/geobias/__init__.py"
    assert not {"version", "date-released"} & set(yaml.safe_load(read("CITATION.cff")))
    heading = re.search(r"^## (\S+)", read("CHANGELOG.md"), re.MULTILINE)
    assert heading is not None and heading[1] == geobias.__version__


def test_every_dependency_has_an_exact_version() -> None:
    project = tomllib.loads(read("pyproject.toml"))["project"]
    requirements = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    names = {re.split(r"[\[>=<; ]", requirement)[0] for requirement in requirements} - {"geobias"}
    exact = {line.split("==")[0] for line in read("constraints.txt").splitlines()}
    assert {normalise(name) for name in names} <= {normalise(name) for name in exact}


def test_the_hashed_versions_are_exact_complete_and_for_the_container() -> None:
    heading, *lines = read("requirements-container.txt").splitlines()
    entries = [re.fullmatch(r"(\S+)==(\S+) --hash=sha256:[0-9a-f]{64}", line) for line in lines]
    versions = {entry[1]: entry[2] for entry in entries if entry is not None}
    exact = {normalise(name): version for name, version in re.findall(r"(?m)^(\S+)==(\S+)", read("constraints.txt"))}
    assert len(versions) == len(lines) and versions == {name: exact[name] for name in versions}
    python = re.search(r"Python (\S+)", heading)
    assert python is not None and f"FROM python:{python[1]}-slim" in read("Dockerfile")
    assert f" torch=={exact['torch']} " in read("Dockerfile")
    if (python[1], sys.platform) != ("{}.{}".format(*sys.version_info), "linux"):
        return  # other packages are needed elsewhere
    project = tomllib.loads(read("pyproject.toml"))
    left = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    names: set[str] = set()
    while left:
        requirement = Requirement(left.pop())
        name = normalise(requirement.name)
        if name not in names and (requirement.marker is None or requirement.marker.evaluate({"extra": ""})):
            names.add(name)
            left += importlib.metadata.requires(name) or []
    accelerated = {name for name in names if name == "triton" or name.startswith(("nvidia-", "cuda-"))}
    assert set(versions) == names - {"torch"} - accelerated


@pytest.mark.parametrize(("name", "safe"), [("torch", "2.10"), ("ray", "2.52"), ("skops", "0.13")])
def test_lower_bounds_have_no_hole_through_which_code_is_run(name: str, safe: str) -> None:
    project = tomllib.loads(read("pyproject.toml"))["project"]
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    requirements = [each for each in map(Requirement, (text for part in lists for text in part)) if each.name == name]
    specifiers = [specifier for requirement in requirements for specifier in requirement.specifier]
    bounds = [Version(specifier.version) for specifier in specifiers if specifier.operator == ">="]
    assert bounds and min(bounds) >= Version(safe) and len(bounds) == len(requirements)


def normalise(name: str) -> str:
    return re.sub("[-_.]+", "-", name).lower()


@pytest.mark.skipif(not WORKFLOWS, reason="the source distribution has no workflows")
def test_workflows_run_what_there_is() -> None:
    targets = set(re.findall(r"^([\w-]+):", read("Makefile"), re.MULTILINE))
    for path in WORKFLOWS:
        jobs = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
        commands = [step.get("run", "") for job in jobs.values() for step in job["steps"]]
        assert {target for command in commands for target in re.findall(r"\bmake ([\w-]+)", command)} <= targets
        needed = {job["needs"] for job in jobs.values() if "needs" in job}
        assert needed <= set(jobs)


@pytest.mark.parametrize("path", [PROJECT / "action.yml", *WORKFLOWS], ids=lambda path: path.name)
def test_other_actions_are_pinned(path: Path) -> None:
    """By commit: a tag can be moved to other code. The comment says which release it is."""
    uses = re.findall(r"uses: (.+)", path.read_text(encoding="utf-8"))
    assert uses and all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", each) for each in uses)
    assert len({each.split("@")[0] for each in uses}) == len(set(uses))


def test_no_file_is_longer_than_one_sitting() -> None:
    files = sorted((PROJECT / "src").rglob("*.py"))
    lengths = {str(file.relative_to(PROJECT)): len(file.read_text(encoding="utf-8").splitlines()) for file in files}
    assert len(lengths) == len(files)
    assert {name: lines for name, lines in lengths.items() if lines > 350} == {}
