"""Gates: rules about a run's numbers, each judged on the worse end of its interval, and about its findings.

A rule is PATH OP NUMBER, such as `names.sentiment.delta.worst < 2.0`; `gate_numbers` of each audit holds its paths.
`findings.clear <= 0` (every run), `names.findings.clear <= 0` and `names.sentiment.findings.clear <= 0` hold where no
finding is clear and every answer could be tested.
"""

from __future__ import annotations

import math
import operator
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from geobias.audits.constant_answers import REASON
from geobias.audits.registry import get_audit
from geobias.checks import suggest
from geobias.errors import InputError
from geobias.files import read_text
from geobias.report.findings import Finding, with_role
from geobias.report.number_tree import NumberTree, TreeNumber, model_names
from geobias.report.results import AuditResult
from geobias.world.countries import load_country_names, match_country

OPS: dict[str, Callable[[Any, Any], bool]] = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt}
EXAMPLE = "names.sentiment.delta.worst < 2.0"
NAMED = 6  # names listed where none is near the given one
_PART = r"""(?:\s*"[^"]+"\s*|\s*'[^']+'\s*|[^."'<>=]+)"""  # the last one takes spaces too: one way to match, no more
_RULE = re.compile(rf"(?P<path>{_PART}(?:\.{_PART})*)(?P<op>{'|'.join(OPS)})\s*(?P<value>\S+)\s*")
FINDINGS, CLEAR = "findings", "clear"
UNTESTED = "not tested, so it cannot pass"
NO_FINDINGS = "This run has no overall answer: run the audit again."


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
    """Every rule in every run of the audit that it is about. An unknown path is refused, before anything is judged."""
    if not rules:
        raise InputError(f"No rule. Add --rule or --rules. Example: {EXAMPLE!r}.")
    audits = {result.audit: None for result in results.values()}
    numbers = []
    for rule in rules:
        first = rule.parts[0]
        if first != FINDINGS and first not in audits:
            raise InputError(_unknown(rule, 0, {**audits, FINDINGS: None}))
        runs = {name: result for name, result in results.items() if first in (FINDINGS, result.audit)}
        numbers += [(rule, name, _find_number(rule, result)) for name, result in runs.items()]
    return [_judge_number(rule, name, number) for rule, name, number in numbers]


def _find_number(rule: Rule, result: AuditResult) -> TreeNumber:
    """The number that a path leads to; where the model answers every text alike, none of its numbers is a test."""
    number = _find(_select_tree(rule, result), rule)
    constant = {name for name, kind in result.constant_answers.items() if kind == "all texts"}
    if not constant or isinstance(number, FindingsCount):
        return number
    named = {model.name for model in result.model_identities if _is_named(rule.parts[1], model.name)}
    # Paths without a model (regions) are about the only one of the run.
    return replace(number, untested=REASON) if not named or named & constant else number


def _is_named(part: str, model: str) -> bool:
    return part.casefold() in map(str.casefold, model_names(model))


def _select_tree(rule: Rule, result: AuditResult) -> NumberTree:
    """What lies below the first part of a rule's path: numbers, or counts of findings."""
    counts = count_findings(result)
    if rule.parts[0] == FINDINGS:
        return counts[FINDINGS]
    gate_numbers = get_audit(result.audit).find("gate_and_card", "gate_numbers")
    return counts if FINDINGS in rule.parts or gate_numbers is None else gate_numbers(result)


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


def _find(below: Any, rule: Rule) -> TreeNumber:
    """Walk down the path; the message about a wrong step names what is near, or what there is."""
    for depth, part in enumerate(rule.parts[1:], start=1):
        if isinstance(below, TreeNumber):
            raise InputError(f"The path {rule.path} is too long. End it with {rule.parts[depth - 1]!r}.")
        name = _match_part(part, below)
        if name is None:
            raise InputError(_unknown(rule, depth, below))
        below = below[name]
    if isinstance(below, NumberTree) and below.number is not None:
        return below.number
    if not isinstance(below, TreeNumber):
        raise InputError(f"The path {rule.path} is incomplete. Add one of: {_list_names(below)}.")
    return below


def _match_part(part: str, below: Mapping[str, Any]) -> str | None:
    """The name that a part of a path stands for; a country may have any of its names and codes.

    By the country's name, not its code: NA is North America in the tree of regions, and NAM is Namibia.
    """
    if part.casefold() in below:
        return part.casefold()
    code = match_country(part)
    name = load_country_names()[code].casefold() if code else ""
    return name if name in below else None


def _unknown(rule: Rule, depth: int, names: Mapping[str, Any]) -> str:
    part = rule.parts[depth]
    near = suggest(part.casefold(), names)
    corrected = [near[0] if k == depth and near else name for k, name in enumerate(rule.parts)]
    path = ".".join(f'"{name}"' if "." in name else name for name in corrected)
    hint = f"Did you mean {path}?" if near else f"Choose from: {_list_names(names)}."
    return f"The path {rule.path} is not in these runs: {part!r} is unknown. {hint}"


def _list_names(tree: Mapping[str, Any]) -> str:
    names = tree.names if isinstance(tree, NumberTree) else list(tree)
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")


@dataclass(frozen=True)
class FindingsCount(TreeNumber):
    """How many findings are clear, with their sentences; `untested` has those of answers that could not be tested."""

    clear: tuple[str, ...] = ()

    def explain(self) -> str:
        """What breaks a rule: what is clear, and what could not be tested, since nothing is known of it."""
        clear = f"{len(self.clear)} clear finding{'' if len(self.clear) == 1 else 's'}: {' '.join(self.clear)}"
        untested = f"{UNTESTED}: {self.untested}"
        return "; ".join([clear] * bool(self.clear or not self.untested) + [untested] * bool(self.untested))


def count_findings(result: AuditResult) -> NumberTree:
    """AUDIT.findings.clear, and AUDIT.MODEL.findings.clear for each model that findings are about."""
    models = dict.fromkeys(finding.model for finding in with_role(result.findings, "overall"))
    by_model = [
        (model_names(model), _node([finding for finding in result.findings if finding.model == model]))
        for model in models
    ]
    return NumberTree([((FINDINGS,), _clear_node(result.findings)), *by_model])


def _node(findings: Sequence[Finding]) -> NumberTree:
    return NumberTree([((FINDINGS,), _clear_node(findings))])


def _clear_node(findings: Sequence[Finding]) -> NumberTree:
    """Cautions are warnings about a number, not findings of their own."""
    answers = with_role(findings, "overall")
    clear = tuple(finding.sentence for finding in findings if finding.evidence == "clear" and finding.role != "caution")
    untested = [answer.sentence for answer in answers if answer.evidence == "not testable"]
    untested = untested if answers else [NO_FINDINGS]
    return NumberTree([((CLEAR,), FindingsCount(len(clear), untested=" ".join(untested), clear=clear))])
