"""`geobias export --to hub:OWNER/NAME`: a run's section of the model card, as a pull request."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from geobias.audits.finished_runs import card
from geobias.audits.model_card import CLOSING, HEADING
from geobias.errors import GeobiasError, InputError

README = "README.md"
TITLE = "Add the section on bias by place and nationality"


@dataclass(frozen=True)
class CardUpdate:
    """The files that a push would change, with their new content."""

    repository: str
    files: dict[str, str] = field(repr=False)


def prepare_card(repository: str, run: str | Path, *, benchmark: str | None = None, api: Any = None) -> CardUpdate:
    """Put the section of a run into the model card of a repository; nothing is sent.

    Reads README.md from the Hub. A section that geobias wrote before is replaced; all else stays.
    """
    files = {README: insert_section(_read_card(repository, _api(api)), card(run))}
    if benchmark is not None:
        files[".eval_results/geobias.yaml"] = card(run, format="eval-results", benchmark=benchmark)
    return CardUpdate(repository, files)


def push_card(update: CardUpdate, *, api: Any = None) -> str:
    """Open a pull request with the files; returns its URL."""
    from huggingface_hub import CommitOperationAdd
    from huggingface_hub.errors import HfHubHTTPError

    operations = [CommitOperationAdd(path, content.encode()) for path, content in update.files.items()]
    try:
        commit = _api(api).create_commit(update.repository, operations, commit_message=TITLE, create_pr=True)
    except (HfHubHTTPError, OSError) as error:
        raise _explain(update.repository, error) from None
    return str(commit.pr_url)


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
        raise _explain(repository, error) from None
    except EntryNotFoundError:
        return ""
    except HFValidationError:
        raise InputError(f"{repository!r} is not the id of a repository. Write it as OWNER/NAME.") from None
    except (HfHubHTTPError, OSError) as error:
        raise _explain(repository, error) from None


def _explain(repository: str, error: Exception) -> GeobiasError:
    reason = " ".join(str(error).split())[:200]
    return GeobiasError(
        f"The Hub does not answer for {repository} ({reason}). Check the name, the network and `hf auth login`."
    )


def _api(api: Any) -> Any:
    if api is not None:
        return api
    from huggingface_hub import HfApi

    return HfApi()
