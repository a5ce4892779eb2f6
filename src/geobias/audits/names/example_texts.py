"""Texts behind a finding: those whose answer moves most in its direction, each with one typical renamed version."""

from __future__ import annotations

import numpy as np

from geobias.audits.names.answers import ClassifierAnswers
from geobias.audits.names.gaps import Gap
from geobias.audits.names.measure_inference import delta_values
from geobias.audits.names.result import NamesResult
from geobias.report.findings import MOST_EXAMPLES, ExampleText
from geobias.texts.counterfactuals import Counterfactuals
from geobias.texts.doubtful_spans import sort_spans


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
