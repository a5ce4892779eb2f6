"""Mitigation in other tools: rows of a model card, numbers of a gate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf

from geobias.audits.mitigate.result import LanguageModelComparison, MethodComparison, MitigateResult, ModelMeasures
from geobias.report.number_tree import (
    ANY_NUMBER,
    HERB_SCORE,
    NOT_NEGATIVE,
    PER_CENT,
    SHARE,
    NumberTree,
    Range,
    TreeNumber,
    tree_number,
)
from geobias.report.results import HasInterval
from geobias.report.tables import NOTHING, format_interval

ORIGINAL = "original"
PERCENTAGE_POINTS = Range(-100, 100)


def card_rows(result: MitigateResult) -> Iterator[dict[str, str]]:
    for entry in result.methods:
        ratio, accuracy = entry.change.spread_ratio, entry.change.accuracy
        yield {
            "Model": result.models[0].name,
            "Mitigation": entry.method,
            "Spread between countries, after / before": NOTHING if ratio.value is None else f"{ratio.value:.2f}",
            "95 % interval": format_interval(ratio, ".2f"),
            "Flips, %": f"{entry.after.flips.value or 0:.1f}",
            "Accuracy, change in percentage points": NOTHING if accuracy is None else f"{accuracy.value or 0:+.1f}",
        }
    for comparison in result.language_models:
        yield {
            "Model": result.models[0].name,
            "Mitigation": comparison.method,
            "Balanced C_w, change": f"{comparison.score_change.value or 0:+.4f}",
            "95 % interval": format_interval(comparison.score_change, "+.4f"),
            "Perplexity, change in %": f"{comparison.perplexity_change.value or 0:+.1f}",
            "Capitals known, change in percentage points": f"{comparison.capitals_change.value or 0:+.1f}",
        }


def gate_numbers(result: MitigateResult) -> NumberTree:
    """mitigate.METHOD.spread.ratio, .spread.value, .flips.change, .accuracy.change, .recall.worst.

    mitigate.original has the values of the original classifier. For language models: mitigate.METHOD.score.change,
    .perplexity.change, .capitals.change, .words.ratio.
    """
    classifiers = [(entry.method, _numbers(entry)) for entry in result.methods]
    if result.before is not None:
        classifiers.insert(0, (ORIGINAL, _original_numbers(result.before)))
    language_models = [(entry.method, _language_numbers(entry)) for entry in result.language_models]
    return NumberTree(((name, name.replace(":", "-")), numbers) for name, numbers in [*classifiers, *language_models])


def _original_numbers(before: ModelMeasures) -> NumberTree:
    measures: dict[str, tuple[HasInterval | None, Range]] = {
        "spread": (before.spread, NOT_NEGATIVE),
        "flips": (before.flips, PER_CENT),
        "accuracy": (before.accuracy, PER_CENT),
        "macro_f1": (before.macro_f1, PER_CENT),
    }
    return NumberTree(
        ((name,), NumberTree([(("value",), tree_number(number, within))]))
        for name, (number, within) in measures.items()
        if number is not None
    )


def _language_numbers(entry: LanguageModelComparison) -> NumberTree:
    numbers = {
        ("score", "change"): tree_number(entry.score_change, Range(-HERB_SCORE.highest, HERB_SCORE.highest)),
        ("perplexity", "change"): tree_number(entry.perplexity_change, Range(-100, inf)),
        ("capitals", "change"): tree_number(entry.capitals_change, PERCENTAGE_POINTS),
        ("words", "ratio"): tree_number(entry.word_variance_ratio, NOT_NEGATIVE),
    }
    return NumberTree(((name,), NumberTree([((part,), number)])) for (name, part), number in numbers.items())


def _numbers(entry: MethodComparison) -> NumberTree:
    change, after = entry.change, entry.after
    spread = NumberTree(
        [
            (("ratio",), tree_number(change.spread_ratio, NOT_NEGATIVE)),
            (("standardised",), tree_number(change.standardised_ratio, NOT_NEGATIVE)),
            (("value",), tree_number(after.spread, NOT_NEGATIVE)),
            (("change",), tree_number(change.spread, ANY_NUMBER)),
        ]
    )
    numbers: list[tuple[Sequence[str], NumberTree | TreeNumber]] = [
        (("spread",), spread),
        (
            ("flips",),
            NumberTree(
                [
                    (("value",), tree_number(after.flips, PER_CENT)),
                    (("change",), tree_number(change.flips, PERCENTAGE_POINTS)),
                ]
            ),
        ),
    ]
    if change.accuracy is not None and after.accuracy is not None:
        value, difference = tree_number(after.accuracy, PER_CENT), tree_number(change.accuracy, PERCENTAGE_POINTS)
        numbers.append((("accuracy",), NumberTree([(("value",), value), (("change",), difference)])))
    if change.macro_f1 is not None and after.macro_f1 is not None:
        value, difference = tree_number(after.macro_f1, PER_CENT), tree_number(change.macro_f1, PERCENTAGE_POINTS)
        numbers.append((("macro_f1", "f1"), NumberTree([(("value",), value), (("change",), difference)])))
    recalls = [country.recall for country in entry.countries if country.recall is not None]
    if recalls:
        worst = min(recalls, key=lambda recall: recall.value or 0)
        numbers.append((("recall",), NumberTree([(("worst",), tree_number(worst, SHARE))])))
    return NumberTree(numbers)
