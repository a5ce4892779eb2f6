"""MANIFEST.sha256: the hash of every file of a bundle, in the format of `sha256sum`, and its verification."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from geobias.checks import check_path
from geobias.errors import InputError
from geobias.files import hash_file

MANIFEST = "MANIFEST.sha256"
_LINE = re.compile(r"(?P<hash>[0-9a-f]{64})  (?P<path>.+)")
END_MARK, END_LENGTH = b"PK\5\6", 22  # the end of every .zip file without a comment
_BLOCK = 1 << 20  # bytes read at once: figures and Parquet files may be large


def format_manifest(hashes: Mapping[str, str]) -> str:
    """One line for each file, sorted by path: `sha256sum --check MANIFEST.sha256` reads it."""
    return "".join(f"{hashes[path]}  {path}\n" for path in sorted(hashes))


def hash_folder(folder: Path) -> dict[str, str]:
    """The hash of every file below a folder by its path there.

    A link and an empty folder have no content of their own, so their hash is empty.
    """
    hashes = {}
    for parent, folders, files in os.walk(folder):
        links = [name for name in folders if (Path(parent) / name).is_symlink()]
        for path in (Path(parent) / name for name in (*files, *links)):
            hashes[path.relative_to(folder).as_posix()] = "" if path.is_symlink() else hash_file(path)
        if not folders and not files and Path(parent) != folder:
            hashes[f"{Path(parent).relative_to(folder).as_posix()}/"] = ""
    return hashes


def verify_evidence(bundle: str | Path) -> list[str]:
    """Compare a bundle of evidence with its manifest.

    The manifest shows that files were changed after it was written. It cannot show that somebody replaced both: keep
    its own SHA-256, which `geobias evidence` and `geobias verify` print, in another place.

    Parameters
    ----------
    bundle : str or Path
        The folder or the .zip file that `write_evidence` wrote.

    Returns
    -------
    list of str
        One line for each file that was changed, is missing or was added, and for a damaged manifest or archive. Empty
        if the bundle is unchanged. In a .zip file, dates and other metadata of files are not checked.

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
    path = Path(bundle).expanduser()
    hashes, text = _read_bundle(path)
    lines = text.splitlines()
    matches = [_LINE.fullmatch(line) for line in lines]
    expected = {match["path"]: match["hash"] for match in matches if match}
    return [*_check_archive(path), *_check_form(text, expected), *_compare(expected, hashes)]


def hash_manifest(bundle: Path) -> str:
    """The SHA-256 of a bundle's manifest, which stands for the whole bundle."""
    return hashlib.sha256(_read_bundle(bundle.expanduser())[1].encode(errors="surrogateescape")).hexdigest()


def _check_archive(bundle: Path) -> Iterator[str]:
    """Bytes around the entries of an archive, such as a comment, belong to no file that the manifest could list."""
    if bundle.is_dir():
        return
    with zipfile.ZipFile(bundle) as archive:
        start = min(entry.header_offset for entry in archive.infolist())
    with open(bundle, "rb") as file:
        file.seek(-END_LENGTH, os.SEEK_END)
        end = file.read()
    if start or not end.startswith(END_MARK):
        yield "damaged: the archive has bytes before its first or after its last entry"


def _check_form(text: str, expected: Mapping[str, str]) -> Iterator[str]:
    """A manifest is written in one form only, so that no change of it goes unnoticed."""
    if text != format_manifest(expected):
        yield f"damaged: {MANIFEST} is not as geobias writes it"


def _compare(expected: Mapping[str, str], hashes: Mapping[str, str]) -> Iterator[str]:
    for path in sorted(expected.keys() | hashes.keys()):
        if path not in hashes:
            yield f"missing: {path}"
        elif path not in expected:
            yield f"added: {path}"
        elif hashes[path] != expected[path]:
            yield f"changed: {path}"


def _read_bundle(bundle: Path) -> tuple[dict[str, str], str]:
    """The hashes of a bundle's files without the manifest, and the manifest."""
    check_path(str(bundle))
    if bundle.is_dir():
        manifest = bundle / MANIFEST
        if not manifest.is_file() or manifest.is_symlink():
            raise _refuse(bundle)
        hashes = {path: digest for path, digest in hash_folder(bundle).items() if path != MANIFEST}
        return hashes, manifest.read_bytes().decode(errors="surrogateescape")
    if not bundle.is_file():
        raise InputError(f"{bundle} does not exist. Pass the folder or .zip file that `geobias evidence` wrote.")
    try:
        with zipfile.ZipFile(bundle) as archive:
            return _read_archive(archive, bundle)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise InputError(f"{bundle} cannot be read as a .zip file: {error}.") from None


def _read_archive(archive: zipfile.ZipFile, bundle: Path) -> tuple[dict[str, str], str]:
    hashes = {}
    for entry in archive.infolist():
        # Two entries of one name: which of them a reader would see depends on the program, so neither counts.
        hashes[entry.filename] = "" if entry.filename in hashes else _hash_entry(archive, entry)
    if not hashes.pop(MANIFEST, None):
        raise _refuse(bundle)
    return hashes, archive.read(MANIFEST).decode(errors="surrogateescape")


def _hash_entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> str:
    """The hash of a file in an archive; empty for a link, and where the archive's own checksum does not match."""
    if stat.S_ISLNK(entry.external_attr >> 16):
        return ""
    digest = hashlib.sha256()
    try:
        with archive.open(entry) as file:
            while block := file.read(_BLOCK):
                digest.update(block)
    except (zipfile.BadZipFile, EOFError, OSError, ValueError, NotImplementedError, zlib.error):
        return ""
    return digest.hexdigest()


def _refuse(bundle: Path) -> InputError:
    return InputError(
        f"{bundle} has no {MANIFEST} (a link does not count). Pass a folder or .zip file that `geobias evidence` wrote."
    )
