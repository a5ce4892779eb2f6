"""What a drift audit concludes: whether training changed how differently the model describes regions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from geobias.audits.drift.result import DriftResult
from geobias.measures.detectable_effect import detectable_effect
from geobias.measures.estimates import Estimate
from geobias.report.findings import Finding, Role, format_p, grade_evidence
from geobias.report.sentences import format_evidence, format_number, list_first, measure_size, say_missed

QUESTION = "Does this training change how differently the model describes regions (C_w after minus before)?"
MOST_DETAILS = 3
UNIT = "C_w"
UNMASKED_SCORES = ("aul", "aula")  # they read each token off the unmasked sentence


@dataclass(frozen=True)
class Change:
    """Balanced C_w of a region before and after the training."""

    id: str
    name: str
    before: float | None
    after: float | None
    difference: Estimate

    @property
    def p_adjusted(self) -> float | None:
        return self.difference.p_adjusted

    @property
    def rises(self) -> bool:
        return (self.difference.value or 0) > 0

    @property
    def values(self) -> str:
        """From which score to which, with its interval and p-value."""
        before, after = (format_number(value or 0) for value in (self.before, self.after))
        difference = format_number(self.difference.value or 0)
        return f"from {before} to {after} (change {difference}, {format_evidence(self.difference, self.p_adjusted)})"


def list_findings(result: DriftResult) -> list[Finding]:
    """The change of the highest region first, then other regions that changed, then what the score may owe to AUL."""
    changes = list_changes(result)
    return [_answer(result, changes), *_list_details(result, changes), *_list_cautions(result, changes)]


def list_changes(result: DriftResult) -> list[Change]:
    scores = zip(result.epochs[0].regions, result.epochs[-1].regions, result.inference.regions, strict=True)
    return [
        Change(trend.id, trend.name, before.balanced.value, after.balanced.value, trend.balanced.difference)
        for before, after, trend in scores
    ]


def _answer(result: DriftResult, changes: Sequence[Change]) -> Finding:
    """The p-values are adjusted over all regions, so that the smallest one tests whether any of them changed."""
    top, others = changes[0], changes[1:]
    tested = [change for change in changes if change.p_adjusted is not None]
    start = f"{result.model.short_name}: after {count_epochs(result)} of training"
    if not tested:
        sentence = (
            f"{start} C_w of {top.name} went from {format_number(top.before or 0)} to {format_number(top.after or 0)}; "
            "there is no interval, so this is not distinguishable from chance."
        )
        return _make_finding(result, top, "overall", sentence)
    evidence = grade_evidence(min(change.p_adjusted or 0 for change in tested))
    if evidence in ("clear", "suggestive") and grade_evidence(top.p_adjusted) == evidence:
        verb = "differ" if evidence == "clear" else "may differ"
        return _make_finding(
            result,
            top,
            "overall",
            f"{start} the descriptions of regions {verb} {'more' if top.rises else 'less'}: C_w of {top.name} goes "
            f"{top.values}.",
        )
    if evidence in ("clear", "suggestive"):
        standing_out = [change for change in others if grade_evidence(change.p_adjusted) == evidence]
        names = list_first([change.name for change in standing_out])
        verb = "changes" if evidence == "clear" else "may change"
        return _make_finding(
            result,
            min(standing_out, key=lambda change: change.p_adjusted or 0),
            "overall",
            f"{start} C_w {verb} in {len(standing_out)} of {len(changes)} regions ({names}), but not clearly over "
            f"{top.name}: {top.values}.",
        )
    effect = detectable_effect(change.difference for change in tested)
    power = say_missed("words", effect, [change.difference.value or 0 for change in tested], format_number)
    return _make_finding(
        result,
        top,
        "overall",
        f"{start} no region's C_w changes clearly ({len(tested)} tested): {top.name} goes from "
        f"{format_number(top.before or 0)} to {format_number(top.after or 0)} ({format_p(top.p_adjusted)}).{power}",
    )


def count_epochs(result: DriftResult) -> str:
    epochs = result.settings.epochs
    return f"{epochs} epoch{'' if epochs == 1 else 's'}"


def _list_details(result: DriftResult, changes: Sequence[Change]) -> Iterator[Finding]:
    clear = [change for change in changes[1:] if grade_evidence(change.p_adjusted) == "clear"]
    for change in sorted(clear, key=lambda change: change.p_adjusted or 0)[:MOST_DETAILS]:
        degree = "more" if change.rises else "less"
        sentence = (
            f"{change.name}: its sub-regions are described {degree} differently after training; "
            f"C_w goes {change.values}."
        )
        yield _make_finding(result, change, "detail", sentence)


def _list_cautions(result: DriftResult, changes: Sequence[Change]) -> Iterator[Finding]:
    """AUL falls when a model forgets how to copy, whatever it was trained on (docs/drift.md)."""
    top = changes[0]
    if result.model.score in UNMASKED_SCORES and grade_evidence(top.p_adjusted) == "clear" and not top.rises:
        yield Finding(
            role="caution",
            audit="drift",
            model=result.model.name,
            question=QUESTION,
            evidence="not testable",
            sentence=f"The lower C_w may be an artefact of the score {result.model.score}: it reads unmasked "
            "sentences, and a model that forgets how to copy them scores lower whatever it was trained on.",
            limit="Both causes lower the score, and this run cannot tell them apart.",
            next_step="Repeat the training with --score conditional, which masks what it scores, and with --texts.",
        )


def _make_finding(result: DriftResult, change: Change, role: Role, sentence: str) -> Finding:
    evidence = grade_evidence(change.p_adjusted)
    has_direction = evidence in ("clear", "suggestive")
    return Finding(
        role=role,
        audit="drift",
        model=result.model.name,
        question=QUESTION,
        subject=change.name,
        code=change.id,
        direction=("higher" if change.rises else "lower") if has_direction else None,
        size=measure_size(change.difference, UNIT),
        p=change.difference.p,
        p_adjusted=change.p_adjusted,
        evidence=evidence,
        sentence=sentence,
        limit="It is one training with one seed, and a changed score is not by itself a fairer or a less fair model.",
        next_step="Repeat it with another --seed, other --texts and another --score."
        if evidence != "not testable"
        else "Repeat it with at least five words, or with fewer cities.",
    )
