"""What a names audit concludes: the answer for each classifier, which countries stand out, what may be an artefact."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import numpy as np

from geobias.audits.names.added_findings import add_findings
from geobias.audits.names.advice import advise_more_data
from geobias.audits.names.answers import ClassifierAnswers
from geobias.audits.names.cautions import list_cautions
from geobias.audits.names.gaps import (
    POINTS,
    Gap,
    describe_tone,
    explain_missing_test,
    has_delta,
    list_class_gaps,
    list_gaps,
    list_leading,
    name_origin,
    rank_gaps,
    rerun,
    shorten,
)
from geobias.audits.names.lead_sentences import (
    find_spread,
    say_overestimated,
    say_shrunken,
    say_suggestive,
    say_what_explains,
    say_who_leads,
    spread_unit,
)
from geobias.audits.names.measure_inference import delta_values
from geobias.audits.names.result import ClassifierMeasures, NamesResult
from geobias.measures.uncertainty import ROUNDING
from geobias.report.findings import MOST_EXAMPLES, ExampleText, Finding, Role, format_p
from geobias.report.sentences import measure_size, say_missed
from geobias.texts.counterfactuals import Counterfactuals
from geobias.texts.doubtful_spans import sort_spans

MOST_DETAILS: Final = 5  # of all classifiers together


def list_findings(result: NamesResult) -> list[Finding]:
    """The overall answer for each classifier, then at most five details, then cautions."""
    answers = [_answer(result, entry) for entry in result.classifiers]
    gaps = rank_gaps(gap for entry in result.classifiers for gap in _list_details(entry))
    details = [_describe_detail(result, gap) for gap in gaps[:MOST_DETAILS]]
    return add_findings(result, [*answers, *details, *list_cautions(result)])


def _answer(result: NamesResult, entry: ClassifierMeasures) -> Finding:
    """How much countries differ and which stand out: the smallest adjusted p-value is that of the overall test."""
    gaps = rank_gaps(list_gaps(entry))
    if not gaps:
        return _report_missing_test(result, entry)
    tested = f"{len(gaps)} {'countries' if len({gap.label for gap in gaps}) == 1 else 'countries and classes'}"
    leading, name = list_leading(gaps), entry.model.short_name
    overall = min(gaps, key=lambda gap: gap.estimate.p_adjusted or 0)
    if overall.evidence_as_measured == "clear":
        if leading:
            sentence = say_who_leads(leading, tested, overall)
            return _make_overall(result, leading, overall, f"{name}: {sentence}", _check_again(result, entry))
        next_step = f"Use names that are alike: {rerun(result, entry, '--gazetteer FILE')}"
        return _make_overall(result, gaps, overall, f"{name}: {say_what_explains(gaps, overall)}", next_step)
    if overall.evidence == "suggestive":
        next_step = f"Repeat it with more texts and other names: {rerun(result, entry, '--texts FILE --seed 1')}"
        sentence = say_suggestive(gaps, tested, overall)
        return _make_overall(result, gaps, overall, f"{name}: {sentence}", next_step)
    sentence = f"{name}: {_deny_gap(result, gaps, tested)}"
    return _make_finding(result, "overall", gaps[0], sentence, advise_more_data(result, gaps[0]))


def _make_overall(result: NamesResult, gaps: list[Gap], overall: Gap, sentence: str, next_step: str) -> Finding:
    """About one country only where it is the only one that leads; otherwise about how much countries differ."""
    leading = list_leading(gaps)
    finding = _make_finding(result, "overall", gaps[0], sentence, next_step)
    finding = replace(finding, p=overall.estimate.p, p_adjusted=overall.estimate.p_adjusted)
    if len({gap.country.code for gap in leading}) == 1:
        return finding
    spread = find_spread(overall)
    sides, values = {gap.direction for gap in leading}, {gap.valence for gap in leading}
    return replace(
        finding,
        subject=None,
        code=None,
        evidence="clear" if leading else "suggestive",
        direction=leading[0].direction if len(sides) == 1 else None,
        valence=leading[0].valence if len(values) == 1 else None,
        size=None if spread is None else measure_size(spread.sd, spread_unit(overall)),
    )


def _deny_gap(result: NamesResult, gaps: list[Gap], tested: str) -> str:
    """That no country stands out, the largest gap, and how large a gap could have been missed."""
    top, texts = gaps[0], gaps[0].entry.texts_with_names
    overall_p = min(gap.estimate.p_adjusted or 0 for gap in gaps)
    opening = f"No country's names stand out: {tested} tested together (p = {overall_p:.2g})"
    if abs(top.value) < ROUNDING:
        return f"{opening}, and its answers do not depend on the country in these {texts:,} texts."
    sentence = (
        f"{opening}; the largest gap is {top.size_in_words} for {name_origin(top.country.country)}"
        f"{'' if top.estimate.p_adjusted == overall_p else f' ({format_p(top.estimate.p_adjusted)})'}."
    )
    effects = top.entry.smallest_effects
    effect = None if effects is None else effects.delta if top.label is None else effects.change[top.label]
    unit = "points" if top.label is None else "%"
    return sentence + say_missed(f"{texts:,} texts", effect, [top.value], lambda size: f"{shorten(size)} {unit}")


def _report_missing_test(result: NamesResult, entry: ClassifierMeasures) -> Finding:
    missing = explain_missing_test(result, entry)
    return Finding(
        role="overall",
        audit=result.audit,
        model=entry.model.name,
        question=_ask(result, entry, None),
        evidence="not testable",
        sentence=f"{entry.model.short_name}: Whether any country's names stand out cannot be tested: {missing.reason}.",
        limit="Numbers without an interval or a test say nothing about other texts and names.",
        next_step=missing.next_step,
    )


def _list_details(entry: ClassifierMeasures) -> Iterator[Gap]:
    """The countries of the set that leads; where Δ shows none, the clearest class that changes."""
    gaps = rank_gaps(list_gaps(entry))
    leading = list_leading(gaps)
    is_set = len({gap.country.code for gap in leading}) > 1
    yield from leading if is_set else leading[1:]  # a single country is named by the overall finding
    if has_delta(entry) and not any(gap.evidence_as_measured == "clear" for gap in gaps):
        yield from list_leading(rank_gaps(list_class_gaps(entry)))[:1]


def _describe_detail(result: NamesResult, gap: Gap) -> Finding:
    remark = ", although Δ shows no clear difference" if gap.label is not None and has_delta(gap.entry) else ""
    sentence = f"{gap.entry.model.short_name}: {gap.describe()} ({gap.certainty}){remark}"
    return _make_finding(result, "detail", gap, f"{sentence}{say_shrunken(gap)}.", _check_again(result, gap.entry))


def _check_again(result: NamesResult, entry: ClassifierMeasures) -> str:
    return f"Check it with other names, and read the texts on the page: {rerun(result, entry, '--seed 1')}"


def _make_finding(result: NamesResult, role: Role, gap: Gap, sentence: str, next_step: str) -> Finding:
    has_examples = gap.evidence in ("clear", "suggestive")
    kinds = "other texts" if result.settings.names_are == "fixed" else "other texts and names"
    return Finding(
        role=role,
        audit=result.audit,
        model=gap.entry.model.name,
        question=_ask(result, gap.entry, gap.label),
        subject=gap.country.country,
        code=gap.country.code,
        direction=gap.direction,
        valence=gap.valence,
        size=gap.size,
        p=gap.estimate.p,
        p_adjusted=gap.estimate.p_adjusted,
        evidence=gap.evidence,
        sentence=sentence,
        limit=f"It holds for texts like these {gap.entry.texts_with_names:,} and for lists of common names; the "
        f"interval allows for {kinds}; {say_overestimated(gap)}.",
        next_step=next_step,
        examples=choose_examples(result, gap) if has_examples else [],
    )


def _ask(result: NamesResult, entry: ClassifierMeasures, label: str | None) -> str:
    if label is None and has_delta(entry):
        return (
            f"Do the names of any country change the mean of {describe_tone(entry)}, in {POINTS} from -100 to +100, "
            "against the mean of countries?"
        )
    classes = "its classes" if label is None else label
    return f"Do the names of any country change how often {classes} are predicted, against the mean of countries?"


def choose_examples(result: NamesResult, gap: Gap) -> list[ExampleText]:
    """Up to five texts; none for a result read from disk, which has no answers in memory."""
    texts, named, renamed = result.texts, result.named, result.counterfactuals
    answers = next((each for each in result.answers if each.model.name == gap.entry.model.name), None)
    if texts is None or named is None or renamed is None or answers is None:
        return []
    country = list(renamed.countries).index(gap.country.code)
    sign = 1 if gap.value > 0 else -1
    changes = sign * _changes(answers, named, gap)  # texts x countries x draws, above 0 in the finding's direction
    from_mean = changes[:, country].mean(axis=1) - changes.mean(axis=(1, 2))
    examples: list[ExampleText] = []
    for i in np.argsort(-from_mean, kind="stable"):
        draws = np.flatnonzero(changes[i, country] > 0)
        if from_mean[i] <= 0 or len(examples) == MOST_EXAMPLES:
            break
        if not len(draws) or _is_doubtful(renamed, i):
            continue
        by_change = draws[np.argsort(changes[i, country, draws], kind="stable")]
        draw = int(by_change[len(by_change) // 2])  # the median version: the largest change may be one odd name
        row = int(named[i])
        before, after = answers.original[row], answers.renamed[i, country, draw]
        k = _choose_label(answers, gap, sign * (after - before))
        examples.append(
            _make_example(renamed, (int(i), country, draw), texts.ids[row], answers.labels[k], before[k], after[k])
        )
    return examples


def _changes(answers: ClassifierAnswers, named: np.ndarray, gap: Gap) -> np.ndarray:
    """texts x countries x draws: the renamed text minus its original, in Δ or in the probability of a class."""
    original = answers.original[named]
    if gap.label is None:
        return delta_values(answers, original)
    k = answers.labels.index(gap.label)
    return np.asarray(answers.renamed[..., k] - original[:, None, None, k])


def _choose_label(answers: ClassifierAnswers, gap: Gap, changes: np.ndarray) -> int:
    """The class to show: that of the finding; for Δ the positive or negative one that moved most in its direction."""
    if gap.label is not None:
        return answers.labels.index(gap.label)
    toned = {k: -changes[k] for k in answers.negative} | {k: changes[k] for k in answers.positive}
    return max(toned, key=lambda k: round(float(toned[k]), 6))  # of two classes that sum to 1 always the same


def _is_doubtful(renamed: Counterfactuals, text: int) -> bool:
    """Whether something was renamed that is probably no person."""
    spans = [(mention.start, mention.end) for person in renamed.people[text] for mention in person.mentions]
    return bool(sort_spans(renamed.texts[text], spans, renamed.gazetteer)[1])


def _make_example(
    renamed: Counterfactuals, position: tuple[int, int, int], text_id: str, label: str, before: float, after: float
) -> ExampleText:
    original = renamed.texts[position[0]]
    text, spans = renamed.render(*position)
    mentions = sorted(
        (mention.start, mention.end) for person in renamed.people[position[0]] for mention in person.mentions
    )
    return ExampleText(
        text_id=text_id,
        original=original,
        changed=text,
        label=label,
        before=float(before),
        after=float(after),
        original_names=[original[start:end] for start, end in mentions],
        changed_names=[text[start:end] for start, end in spans],
    )
