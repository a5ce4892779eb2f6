"""How the findings of a comparison speak of each measure."""

from __future__ import annotations

from dataclasses import dataclass

from geobias.audits.compare.result import ASSOCIATION

SCORE = "c_w.balanced"
PREFERENCE, ANSWERED, SPREAD = "preference", "answered", "spread"  # of decisions


@dataclass(frozen=True)
class MeasureWords:
    """How sentences speak of a measure: what it is of, in which unit, what its rows are about, what limits it."""

    quantity: str  # with {label} where it has one
    unit: str
    subject: str  # with {place}
    places: str
    data: str
    limit: str


MEAN_LIMIT = "Each number is against the mean of countries: what one country loses, the others gain."
WORDS = {
    "delta": MeasureWords("Δ", "points", "names from {place}", "countries", "texts and names", MEAN_LIMIT),
    "change": MeasureWords(
        "the change of {label} predictions",
        "percentage points",
        "names from {place}",
        "countries",
        "texts and names",
        MEAN_LIMIT,
    ),
    PREFERENCE: MeasureWords("the preference", "nats", "people of {place}", "countries", "cases", MEAN_LIMIT),
    ANSWERED: MeasureWords("the share answered", "of questions", "people of {place}", "countries", "cases", MEAN_LIMIT),
    SPREAD: MeasureWords(
        "the spread between countries",
        "nats",
        "{place}",
        "groups",
        "cases",
        "A smaller spread is no fairer decision by itself: a model that answers at random has none.",
    ),
    "against_control": MeasureWords(
        "the shift of p({label})",
        "probability",
        "texts from {place}",
        "places",
        "texts and prefixes",
        "Shifts are of probabilities, beyond what a prefix without a place does: labels need not flip.",
    ),
    SCORE: MeasureWords(
        "C_w",
        "C_w",
        "the sub-regions of {place}",
        "regions",
        "words",
        "C_w says how different descriptions are, not for whom they are worse.",
    ),
    ASSOCIATION: MeasureWords("the ratio", "times", "words and regions", "regions", "words", "It is of all regions."),
}
