"""`geobias evidence --check` finds every changed byte, every missing and every added file."""

from __future__ import annotations

import os
import re
import struct
import zipfile
import zlib
from pathlib import Path

import pytest

import geobias
from geobias.audits.evidence.bundle import _zip_folder
from geobias.audits.evidence.manifest import MANIFEST, format_manifest, hash_folder
from tests.conftest import Run, posix_only

DAMAGED = ["damaged: the archive has bytes or fields that geobias does not write"]


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    folder = tmp_path / "bundle"
    (folder / "runs").mkdir(parents=True)
    (folder / "README.md").write_bytes(b"Evidence.\n")
    (folder / "runs/numbers.csv").write_bytes(b"a,b\n1,2\n")
    (folder / MANIFEST).write_text(format_manifest(hash_folder(folder)), newline="\n")
    return folder


def test_any_changed_byte_is_found(bundle: Path) -> None:
    assert geobias.verify_evidence(bundle) == []
    for name in ("README.md", "runs/numbers.csv", MANIFEST):
        path = bundle / name
        content = path.read_bytes()
        for position in range(len(content)):
            for bit in (0x01, 0x20):
                changed = bytearray(content)
                changed[position] ^= bit
                path.write_bytes(changed)
                assert geobias.verify_evidence(bundle), (name, position, bit)
        path.write_bytes(content[:-1])
        assert geobias.verify_evidence(bundle)
        path.write_bytes(content)
    assert geobias.verify_evidence(bundle) == []


def test_one_line_for_each_change(run: Run, bundle: Path) -> None:
    (bundle / "README.md").write_text("Other evidence.\n")
    (bundle / "runs/numbers.csv").unlink()
    (bundle / "runs/.hidden").write_text("")
    code, out, err = run("evidence", "--check", "bundle")
    assert code == 1 and not err
    assert out.splitlines() == ["changed: README.md", "added: runs/.hidden", "missing: runs/numbers.csv"]


@posix_only
def test_a_link_in_the_place_of_a_file_is_a_change(bundle: Path, tmp_path: Path) -> None:
    (bundle / "README.md").rename(tmp_path / "README.md")
    (bundle / "README.md").symlink_to(tmp_path / "README.md")
    (bundle / "more").symlink_to(tmp_path)
    assert geobias.verify_evidence(bundle) == ["changed: README.md", "added: more"]


@posix_only
def test_a_link_in_the_place_of_the_manifest_is_refused(run: Run, bundle: Path, tmp_path: Path) -> None:
    (bundle / MANIFEST).rename(tmp_path / "elsewhere")
    (bundle / MANIFEST).symlink_to(tmp_path / "elsewhere")
    code, out, err = run("evidence", "--check", "bundle")
    assert code == 2 and not out and "has no MANIFEST.sha256 (a link does not count)" in err


def test_an_empty_folder_is_a_change(bundle: Path) -> None:
    (bundle / "runs/new").mkdir()
    assert geobias.verify_evidence(bundle) == ["added: runs/new/"]


def test_what_archives_may_hide_is_a_change(bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def write(name: str, link: str = "", comment: bytes = b"") -> Path:
        with zipfile.ZipFile(name, "w") as archive:
            for path in sorted(path for path in bundle.rglob("*") if path.is_file()):
                entry = zipfile.ZipInfo(path.relative_to(bundle).as_posix())
                entry.external_attr = (0o120777 if entry.filename == link else 0o644) << 16
                archive.writestr(entry, path.read_bytes())
            archive.comment = comment
        return Path(name)

    plain = write("plain.zip").read_bytes()
    assert geobias.verify_evidence("plain.zip") == []
    assert geobias.verify_evidence(write("link.zip", link="README.md")) == ["changed: README.md"]
    with pytest.raises(geobias.InputError, match="a link does not count"):
        geobias.verify_evidence(write("manifest.zip", link=MANIFEST))
    assert geobias.verify_evidence(write("comment.zip", comment=b"More.")) == DAMAGED
    for content in (b"More." + plain, plain + b"More."):
        Path("more.zip").write_bytes(content)
        assert geobias.verify_evidence("more.zip") == DAMAGED


def test_nothing_is_hidden_between_the_entries_of_an_archive(bundle: Path, tmp_path: Path) -> None:
    archive = _zip_folder(bundle, tmp_path / "bundle.zip")
    assert geobias.verify_evidence(archive) == []
    content = archive.read_bytes()
    with zipfile.ZipFile(archive) as entries:
        last, start = entries.infolist()[-1], entries.start_dir
    more = content[last.header_offset : start]  # an entry
    listed = content[start:]

    def directory(offset: int, records: bytes = listed[:-22], count: int = 3) -> bytes:
        return records + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, count, count, len(records), offset, 0)

    def verify(content: bytes) -> list[str]:
        archive.write_bytes(content)
        return geobias.verify_evidence(archive)

    assert verify(content[:start] + directory(start)) == []  # as it was
    for hidden in (more, b"More.", b"\0"):  # an entry that the directory does not list, other bytes
        assert verify(content[:start] + hidden + directory(start + len(hidden))) == DAMAGED
    assert verify(content[:start] + directory(start)[:-2] + struct.pack("<H", 5) + b"More.") == DAMAGED
    # Between two entries: the last one, which the directory lists, begins later.
    moved = listed[:-22].replace(struct.pack("<L", last.header_offset), struct.pack("<L", last.header_offset + 5))
    assert verify(content[: last.header_offset] + b"More." + more + directory(start + 5, moved)) == DAMAGED
    # In the data of an entry: after the end of the compressed stream.
    size, longer = struct.pack("<L", last.compress_size), struct.pack("<L", last.compress_size + 5)
    grown = more.replace(size + size[:2], longer + size[:2]) + b"More."
    grown = grown.replace(struct.pack("<Q", last.compress_size), struct.pack("<Q", last.compress_size + 5))
    records = listed[:-22].replace(size, longer)
    assert grown != more + b"More." and records != listed[:-22]
    assert verify(content[: last.header_offset] + grown + directory(start + 5, records)) == DAMAGED


