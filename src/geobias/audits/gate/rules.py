"""Gates: rules about a run's numbers, each judged on the worse end of its interval, and about its findings.

A rule is PATH OP NUMBER, such as `names.sentiment.delta.worst < 2.0`; `list_gate_numbers` of an audit has its paths.
`findings.clear <= 0` (every run), `names.findings.clear <= 0` and `names.sentiment.findings.clear <= 0` hold where no
finding is clear and every answer could be tested; `findings.clear.moderate <= 0` holds where those that are clear are
tiny or small.
"""

from __future__ import annotations

import math
import operator
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from geobias import __version__
from geobias.audits.doubts import REASON
from geobias.audits.reports import find_number_tree
from geobias.checks import suggest
from geobias.errors import InputError
from geobias.files import read_text
from geobias.report.findings import list_caps
from geobias.report.number_tree import (
    FINDINGS,
    UNTESTED,
    FindingsCount,
    NumberTree,
    TreeNumber,
    count_findings,
    join_path,
    model_names,
)
from geobias.report.results import AuditResult
from geobias.world.countries import load_country_names, match_country

OPS: dict[str, Callable[[Any, Any], bool]] = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt}
EXAMPLE = "names.sentiment.delta.worst < 2.0"
NAMED = 6  # names listed where none is near the given one
_PART = r"""(?:\s*"[^"]+"\s*|\s*'[^']+'\s*|[^."'<>=]+)"""  # the last one takes spaces too: one way to match, no more
_QUOTES = "\"'"
_RULE = re.compile(rf"(?P<path>{_PART}(?:\.{_PART})*)(?P<op>{'|'.join(OPS)})\s*(?P<value>\S+)\s*")


@dataclass(frozen=True)
class Rule:
    """What must hold, and, for those who read the judgement, why."""

    path: str
    op: str
    value: float
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.path} {self.op} {self.value}"

    @property
    def parts(self) -> list[str]:
        return [_unquote(part) for part in self.raw_parts]

    @property
    def raw_parts(self) -> list[str]:
        """What lies between the dots as it was written: a name with a dot in it is several of them."""
        return re.findall(_PART, self.path)


@dataclass(frozen=True)
class Judgement:
    """Whether a rule holds in a run: `bound` is the end of the interval that was judged, `why` says why it does not."""

    rule: Rule
    run: str
    value: float | None
    low: float | None
    high: float | None
    bound: float | None
    passed: bool
    why: str
    written_by: str | None = None
    """The version of geobias that wrote the results, if it is another than this one."""

    def explain(self) -> str:
        """Why the rule does not hold, with the reason that its author gave for it."""
        return self.why + (f" ({self.rule.reason})" if self.rule.reason else "")


def parse_rule(text: str, reason: str = "") -> Rule:
    """PATH OP NUMBER; a part of the path that contains a dot is quoted."""
    match = _RULE.fullmatch(text)
    if not match:
        raise InputError(
            f"The rule {text!r} must be PATH OP NUMBER, with OP one of {' '.join(OPS)}. Example: {EXAMPLE!r}."
        )
    return Rule(match["path"].strip(), match["op"], _number(match["value"], text), reason)


def _number(text: Any, rule: str) -> float:
    try:
        value = float(text)
    except (TypeError, ValueError):
        value = math.nan
    if not math.isfinite(value) or isinstance(text, bool):
        raise InputError(f"The rule {rule!r} compares with {text!r}, which is not a number.")
    return value


