"""`geobias evidence --check` finds every changed byte, every missing and every added file."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest

import geobias
from geobias.audits.evidence.manifest import MANIFEST, format_manifest, hash_folder
from tests.conftest import Run, posix_only


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
    assert code == 2 and not out and "has no MANIFEST.sha256" in err


@posix_only
def test_a_pipe_is_not_waited_for(run: Run, bundle: Path) -> None:
    os.mkfifo(bundle / "pipe")
    assert geobias.verify_evidence(bundle) == ["added: pipe"]


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
    link = zipfile.ZipInfo("README.md")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile("link.zip", "w") as archive:
        for path, content in entries.items():
            archive.writestr(link if path == "README.md" else path, content)
    assert geobias.verify_evidence("link.zip") == ["changed: README.md"]
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
