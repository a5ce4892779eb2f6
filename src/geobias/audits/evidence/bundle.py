"""How finished runs become a bundle for reviewers and auditors."""

from __future__ import annotations

import csv
import os
import platform
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import geobias
from geobias.audits.evidence import documents
from geobias.audits.evidence.manifest import MANIFEST, format_manifest, hash_folder
from geobias.audits.gate.report import GateReport, judge_runs
from geobias.audits.gate.rules import read_rules
from geobias.audits.pages import find_run_folder, read_run, read_runs, reads_runs, write_page
from geobias.errors import InputError
from geobias.files import hash_file, writing
from geobias.report.run_folder import MODEL, MODELS, PAGE, RESULTS, RUN, read_json, write_json
from geobias.report.runs import FinishedRun, place_for, slug
from geobias.report.tables import damaged

if TYPE_CHECKING:
    from geobias.audits.finished_runs import Run

ZIP = ".zip"
WITHHELD = "WITHHELD.sha256"
ENTRY_DATE = (1980, 1, 1, 0, 0, 0)  # of every file in a .zip, whose own dates say nothing


@reads_runs
def write_bundle(runs: Sequence[Run], out: str | Path, *, rules: str | Path | None, with_texts: bool) -> Path:
    finished = name_runs([run for folder in map(find_run_folder, runs) for run in read_runs(folder)])
    if not finished:
        raise InputError("Pass at least one run.")
    target = _check_target(Path(out).expanduser())
    rules = Path(rules).expanduser() if rules is not None else None
    outcome = judge_rules(rules, finished) if rules else None
    with _stage(target) as folder:
        withheld = {name: copy_run(run, folder / "runs" / name, with_texts) for name, run in finished.items()}
        if rules and outcome:
            _write_rules(folder / "rules", rules, outcome)
        _write_documents(folder, finished, outcome, withheld)
        (folder / MANIFEST).write_bytes(format_manifest(hash_folder(folder)).encode())
    return target


def name_runs(runs: Sequence[FinishedRun[Any]]) -> dict[str, FinishedRun[Any]]:
    """Runs by the name of their folder in the bundle; the same run counts once."""
    named: dict[str, FinishedRun[Any]] = {}
    for folder, run in {run.folder.resolve(): run for run in runs}.items():
        stem = slug(folder.name)
        names = (stem if n == 1 else f"{stem}-{n}" for n in range(1, len(runs) + 1))
        named[next(name for name in names if name not in named)] = run
    return named


def judge_rules(path: Path, runs: Mapping[str, FinishedRun[Any]]) -> GateReport:
    """The outcome of a gate, with the names that the runs have in the bundle."""
    return judge_runs({name: run.result for name, run in runs.items()}, read_rules(path))


def copy_run(run: FinishedRun[Any], target: Path, with_texts: bool) -> dict[str, str]:
    """Copy a run into the bundle; returns the hashes of the original files that are left out or changed there.

    Without texts, results.json loses its examples and texts, and the page is written again from what is left: it cannot
    hold a text that the bundle does not have.
    """
    withheld, copies = {}, []
    target.mkdir(parents=True)
    for name in list_files(run.folder):
        if not _is_weights(name) and (with_texts or is_free_of_texts(run.folder / name)):
            copies.append(name)
        else:
            withheld[name] = hash_file(run.folder / name)
    results = read_json(run.folder / RESULTS)
    redacted = leave_out_texts(results)
    is_redacted = not with_texts and (redacted != results or not all(map(_is_weights, withheld)))
    pages = [name for name in (RESULTS, PAGE) if (run.folder / name).is_file()]
    if is_redacted:
        withheld |= {name: hash_file(run.folder / name) for name in pages}
        write_json(target / RESULTS, redacted)
    for name in copies if is_redacted else (*copies, *pages):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(run.folder / name, target / name)
    description = read_json(run.folder / RUN)
    description |= {
        "files": sorted({*copies, RESULTS, PAGE}),
        "texts_left_out": is_redacted,
        "results_sha256": hash_file(target / RESULTS),
    }
    write_json(target / RUN, description)
    if not (target / PAGE).is_file():
        write_page(target / PAGE, [read_run(target)])
    return withheld


def _is_weights(name: str) -> bool:
    """Whether a file belongs to a model that the run trained: it is large, and may have learned texts by heart."""
    return name.split("/")[0] in (MODEL, MODELS)


def list_files(folder: Path) -> list[str]:
    """The files that geobias wrote and recorded besides run.json, results.json and the page; nobody else's files."""
    for name in (RUN, RESULTS, PAGE):
        _check_link(folder / name)
    names: set[str] = set()
    files = read_json(folder / RUN).get("files", [])
    for name in files if isinstance(files, list) else [files]:
        path = _locate_file(folder, name)
        if path.is_dir():
            entries = [path, *path.rglob("*")]
        elif path.is_file():
            entries = [path]
        else:
            raise InputError(f"{path} is missing from the run. Run the audit again with another --out.")
        for entry in entries:
            _check_link(entry)
        names |= {entry.relative_to(folder).as_posix() for entry in entries if entry.is_file()}
    return sorted(names - {RUN, RESULTS, PAGE})


