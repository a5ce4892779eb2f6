"""MANIFEST.sha256: the hash of every file of a bundle, in the format of `sha256sum`, and its verification."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO

from geobias.checks import escape
from geobias.errors import InputError
from geobias.files import hash_file

MANIFEST = "MANIFEST.sha256"
_LINE = re.compile(r"(?P<hash>[0-9a-f]{64})  (?P<path>.+)")
_SHORT, _LONG = 0xFFFF, 0xFFFFFFFF  # the largest numbers in the fields of an archive
_LONGEST_MANIFEST = 1 << 24  # bytes, of 100,000 files: in an archive, a few kilobytes may be gigabytes
_BLOCK = 1 << 20  # bytes read at once: figures and Parquet files may be large


def format_manifest(hashes: Mapping[str, str]) -> str:
    """One line for each file, sorted by path: `sha256sum --check MANIFEST.sha256` reads it."""
    return "".join(f"{hashes[path]}  {path}\n" for path in sorted(hashes))


def hash_folder(folder: Path) -> dict[str, str]:
    """The hash of every file below a folder by its path there.

    What is no file (a link, a pipe, a socket) and an empty folder have no content of their own, so their hash is empty.
    """
    hashes = {}
    for parent, folders, files in os.walk(folder):
        links = [name for name in folders if (Path(parent) / name).is_symlink()]
        for path in (Path(parent) / name for name in (*files, *links)):
            hashes[path.relative_to(folder).as_posix()] = hash_file(path) if _is_plain(path) else ""
        if not folders and not files and Path(parent) != folder:
            hashes[f"{Path(parent).relative_to(folder).as_posix()}/"] = ""
    return hashes


def _is_plain(path: Path) -> bool:
    """Whether it is a file: reading a pipe would wait for ever."""
    return stat.S_ISREG(path.lstat().st_mode)


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
        One line for each file that was changed, is missing or was added, and for a damaged manifest or archive. Empty
        if the bundle is unchanged. In a .zip file, dates and other metadata of files are not checked, but nothing may
        be hidden beside its files: an archive that another program wrote may count as damaged.

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
    """Whether every byte of an archive belongs to one of its files or is what geobias writes around them.

    Other programs may read what stands elsewhere: an entry that the directory does not list, a second name.
    """
    if bundle.is_dir():
        return
    with open(bundle, "rb") as file, zipfile.ZipFile(file) as archive:
        if not _is_canonical(file, archive):
            yield "damaged: the archive has bytes or fields that geobias does not write"


def _is_canonical(file: IO[bytes], archive: zipfile.ZipFile) -> bool:
    """Whether the entries follow each other from the first byte, then the directory, then its end."""
    position = 0
    for entry in sorted(archive.infolist(), key=lambda entry: entry.header_offset):
        if entry.header_offset != position or not _is_canonical_entry(file, entry):
            return False
        position = file.tell()
    directory = b"".join(map(_write_record, archive.infolist()))
    return file.read() in [directory + end for end in _list_ends(len(archive.infolist()), len(directory), position)]


def _is_canonical_entry(file: IO[bytes], entry: zipfile.ZipInfo) -> bool:
    """Whether an entry has the header that its record in the directory makes, and compressed data without more."""
    for zip64 in (False, True):
        header = _copy_entry(entry).FileHeader(zip64)
        file.seek(entry.header_offset)
        if file.read(len(header)) == header:
            return _is_one_stream(file, entry)
    return False


def _copy_entry(entry: zipfile.ZipInfo) -> zipfile.ZipInfo:
    """An entry of the same name, date, versions and sizes, and nothing else."""
    copy = zipfile.ZipInfo(entry.filename, entry.date_time)
    for name in ("compress_type", "CRC", "compress_size", "file_size", "create_version", "extract_version"):
        setattr(copy, name, getattr(entry, name))
    return copy


def _write_record(entry: zipfile.ZipInfo) -> bytes:
    """The record of an entry in the directory, whose extra field has only numbers that are too large for the record."""
    limit, numbers = zipfile.ZIP64_LIMIT, list[int]()
    sizes, place = (entry.compress_size, entry.file_size), entry.header_offset
    if max(sizes) > limit:
        numbers += reversed(sizes)
        sizes = _LONG, _LONG
    if place > limit:
        numbers.append(place)
        place = _LONG
    extra = struct.pack(f"<HH{len(numbers)}Q", 1, 8 * len(numbers), *numbers) if numbers else b""
    # Flags, method, time, date and checksum stand in this order in the header, too.
    shared = _copy_entry(entry).FileHeader(zip64=False)[6:18]
    name = entry.filename.encode()
    versions = entry.create_version, entry.create_system, entry.extract_version, 0
    lengths = len(name), len(extra), 0, 0, 0
    return (
        struct.pack("<4s4B12s2L5H2L", b"PK\1\2", *versions, shared, *sizes, *lengths, entry.external_attr, place)
        + name
        + extra
    )


def _is_one_stream(file: IO[bytes], entry: zipfile.ZipInfo) -> bool:
    """Whether the compressed data of an entry, which start here, end where they should; leaves the file there."""
    if entry.compress_type != zipfile.ZIP_DEFLATED:
        file.seek(entry.compress_size, os.SEEK_CUR)
        return entry.compress_size == entry.file_size
    stream, left = zlib.decompressobj(-zlib.MAX_WBITS), entry.compress_size
    try:
        while left and not stream.eof:
            block = file.read(min(left, _BLOCK))
            left -= len(block)
            while block and not stream.eof:
                stream.decompress(block, _BLOCK)
                block = stream.unconsumed_tail
    except zlib.error:
        return False
    return stream.eof and not left and not stream.unused_data


def _list_ends(count: int, size: int, position: int) -> tuple[bytes, bytes]:
    """The bytes after a directory of so many entries and bytes at this position: of small and of large archives."""
    counts = (min(count, _SHORT),) * 2
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, *counts, min(size, _LONG), min(position, _LONG), 0)
    large = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, count, count, size, position)
    return end, large + struct.pack("<4sLQL", b"PK\6\7", 0, position + size, 1) + end


def _check_form(text: str, expected: Mapping[str, str]) -> Iterator[str]:
    """A manifest is written in one form only, so that no change of it goes unnoticed."""
    if text != format_manifest(expected):
        yield f"damaged: {MANIFEST} is not as geobias writes it"


def _compare(expected: Mapping[str, str], hashes: Mapping[str, str]) -> Iterator[str]:
    for path in sorted(expected.keys() | hashes.keys()):
        shown = escape(path)  # a line feed in a name must not look like the end of the line
        if path not in hashes:
            yield f"missing: {shown}"
        elif path not in expected:
            yield f"added: {shown}"
        elif hashes[path] != expected[path]:
            yield f"changed: {shown}"


def _read_bundle(bundle: Path) -> tuple[dict[str, str], str]:
    """The hashes of a bundle's files without the manifest, and the manifest."""
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
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, UnicodeDecodeError) as error:
        raise InputError(f"{bundle} cannot be read as a .zip file: {error}.") from None


def _read_archive(archive: zipfile.ZipFile, bundle: Path) -> tuple[dict[str, str], str]:
    hashes = {}
    for entry in archive.infolist():
        # Two entries of one name: which of them a reader would see depends on the program, so neither counts.
        hashes[entry.filename] = "" if entry.filename in hashes else _hash_entry(archive, entry)
    if not hashes.pop(MANIFEST, None):
        raise _refuse(bundle)
    if archive.getinfo(MANIFEST).file_size > _LONGEST_MANIFEST:
        raise InputError(
            f"{bundle} has a {MANIFEST} of more than {_LONGEST_MANIFEST:,} bytes. Extract it to look into it."
        )
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
