"""What stands out among the associations of regions and words, in the order in which it is named."""

from __future__ import annotations

from collections.abc import Iterable
from math import log
from typing import NamedTuple

from geobias.audits.regions.association import find_marked_words
from geobias.audits.regions.association_records import Association, RegionAssociation, list_compared
from geobias.measures.estimates import Estimate
from geobias.report.tables import is_marked
from geobias.world.countries import UN_STATES


class Claim(NamedTuple):
    """What is said of a region: a word or a topic, or, without either, its tone."""

    region: RegionAssociation
    subject: str
    times: Estimate


def list_clear_pairs(association: Association) -> list[Claim]:
    """The clearest word beyond invented places of each region, the clearest first."""
    claims = [
        Claim(region, word.word, word.times)
        for region in list_compared(association)
        for word, _ in find_marked_words(region)
    ]
    return _sort_by_region(association, claims)


def list_clear_tones(association: Association) -> list[Claim]:
    """The regions that are described more or less favourably than invented places, the clearest first."""
    claims = [Claim(region, "", region.valence) for region in list_compared(association) if region.valence]
    return _sort_by_region(association, claims)


def list_clear_topics(association: Association) -> list[Claim]:
    """The clearest topic beyond invented places of each region, the clearest first."""
    claims = [
        Claim(region, topic, times) for region in list_compared(association) for topic, times in region.topics.items()
    ]
    return _sort_by_region(association, claims)


def _sort_by_region(association: Association, claims: Iterable[Claim]) -> list[Claim]:
    """The clearest claim of each region that has one: states of the United Nations first, then by certainty.

    Other countries of GeoNames are mostly territories, which lead many rankings.
    """

    def rank(claim: Claim) -> tuple[bool, float]:
        is_territory = association.level == "country" and claim.region.id not in UN_STATES
        return is_territory, -measure_certainty(claim.times)

    by_region: dict[str, Claim] = {}
    for claim in sorted((claim for claim in claims if is_marked(claim.times)), key=rank):
        by_region.setdefault(claim.region.id, claim)
    return list(by_region.values())


def measure_certainty(times: Estimate) -> float:
    """How far from the average region the nearer end of the interval is, in nats; the value if there is no interval."""
    if times.low is None or times.high is None:
        return measure_departure(times)
    return max(log(times.low), -log(times.high), 0.0)


def measure_departure(times: Estimate) -> float:
    """How far from the average region, in nats, in either direction."""
    return abs(log(times.value)) if times.value else 0.0