def _locate_file(folder: Path, name: Any) -> Path:
    """The path of a recorded file; refuse one that is not below the folder, or that a link leads to."""
    parts = Path(name).parts if isinstance(name, str) else ()
    if not parts or Path(name).anchor or ".." in parts:
        raise InputError(f"{folder / RUN} names {name!r}, which is no file of the run. Run the audit again.")
    for n in range(1, len(parts)):
        _check_link(folder.joinpath(*parts[:n]))
    return folder / name


def _check_link(path: Path) -> None:
    """Refuse a link: it may lead to a file that the run did not write, and that its owner does not mean to share."""
    if path.is_symlink():
        raise InputError(f"{path} is a link. Replace it with the file itself, or run the audit again.")


def _write_rules(folder: Path, rules: Path, outcome: GateReport) -> None:
    folder.mkdir()
    shutil.copyfile(rules, folder / "rules.toml")
    write_json(folder / "gate.json", outcome.to_dict())


def _write_documents(
    folder: Path,
    runs: Mapping[str, FinishedRun[Any]],
    outcome: GateReport | None,
    withheld: Mapping[str, Mapping[str, str]],
) -> None:
    """The pages for people, the versions, and the hashes of what was left out."""
    date = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    copies = {name: read_run(folder / "runs" / name) for name in runs}
    hashes = {f"runs/{name}/{file}": digest for name, files in withheld.items() for file, digest in files.items()}
    if hashes:
        (folder / WITHHELD).write_bytes(format_manifest(hashes).encode())
    write_json(
        folder / "versions.json",
        {
            "bundle": {"made": date, "geobias": geobias.__version__, "platform": platform.platform()},
            "runs": {name: {"versions": run.result.versions, **_describe(run)} for name, run in copies.items()},
        },
    )
    judgements = outcome.judgements if outcome else []
    pages = {
        "README.md": documents.render_readme(copies, date, judgements, sorted(hashes)),
        "DATA.md": documents.render_data_statement(copies),
        "NOT-TESTED.md": documents.render_not_tested(copies),
        "SIGN-OFF.md": documents.render_sign_off(copies),
    }
    for name, text in pages.items():
        (folder / name).write_bytes(text.encode())


def _describe(run: FinishedRun[Any]) -> dict[str, Any]:
    return {
        "command": run.description.command,
        "finished": run.description.finished,
        "seconds": run.description.seconds,
        "models": [vars(model) for model in run.result.model_identities],
    }


def _check_target(target: Path) -> Path:
    """Where the bundle goes. An existing one is never replaced: it is evidence."""
    if target.suffix.lower() == ZIP:
        if os.path.lexists(target):
            raise InputError(f"{target} exists. Choose another --out: a bundle is never replaced.")
        place_for(target.parent)
        return target
    folder = place_for(target)
    if folder.is_dir() and any(folder.iterdir()):
        raise InputError(f"{target} is not empty. Choose another --out: a bundle is never replaced.")
    return target


@contextmanager
def _stage(target: Path) -> Iterator[Path]:
    """A folder next to the target, which takes its place as a whole when everything is written."""
    with writing(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".geobias-evidence-", dir=target.parent) as place:
            folder = Path(place) / "bundle"
            folder.mkdir()
            yield folder
            if target.suffix.lower() == ZIP:
                _zip_folder(folder, Path(place) / "bundle.zip").replace(target)
            else:
                if target.is_dir():
                    target.rmdir()  # empty: Windows does not replace a folder
                folder.replace(target)


def _zip_folder(folder: Path, archive: Path) -> Path:
    with zipfile.ZipFile(archive, "x", zipfile.ZIP_DEFLATED) as file:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            entry = zipfile.ZipInfo(path.relative_to(folder).as_posix(), ENTRY_DATE)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            with file.open(entry, "w", force_zip64=True) as member, open(path, "rb") as source:
                shutil.copyfileobj(source, member)
    return archive


# A table with one of these columns has a row for each text, its parts, or what a model wrote about it.
TEXT_COLUMNS = frozenset(
    "text text_id sentence original changed example person prompt answer response completion generation output".split()
)
FIGURES = (".svg", ".png", ".html")  # in the folder "figures"
EXAMPLES, TEXT = "examples", "text"  # the fields of results.json that hold texts, in findings and elsewhere


def is_free_of_texts(path: Path) -> bool:
    """Whether a file of a run certainly holds no text: a figure, or a table without a column of texts."""
    suffix = path.suffix.lower()
    if path.parent.name == "figures" and suffix in FIGURES:
        return True
    if suffix not in (".csv", ".parquet"):
        return False
    columns = _read_csv_columns(path) if suffix == ".csv" else _read_parquet_columns(path)
    return not TEXT_COLUMNS & {column.casefold() for column in columns}


def leave_out_texts(content: Any) -> Any:
    """The content of results.json with every field `examples` and every string `text` empty."""
    if isinstance(content, dict):
        return {
            key: type(value)() if _is_field_of_texts(key, value) else leave_out_texts(value)
            for key, value in content.items()
        }
    return [leave_out_texts(value) for value in content] if isinstance(content, list) else content


def _is_field_of_texts(key: str, value: Any) -> bool:
    return isinstance(value, dict | list) if key == EXAMPLES else key == TEXT and isinstance(value, str)


def _read_csv_columns(path: Path) -> list[str]:
    with open(path, encoding="utf-8", newline="") as file:
        return next(csv.reader(file), [])


def _read_parquet_columns(path: Path) -> list[str]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return list(pq.read_schema(path).names)
    except (OSError, pa.ArrowException) as error:
        raise damaged(path) from error
