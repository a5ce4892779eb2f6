"""How finished runs become a bundle for reviewers and auditors."""

from __future__ import annotations

import csv
import os
import platform
import shutil
import tempfile
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
from geobias.audits.pages import find_run_folder, read_run, read_runs, write_page
from geobias.errors import InputError
from geobias.files import hash_file, writing
from geobias.report.run_folder import MODEL, MODELS, PAGE, RESULTS, RUN, is_inside, read_json, write_json
from geobias.report.runs import FinishedRun, place_for, slug
from geobias.report.tables import damaged

if TYPE_CHECKING:
    from geobias.audits.finished_runs import Run

ZIP = ".zip"
WITHHELD = "WITHHELD.sha256"


def write_bundle(runs: Sequence[Run], out: str | Path, *, rules: str | Path | None, with_texts: bool) -> Path:
    finished = name_runs([run for folder in map(find_run_folder, runs) for run in read_runs(folder)])
    if not finished:
        raise InputError("Pass at least one run.")
    target = _check_target(Path(out).expanduser())
    rules = Path(rules).expanduser() if rules is not None else None
    outcome = judge_runs({name: run.result for name, run in finished.items()}, read_rules(rules)) if rules else None
    with _stage(target) as folder:
        withheld = {name: copy_run(run, folder / "runs" / name, with_texts) for name, run in finished.items()}
        if rules and outcome:
            (folder / "rules").mkdir()
            shutil.copyfile(rules, folder / "rules/rules.toml")
            write_json(folder / "rules/gate.json", outcome.to_dict())
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
    names: set[str] = set()
    for name in read_json(folder / RUN).get("files", []):
        if not isinstance(name, str) or not is_inside(name):
            raise InputError(f"{folder / RUN} names {name!r}, which is no file of the run. Run the audit again.")
        path = folder / name
        if not path.exists():
            raise InputError(f"{path} is missing from the run. Run the audit again with another --out.")
        entries = path.rglob("*") if path.is_dir() else [path]
        names |= {entry.relative_to(folder).as_posix() for entry in entries if entry.is_file()}
    for name in (RUN, RESULTS, PAGE, *names):
        # A link may lead to a file that the run did not write, and that its owner does not mean to share.
        if not (folder / name).resolve().is_relative_to(folder.resolve()):
            raise InputError(f"{folder / name} is a link. Replace it with the file itself, or run the audit again.")
    return sorted(names - {RUN, RESULTS, PAGE})


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
            "runs": {
                name: {
                    "versions": run.result.versions,
                    "command": run.description.command,
                    "finished": run.description.finished,
                    "seconds": run.description.seconds,
                    "models": [vars(model) for model in run.result.model_identities],
                }
                for name, run in copies.items()
            },
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
                Path(shutil.make_archive(str(folder), "zip", folder)).replace(target)
            else:
                if target.is_dir():
                    target.rmdir()  # empty: Windows does not replace a folder
                folder.replace(target)


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
    return not TEXT_COLUMNS & {column.casefold() for column in _read_columns(path)}


def leave_out_texts(content: Any) -> Any:
    """The content of results.json with every field `examples` and every string `text` empty."""
    if isinstance(content, dict):
        kinds: dict[str, Any] = {EXAMPLES: dict | list, TEXT: str}
        return {
            key: type(value)() if key in kinds and isinstance(value, kinds[key]) else leave_out_texts(value)
            for key, value in content.items()
        }
    return [leave_out_texts(value) for value in content] if isinstance(content, list) else content


def _read_columns(path: Path) -> list[str]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if path.suffix.lower() == ".csv":
        with open(path, encoding="utf-8", newline="") as file:
            return next(csv.reader(file), [])
    try:
        return list(pq.read_schema(path).names)
    except (OSError, pa.ArrowException) as error:
        raise damaged(path) from error
