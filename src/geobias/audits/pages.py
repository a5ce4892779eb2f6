"""Finished runs, read from their folders, as pages: report.html. No model is needed for it."""

from __future__ import annotations

import logging
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from geobias.audits.doubts import judge_constant_answers
from geobias.audits.limits_and_sources import list_citations, list_limits, list_sources
from geobias.audits.registry import get_audit, list_audits
from geobias.audits.reports import add_headlines, describe, make_section
from geobias.audits.side_by_side import short_names, side_by_side_section
from geobias.audits.try_it import hide_texts, list_tries
from geobias.checks import shorten
from geobias.errors import InputError
from geobias.files import check_replaceable, hash_file, save_file
from geobias.report.findings import cap_details, doubt_language, doubt_repeats
from geobias.report.page import build
from geobias.report.page.blocks import Section, WorldMap
from geobias.report.page.framed import describe_source
from geobias.report.results import SCHEMA_VERSION, AuditResult, from_json
from geobias.report.run_folder import INDEX, PAGE, RESULTS, RUN, add_to_run, holds_run, read_json, write_folder
from geobias.report.runs import FinishedRun, RunDescription, new_folder, runs_in

if TYPE_CHECKING:
    from geobias.audits.finished_runs import Run
    from geobias.audits.overview.result import Overview

log = logging.getLogger("geobias")
Result = TypeVar("Result", bound=AuditResult)
LONGEST_REASON = 200  # characters of an error that another one repeats
# Not OSError, MemoryError or RuntimeError: those are of the machine.
UNFORESEEN = (ArithmeticError, AttributeError, LookupError, RecursionError, StopIteration, TypeError, ValueError)


@contextmanager
def _blame(file: Path) -> Iterator[None]:
    """Content that is no run becomes an error that names its file; --debug shows where."""
    try:
        yield
    except UNFORESEEN as error:
        raise InputError(f"{file} is damaged ({shorten(str(error), LONGEST_REASON)}). Run the audit again.") from error


def list_several(runs: Run | Sequence[Run]) -> Sequence[Run]:
    """One run or several, as a list."""
    return runs if isinstance(runs, Sequence) and not isinstance(runs, str) else [runs]


def find_run_folder(run: Run) -> Path:
    """The folder of a run, or of a result; a result that was not saved is refused."""
    if isinstance(run, str | Path):
        return Path(run)
    if run.folder is None:
        raise InputError(f"This {getattr(run, 'audit', 'overview')} run was not saved. Run it with out='runs/NAME'.")
    return run.folder


def read_result(folder: Path) -> AuditResult | Overview:
    """The result of a run; for a folder of several those of all by their paths."""
    from geobias.audits.overview.result import Overview

    runs = read_runs(folder)
    if not (folder / INDEX).is_file():
        return runs[0].result
    return Overview({run.folder.relative_to(folder).as_posix(): run.result for run in runs}, [], folder)


def read_run(folder: Path) -> FinishedRun[Any]:
    """The finished run in a folder."""
    if (folder / INDEX).is_file():
        paths = ", ".join(map(str, runs_in(folder)))
        raise InputError(f"{folder} has several runs. Choose one: {paths}.")
    if not (folder / RUN).is_file():
        raise InputError(f"{folder} has no finished run. Pass the output folder of an audit, such as `geobias names`.")
    record = read_json(folder / RUN)
    recorded = record.get("results_sha256")
    if recorded and (folder / RESULTS).is_file() and hash_file(folder / RESULTS) != recorded:
        raise InputError(f"{folder / RESULTS} was changed after the run. Restore it, or run the audit again.")
    results = read_json(folder / RESULTS)
    if results.get("audit") not in [audit.name for audit in list_audits()]:
        raise InputError(f"{folder} is a run of `geobias {results.get('audit')}`, which is not installed here.")
    version = results.get("schema_version")
    if version != SCHEMA_VERSION:
        raise InputError(
            f"{folder} has results of version {version}; this geobias reads version {SCHEMA_VERSION}. Run the audit "
            "again with another --out."
        )
    if not recorded:
        raise InputError(f"{folder} was written by an earlier version of geobias. Run the audit again.")
    with _blame(folder / RUN):
        description = from_json(RunDescription, record)
        shlex.split(description.command or "")
        if datetime.fromisoformat(description.finished).tzinfo is None:
            raise ValueError(f"finished: {description.finished} has no time zone")
    with _blame(folder / RESULTS):
        result = replace(from_json(get_audit(results["audit"]).result_type, results), folder=folder)
        # Runs made before there were findings or headlines have them now.
        result = add_headlines(result) if result.findings else add_findings(result)
    return FinishedRun(folder, result, description)


