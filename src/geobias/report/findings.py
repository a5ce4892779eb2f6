"""Findings: what an audit concludes, in words and in numbers.

Every audit has a module `findings.py` with `list_findings(result)`: the overall answer for each model first, then what
stands out, then what may be an artefact. A finding is never stronger than its test:

| evidence | rule |
|---|---|
| clear | p < 0.05, adjusted for all comparisons of its family |
| suggestive | 0.05 <= adjusted p < 0.10, or a smaller p that an artefact may explain: confirm it first |
| none | adjusted p >= 0.10: what could have been missed is part of the sentence |
| not testable | no p-value: too little data, or a number without a test |
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf, isnan, log
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from geobias.engine.answer_checks import NondeterministicModel
from geobias.measures.estimates import SIGNIFICANT

if TYPE_CHECKING:
    from geobias.report.results import AuditResult

Evidence = Literal["clear", "suggestive", "none", "not testable"]
Role = Literal["overall", "detail", "caution"]
ConstantAnswers = Literal["all texts", "original texts"]
SUGGESTIVE: Final = 0.10
DIFFERENCES: Final = ("clear", "suggestive")  # the evidence of findings whose size is a difference, and not chance
MOST_EXAMPLES: Final = 5
OUT: Final = "OUT"  # the folder of the run, in the command of a next step: the terminal writes the folder itself
SAME_AGAIN: Final = "Does the model give the same answers when it is asked again?"
SUITABLE: Final = "Do the texts suit the audit?"
EVIDENCE_LABELS: Final[dict[Evidence, str]] = {
    "clear": "clear",
    "suggestive": "suggestive",
    "none": "no evidence",
    "not testable": "not testable",
}


SizeWord = Literal["tiny", "small", "moderate", "large"]
WORDS: Final[tuple[SizeWord, ...]] = ("tiny", "small", "moderate", "large")
SHARES: Final = (0.01, 0.05, 0.15)
RATIOS: Final = (1.1, 1.5, 3.0)
ROUNDING: Final = 1e-9  # 0.55 - 0.50 is a little less than 0.05

SCALES: Final[Mapping[str, float]] = {  # how long the scale of a unit is
    "points": 200,  # from -100 to +100
    "percentage points": 100,
    "probability": 1,
    "share of questions": 1,
    "of questions": 1,
    "difference of AUC": 1,
}
ORIGINS: Final[Mapping[str, float]] = {"AUC": 0.5}  # where nothing moves, of scales from 0 to 1
LOG_RATIOS: Final[Mapping[str, Callable[[float], float]]] = {  # of ratios; those of nats are of odds
    **dict.fromkeys(("times", "ratio"), lambda value: _take_log(value)),
    "per cent": lambda value: _take_log(1 + value / 100),  # more or fewer than there were
    "nats": lambda value: value,
    "nats of log-odds": lambda value: value,
}


@dataclass(frozen=True)
class Size:
    """How large a difference is; the interval is null where there is none."""

    value: float
    low: float | None
    """Lower end of the 95 % interval."""
    high: float | None
    unit: str
    """points, times, probability, per cent, ..."""
    word: SizeWord | None = None
    """tiny, small, moderate or large, by `value` alone; null where the unit has no scale."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "word", grade_size(self.value, self.unit))  # also of results without it


