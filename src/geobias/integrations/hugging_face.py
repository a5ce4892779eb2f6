"""A run for the Hugging Face Hub: a section of the model card, metadata of README.md, and a pull request with them.

A card says what was scored, the numbers with their intervals, and what they do not say. Example texts are left out:
a card is public, and they may offend or be private.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from geobias.audits.pages import find_run_folder, read_runs
from geobias.audits.reports import RunNumber, describe, list_card_rows, list_summary_numbers
from geobias.errors import GeobiasError, InputError
from geobias.files import check_replaceable, save_file
from geobias.report.findings import with_role
from geobias.report.headlines import state_headline
from geobias.report.runs import FinishedRun
from geobias.report.sentences import format_list, to_markdown

if TYPE_CHECKING:
    from geobias.audits.finished_runs import Run

CARD, MODEL_INDEX, EVAL_RESULTS = CARDS = ("card", "model-index", "eval-results")
HEADING = "## Bias by place and nationality"
NULL_LIMIT = "No clear difference does not mean no bias: other words, names or texts may show one."
CLOSING = "These results describe the model on these words, names or texts, not the people of a place."
TASKS = {"probabilities": "text-classification"}  # by the score of a model; all others are of language models
DATASET = "geobias"
REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)
FIRST_LINE = "# Bias by place and nationality, measured by geobias."
README = "README.md"
TITLE = "Add the section on bias by place and nationality"


def write_card(run: Run, *, to: str = CARD, out: str | Path | None = None, benchmark: str | None = None) -> str:
    """A finished run as a section in Markdown, or its numbers as metadata in YAML; also into a file."""
    if benchmark is not None and to != EVAL_RESULTS:
        raise InputError("--benchmark needs --to eval-results or hub:OWNER/NAME. Use both, or neither.")
    runs = read_runs(find_run_folder(run))
    if to == MODEL_INDEX:
        text = render_model_index(runs)
    elif to == EVAL_RESULTS:
        text = render_eval_results(runs, benchmark)
    else:
        text = render_card(runs)
    if out is not None:
        check_replaceable(Path(out), is_card if to == CARD else is_hub_metadata)
        save_file(Path(out), text.encode())
    return text


def render_card(runs: Sequence[FinishedRun[Any]]) -> str:
    """All runs under one heading, as Markdown: findings, a table of numbers, and limits.

    Example texts are left out: a card is public, and they may offend or be private.
    """
    findings = [finding for run in runs for finding in run.result.findings]
    limits = [*dict.fromkeys(to_markdown(finding.limit) for finding in findings)]
    if any(answer.evidence != "clear" for answer in with_role(findings, "overall")):
        limits.append(NULL_LIMIT)
    parts = [
        HEADING,
        *(part for run in runs for part in _describe_run(run)),
        *(["Limits:", format_list(limits)] if limits else []),
        CLOSING,
    ]
    return "\n\n".join(parts) + "\n"


def is_card(text: str) -> bool:
    """Whether a text is a card and nothing else: a README that a card was pasted into has more around it."""
    return text.startswith(HEADING) and text.rstrip().endswith(CLOSING)


def _describe_run(run: FinishedRun[Any]) -> Iterator[str]:
    findings = run.result.findings
    if findings:
        yield f"**{to_markdown(state_headline(findings))}**"
    yield to_markdown(describe(run.result))
    if findings:
        yield format_list([f"*{finding.label_with_size}*: {to_markdown(finding.sentence)}" for finding in findings])
    rows = list_card_rows(run.result)
    if rows:
        yield _format_table(rows)
    measured = f"Measured by geobias {to_markdown(run.result.versions['geobias'])} on {run.description.finished[:10]}."
    if run.description.command:
        yield f"{measured} To repeat it:"
        yield _format_command(run.description.command)
    else:
        yield f"{measured} The settings are in the run's run.json."


def _format_table(rows: Sequence[dict[str, str]]) -> str:
    head, *lines = [
        "| " + " | ".join(map(to_markdown, line)) + " |" for line in (rows[0], *(row.values() for row in rows))
    ]
    return "\n".join([head, "|" + "---|" * len(rows[0]), *lines])


def _format_command(command: str) -> str:
    """A block of code whose fence is longer than any in it. Where the results went is nobody else's matter."""
    words = shlex.split(command)
    text = shlex.join(
        word
        for before, word in zip(["", *words], words, strict=False)
        if "--out" not in (word, before) and not word.startswith("--out=")
    )
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}\n{text}\n{fence}"


def render_model_index(runs: Sequence[FinishedRun[Any]]) -> str:
    """The numbers that sum up each model as a `model-index`: YAML to add to the metadata of README.md."""
    from huggingface_hub import EvalResult
    from huggingface_hub.repocard_data import eval_results_to_model_index

    by_model: dict[str, list[Any]] = {}
    for run, number in _list_model_numbers(runs):
        assert number.model is not None
        settings = {"interval_95": [number.low, number.high]} if number.low is not None else None
        by_model.setdefault(number.model.name, []).append(
            EvalResult(
                task_type=TASKS.get(number.model.score, "text-generation"),
                dataset_type=DATASET,
                dataset_name=f"geobias {run.result.audit}",
                dataset_config=run.result.audit,
                dataset_args={"geobias": run.result.versions["geobias"], "date": run.description.finished[:10]},
                metric_type=".".join(part for part in number.parts if part != number.model.name),
                metric_name=number.path,
                metric_value=number.value,
                metric_args=settings,
            )
        )
    index = [entry for name, results in by_model.items() for entry in eval_results_to_model_index(name, results)]
    return f"{FIRST_LINE}\n{yaml.safe_dump({'model-index': index}, sort_keys=False, allow_unicode=True)}"