def read_runs(folder: Path) -> list[FinishedRun[Any]]:
    """The finished run in a folder, or all of them where it holds several."""
    return [read_run(path) for path in runs_in(folder)]


def add_findings(result: Result) -> Result:
    """The result with what it concludes."""
    findings = list(get_audit(result.audit).load("findings", "list_findings")(result))
    findings = doubt_language(judge_constant_answers(result, findings), result.language_doubts)
    findings = cap_details(findings)
    for model in result.nondeterministic_models:
        findings = doubt_repeats(findings, result.audit, model)
    return add_headlines(replace(result, findings=findings))


def render_page(runs: Sequence[FinishedRun[Any]], *, with_texts: bool = False) -> str:
    """One page of these runs: a section for each, before them those that show several side by side."""
    shown = list(runs) if with_texts else list(map(hide_texts, runs))
    hides_texts = any(hidden is not run for hidden, run in zip(shown, runs, strict=True))
    runs, sections = shown, run_sections(shown)
    descriptions = [describe(run.result) for run in runs]
    results = [run.result for run in runs]
    has_map = has_world_map(sections)
    background = build.Background(
        list_limits(results, has_map), list_sources(results, has_map), list_citations(results)
    )
    return build.render(
        [*_comparisons(runs), *sections],
        list(zip(runs, sections, strict=True)),
        description=" ".join(descriptions),
        background=background,
        tries=list_tries(runs, with_texts=with_texts),
        hides_texts=hides_texts,
    )


def has_world_map(sections: Sequence[Section]) -> bool:
    return any(isinstance(block, WorldMap) for section in sections for block in section.blocks)


def write_page(path: Path, runs: Sequence[FinishedRun[Any]], *, with_texts: bool = False) -> None:
    save_file(path, render_page(runs, with_texts=with_texts).encode())


def write_run_page(path: Path, folder: Path, runs: Sequence[FinishedRun[Any]]) -> None:
    """The page of a new run. What was measured may have taken days: a page that fails costs a warning, not the run."""
    try:
        write_page(path, runs)
    except Exception as error:
        reason = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        log.warning(
            "The results are saved, but the page could not be written (%s). Run `geobias report %s`.", reason, folder
        )


def write_page_and_figures(runs: Sequence[Run], page: Path | None, *, with_texts: bool = False) -> Path:
    """The page of these runs, and next to it its charts."""
    folders = list(dict.fromkeys(map(find_run_folder, runs)))
    finished = [run for folder in folders for run in read_runs(folder)]
    if not finished:
        raise InputError(f"{folders[0]} has no runs. Run the audit again." if folders else "Pass at least one run.")
    if page is not None and page.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"--out must be an HTML file, such as {page / PAGE}.")
    if len(folders) == 1 and (page is None or page.resolve() == (folders[0] / PAGE).resolve()):
        with add_to_run(folders[0]) as staging:
            write_page(staging / PAGE, finished, with_texts=with_texts)
            save_figures(staging / "figures", finished)
        return folders[0] / PAGE
    page = page or new_folder("report") / PAGE
    if holds_run(page.parent):
        raise InputError(f"{page.parent} is the folder of another run. Choose another --out.")
    check_replaceable(page, build.is_page)
    with write_folder(figures_folder(page), "figures of a report") as staging:
        save_figures(staging, finished)
    write_page(page, finished, with_texts=with_texts)
    return page


def figures_folder(page: Path) -> Path:
    """The folder of a page's pictures."""
    return page.parent / ("figures" if page.name == PAGE else f"{page.stem}-figures")


def save_figures(folder: Path, runs: Sequence[FinishedRun[Any]]) -> list[str]:
    """Every picture of the page as SVG; returns their names."""
    return build.save_figures(folder, [*_comparisons(runs), *run_sections(runs)], describe_source(runs))


def run_sections(runs: Sequence[FinishedRun[Any]]) -> list[Section]:
    """A section for each run; where an audit has several, with a number in their ids and the run in their titles."""
    counts = Counter(run.result.audit for run in runs)
    seen: Counter[str] = Counter()
    sections = []
    names = short_names([run.folder for run in runs]) if len(runs) > 1 else [""] * len(runs)
    for run, name in zip(runs, names, strict=True):
        audit = run.result.audit
        seen[audit] += 1
        section_id = audit if seen[audit] == 1 else f"{audit}-{seen[audit]}"
        section = make_section(run, section_id)
        sections.append(replace(section, title=f"{section.title} ({name})") if counts[audit] > 1 else section)
    return sections


def _comparisons(runs: Sequence[FinishedRun[Any]]) -> list[Section]:
    section = side_by_side_section(runs) if len(runs) > 1 else None
    return [section] if section else []