def test_a_second_name_of_an_entry_is_a_change(bundle: Path, tmp_path: Path) -> None:
    """The Unicode path of Info-ZIP: README.md would be extracted as another file, and another file as README.md."""
    name = b"LIESMICH.md"
    field = struct.pack("<HHBL", 0x7075, 5 + len(name), 1, zlib.crc32(b"README.md")) + name
    with zipfile.ZipFile(tmp_path / "bundle.zip", "w") as archive:
        for path in sorted(path for path in bundle.rglob("*") if path.is_file()):
            entry = zipfile.ZipInfo(path.relative_to(bundle).as_posix())
            entry.extra = field if path.name == "README.md" else b""
            archive.writestr(entry, path.read_bytes())
    assert DAMAGED[0] in geobias.verify_evidence(tmp_path / "bundle.zip")


@pytest.mark.parametrize("limit", [0, 40, 2**31 - 1])
def test_large_archives(bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", limit)  # bytes from which sizes and places need the larger form
    archive = _zip_folder(bundle, tmp_path / "bundle.zip")
    assert geobias.verify_evidence(archive) == []
    archive.write_bytes(archive.read_bytes() + b"More.")
    assert geobias.verify_evidence(archive) == DAMAGED


@pytest.mark.slow
def test_damaged_archives_are_told(bundle: Path, tmp_path: Path) -> None:
    (bundle / "runs/numbers.csv").rename(bundle / "runs/zäh.csv")
    archive = _zip_folder(bundle, tmp_path / "bundle.zip")
    content = archive.read_bytes()
    records = [match.start() for match in re.finditer(b"PK\1\2", content)]
    unchecked = {record + n for record in records for n in (4, 5, *range(38, 42))}  # version, system, attributes
    for position in range(len(content)):
        changed = bytearray(content)
        changed[position] ^= 0x81
        archive.write_bytes(changed)
        try:
            assert position in unchecked or geobias.verify_evidence(archive), position
        except geobias.InputError:
            continue


def test_a_manifest_that_grows_is_refused(run: Run, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bundle.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(MANIFEST, b"\n" * (1 + (1 << 24)))
    code, out, err = run("evidence", "--check", "bundle.zip")
    assert code == 2 and not out and "of more than 16,777,216 bytes" in err


@posix_only
def test_a_pipe_is_not_waited_for(run: Run, bundle: Path) -> None:
    os.mkfifo(bundle / "pipe")
    assert geobias.verify_evidence(bundle) == ["added: pipe"]
    (bundle / "README.md").unlink()
    (bundle / "pipe").rename(bundle / "README.md")
    assert geobias.verify_evidence(bundle) == ["changed: README.md"]


@posix_only
def test_a_line_feed_in_a_name_makes_no_line(run: Run, bundle: Path) -> None:
    (bundle / "a\nUnchanged. SHA-256 of its manifest: 0").write_text("")
    code, out, _ = run("evidence", "--check", "bundle")
    assert code == 1 and len(out.splitlines()) == 1 and "\\x0a" in out


def test_archives(run: Run, bundle: Path) -> None:
    def write(name: str, entries: dict[str, bytes]) -> None:
        with zipfile.ZipFile(name, "w") as archive:
            for path, content in entries.items():
                archive.writestr(path, content)

    entries = {path.relative_to(bundle).as_posix(): path.read_bytes() for path in bundle.rglob("*") if path.is_file()}
    write("same.zip", entries)
    assert run("evidence", "--check", "same.zip")[0] == 0
    write("other.zip", entries | {"README.md": b"Other.\n", "new.txt": b""})
    code, out, _ = run("evidence", "--check", "other.zip")
    assert code == 1 and out.splitlines() == ["changed: README.md", "added: new.txt"]
    with pytest.warns(UserWarning), zipfile.ZipFile("same.zip", "a") as archive:
        archive.writestr("README.md", entries["README.md"])
    assert geobias.verify_evidence("same.zip") == ["changed: README.md"]  # two files of one name
    content = Path("other.zip").read_bytes()
    Path("damaged.zip").write_bytes(content.replace(b"a,b\n1,2\n", b"a,b\n1,3\n"))
    assert "changed: runs/numbers.csv" in geobias.verify_evidence("damaged.zip")


@pytest.mark.parametrize(
    ("name", "message"),
    [("nowhere", "nowhere does not exist"), ("empty", "has no MANIFEST.sha256"), ("a.txt", "cannot be read as a .zip")],
)
def test_what_is_no_bundle_is_refused(run: Run, name: str, message: str) -> None:
    Path("empty").mkdir()
    Path("a.txt").write_text("text")
    code, out, err = run("evidence", "--check", name)
    assert code == 2 and not out and message in err and err.count("\n") == 1
