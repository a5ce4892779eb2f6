"""What a names audit concludes: the answer for each classifier, which countries stand out, what may be an artefact."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from geobias.audits.names.added_findings import add_findings
from geobias.audits.names.advice import advise_more_data
from geobias.audits.names.answers import ClassifierAnswers
from geobias.audits.names.cautions import is_explained_by_rarity, list_cautions
from geobias.audits.names.gaps import (
    POINTS,
    Gap,
    describe_tone,
    explain_missing_test,
    has_delta,
    list_class_gaps,
    list_gaps,
    list_standing_out,
    name_kind,
    name_origin,
    rank_gaps,
    rerun,
    shorten,
)
from geobias.audits.names.measure_inference import delta_values
from geobias.audits.names.result import ClassifierMeasures, NamesResult
from geobias.measures.uncertainty import ROUNDING
from geobias.report.findings import MOST_EXAMPLES, ExampleText, Finding, Role, format_p
from geobias.report.sentences import say_missed
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
    """Whether the names of any country stand out: the smallest adjusted p-value is that of the overall test."""
    gaps = rank_gaps(list_gaps(entry))
    if not gaps:
        return _report_missing_test(result, entry)
    top, name, names = gaps[0], entry.model.short_name, name_kind(result)
    tested = f"{len(gaps)} {'countries' if has_delta(entry) else 'countries and classes'}"
    if top.evidence == "clear":
        top, count = _choose_headline(gaps), len(list_standing_out(gaps))
        sentence = (
            f"{name}: {top.describe(names)} ({top.certainty}); {count} of {tested} "
            f"{'stands' if count == 1 else 'stand'} out, tested together"
            f"{', but the rarity of its names may explain it' if is_explained_by_rarity(top) else ''}."
        )
        next_step = _check_again(result, entry)
    elif top.evidence == "suggestive":
        sentence = (
            f"{name}: {top.describe(names)} ({top.certainty}), but none of {tested} stands out clearly, "
            "tested together."
        )
        next_step = f"Repeat it with more texts and other names: {rerun(result, entry, '--texts FILE --seed 1')}"
    else:
        sentence = f"{name}: {_deny_gap(result, gaps, tested)}"
        next_step = advise_more_data(result, top)
    return _make_finding(result, "overall", top, sentence, next_step)


def _choose_headline(gaps: list[Gap]) -> Gap:
    """The first of the ranked gaps, unless rarity may explain it and another clear one is left."""
    standing_out = list_standing_out(gaps)
    return next((gap for gap in standing_out if not is_explained_by_rarity(gap)), gaps[0])


def _deny_gap(result: NamesResult, gaps: list[Gap], tested: str) -> str:
    """That no country stands out, the largest gap, and how large a gap could have been missed."""
    top, names, texts = gaps[0], name_kind(result), gaps[0].entry.texts_with_names
    overall_p = min(gap.estimate.p_adjusted or 0 for gap in gaps)
    opening = f"No country's {names} stand out: {tested} tested together (p = {overall_p:.2g})"
    if abs(top.value) < ROUNDING:
        return f"{opening}, and its answers do not depend on the country in these {texts:,} texts."
    sentence = (
        f"{opening}; the largest gap is {top.size_in_words} for {name_origin(names, top.country.country)}"
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
        sentence=f"{entry.model.short_name}: Whether any country's {name_kind(result)} stand out cannot be tested: "
        f"{missing.reason}.",
        limit="Numbers without an interval or a test say nothing about other texts and names.",
        next_step=missing.next_step,
    )


def _list_details(entry: ClassifierMeasures) -> Iterator[Gap]:
    """Other clear gaps, unless they mirror the largest; where Δ shows none, the clearest class that changes."""
    gaps = rank_gaps(list_gaps(entry))
    yield from (gap for gap in list_standing_out(gaps) if gap is not _choose_headline(gaps))
    if has_delta(entry) and not (gaps and gaps[0].evidence == "clear"):
        classes = rank_gaps(list_class_gaps(entry))
        yield from (gap for gap in classes[:1] if gap.evidence == "clear")


def _describe_detail(result: NamesResult, gap: Gap) -> Finding:
    remark = ", although Δ shows no clear difference" if gap.label is not None and has_delta(gap.entry) else ""
    sentence = f"{gap.entry.model.short_name}: {gap.describe(name_kind(result))} ({gap.certainty}){remark}."
    return _make_finding(result, "detail", gap, sentence, _check_again(result, gap.entry))


def _check_again(result: NamesResult, entry: ClassifierMeasures) -> str:
    return f"Check it with other names, and read the texts on the page: {rerun(result, entry, '--seed 1')}"


def _make_finding(result: NamesResult, role: Role, gap: Gap, sentence: str, next_step: str) -> Finding:
    has_examples = gap.evidence in ("clear", "suggestive")
    names = name_kind(result)
    kinds = "other texts" if result.settings.names_are == "fixed" else f"other texts and {names}"
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
        evidence="suggestive" if gap.evidence == "clear" and is_explained_by_rarity(gap) else gap.evidence,
        sentence=sentence,
        limit=f"It holds for texts like these {gap.entry.texts_with_names:,} and for lists of common {names}; the "
        f"interval is that of one country and allows for {kinds}; the largest of many gaps tends to be overestimated.",
        next_step=next_step,
        examples=choose_examples(result, gap) if has_examples else [],
    )


def _ask(result: NamesResult, entry: ClassifierMeasures, label: str | None) -> str:
    names = name_kind(result)
    if label is None and has_delta(entry):
        return (
            f"Do the {names} of any country change the mean of {describe_tone(entry)}, in {POINTS} from -100 to +100, "
            "against the mean of countries?"
        )
    classes = "its classes" if label is None else label
    return f"Do the {names} of any country change how often {classes} are predicted, against the mean of countries?"


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
        if not len(draws) or (result.settings.entity == "person" and _is_doubtful(renamed, i)):
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