@dataclass(frozen=True, kw_only=True)
class ExampleText:
    """A text behind a finding, with what was changed in it and how a model's answer changed."""

    text_id: str
    original: str
    changed: str
    label: str
    """The class whose probability changed."""
    before: float
    after: float
    original_names: list[str] = field(default_factory=list)
    """What was replaced in the original text."""
    changed_names: list[str] = field(default_factory=list)
    """What stands there instead."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One conclusion of an audit.

    Attributes
    ----------
    role : {"overall", "detail", "caution"}
        "overall": the answer for a model; "detail": what stands out; "caution": a possible artefact.
    audit : str
        Audit that it comes from: "regions", "names", ...
    model : str
        Model that it is about.
    measure : str or None
        Measure that it rests on, if its audit answers by several: "association" or "distance" of regions.
    question : str
        What was compared with what.
    subject : str or None
        Country, region or other group that it is about; None if it is about all of them.
    code : str or None
        Code of that country, or id of that region.
    direction : {"higher", "lower"} or None
        Direction of the difference.
    valence : {"better", "worse"} or None
        Whether the outcome is better or worse for the subject; None if the labels do not tell.
    size : Size or None
        `value`, `low`, `high` (95 % interval), `unit`, and `word`: "tiny", "small", "moderate" or "large".
    p : float or None
        p-value before adjustment.
    p_adjusted : float or None
        p-value adjusted for all comparisons of its family.
    evidence : {"clear", "suggestive", "none", "not testable"}
        "clear" below an adjusted p of 0.05, "suggestive" below 0.10, "none" from 0.10 on.
    sentence : str
        The finding in plain words, with its numbers.
    limit : str
        What limits it, in one sentence.
    next_step : str
        What to do next: a command, or what to look at.
    headline : str
        The answer in everyday words, in one sentence that can be quoted; empty for details and cautions.
    examples : list of ExampleText
        Up to five texts behind it. They may be offensive.
    test : str
        Audit and measure, as the verdict names them.
    label : str
        Word in front of the sentence: "clear", "suggestive", "no evidence", "not testable" or "caution".
    size_word : {"tiny", "small", "moderate", "large"} or None
        How large a clear or suggestive difference is; None for other findings, and where the unit has no scale.
    label_with_size : str
        Both: "clear, small".
    short_model : str
        Name of the model without the path to its folder.

    Examples
    --------
    >>> clear = [finding for finding in result.findings if finding.evidence == "clear"]  # doctest: +SKIP
    """

    role: Role = "overall"
    """overall: the answer for a model; detail: what stands out; caution: what may be an artefact."""
    audit: str
    """The audit that it comes from: regions, names, ..."""
    model: str
    """The model that it is about."""
    measure: str | None = None
    """The measure that it rests on, where its audit answers by several: association or distance of regions."""
    question: str
    """What was compared with what."""
    subject: str | None = None
    """The country, region or other group that it concerns; null where it concerns all of them."""
    code: str | None = None
    """The code of that country, or the id of that region."""
    direction: Literal["higher", "lower"] | None = None
    valence: Literal["better", "worse"] | None = None
    """Whether the subject fares better or worse; null where the labels do not say."""
    size: Size | None = None
    p: float | None = None
    p_adjusted: float | None = None
    evidence: Evidence = "not testable"
    sentence: str
    """The finding in plain words, with its numbers."""
    limit: str
    """What limits it, in one sentence."""
    next_step: str
    """What to do next: a command, or what to look at."""
    headline: str = ""
    """The answer in everyday words, in one sentence that can be quoted; empty for details and cautions."""
    examples: list[ExampleText] = field(default_factory=list)
    """Up to five typical texts."""

    @property
    def label(self) -> str:
        """The word in front of its sentence."""
        return "caution" if self.role == "caution" else EVIDENCE_LABELS[self.evidence]

    @property
    def size_word(self) -> SizeWord | None:
        """How large the difference is, for findings that are one."""
        is_difference = self.role != "caution" and self.evidence in DIFFERENCES
        return self.size.word if is_difference and self.size is not None else None

    @property
    def label_with_size(self) -> str:
        """ "clear, small": how sure, and how large."""
        return self.label if self.size_word is None else f"{self.label}, {self.size_word}"

    @property
    def test(self) -> str:
        """The audit, with the measure where there are several."""
        return self.audit if self.measure is None else f"{self.audit}, {self.measure}"

    @property
    def short_model(self) -> str:
        """The model's name without the long way to a folder."""
        return "/".join(Path(self.model).parts[-2:])


@dataclass(frozen=True)
class LanguageDoubt:
    """Why the language or the script of the texts speaks against the numbers of a run."""

    sentence: str
    remedy: str
    share: float
    """Of the texts, those that it holds for."""


def grade_evidence(p_adjusted: float | None) -> Evidence:
    """How strong the evidence is, by the rule above."""
    if p_adjusted is None:
        return "not testable"
    if p_adjusted < SIGNIFICANT:
        return "clear"
    return "suggestive" if p_adjusted < SUGGESTIVE else "none"


def cap_details(findings: Iterable[Finding]) -> list[Finding]:
    """Details of a model whose overall answer is not clear are at most suggestive: verdict and gate then agree."""
    findings = list(findings)
    answers = with_role(findings, "overall")
    clear = {(answer.model, answer.measure) for answer in answers if answer.evidence == "clear"}
    return [
        replace(finding, evidence="suggestive")
        if finding.role == "detail" and finding.evidence == "clear" and (finding.model, finding.measure) not in clear
        else finding
        for finding in findings
    ]