def read_rules(path: Path) -> list[Rule]:
    """A TOML file: `rules = ["...", ...]`, or tables `[[rule]]` of path, op, value and, if you like, reason."""
    what = f"The rules file {path}"
    try:
        content = tomllib.loads(read_text(path, "rules file"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{what} is not valid TOML: {error}.") from None
    lines, tables = content.pop("rules", []), content.pop("rule", [])
    if content:
        raise InputError(f"{what} has an unknown key {next(iter(content))!r}. Use `rules` or `[[rule]]`.")
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        raise InputError(f"{what} must have strings in `rules`: rules = [{EXAMPLE!r}].")
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise InputError(f"{what} must write rules as [[rule]], with double brackets.")
    rules = [parse_rule(line) for line in lines] + [_from_table(table, what) for table in tables]
    if not rules:
        raise InputError(f"{what} has no rules. Example: rules = [{EXAMPLE!r}].")
    return rules


def _from_table(table: Mapping[str, Any], what: str) -> Rule:
    required = {"path", "op", "value"}
    if not required <= table.keys() <= required | {"reason"}:
        raise InputError(
            f"{what} has a [[rule]] with {', '.join(table) or 'no keys'}. Its keys: path, op, value, reason."
        )
    text = f"{table['path']} {table['op']} {table['value']}"
    _number(table["value"], text)
    return parse_rule(text, str(table.get("reason", "")))


def judge(results: Mapping[str, AuditResult], rules: Sequence[Rule]) -> list[Judgement]:
    """Every rule in every run that has its model. A bad rule is refused before anything is judged.

    A rule about a model (or a region) is passed over where a run has no such model; refused if no run has it.
    """
    if not results:
        raise InputError("No run was judged. Pass the folder of a finished run.")
    if not rules:
        raise InputError(f"No rule. Add --rule or --rules. Example: {EXAMPLE!r}.")
    numbers: list[tuple[Rule, str, TreeNumber]] = []
    for rule in rules:
        trees = {name: _select_tree(rule, result) for name, result in results.items()}
        having = {name: tree for name, tree in trees.items() if _has_model(tree, rule)}
        if not having:
            raise InputError(_explain_path(rule, trees))
        numbers += [(rule, name, _find(name, tree, rule)) for name, tree in having.items()]
    for rule, _, number in numbers:
        _check_range(rule, number)
    judgements = []
    for rule, name, number in numbers:
        version = results[name].versions.get("geobias", "an unknown version")
        judgement = _judge_number(rule, name, _doubt(rule, number, results[name]))
        judgements.append(replace(judgement, written_by=None if version == __version__ else version))
    return judgements


def _check_range(rule: Rule, number: TreeNumber) -> None:
    """Refuse a rule that every value of the number keeps, or none: it tests nothing."""
    holds = [OPS[rule.op](end, rule.value) for end in number.within]
    if any(holds) and not all(holds):
        return
    raise InputError(
        f"The rule {str(rule)!r} can never {'fail' if any(holds) else 'hold'}: its number is {number.within}. Choose "
        "another limit."
    )


def _doubt(rule: Rule, number: TreeNumber, result: AuditResult) -> TreeNumber:
    """What cannot be otherwise is no test: numbers of one answer to every text, counts of findings that are capped."""
    parts = rule.raw_parts
    words = {_join(parts[1:end]).casefold() for end in range(2, len(parts) + 1)}
    named = {model.name for model in result.model_identities if words & set(map(str.casefold, model_names(model.name)))}
    if isinstance(number, FindingsCount):
        return replace(number, untested=" ".join(filter(None, [number.untested, *list_caps(result, named)])))
    constant = {name for name, kind in result.constant_answers.items() if kind == "all texts"}
    # Paths without a model (regions) are about the only one of the run.
    return replace(number, untested=REASON) if constant and (not named or named & constant) else number


def _select_tree(rule: Rule, result: AuditResult) -> NumberTree:
    """The paths of a run: counts of findings, and below the name of its audit those of each model, or all numbers."""
    counts = count_findings(result)
    numbers = None if FINDINGS in rule.parts else find_number_tree(result)
    return NumberTree([((result.audit,), counts if numbers is None else numbers), ((FINDINGS,), counts[FINDINGS])])


def _judge_number(rule: Rule, run: str, number: TreeNumber) -> Judgement:
    if isinstance(number, FindingsCount):
        passed = not number.untested and OPS[rule.op](number.value, rule.value)
        return Judgement(rule, run, number.value, None, None, number.value, passed, "" if passed else number.explain())
    end, bound = ("high", number.high) if rule.op.startswith("<") else ("low", number.low)
    why = ""
    if number.untested:
        why = f"{UNTESTED}: {number.untested}"
    elif number.value is None:
        why = "it has no value in this run"
    elif bound is None:
        why = "it has no interval in this run. Run the audit again, with more texts if needed"
    elif not OPS[rule.op](bound, rule.value):
        why = f"the {end} end of its interval, {bound:.4g}, is not {rule.op} {rule.value}"
    return Judgement(rule, run, number.value, number.low, number.high, bound, not why, why)


def _has_model(tree: NumberTree, rule: Rule) -> bool:
    """Whether a run is of the rule's audit and has its model, which is the second part of most paths."""
    parts = rule.raw_parts
    below = tree.get(_unquote(parts[0]).casefold())
    if not isinstance(below, NumberTree) or len(parts) == 1:
        return below is not None
    names = [_join(parts[1:end]) for end in range(2, len(parts) + 1)]
    return any(_match_part(name, below) is not None or name.casefold() in below.shared for name in names)


def _find(run: str, tree: NumberTree, rule: Rule) -> TreeNumber:
    """The number that a path means. A name with dots in it needs no quotes as long as the path means one number."""
    matches = list(_list_matches(tree, rule.raw_parts))
    if len(matches) != 1:
        raise InputError(_explain_path(rule, {run: tree}))
    return matches[0]


def _list_matches(below: NumberTree | TreeNumber, parts: Sequence[str]) -> Iterator[TreeNumber]:
    if isinstance(below, TreeNumber):
        yield from [below] if not parts else []
        return
    if not parts and below.number is not None:
        yield below.number
    for end in range(1, len(parts) + 1):
        if name := _match_part(_join(parts[:end]), below):
            yield from _list_matches(below[name], parts[end:])


def _explain_path(rule: Rule, trees: Mapping[str, NumberTree]) -> str:
    """Why a path means no number in these runs: what is near, or what there is at the step that goes wrong."""
    steps = [_walk(tree, rule.raw_parts) for tree in trees.values()]
    names, below, rest = max(steps, key=lambda step: len(step[0]))
    if isinstance(below, TreeNumber):
        return f"The path {rule.path} is too long. End it with {names[-1]!r}."
    if not rest:
        return f"The path {rule.path} is incomplete. Add one of: {_list_names(below.names)}."
    part = _unquote(rest[0])
    start = f"The path {rule.path} is not in {'these runs' if len(trees) > 1 else f'the run {next(iter(trees))}'}"
    for end in range(1, len(rest) + 1):
        if owners := below.shared.get(_join(rest[:end]).casefold()):
            rules = [str(_move(rule, [*names, owner, *map(_unquote, rest[end:])])) for owner in owners if owner]
            return f"{start}: {part!r} is the name of several. Write {' or '.join(map(repr, rules[:NAMED]))}."
    for tree in trees.values():
        if path := _suggest_path(tree, rule.raw_parts):
            return f"{start}: {part!r} is unknown. Did you mean {str(_move(rule, path))!r}?"
    known = dict.fromkeys(name for each, level, _ in steps if each == names for name in getattr(level, "names", ()))
    return f"{start}: {part!r} is unknown. Choose from: {_list_names(list(known))}."


def _walk(
    below: NumberTree | TreeNumber, parts: Sequence[str], names: tuple[str, ...] = ()
) -> tuple[tuple[str, ...], NumberTree | TreeNumber, Sequence[str]]:
    """As far as a path leads: the names on the way, what is there, and the rest of the path."""
    if isinstance(below, NumberTree):
        for end in range(len(parts), 0, -1):
            if name := _match_part(_join(parts[:end]), below):
                return _walk(below[name], parts[end:], (*names, name))
    return names, below, parts


def _suggest_path(below: NumberTree | TreeNumber, parts: Sequence[str]) -> list[str] | None:
    """The path with the nearest name in the place of each that is unknown; None where it leads to no number."""
    if isinstance(below, TreeNumber):
        return None if parts else []
    if not parts and below.number is not None:
        return []
    for end in range(1, len(parts) + 1):
        part = _join(parts[:end])
        for name in [_match_part(part, below) or "", *suggest(part.casefold(), below)]:
            if name and (path := _suggest_path(below[name], parts[end:])) is not None:
                return [name, *path]
    return None


def _move(rule: Rule, parts: Sequence[str]) -> Rule:
    return replace(rule, path=join_path(parts))


def _join(parts: Sequence[str]) -> str:
    """Parts between dots as one name."""
    return _unquote(".".join(parts))


def _unquote(part: str) -> str:
    part = part.strip()
    return part[1:-1] if len(part) > 1 and part[0] == part[-1] and part[0] in _QUOTES else part


def _match_part(part: str, below: Mapping[str, Any]) -> str | None:
    """The name that a part of a path stands for; a country may have any of its names and codes.

    By the country's name, not its code: NA is North America in the tree of regions, and NAM is Namibia.
    """
    if part.casefold() in below:
        return part.casefold()
    code = match_country(part)
    name = load_country_names()[code].casefold() if code else ""
    return name if name in below else None


def _list_names(names: Sequence[str]) -> str:
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
