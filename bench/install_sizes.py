"""What an installation costs on disk: the base, its largest packages, and what each extra adds.

    python bench/install_sizes.py WHEEL [EXTRA ...]      (default: every extra that the wheel has for users)

The base goes into an empty environment. Each extra goes into an environment of its own, whose packages begin as links
to those of the base, so that only new files count. Versions are those that pip chooses: set PIP_CONSTRAINT to fix some.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator
from email.parser import HeaderParser
from importlib.metadata import distributions
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

MEGABYTE = 1e6
LARGEST = 12  # packages of the base that are listed
FOR_DEVELOPERS = ("dev", "recipes", "bench")


def make_environment(folder: Path) -> Path:
    """Make an empty environment; return its folder of packages."""
    venv.create(folder, with_pip=True)
    return next(folder.glob("lib/python*/site-packages"))


def install(folder: Path, requirement: str) -> None:
    subprocess.run([folder / "bin/python", "-m", "pip", "install", "--quiet", requirement], check=True)
    for cache in folder.rglob("__pycache__"):  # pip compiles what it installs; a link would count twice
        shutil.rmtree(cache)


def measure_folder(folder: Path) -> int:
    """Size of all files in bytes."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())


def list_package_sizes(packages: Path) -> Iterator[tuple[int, str]]:
    """Size and name of each installed package, by its own list of files."""
    for package in distributions(path=[str(packages)]):
        paths = [Path(str(package.locate_file(file))) for file in package.files or ()]
        yield sum(path.lstat().st_size for path in paths if path.is_file()), package.name


def list_extras(wheel: Path) -> list[str]:
    with ZipFile(wheel) as archive:
        metadata = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        extras = HeaderParser().parsestr(archive.read(metadata).decode()).get_all("Provides-Extra", [])
    return [extra for extra in extras if extra not in FOR_DEVELOPERS]


def main(wheel: Path, *extras: str) -> None:
    print(f"wheel: {wheel.stat().st_size / MEGABYTE:.0f} MB", flush=True)
    with TemporaryDirectory() as name:
        base = Path(name, "base")
        base_packages = make_environment(base)
        empty = measure_folder(base_packages)
        install(base, str(wheel))
        size = measure_folder(base_packages)
        print(f"base: {(size - empty) / MEGABYTE:.0f} MB", flush=True)
        for bytes_of_package, package in sorted(list_package_sizes(base_packages), reverse=True)[:LARGEST]:
            print(f"    {package}: {bytes_of_package / MEGABYTE:.0f} MB", flush=True)
        for extra in extras or list_extras(wheel):
            folder = Path(name, extra)
            packages = make_environment(folder)
            shutil.rmtree(packages)
            shutil.copytree(base_packages, packages, copy_function=os.link)
            install(folder, f"{wheel}[{extra}]")
            print(f"{extra}: {(measure_folder(packages) - size) / MEGABYTE:.0f} MB more", flush=True)
            shutil.rmtree(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), *sys.argv[2:])