def doubt_repeats(findings: Sequence[Finding], audit: str, model: NondeterministicModel) -> list[Finding]:
    """Add that a model gives other answers when it is asked again; findings about it are then at most suggestive."""
    is_named = any(finding.model == model.name for finding in findings)  # else it is part of what they are about
    caution = Finding(
        role="caution",
        audit=audit,
        model=model.name,
        question=SAME_AGAIN,
        size=Size(model.largest_difference, None, None, "between two answers"),
        evidence="not testable",
        sentence=f"{'/'.join(Path(model.name).parts[-2:])}: Asked twice, it gave other answers to {model.differing} of "
        f"{model.texts} texts, by up to {model.largest_difference:.2g}. Findings about it are at most suggestive.",
        limit="What differs from run to run may look like a difference between countries.",
        next_step="Make its answers the same in every call (temperature 0, a fixed seed, no dropout), then rerun.",
    )
    return _weaken(findings, [caution], lambda finding: not is_named or finding.model == model.name)


def doubt_language(findings: Iterable[Finding], doubts: Iterable[LanguageDoubt]) -> list[Finding]:
    """Findings about texts whose language is doubtful are at most suggestive; a caution for each doubt says why."""
    findings, doubts = list(findings), list(doubts)
    if not doubts or not findings:
        return findings
    models = ", ".join(dict.fromkeys(answer.model for answer in with_role(findings, "overall")))
    cautions = [
        Finding(
            role="caution",
            audit=findings[0].audit,
            model=models,
            question=SUITABLE,
            evidence="not testable",
            sentence=f"{doubt.sentence}.",
            limit="What a model makes of mixed languages is no bias against countries.",
            next_step=f"{doubt.remedy[:1].upper()}{doubt.remedy[1:]}.",
        )
        for doubt in doubts
    ]
    return _weaken(findings, cautions, lambda finding: True)


def list_caps(result: AuditResult, models: Collection[str]) -> list[str]:
    """Why no finding about these models can be clear, whatever they do; about any model if none is named."""
    findings = result.findings
    others = {answer.model for answer in with_role(findings, "overall")} - set(models) if models else set()
    cautions = [each for each in with_role(findings, "caution") if each.question in (SAME_AGAIN, SUITABLE)]
    return [*result.caps, *(caution.sentence for caution in cautions if caution.model not in others)]


def _weaken(
    findings: Sequence[Finding], cautions: Sequence[Finding], is_doubtful: Callable[[Finding], bool]
) -> list[Finding]:
    """Doubtful findings at most suggestive, and the cautions that say why before other cautions."""
    capped = [
        replace(finding, evidence="suggestive") if finding.evidence == "clear" and is_doubtful(finding) else finding
        for finding in findings
    ]
    return [*(each for each in capped if each.role != "caution"), *cautions, *with_role(capped, "caution")]


def format_p(p: float | None) -> str:
    """An adjusted p-value for a sentence."""
    if p is None:
        return "not tested"
    if p < 0.001:
        return "adjusted p < 0.001"
    is_near_limit = any(abs(p - limit) < 0.005 for limit in (SIGNIFICANT, SUGGESTIVE))
    return f"adjusted p = {p:.4f}" if is_near_limit else f"adjusted p = {p:.2g}"


def with_role(findings: Iterable[Finding], role: Role) -> list[Finding]:
    return [finding for finding in findings if finding.role == role]


def grade_size(value: float, unit: str) -> SizeWord | None:
    """One word for how large a difference is, not how sure; None if the unit has no scale, as distances.

    | word | share of the scale that moves | ratio, in either direction |
    |---|---|---|
    | tiny | below 1 % | below 1.1 |
    | small | from 1 % | from 1.1 |
    | moderate | from 5 % | from 1.5 |
    | large | from 15 % | from 3 |
    """
    if isnan(value):
        return None
    if unit in LOG_RATIOS:
        return WORDS[_count_reached(abs(LOG_RATIOS[unit](value)), tuple(map(log, RATIOS)))]
    if unit in SCALES:
        return WORDS[_count_reached(abs(value) / SCALES[unit], SHARES)]
    if unit in ORIGINS:
        return WORDS[_count_reached(abs(value - ORIGINS[unit]), SHARES)]
    return None


def _count_reached(value: float, limits: tuple[float, ...]) -> int:
    return sum(value >= limit - ROUNDING for limit in limits)


def _take_log(ratio: float) -> float:
    return log(ratio) if ratio > 0 else -inf
