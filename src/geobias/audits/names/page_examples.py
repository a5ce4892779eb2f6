"""Texts of a names audit on the page: those behind its findings, then those whose prediction changed most."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import NamedTuple

from geobias.audits.names.renamed_texts_file import find_most_changed
from geobias.audits.names.result import NamesResult
from geobias.report.page.blocks import Example
from geobias.report.page.finding_cards import mark_names
from geobias.report.runs import FinishedRun
from geobias.texts.doubtful_spans import sort_spans
from geobias.world.gazetteer import Gazetteer, load_gazetteer

EXAMPLES = 6
EXAMPLES_EACH = 2  # texts of one finding or one classifier
CANDIDATES = 12  # texts that moved most: some of them have no clear name


class Candidate(NamedTuple):
    """A text that may be shown, and who stands in the original."""

    text_id: str
    original: str
    people: Sequence[str]
    example: Example


def list_examples(run: FinishedRun[NamesResult]) -> list[Example]:
    """Each text once, none whose "person" is more likely a word."""
    if run.description.texts_left_out:
        return []
    gazetteer = load_gazetteer("all")
    shown: dict[str, Example] = {}

    def is_typical(candidate: Candidate) -> bool:
        has_names = has_clear_names(candidate.original, candidate.people, gazetteer)
        return candidate.text_id not in shown and has_names

    for group in chain(_finding_examples(run.result), _most_changed(run)):
        for candidate in islice(filter(is_typical, group), EXAMPLES_EACH):
            if len(shown) < EXAMPLES:
                shown[candidate.text_id] = candidate.example
    return list(shown.values())


def has_clear_names(text: str, people: Sequence[str], gazetteer: Gazetteer) -> bool:
    """Whether all are names beyond doubt: not in lower case, unless a list has them ("bae" is no person)."""
    spans = [match.span() for name in people for match in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text)]
    if sort_spans(text, spans, gazetteer)[1]:
        return False
    return all(
        not name.islower() or any(gazetteer.is_first(word) or gazetteer.is_last(word) for word in name.split())
        for name in people
    )


def _finding_examples(result: NamesResult) -> Iterator[list[Candidate]]:
    """The texts of each finding."""
    names = {model.name: model.short_name for model in result.models}
    for finding in result.findings:
        place = " · ".join(filter(None, [finding.subject, names.get(finding.model, finding.model)]))
        yield [
            Candidate(
                example.text_id,
                example.original,
                example.original_names,
                Example(
                    place,
                    mark_names(example.original, example.original_names, "was"),
                    mark_names(example.changed, example.changed_names, "is", example.original_names),
                    [{"label": example.label, "before": example.before, "after": example.after}],
                ),
            )
            for example in finding.examples
        ]


def _most_changed(run: FinishedRun[NamesResult]) -> Iterator[list[Candidate]]:
    """For each classifier the texts that move most for one of its labels."""
    country_names = {country.code: country.country for country in run.result.countries}
    for entry in run.result.classifiers[:EXAMPLES]:
        columns = [f"{entry.model.name}/{label}" for label in entry.labels]
        yield [
            Candidate(
                renamed.text_id,
                renamed.original,
                renamed.person,
                Example(
                    f"{country_names.get(renamed.country, renamed.country)} · {entry.model.short_name}",
                    mark_names(renamed.original, renamed.person, "was"),
                    mark_names(renamed.text, [*renamed.first_name, *renamed.last_name], "is", renamed.person),
                    [
                        {"label": label, "before": float(before), "after": float(after)}
                        for label, before, after in zip(
                            entry.labels, renamed.original_scores, renamed.scores, strict=True
                        )
                    ],
                ),
            )
            for renamed in find_most_changed(run.folder, columns, CANDIDATES)
        ]
