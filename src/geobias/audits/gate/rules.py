"""Gates: rules about a run's numbers, each judged on the worse end of its interval.

A rule is PATH OP NUMBER, such as `names.sentiment.delta.worst < 2.0`; `gate_numbers` of each audit holds its paths.
"""

from __future__ import annotations

import math
import operator
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from geobias.audits.registry import get_audit
from geobias.checks import suggest
from geobias.errors import InputError
from geobias.files import read_text
from geobias.report.number_tree import NumberTree, TreeNumber
from geobias.report.results import AuditResult

OPS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
EXAMPLE = "names.sentiment.delta.worst < 2.0"
NAMED = 6  # names listed where none is near to what was asked for
_PART = r"""(?:\s*"[^"]+"\s*|\s*'[^']+'\s*|[^."'<>=]+)"""  # the last one takes spaces too: one way to match, no more
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
        return [part.strip().strip("\"'") for part in re.findall(_PART, self.path)]


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

    def explain(self) -> str:
        """Why the rule does not hold, with the reason that its author gave for it."""
        return self.why + (f" ({self.rule.reason})" if self.rule.reason else "")


def parse_rule(text: str, reason: str = "") -> Rule:
    """PATH OP NUMBER; a part of the path that has a dot of its own stands in quotes."""
    match = _RULE.fullmatch(text)
    if not match:
        raise InputError(
            f"The rule {text!r} is not PATH OP NUMBER with OP one of {' '.join(OPS)}; such as {EXAMPLE!r}."
        )
    return Rule(match["path"].strip(), match["op"], _number(match["value"], text), reason)


def _number(text: Any, rule: str) -> float:
    try:
        value = float(text)
    except (TypeError, ValueError):
        value = math.nan
    if not math.isfinite(value) or isinstance(text, bool):
        raise InputError(f"The rule {rule!r} compares with {text!r}, which is no number.")
    return value


def read_rules(path: Path) -> list[Rule]:
    """A TOML file: `rules = ["...", ...]`, or tables `[[rule]]` of path, op, value and, if you like, reason."""
    what = f"The rules file {path}"
    try:
        content = tomllib.loads(read_text(path, "rules file"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{what} is not TOML: {error}.") from None
    lines, tables = content.pop("rules", []), content.pop("rule", [])
    if content:
        raise InputError(f"{what} has a key {next(iter(content))!r}: only `rules` and `[[rule]]` are known.")
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        raise InputError(f"{what} needs texts in `rules`, such as rules = [{EXAMPLE!r}].")
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise InputError(f"{what} needs tables [[rule]], in two pairs of brackets.")
    rules = [parse_rule(line) for line in lines] + [_from_table(table, what) for table in tables]
    if not rules:
        raise InputError(f"{what} holds no rule.")
    return rules


def _from_table(table: Mapping[str, Any], what: str) -> Rule:
    required, allowed = {"path", "op", "value"}, {"path", "op", "value", "reason"}
    if not required <= table.keys() <= allowed:
        raise InputError(f"{what} has a [[rule]] of {', '.join(table) or 'nothing'}: it takes path, op, value, reason.")
    text = f"{table['path']} {table['op']} {table['value']}"
    _number(table["value"], text)
    return parse_rule(text, str(table.get("reason", "")))


def judge(results: Mapping[str, AuditResult], rules: Sequence[Rule]) -> list[Judgement]:
    """Every rule in every run of the audit that it is about. An unknown path is refused, before anything is judged."""
    if not rules:
        raise InputError(f"No rule was given; for example: {EXAMPLE!r}.")
    trees = {
        name: {result.audit: get_audit(result.audit).load("gate_and_card", "gate_numbers")(result)}
        for name, result in results.items()
    }
    audits = {audit: None for tree in trees.values() for audit in tree}
    numbers = []
    for rule in rules:
        if rule.parts[0] not in audits:
            raise InputError(_unknown(rule, 0, audits))
        numbers += [(rule, name, _find(tree, rule)) for name, tree in trees.items() if rule.parts[0] in tree]
    return [_judge_number(rule, name, number) for rule, name, number in numbers]


def _judge_number(rule: Rule, run: str, number: TreeNumber) -> Judgement:
    bound = number.high if rule.op.startswith("<") else number.low
    if number.value is None:
        passed, why = False, "it has no value in this run"
    elif bound is None:
        passed, why = False, "it has no interval in this run: run the audit again, with more texts if it stays so"
    else:
        passed = OPS[rule.op](bound, rule.value)
        end = "high" if rule.op.startswith("<") else "low"
        why = "" if passed else f"the {end} end of its interval, {bound:.4g}, is not {rule.op} {rule.value}"
    return Judgement(rule, run, number.value, number.low, number.high, bound, passed, why)


def _find(tree: Mapping[str, Any], rule: Rule) -> TreeNumber:
    """Walk down the path; the message about a wrong step names what is near, or what there is."""
    below: Any = tree[rule.parts[0]]
    for depth, part in enumerate(rule.parts[1:], start=1):
        if isinstance(below, TreeNumber):
            raise InputError(f"The path {rule.path} goes on too long: it could end with {rule.parts[depth - 1]!r}.")
        if part.casefold() not in below:
            raise InputError(_unknown(rule, depth, below))
        below = below[part.casefold()]
    if not isinstance(below, TreeNumber):
        raise InputError(f"The path {rule.path} does not end at a number: it goes on with {_list_names(below)}.")
    return below


def _unknown(rule: Rule, depth: int, names: Mapping[str, Any]) -> str:
    part = rule.parts[depth]
    near = suggest(part.casefold(), names)
    corrected = [near[0] if k == depth and near else name for k, name in enumerate(rule.parts)]
    path = ".".join(f'"{name}"' if "." in name else name for name in corrected)
    hint = f"did you mean {path}?" if near else f"there is {_list_names(names)}."
    return f"The path {rule.path} is not in these runs, since {part!r} is unknown: {hint}"


def _list_names(tree: Mapping[str, Any]) -> str:
    names = tree.names if isinstance(tree, NumberTree) else list(tree)
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
