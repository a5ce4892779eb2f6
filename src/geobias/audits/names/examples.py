"""Texts of a names audit that people read: those behind its findings, and those whose prediction changed most."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

import numpy as np

from geobias.audits.names.answers import ClassifierAnswers
from geobias.audits.names.design import NamesDesign
from geobias.audits.names.inference import delta_values
from geobias.audits.names.result import ChangedText, NamesResult
from geobias.audits.names.rows import CountryEffect
from geobias.report.findings import MOST_EXAMPLES, ExampleText
from geobias.report.page.blocks import Example, Examples
from geobias.report.page.finding_cards import mark_names
from geobias.texts.counterfactuals import Counterfactuals
from geobias.texts.doubtful_spans import sort_spans
from geobias.world.gazetteer import Gazetteer, load_gazetteer

MOST_SHOWN: Final = 6  # on the page
MOST_OF_EACH: Final = 2  # texts of one finding or one classifier
CANDIDATES: Final = 12  # texts that moved most: some of them have no clear name


def choose_examples(result: NamesResult, effect: CountryEffect) -> list[ExampleText]:
    """Up to five texts; none for a result read from disk, which has no answers in memory."""
    texts, named, renamed = result.texts, result.named, result.counterfactuals
    answers = next((each for each in result.answers if each.model.name == effect.model), None)
    if texts is None or named is None or renamed is None or answers is None:
        return []
    country = list(renamed.countries).index(effect.code or "")
    sign = 1 if effect.value > 0 else -1
    changes = sign * _list_changes(answers, named, effect)  # texts x countries x draws, above 0 as the finding says
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
        k = _choose_label(answers, effect, sign * (after - before))
        original, changed, original_names, changed_names = _render(renamed, int(i), country, draw)
        examples.append(
            ExampleText(
                text_id=texts.ids[row],
                original=original,
                changed=changed,
                label=answers.labels[k],
                before=float(before[k]),
                after=float(after[k]),
                original_names=original_names,
                changed_names=changed_names,
            )
        )
    return examples


def _list_changes(answers: ClassifierAnswers, named: np.ndarray, effect: CountryEffect) -> np.ndarray:
    """texts x countries x draws: the renamed text minus its original, in delta or in the probability of a class."""
    original = answers.original[named]
    if effect.of_class is None:
        return delta_values(answers, original)
    k = answers.labels.index(effect.of_class)
    return np.asarray(answers.renamed[..., k] - original[:, None, None, k])


def _choose_label(answers: ClassifierAnswers, effect: CountryEffect, changes: np.ndarray) -> int:
    """The class to show: that of the finding; for delta the one with a tone that moved most in its direction."""
    if effect.of_class is not None:
        return answers.labels.index(effect.of_class)
    toned = {k: -changes[k] for k in answers.negative} | {k: changes[k] for k in answers.positive}
    return max(toned, key=lambda k: round(float(toned[k]), 6))  # of two classes that sum to 1 always the same


def _is_doubtful(renamed: Counterfactuals, text: int) -> bool:
    """Whether something was renamed that is probably no person."""
    spans = [(mention.start, mention.end) for person in renamed.people[text] for mention in person.mentions]
    return bool(sort_spans(renamed.texts[text], spans, renamed.gazetteer)[1])


def _render(renamed: Counterfactuals, text: int, country: int, draw: int) -> tuple[str, str, list[str], list[str]]:
    """The original and the renamed text, and the names in both."""
    original = renamed.texts[text]
    changed, spans = renamed.render(text, country, draw)
    mentions = sorted((mention.start, mention.end) for person in renamed.people[text] for mention in person.mentions)
    return (
        original,
        changed,
        [original[start:end] for start, end in mentions],
        [changed[start:end] for start, end in spans],
    )


def list_changed_texts(design: NamesDesign, answers: ClassifierAnswers) -> list[ChangedText]:
    """The renamed texts whose probabilities differ most from their original, one version of each text."""
    renamed, named = design.counterfactuals, design.named
    originals = answers.original[named]
    largest = np.array([np.abs(answers.renamed[i] - original).max() for i, original in enumerate(originals)])
    gazetteer = load_gazetteer("all")
    found: list[ChangedText] = []
    for i in np.argsort(-largest, kind="stable")[:CANDIDATES].tolist():
        distance = np.abs(answers.renamed[i] - originals[i]).max(axis=-1)  # countries x draws
        country, draw = (int(k) for k in np.unravel_index(distance.argmax(), distance.shape))
        original, changed, original_names, changed_names = _render(renamed, i, country, draw)
        people = [person.text for person in renamed.people[i]]
        if largest[i] and len(found) < MOST_SHOWN and has_clear_names(original, people, gazetteer):
            found.append(
                ChangedText(
                    place=renamed.gazetteer.country(renamed.countries[country]),
                    text_id=design.texts.ids[named[i]],
                    original=original,
                    changed=changed,
                    original_names=original_names,
                    changed_names=changed_names,
                    before=dict(zip(answers.labels, originals[i].tolist(), strict=True)),
                    after=dict(zip(answers.labels, answers.renamed[i, country, draw].tolist(), strict=True)),
                )
            )
    return found


def has_clear_names(text: str, people: Sequence[str], gazetteer: Gazetteer) -> bool:
    """Whether all are names beyond doubt: not in lower case, unless a list has them ("bae" is no person)."""
    spans = [match.span() for name in people for match in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text)]
    if sort_spans(text, spans, gazetteer)[1]:
        return False
    return all(
        not name.islower() or any(gazetteer.is_first(word) or gazetteer.is_last(word) for word in name.split())
        for name in people
    )


def show_examples(result: NamesResult) -> Examples | None:
    """Texts behind findings, then those that changed most; each once, none whose "person" is more likely a word."""
    shown: dict[str, Example] = {}
    for group in chain(_list_of_findings(result), _list_of_classifiers(result)):
        new = [(text_id, example) for text_id, example in group if text_id not in shown]
        shown |= dict(new[: min(MOST_OF_EACH, MOST_SHOWN - len(shown))])
    if not shown:
        return None
    return Examples(
        "examples",
        "Texts whose people were renamed",
        "Texts behind the findings first, then those whose prediction changed most: extremes, not typical cases.",
        list(shown.values()),
    )


def _list_of_findings(result: NamesResult) -> Iterator[list[tuple[str, Example]]]:
    gazetteer = load_gazetteer("all")
    names = {model.name: model.short_name for model in result.models}
    for finding in result.findings:
        place = " · ".join(filter(None, [finding.subject, names.get(finding.model, finding.model)]))
        yield [
            (each.text_id, _mark(place, each, {each.label: each.before}, {each.label: each.after}))
            for each in finding.examples
            if has_clear_names(each.original, each.original_names, gazetteer)
        ]


def _list_of_classifiers(result: NamesResult) -> Iterator[list[tuple[str, Example]]]:
    for entry in result.classifiers:
        yield [
            (each.text_id, _mark(f"{each.place} · {entry.short_name}", each, each.before, each.after))
            for each in result.examples.get(entry.model, ())
        ]


def _mark(place: str, text: ExampleText | ChangedText, before: dict[str, float], after: dict[str, float]) -> Example:
    return Example(
        place,
        mark_names(text.original, text.original_names, "was"),
        mark_names(text.changed, text.changed_names, "is", text.original_names),
        [{"label": label, "before": before[label], "after": after[label]} for label in before],
    )
