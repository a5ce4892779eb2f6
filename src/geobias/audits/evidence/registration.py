"""Rules registered before a run: their hash and a date, so that a reader can see whether they came first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import geobias
from geobias.audits.gate.rules import read_rules
from geobias.errors import InputError
from geobias.files import hash_file, writing
from geobias.report.results import from_json, to_json
from geobias.report.run_folder import read_json, write_json
from geobias.report.runs import FinishedRun

SUFFIX = ".registered.json"
NOT_REGISTERED = (
    "The rules were not registered before the run. Nothing here shows that they were chosen before the results were "
    "known."
)
CLOCK = (
    "These times come from the clock of the machine that ran geobias, which its user can set. They show the order to "
    "somebody who trusts that user, and prove nothing to anybody else. To prove it, publish the SHA-256 of the rules "
    "before the run where others keep the date, such as a signed commit on a shared server."
)
STORED = "Scores that were stored by an earlier run are reused, so some may be older than the run."


@dataclass(frozen=True)
class Registration:
    """What `geobias register` writes: which rules were registered, and when."""

    file: str
    """The name of the rules file."""
    sha256: str
    rules: list[str]
    registered: str
    """The time, by the clock of the machine, in UTC."""
    geobias: str
    """The version of geobias."""
    schema_version: int = 1


def locate_registration(rules: Path) -> Path:
    """rules.registered.json, next to rules.toml."""
    return rules.with_name(rules.stem + SUFFIX)


def register_rules(rules: str | Path) -> Path:
    """Record the rules of a gate with their SHA-256 and the time, before a run.

    `write_evidence` says whether the rules were registered before each run and have not changed since. The time is
    that of this machine's clock.

    Parameters
    ----------
    rules : str or Path
        TOML file of rules, as for `gate`.

    Returns
    -------
    Path
        The file that was written next to the rules: rules.registered.json for rules.toml. If these rules are already
        registered, it keeps its date.

    Raises
    ------
    InputError
        If the rules cannot be read, or if other rules are registered under this name.

    Examples
    --------
    >>> import geobias
    >>> geobias.register_rules("rules.toml")  # doctest: +SKIP
    PosixPath('rules.registered.json')
    """
    path = Path(rules).expanduser()
    lines = [str(rule) for rule in read_rules(path)]
    target = locate_registration(path)
    digest = hash_file(path)
    if target.exists():
        earlier = read_registration(path)
        if earlier is None or earlier.sha256 != digest:
            raise InputError(
                f"{target} registers other rules than {path}. Save the new rules under another name and register those."
            )
        return target
    registration = Registration(
        path.name, digest, lines, f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}", geobias.__version__
    )
    with writing(target):
        write_json(target, to_json(registration))
    return target


def read_registration(rules: Path) -> Registration | None:
    """The registration next to a rules file; None where there is none."""
    path = locate_registration(rules)
    if not path.is_file():
        return None
    try:
        return from_json(Registration, read_json(path))
    except ValueError as error:
        raise InputError(f"{path} is damaged ({error}). Restore it, or remove it.") from None


def describe_registration(
    rules: Path, registration: Registration | None, runs: Mapping[str, FinishedRun[Any]]
) -> Iterator[str]:
    """Whether the rules were registered before each run began and are the same since, in sentences."""
    if registration is None:
        yield NOT_REGISTERED
        return
    if registration.sha256 != hash_file(rules):
        yield (
            f"The rules are NOT those that were registered on {registration.registered}: the registered file has the "
            f"SHA-256 {registration.sha256}."
        )
        return
    for name, run in runs.items():
        start = _find_start(run)
        is_before = datetime.fromisoformat(registration.registered) < start
        order = "before" if is_before else "NOT before"
        yield (
            f"{name}: these rules were registered on {registration.registered}, {order} the run began "
            f"({start:%Y-%m-%dT%H:%M:%SZ})."
        )
    yield STORED
    yield CLOCK


def _find_start(run: FinishedRun[Any]) -> datetime:
    return datetime.fromisoformat(run.description.finished) - timedelta(seconds=run.description.seconds)
