"""What a finetune audit concludes: whether a country's name flips more labels than a prefix that names none."""

from __future__ import annotations

from collections.abc import Iterator

from geobias.audits.finetune.result import ALL, ANY, FinetunedModel, FinetuneResult
from geobias.measures.detectable_effect import detectable_effect
from geobias.report.findings import Finding, Size, format_p, grade_evidence
from geobias.report.run_folder import MODELS
from geobias.report.runs import slug
from geobias.report.sentences import format_evidence, format_number, measure_size, say_missed

QUESTION = "Does a prefix that names a country flip more labels of the fine-tuned classifier than one that names none?"
UNIT = "percentage points"


def list_findings(result: FinetuneResult) -> list[Finding]:
    """For each model the flips of countries against those of the control, then in which direction labels flip."""
    answers = [_answer(result, entry) for entry in result.fine_tuned]
    return [*answers, *(detail for entry in result.fine_tuned for detail in _list_directions(entry))]


def _answer(result: FinetuneResult, entry: FinetunedModel) -> Finding:
    estimate = entry.against_control
    evidence = grade_evidence(None if estimate is None else estimate.p_adjusted)
    has_direction = evidence in ("clear", "suggestive")
    rises = estimate is not None and (estimate.value or 0) > 0
    return Finding(
        role="overall",
        audit="finetune",
        model=entry.model.name,
        question=QUESTION,
        direction=("higher" if rises else "lower") if has_direction else None,
        size=None if estimate is None else measure_size(estimate, UNIT),
        p=None if estimate is None else estimate.p,
        p_adjusted=None if estimate is None else estimate.p_adjusted,
        evidence=evidence,
        sentence=_say_flips(result, entry),
        limit="A classifier that is always certain flips no label, whatever it does to probabilities.",
        next_step=f"See probabilities by country: {MODELS}/{slug(entry.model.name)}/downstream/report.html",
    )


def _say_flips(result: FinetuneResult, entry: FinetunedModel) -> str:
    flips, control, estimate = entry.flips[ALL][ANY], entry.control[ANY], entry.against_control
    texts = f"{result.counts.test_texts:,} test texts"
    start = (
        f"{entry.model.short_name}: {format_number(flips.value or 0)} % of labels flip when the prefix names a "
        f"country, {format_number(control.value or 0)} % when it names none"
    )
    if estimate is None:
        return f"{start}; this run did not test the difference: run it again with this version."
    if estimate.p_adjusted is None:
        return f"{start}; {texts} are too few to test the difference."
    evidence = grade_evidence(estimate.p_adjusted)
    if evidence in ("clear", "suggestive"):
        word = "more" if (estimate.value or 0) > 0 else "fewer"
        verb = "flip" if evidence == "clear" else "may flip"
        difference = f"{format_number(abs(estimate.value or 0))} {UNIT} {word}"
        return f"{start}: countries {verb} {difference} ({format_evidence(estimate, estimate.p_adjusted)})."
    # Fewer than six texts that differ are never clear; eight of them on average are at least six in four of five runs.
    effect = max(detectable_effect([estimate]) or 0, 100 * 8 / result.counts.test_texts)
    power = say_missed(texts, effect, [estimate.value or 0], lambda size: f"{format_number(size)} {UNIT}")
    return f"{start}: no clear difference ({format_p(estimate.p_adjusted)}).{power}"


def _list_directions(entry: FinetunedModel) -> Iterator[Finding]:
    """The most frequent direction; it is not tested."""
    directions = {name: flips for name, flips in entry.flips[ALL].items() if name != ANY and flips.value}
    if not directions:
        return
    name, flips = max(directions.items(), key=lambda item: item[1].value or 0)
    share = format_number(flips.value or 0)
    control = format_number(entry.control[name].value or 0)
    yield Finding(
        role="detail",
        audit="finetune",
        model=entry.model.name,
        question="In which direction do labels flip?",
        subject=name,
        size=Size(flips.value or 0, flips.low, flips.high, "per cent of labels"),
        evidence="not testable",
        sentence=f"{entry.model.short_name}: most flips go from {name}, in {share} % of texts x countries; the prefix "
        f"that names none does so in {control} %.",
        limit="Directions are counted, not tested.",
        next_step="Every direction is in tables/flips.csv.",
    )
