"""The answer of a names audit in one everyday sentence."""

from __future__ import annotations

from collections.abc import Sequence

from geobias.audits.names.result import NamesResult
from geobias.report.findings import Finding
from geobias.report.headlines import name_model
from geobias.report.sentences import format_number
from geobias.world.places import add_article


def say_headline(result: NamesResult, answer: Finding, details: Sequence[Finding]) -> str:
    name, texts = name_model(answer.model), f"{result.counts.texts_with_names:,} texts"
    what = "judges a text differently when people in it have names from another country"
    if answer.evidence == "none":
        return f"No sign that {name} {what}: none of {result.counts.countries} countries stands out."
    if answer.evidence == "not testable":
        return f"These {texts} cannot tell whether {name} {what}."
    sized = [each for each in ([answer] if answer.subject else details) if each.size and each.subject]
    if answer.evidence == "suggestive" or not sized:
        return (
            f"Perhaps {name} {what}, but it is not certain: chance, or how common, long or rare the names are, may be "
            "the reason."
        )
    largest = max(sized, key=lambda each: abs(each.size.value if each.size else 0))
    assert largest.size is not None
    number = format_number(abs(largest.size.value))
    country = add_article(largest.subject or "")
    side = {"better": "kinder", "worse": "harsher"}.get(largest.valence or "", largest.direction or "apart")
    effect = f"scores them {number} points (of 200) {side} than with the average country's"
    if largest.size.unit != "points":
        degree = "more" if largest.direction == "higher" else "less"
        effect = f"gives one answer {number} % {degree} often than with the average country's"
    more = f" It is the largest of {len(sized)} differences that stand out." if len(sized) > 1 else ""
    return f"Give the people in {texts} names from {country}, and {name} {effect}.{more}"
