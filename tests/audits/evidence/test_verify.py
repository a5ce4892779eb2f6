"""`geobias verify` finds every changed byte, every missing and every added file; `geobias register` keeps its date."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

import geobias
from geobias.audits.evidence.manifest import MANIFEST, format_manifest, hash_folder
from geobias.audits.evidence.registration import describe_registration, read_registration
from geobias.report.runs import FinishedRun, RunDescription
from tests.audits.gate.results import names_result
from tests.conftest import Run, posix_only

RULE = 'rules = ["findings.clear <= 0"]\n'


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
    code, out, err = run("verify", "bundle")
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
    code, out, err = run("verify", "bundle")
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
    damage = ["damaged: the archive has bytes before its first or after its last entry"]
    assert geobias.verify_evidence(write("comment.zip", comment=b"More.")) == damage
    for content in (b"More." + plain, plain + b"More."):
        Path("more.zip").write_bytes(content)
        assert geobias.verify_evidence("more.zip") == damage


def test_archives(run: Run, bundle: Path) -> None:
    def write(name: str, entries: dict[str, bytes]) -> None:
        with zipfile.ZipFile(name, "w") as archive:
            for path, content in entries.items():
                archive.writestr(path, content)

    entries = {path.relative_to(bundle).as_posix(): path.read_bytes() for path in bundle.rglob("*") if path.is_file()}
    write("same.zip", entries)
    assert run("verify", "same.zip")[0] == 0
    write("other.zip", entries | {"README.md": b"Other.\n", "new.txt": b""})
    code, out, _ = run("verify", "other.zip")
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
    code, out, err = run("verify", name)
    assert code == 2 and not out and message in err and err.count("\n") == 1


def test_rules_are_registered_once(run: Run) -> None:
    Path("rules.toml").write_text(RULE)
    code, out, err = run("register", "rules.toml")
    assert code == 0 and not err and out.startswith("Registered 1 rule on ")
    record = json.loads(Path("rules.registered.json").read_text())
    Path("rules.registered.json").write_text(json.dumps(record | {"registered": "2026-01-01T00:00:00Z"}))
    assert "on 2026-01-01T00:00:00Z" in run("register", "rules.toml")[1]  # the first date stays
    Path("rules.toml").write_text(RULE.replace("0", "1"))
    code, out, err = run("register", "rules.toml")
    assert code == 2 and not out and "registers other rules" in err and err.count("\n") == 1
    assert json.loads(Path("rules.registered.json").read_text())["registered"] == "2026-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("content", "message"), [(None, "does not exist"), ("rules = 3", "must have strings"), ("", "is empty")]
)
def test_bad_rules_are_not_registered(run: Run, content: str | None, message: str) -> None:
    if content is not None:
        Path("rules.toml").write_text(content)
    code, out, err = run("register", "rules.toml")
    assert code == 2 and not out and message in err and not Path("rules.registered.json").exists()


@pytest.mark.parametrize(
    ("registered", "sentence"),
    [
        ("2026-01-01T11:59:49Z", "registered on 2026-01-01T11:59:49Z, before the run began (2026-01-01T11:59:50Z)"),
        ("2026-01-01T11:59:55Z", "registered on 2026-01-01T11:59:55Z, NOT before the run began"),
    ],
)
def test_the_bundle_says_which_came_first(tmp_path: Path, registered: str, sentence: str) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text(RULE)
    record = geobias.register_rules(rules)
    record.write_text(json.dumps(json.loads(record.read_text()) | {"registered": registered}))
    run = FinishedRun(tmp_path, names_result(), RunDescription("2026-01-01T12:00:00Z", 10.0, {}, {}))
    assert sentence in " ".join(describe_registration(rules, read_registration(rules), {"a": run}))
    rules.write_text(RULE + "# changed\n")
    assert "NOT those that were registered" in " ".join(
        describe_registration(rules, read_registration(rules), {"a": run})
    )
    assert "were not registered" in " ".join(describe_registration(rules, None, {"a": run}))