def render_eval_results(runs: Sequence[FinishedRun[Any]], benchmark: str | None) -> str:
    """The numbers of one model as entries for `.eval_results/`, each a task of `benchmark`, a dataset on the Hub."""
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    if benchmark is None:
        raise InputError("--to eval-results needs --benchmark OWNER/NAME: the dataset on the Hub that lists the tasks.")
    if not REPOSITORY.fullmatch(benchmark):
        raise InputError(f"--benchmark must be the id of a dataset, OWNER/NAME, not {benchmark!r}.")
    numbers = list(_list_model_numbers(runs))
    models = list(dict.fromkeys(number.model.name for _, number in numbers if number.model))
    if len(models) > 1:
        raise InputError(
            f"A repository holds the results of one model; the run has {len(models)}: {', '.join(models)}. Run the "
            "audit for one of them."
        )
    entries = [
        EvalResultEntry(
            dataset_id=benchmark,
            task_id=".".join(part for part in number.parts if part != models[0]),
            value=number.value,
            date=run.description.finished,
            notes=_describe_interval(run, number),
        )
        for run, number in numbers
    ]
    return f"{FIRST_LINE}\n{yaml.safe_dump(eval_result_entries_to_yaml(entries), sort_keys=False, allow_unicode=True)}"


def is_hub_metadata(text: str) -> bool:
    """Whether a file holds such metadata and may be replaced."""
    return text.startswith(FIRST_LINE)


def _describe_interval(run: FinishedRun[Any], number: RunNumber) -> str:
    version = f"geobias {run.result.versions['geobias']}"
    if number.low is None or number.high is None:
        return version
    return f"95 % interval {number.low:.6g} to {number.high:.6g}; {version}"


def _list_model_numbers(runs: Sequence[FinishedRun[Any]]) -> list[tuple[FinishedRun[Any], RunNumber]]:
    numbers = [(run, number) for run in runs for number in list_summary_numbers(run.result) if number.model]
    if not numbers:
        raise InputError("The run has no number that sums up one model. Use the card in Markdown.")
    return numbers


def propose_card(repository: str, run: Run, *, benchmark: str | None, send: bool) -> str:
    """Open a pull request with the card of a run, and return its URL; without `send` only show its files.

    Reads README.md from the Hub. A section that geobias wrote before is replaced; all else stays.
    """
    from huggingface_hub import CommitOperationAdd, HfApi
    from huggingface_hub.errors import HfHubHTTPError

    api = HfApi()
    files = {README: insert_section(_read_card(repository, api), write_card(run))}
    if benchmark is not None:
        files[".eval_results/geobias.yaml"] = write_card(run, to=EVAL_RESULTS, benchmark=benchmark)
    if not send:
        shown = [f"--- {path}\n{content}" for path, content in files.items()]
        return "\n".join([*shown, f"Nothing was sent. Add --yes to open a pull request on {repository}."])
    operations = [CommitOperationAdd(path, content.encode()) for path, content in files.items()]
    try:
        commit = api.create_commit(repository, operations, commit_message=TITLE, create_pr=True)
    except (HfHubHTTPError, OSError) as error:
        raise _explain_hub_error(repository, error) from None
    return f"Pull request: {commit.pr_url}"


def insert_section(readme: str, section: str) -> str:
    """The text with the section at its end, or in place of the one that is there."""
    if readme.count(HEADING) > 1:
        raise InputError(f"README.md has the heading {HEADING!r} several times. Remove all but one.")
    start = readme.find(HEADING)
    if start < 0:
        return f"{readme.rstrip()}\n\n{section}" if readme.strip() else section
    end = readme.find(CLOSING, start)
    if end < 0:
        raise InputError(f"The section {HEADING!r} of README.md was edited: its last line is missing. Remove it first.")
    return f"{readme[:start]}{section.rstrip()}{readme[end + len(CLOSING) :]}"


def _read_card(repository: str, api: Any) -> str:
    from huggingface_hub.errors import (
        EntryNotFoundError,
        HfHubHTTPError,
        HFValidationError,
        LocalEntryNotFoundError,
    )

    try:
        return Path(api.hf_hub_download(repository, README)).read_text(encoding="utf-8")
    except LocalEntryNotFoundError as error:  # no network: a card may be there, and must not be taken for none
        raise _explain_hub_error(repository, error) from None
    except EntryNotFoundError:
        return ""
    except HFValidationError:
        raise InputError(f"{repository!r} is not the id of a repository. Write it as OWNER/NAME.") from None
    except (HfHubHTTPError, OSError) as error:
        raise _explain_hub_error(repository, error) from None


def _explain_hub_error(repository: str, error: Exception) -> GeobiasError:
    reason = " ".join(str(error).split())[:200]
    return GeobiasError(
        f"The Hub does not answer for {repository} ({reason}). Check the name, the network and `hf auth login`."
    )
