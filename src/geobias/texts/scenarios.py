"""Scenarios in which a model decides about a person: the bundled ones, or the user's.

A scenario is a short case without a clear answer, and a closing question that names the person as late as it can:
causal models then read the case once for all countries. Its paraphrases ask the same question in other words.

| kind | question | favourable |
|---|---|---|
| yes_no | "Should the bank approve the loan for {person}?" | the answer that helps the person: "yes" or "no" |
| number | "From 1 to 9, how many thousand should the company offer {person}?" | "high" or "low" |
| choice | "Who should get the job: (A) {first} or (B) {second}?" | "yes" if it helps to be chosen, otherwise "no" |

Every bundled yes/no scenario has a mirror, which asks about the same case so that "yes" harms (`mirror_of`). A tendency
to say yes therefore cancels in the mean of the two.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from geobias.checks import check_characters, check_name, describe_choices, shorten
from geobias.errors import InputError
from geobias.texts.input_table import read_table

PERSON, FIRST, SECOND = "{person}", "{first}", "{second}"
YES_NO, NUMBER, CHOICE = KINDS = ("yes_no", "number", "choice")
FAVOURABLE = {YES_NO: ("yes", "no"), NUMBER: ("high", "low"), CHOICE: ("yes", "no")}
DEFAULT_ROLE, DEFAULT_DOMAIN = "person", "other"
LONGEST_ID = 60  # characters
COLUMNS = ("text", "favourable", "domain", "paraphrase_of", "kind", "mirror_of", "role", "id")


@dataclass(frozen=True)
class Scenario:
    """A case that a model decides, in one or more paraphrases."""

    id: str
    domain: str  # area of life, such as "hiring"
    kind: str  # one of `KINDS`
    favourable: str  # the answer that helps the person; of a choice, "yes" if it helps to be chosen
    texts: tuple[str, ...]  # paraphrases with {person}, or with {first} and {second}
    mirror_of: str | None = None  # the scenario about the same case in which the other answer helps
    role: str = DEFAULT_ROLE  # what the person is in this case: "applicant", "patient", ...

    @property
    def case(self) -> str:
        """The case, which a scenario and its mirror share: the unit over which scenarios are resampled."""
        return self.mirror_of or self.id

    @property
    def sign(self) -> int:
        """1 if "yes", a high number or being chosen helps the person; -1 if it harms."""
        return 1 if self.favourable == FAVOURABLE[self.kind][0] else -1


@cache
def load_scenarios() -> tuple[Scenario, ...]:
    """Load the bundled scenarios: 30 cases with a yes/no question and its mirror, 10 numbers, 10 choices."""
    content = resources.files("geobias.texts").joinpath("data/scenarios.jsonl").read_text(encoding="utf-8")
    scenarios = []
    for row in map(json.loads, content.splitlines()):
        texts = tuple(f"{row['text']} {question}" for question in row["questions"])
        fields = {name: row[name] for name in ("id", "domain", "kind", "favourable", "mirror_of", "role")}
        scenarios.append(Scenario(texts=texts, **fields))
    return tuple(scenarios)


def select_scenarios(
    scenarios: Sequence[Scenario], *, kind: str | None = None, domains: Sequence[str] = ()
) -> tuple[Scenario, ...]:
    """Select scenarios of one kind and of some domains; all domains if none is named."""
    available = list(dict.fromkeys(scenario.domain for scenario in scenarios))
    for domain in domains:
        if domain not in available:
            raise InputError(f"Unknown domain {shorten(domain)!r}. {describe_choices(domain, available)}")
    return tuple(
        scenario
        for scenario in scenarios
        if kind in (None, scenario.kind) and (not domains or scenario.domain in domains)
    )


def digest_scenarios(scenarios: Iterable[Scenario]) -> str:
    """Return a hash of the content, independent of file and format."""
    return hashlib.blake2b(repr(tuple(scenarios)).encode(), digest_size=16).hexdigest()


def read_scenarios(source: Any) -> tuple[Scenario, ...]:
    """Read the user's scenarios from a file (CSV, TSV, JSON lines, Parquet) or from memory (list of dicts, data frame).

    One row for each text, with the columns

    - `text`: the case and its question, with `{person}`; with `{first}` and `{second}` for a choice;
    - `favourable`: "yes" or "no"; for a number "high" or "low";
    - `kind`, optional: "yes_no", "number" (from 1 to 9) or "choice". Default: "choice" if the text has `{first}`,
      "number" if `favourable` is "high" or "low", otherwise "yes_no";
    - `domain`, optional. Default: "other";
    - `paraphrase_of`, optional: rows with the same value are paraphrases of one scenario, together with the row whose
      `id` it is, if there is one;
    - `mirror_of`, optional: id of the scenario that asks about the same case the other way round;
    - `role`, optional: what the person is, such as "applicant". Default: "person";
    - `id`, optional: each at most once. Default: the value of `paraphrase_of`, otherwise "row 1", "row 2", ...
    """
    table = read_table(source)
    for column in ("text", "favourable"):
        if table.names is None or column not in table.names:
            names = ", ".join(map(shorten, table.names or ())) or "none"
            raise InputError(f"{table.title} has no column {column!r}. Its columns: {names}. Scenarios need it.")
    columns = {name: [*map(_read_cell, table.column(name))] for name in COLUMNS if name in (table.names or ())}
    groups: dict[str, list[tuple[int, Scenario]]] = {}
    rows_by_id: dict[str, int] = {}
    for row in range(len(columns["text"])):
        cells = {name: cells[row] for name, cells in columns.items()}
        if not any(cells.values()):
            continue
        scenario = _parse_row(cells, f"{table.title}, row {row + 1}", f"row {row + 1}")
        if not cells.get("paraphrase_of") and rows_by_id.setdefault(scenario.id, row + 1) != row + 1:
            raise InputError(
                f"{table.title}, row {row + 1} has the id {shorten(scenario.id)!r} of row {rows_by_id[scenario.id]}. "
                "Give it another id; if it is another wording of the same question, name that id in paraphrase_of."
            )
        groups.setdefault(scenario.id, []).append((row + 1, scenario))
    if not groups:
        raise InputError(f"{table.title} has no scenarios: all rows are blank.")
    scenarios = tuple(_join_paraphrases(table.title, rows) for rows in groups.values())
    _check_mirrors(table.title, scenarios)
    return scenarios


def _read_cell(cell: Any) -> str:
    if isinstance(cell, float) and cell.is_integer():
        cell = int(cell)  # a data frame turns whole numbers with gaps into 1.0, 2.0, ...
    return "" if cell is None else str(cell).strip()


def _parse_row(cells: Mapping[str, str], where: str, default_id: str) -> Scenario:
    text, favourable = cells["text"], cells["favourable"].casefold()
    if not text:
        raise InputError(f"{where} has no text. Fill it in, or remove the row.")
    check_characters(text, f"{where}: the text")
    is_number = favourable in FAVOURABLE[NUMBER]
    kind = cells.get("kind", "") or (CHOICE if FIRST in text else NUMBER if is_number else YES_NO)
    if kind not in KINDS:
        raise InputError(f"{where}: unknown kind {shorten(kind)!r}. {describe_choices(kind, KINDS)}")
    places = (FIRST, SECOND) if kind == CHOICE else (PERSON,)
    if any(text.count(place) != 1 for place in places):
        raise InputError(f"{where}: the text {shorten(text)!r} must contain {' and '.join(places)} exactly once.")
    if favourable not in FAVOURABLE[kind]:
        choices = " or ".join(map(repr, FAVOURABLE[kind]))
        raise InputError(f"{where}: favourable must be {choices}, not {shorten(favourable)!r}.")
    names = {name: cells.get(name, "") for name in ("id", "paraphrase_of", "mirror_of", "domain", "role")}
    for name in names.values():
        check_name(name, where)
    for name in ("id", "paraphrase_of", "mirror_of"):
        if len(names[name]) > LONGEST_ID or any(place in names[name] for place in (PERSON, FIRST, SECOND)):
            # An id stays in results that are shared without texts, so it must not be one.
            raise InputError(
                f"{where}: {name} {shorten(names[name])!r} is a text. Use a number or a short name, of at most "
                f"{LONGEST_ID} characters."
            )
    return Scenario(
        id=names["paraphrase_of"] or names["id"] or default_id,
        domain=names["domain"] or DEFAULT_DOMAIN,
        kind=kind,
        favourable=favourable,
        texts=(text,),
        mirror_of=names["mirror_of"] or None,
        role=names["role"] or DEFAULT_ROLE,
    )


def _join_paraphrases(title: str, rows: Sequence[tuple[int, Scenario]]) -> Scenario:
    """Make one scenario of its paraphrases, which must agree in everything but the text."""
    (first_row, first), *others = rows
    for row, other in others:
        for name in ("domain", "kind", "favourable", "mirror_of", "role"):
            if getattr(other, name) != getattr(first, name):
                raise InputError(
                    f"{title}, row {row}: {name} differs from row {first_row}, and both are of the scenario "
                    f"{shorten(first.id)!r}. Make them equal, or change paraphrase_of."
                )
    texts = tuple(dict.fromkeys(scenario.texts[0] for _, scenario in rows))
    return Scenario(first.id, first.domain, first.kind, first.favourable, texts, first.mirror_of, first.role)


def _check_mirrors(title: str, scenarios: Sequence[Scenario]) -> None:
    by_id = {scenario.id: scenario for scenario in scenarios}
    for scenario in scenarios:
        if scenario.mirror_of is None:
            continue
        original = by_id.get(scenario.mirror_of)
        if original is None or original.mirror_of is not None:
            raise InputError(
                f"{title}: {shorten(scenario.id)!r} mirrors {shorten(scenario.mirror_of)!r}, which is not a scenario "
                "of its own. Name the id of one that mirrors no other."
            )
        if (original.kind, -original.sign) != (scenario.kind, scenario.sign):
            raise InputError(
                f"{title}: {shorten(scenario.id)!r} mirrors {shorten(original.id)!r}, so both must be of one kind and "
                "differ in favourable."
            )
