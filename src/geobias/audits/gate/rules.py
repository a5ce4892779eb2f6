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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cache
from pathlib import Path
from typing import Any

from geobias import __version__
from geobias.audits.doubts import REASON
from geobias.audits.reports import list_gate_numbers
from geobias.checks import suggest
from geobias.errors import InputError
from geobias.files import read_text
from geobias.report.findings import list_caps
from geobias.report.gate_numbers import (
    UNTESTED,
    FindingsCount,
    GateNumber,
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
    numbers = {name: [*list_gate_numbers(result), *count_findings(result)] for name, result in results.items()}
    found: list[tuple[Rule, str, GateNumber]] = []
    for rule in rules:
        having = {name: each for name, each in numbers.items() if _has_model(each, rule)}
        if not having:
            raise InputError(_explain_path(rule, numbers))
        for name, each in having.items():
            matches = _select_best(each, rule)
            if len(matches) != 1:
                raise InputError(_explain_path(rule, {name: each}))
            found.append((rule, name, matches[0]))
    for rule, _, match in found:
        _check_range(rule, match.number)
    judgements = []
    for rule, name, match in found:
        version = results[name].versions.get("geobias", "an unknown version")
        judgement = _judge_number(rule, name, _doubt(match, results[name]))
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


def _doubt(match: GateNumber, result: AuditResult) -> TreeNumber:
    """What cannot be otherwise is no test: numbers of one answer to every text, counts of findings that are capped."""
    number, names = match.number, set(match.path[1])
    named = {model.name for model in result.model_identities if names & set(model_names(model.name))}
    if isinstance(number, FindingsCount):
        return replace(number, untested=" ".join(filter(None, [number.untested, *list_caps(result, named)])))
    constant = {name for name, kind in result.constant_answers.items() if kind == "all texts"}
    # Paths without a model (regions) are about the only one of the run.
    return replace(number, untested=REASON) if constant and (not named or named & constant) else number


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


Step = tuple[float, str]  # how well a rule names a part of a path, and the name that it means
FULL_NAME, OTHER_NAME, COUNTRY = 4, 3, 2  # with a misspelt name: how near it is, which is less than 1


def _follow(
    path: Sequence[tuple[str, ...]], parts: Sequence[str], *, is_misspelt: bool = False
) -> tuple[list[Step], Sequence[str]]:
    """The steps on a path that a rule names, as far as it does, and the parts of the rule that are left.

    A name with dots in it is several parts and needs no quotes.
    """
    ways: list[tuple[list[Step], Sequence[str]]] = [([], parts)]
    for end in range(1, len(parts) + 1) if path else ():
        if step := _match_name(_join(parts[:end]), path[0], is_misspelt):
            steps, rest = _follow(path[1:], parts[end:], is_misspelt=is_misspelt)
            ways.append(([step, *steps], rest))
    return max(ways, key=lambda way: (len(way[0]), -len(way[1])))


@cache
def _match_name(part: str, names: tuple[str, ...], is_misspelt: bool) -> Step | None:
    """How a part of a rule names a part of a path; a country may have any of its names and codes.

    A name of the path itself comes first: NA is North America in the tree of regions, and NAM is Namibia.
    """
    folded, forms = part.casefold(), {name.casefold(): name for name in names}
    if folded in forms:
        return (FULL_NAME if folded == names[0].casefold() else OTHER_NAME), forms[folded]
    if (country := _find_country(part)) in forms:
        return COUNTRY, forms[country]
    near = suggest(folded, forms) if is_misspelt else []
    return (SequenceMatcher(None, folded, near[0]).ratio(), forms[near[0]]) if near else None


@cache
def _find_country(text: str) -> str:
    code = match_country(text)
    return load_country_names()[code].casefold() if code else ""


def _select_best(numbers: Sequence[GateNumber], rule: Rule, *, is_misspelt: bool = False) -> list[GateNumber]:
    """The numbers that a rule means: those whose names it has in full rather than others."""
    matches = []
    for each in numbers:
        steps, rest = _follow(each.path, rule.parts, is_misspelt=is_misspelt)
        if len(steps) == len(each.path) and not rest:
            matches.append((tuple(quality for quality, _ in steps), each))
    best = max((quality for quality, _ in matches), default=())
    return [each for quality, each in matches if quality == best]


def _has_model(numbers: Sequence[GateNumber], rule: Rule) -> bool:
    """Whether a run is of the rule's audit and has its model, which is the second part of most paths."""
    needed = min(2, len(rule.parts))
    return any(len(_follow(each.path, rule.parts)[0]) >= needed for each in numbers)


def _explain_path(rule: Rule, numbers: Mapping[str, Sequence[GateNumber]]) -> str:
    """Why a path means no number in these runs: what is near, or what there is at the step that goes wrong."""
    every = [each for run in numbers.values() for each in run]
    if same := _select_best(every, rule):
        rules = [_write_rule(rule, [names[0] for names in each.path]) for each in same]
        return f"The path {rule.path} is the name of several numbers. Write {' or '.join(map(repr, rules[:NAMED]))}."
    ways = [(each.path, *_follow(each.path, rule.parts)) for each in every]
    length = max(len(steps) for _, steps, _ in ways)
    farthest = [(path, rest) for path, steps, rest in ways if len(steps) == length]
    following = list(dict.fromkeys(path[length][0] for path, _ in farthest if len(path) > length))
    left = min((rest for _, rest in farthest), key=len)
    if not left:
        return f"The path {rule.path} is incomplete. Add one of: {_list_names(following)}."
    if not following:
        return f"The path {rule.path} is too long. End it with {farthest[0][0][-1][0]!r}."
    where = "these runs" if len(numbers) > 1 else f"the run {next(iter(numbers))}"
    problem = f"The path {rule.path} is not in {where}: {_join(left[:1])!r} is unknown."
    if near := _select_best(every, rule, is_misspelt=True):
        steps, _ = _follow(near[0].path, rule.parts, is_misspelt=True)
        return f"{problem} Did you mean {_write_rule(rule, [name for _, name in steps])!r}?"
    return f"{problem} Choose from: {_list_names(following)}."


def _write_rule(rule: Rule, parts: Sequence[str]) -> str:
    return str(replace(rule, path=join_path(parts)))


def _join(parts: Sequence[str]) -> str:
    """Parts between dots as one name, without its quotes."""
    name = ".".join(parts).strip()
    return name[1:-1] if len(name) > 1 and name[0] == name[-1] and name[0] in _QUOTES else name


def _list_names(names: Sequence[str]) -> str:
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
