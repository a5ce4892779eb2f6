"""What finders answer: the outcome of every mention, in memory, in answers.parquet, as examples and by kind of name."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from geobias.engine.answer_checks import NondeterministicModel
from geobias.models.finders import PERSON, Entity, Span
from geobias.models.scorer import ModelIdentity
from geobias.report import saved_answers
from geobias.report.findings import MOST_EXAMPLES, ExampleText
from geobias.report.saved_answers import ORIGINAL, PLACE
from geobias.texts.counterfactuals import GENDERS
from geobias.texts.people import list_name_spans, trim_spans

if TYPE_CHECKING:
    from geobias.audits.find.design import FindDesign
    from geobias.audits.find.result import FindResult

AS_WRITTEN = "as written"  # the case of a name, besides lower and upper
MENTIONS_AT_ONCE = 100  # whose renamed versions are held while the file is written
LABEL = "person"  # of examples: 1 where the name is marked as a person with the right ends, else 0


class Outcome(IntEnum):
    """Exactly one holds for every mention; the first that fits."""

    RECALL = 0  # a person, with these ends
    PARTIAL = 1  # a person that overlaps it, with other ends
    WRONG_TYPE = 2  # no person overlaps it, but something else does
    MISS = 3  # nothing overlaps it


OUTCOMES = {  # by the names that results have
    "recall": Outcome.RECALL,
    "partial": Outcome.PARTIAL,
    "wrong_type": Outcome.WRONG_TYPE,
    "misses": Outcome.MISS,
}


@dataclass(frozen=True)
class FinderAnswers:
    """What became of every mention in the texts that one finder read: arrays of numbers of `Outcome`."""

    model: ModelIdentity
    renamed: np.ndarray = field(repr=False)  # mentions x countries x draws
    recased: dict[str, np.ndarray] = field(repr=False)  # "lower", "upper": mentions x countries x recased draws
    original: np.ndarray = field(repr=False)  # mentions
    prediction_counts: np.ndarray = field(repr=False)  # all texts: people that the finder marks in the original
    correct_counts: np.ndarray = field(repr=False)  # all texts: those that are mentions
    nondeterministic: NondeterministicModel | None = None


def judge_mentions(text: str, mentions: Sequence[Span], entities: Sequence[Entity]) -> list[Outcome]:
    """The outcome of every mention.

    Corpora differ in whether a title ("Dr."), a suffix ("Jr.") or a possessive belongs to a name: an entity with one of
    them around the mention has the right ends.
    """
    persons = [entity.span for entity in entities if entity.label == PERSON]
    exact = set(persons)
    if not exact.issuperset(mentions):
        exact.update(*(list_name_spans(text, span) for span in persons))
    others = [entity.span for entity in entities if entity.label != PERSON]
    return [_judge(mention, exact, persons, others) for mention in mentions]


def _judge(mention: Span, exact: Collection[Span], persons: Iterable[Span], others: Iterable[Span]) -> Outcome:
    if mention in exact:
        return Outcome.RECALL
    if any(_overlap(mention, span) for span in persons):
        return Outcome.PARTIAL
    return Outcome.WRONG_TYPE if any(_overlap(mention, span) for span in others) else Outcome.MISS


def _overlap(first: Span, second: Span) -> bool:
    return first[0] < second[1] and second[0] < first[1]


def judge_predictions(text: str, mentions: Collection[Span], entities: Iterable[Entity]) -> tuple[int, int]:
    """How many people a finder marks, and how many of them are mentions; handles and links are not counted."""
    total = correct = 0
    for entity in entities:
        if entity.label == PERSON and trim_spans(text, [entity.span]):
            total += 1
            correct += any(span in mentions for span in {entity.span, *list_name_spans(text, entity.span)})
    return total, correct


def write_answers(folder: Path, result: FindResult) -> None:
    """A row for every mention, as it is written and with every new name: 1 in the column of its outcome, else 0."""
    columns = [f"{answers.model.name}/{outcome}" for answers in result.answers for outcome in OUTCOMES]
    saved_answers.write_answers(folder, _list_blocks(result), columns, {"case": "string", "original": "string"})


def _list_blocks(result: FindResult) -> Iterator[dict[str, list[Any]]]:
    mentions = range(len(result.design.mentions))
    for start in range(0, len(mentions), MENTIONS_AT_ONCE):
        rows = [row for m in mentions[start : start + MENTIONS_AT_ONCE] for row in _list_rows(result, m)]
        yield {name: [row[name] for row in rows] for name in rows[0]}


def _list_rows(result: FindResult, m: int) -> Iterator[dict[str, Any]]:
    """Mention m: the original, then the new names, as written and in other case."""
    design: FindDesign = result.design
    counterfactuals, each = design.counterfactuals, design.mentions[m]
    original = counterfactuals.texts[each.text][slice(*each.span)]
    about = {"text_id": design.texts.ids[design.named[each.text]], "original": original}
    about |= {"variant": ORIGINAL, "place": None, "name": original, "draw": 0, "case": AS_WRITTEN}
    yield about | _mark_outcomes({answers.model.name: answers.original[m] for answers in result.answers})
    for case in (None, *result.answers[0].recased):
        outcomes = {
            answers.model.name: (answers.recased[case] if case else answers.renamed)[m] for answers in result.answers
        }
        draws = design.recased_draws if case else design.draws
        for c, code in enumerate(counterfactuals.countries):
            for draw, name in enumerate(design.list_new_names(each, c, case)[:draws]):
                about |= {"variant": PLACE, "place": code, "name": name, "draw": draw + 1, "case": case or AS_WRITTEN}
                yield about | _mark_outcomes({model: array[c, draw] for model, array in outcomes.items()})


def _mark_outcomes(outcomes: Mapping[str, int]) -> dict[str, float]:
    return {
        f"{model}/{name}": float(outcome == number)
        for model, outcome in outcomes.items()
        for name, number in OUTCOMES.items()
    }


def list_examples(result: FindResult, model: str, code: str) -> list[ExampleText]:
    """Names of a country that are missed where the original is recognised, one of each text.

    Nothing for a result that was read from a file.
    """
    answers = next((each for each in result.answers if each.model.name == model), None)
    if answers is None:
        return []
    design: FindDesign = result.design
    country = design.counterfactuals.countries.index(code)
    is_missed = (answers.renamed[:, country] != Outcome.RECALL) & (answers.original == Outcome.RECALL)[:, None]
    first_missed: dict[int, tuple[int, int]] = {}  # by text
    for number, draw in np.argwhere(is_missed):
        first_missed.setdefault(design.mentions[number].text, (int(number), int(draw)))
    return [_make_example(design, country, *place) for place in list(first_missed.values())[:MOST_EXAMPLES]]


def _make_example(design: FindDesign, country: int, number: int, draw: int) -> ExampleText:
    mention = design.mentions[number]
    changed, spans = design.counterfactuals.render(mention.text, country, draw)
    row = int(design.named[mention.text])
    original = design.texts.texts[row]
    return ExampleText(
        text_id=design.texts.ids[row],
        original=original,
        changed=changed,
        label=LABEL,
        before=1.0,
        after=0.0,
        original_names=[original[slice(*mention.span)]],
        changed_names=[changed[slice(*spans[number - design.first_mentions[mention.text]])]],
    )


# What mentions have in common besides the country: gender, part of the name, script, case

BOTH_PARTS = "first and last"
PARTS = (BOTH_PARTS, "first", "last")
LATIN, MIXED = "Latin", "mixed"


class Level(NamedTuple):
    """Mentions with something in common, and their outcomes. The first level of a factor is its reference."""

    factor: str
    name: str
    is_level: np.ndarray  # mentions x countries x draws: which of them have it
    outcomes: np.ndarray  # the same


def list_levels(design: FindDesign, answers: FinderAnswers) -> list[Level]:
    """Every level of every factor that some mention has; a factor with one level only is left out."""
    outcomes, mentions = answers.renamed, design.mentions
    kinds = [design.counterfactuals.first_kinds(text) for text in range(len(design.named))]
    no_gender = [None] * design.draws
    genders = [kinds[each.text][each.person] if "first" in each.mention.parts else no_gender for each in mentions]
    parts = [BOTH_PARTS if len(each.mention.parts) > 1 else each.mention.parts[0] for each in mentions]
    names = [[design.list_new_names(each, c) for c in range(outcomes.shape[1])] for each in mentions]
    scripts = np.vectorize(detect_script, otypes=[object])(names)
    counts = Counter(scripts.ravel())
    factors = {
        "gender": (GENDERS, np.array(genders, dtype=object)[:, None]),
        "part": (PARTS, np.array(parts)[:, None, None]),
        "script": (sorted(counts, key=lambda name: (name != LATIN, -counts[name], name)), scripts),
    }
    levels = [
        Level(factor, name, np.broadcast_to(values == name, outcomes.shape), outcomes)
        for factor, (shown, values) in factors.items()
        for name in shown
    ]
    # The same draws in the case of the name that they replace, in lower and upper case; the text keeps its case.
    for case, recased in {AS_WRITTEN: outcomes, **answers.recased}.items():
        padded, is_level = np.zeros_like(outcomes), np.zeros(outcomes.shape, dtype=bool)
        padded[..., : design.recased_draws] = recased[..., : design.recased_draws]
        is_level[..., : design.recased_draws] = True
        levels.append(Level("case", case, is_level, padded))
    levels = [level for level in levels if level.is_level.any()]
    sizes = Counter(level.factor for level in levels)
    return [level for level in levels if sizes[level.factor] > 1]


def detect_script(name: str) -> str:
    """The script of a name's letters, by their Unicode names; "mixed" where it has several."""
    scripts = {unicodedata.name(letter, "unknown").split()[0].title() for letter in name if letter.isalpha()}
    scripts -= {"Modifier"}  # apostrophes
    scripts = {"Han" if script == "Cjk" else script for script in scripts}
    return scripts.pop() if len(scripts) == 1 else MIXED
