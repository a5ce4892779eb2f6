"""MANIFEST.sha256: the hash of every file of a bundle, in the format of `sha256sum`, and its verification."""

from __future__ import annotations

import hashlib
import re
import stat
import zipfile
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from geobias.checks import escape
from geobias.errors import InputError
from geobias.files import hash_file

MANIFEST = "MANIFEST.sha256"
DAMAGED = (zipfile.BadZipFile, EOFError, OSError, NotImplementedError, RuntimeError, ValueError, zlib.error)
_LINE = re.compile(r"(?P<hash>[0-9a-f]{64})  (?P<path>.+)")


def format_manifest(hashes: Mapping[str, str]) -> str:
    """One line for each file, sorted by path: `sha256sum --check MANIFEST.sha256` reads it."""
    return "".join(f"{hashes[path]}  {path}\n" for path in sorted(hashes))


def hash_folder(folder: Path) -> dict[str, str]:
    """The hash of every file below a folder by its path there; empty for a link, which is no file of the bundle."""
    paths = sorted(path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())
    return {
        path.relative_to(folder).as_posix(): hash_file(path) if stat.S_ISREG(path.lstat().st_mode) else ""
        for path in paths
    }


def verify_evidence(bundle: str | Path) -> list[str]:
    """Compare a bundle of evidence with its manifest.

    The manifest shows that files were changed after it was written. It cannot show that somebody replaced both: keep
    its own SHA-256, which `geobias evidence` and `geobias evidence --check` print, in another place.

    Parameters
    ----------
    bundle : str or Path
        The folder or the .zip file that `write_evidence` wrote.

    Returns
    -------
    list of str
        One line for each file that was changed, is missing or was added, and for a damaged manifest. Empty if the
        bundle is unchanged. Of a .zip file the files in it are checked, as any program extracts them.

    Raises
    ------
    InputError
        If the folder or file does not exist or has no manifest.

    Examples
    --------
    >>> import geobias
    >>> geobias.verify_evidence("evidence")  # doctest: +SKIP
    []
    """
    hashes, text = _read_bundle(Path(bundle).expanduser())
    expected = {match["path"]: match["hash"] for match in map(_LINE.fullmatch, text.splitlines()) if match}
    is_whole = text == format_manifest(expected)  # it has one form only, so that no change of it goes unnoticed
    problems = [] if is_whole else [f"damaged: {MANIFEST} is not as geobias writes it"]
    for path in sorted(expected.keys() | hashes.keys()):
        if expected.get(path) != hashes.get(path):
            problem = "missing" if path not in hashes else "changed" if path in expected else "added"
            problems.append(f"{problem}: {escape(path)}")  # a line feed in a name must not look like the end of a line
    return problems


def hash_manifest(bundle: Path) -> str:
    """The SHA-256 of a bundle's manifest, which stands for the whole bundle."""
    return hashlib.sha256(_read_bundle(bundle.expanduser())[1].encode(errors="surrogateescape")).hexdigest()


def _read_bundle(bundle: Path) -> tuple[dict[str, str], str]:
    """The hashes of a bundle's files without the manifest, and the manifest."""
    if bundle.is_dir():
        hashes, manifest = hash_folder(bundle), bundle / MANIFEST
        content = manifest.read_bytes() if hashes.pop(MANIFEST, None) else None
    elif bundle.is_file():
        hashes, content = _read_archive(bundle)
    else:
        raise InputError(f"{bundle} does not exist. Pass the folder or .zip file that `geobias evidence` wrote.")
    if content is None:
        raise InputError(f"{bundle} has no {MANIFEST}. Pass a folder or .zip file that `geobias evidence` wrote.")
    return hashes, content.decode(errors="surrogateescape")


def _read_archive(bundle: Path) -> tuple[dict[str, str], bytes | None]:
    """The same of an archive; empty hashes for damaged files, links, and two files of one name."""
    hashes: dict[str, str] = {}
    content = None
    try:
        with zipfile.ZipFile(bundle) as archive:
            for entry in archive.infolist():
                if entry.is_dir():
                    continue
                is_plain = entry.filename not in hashes and not stat.S_ISLNK(entry.external_attr >> 16)
                hashes[entry.filename] = ""
                if is_plain:
                    with suppress(*DAMAGED):
                        hashes[entry.filename] = hashlib.sha256(archive.read(entry)).hexdigest()
            if hashes.pop(MANIFEST, None):
                content = archive.read(MANIFEST)
    except DAMAGED as error:
        raise InputError(f"{bundle} cannot be read as a .zip file: {error}.") from None
    return hashes, content
