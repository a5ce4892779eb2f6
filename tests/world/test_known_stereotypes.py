from __future__ import annotations

from collections import Counter

from geobias.world.countries import load_country_names
from geobias.world.known_stereotypes import OWN_REGION_IS_NORTH_AMERICA, KnownStereotype, load_known_stereotypes


def count_votes(pair: KnownStereotype) -> tuple[int, int, int, int]:
    return (
        pair.region_stereotype,
        pair.region_other,
        pair.north_america_stereotype,
        pair.north_america_other,
    )


def test_every_pair_is_of_a_country_and_stands_once() -> None:
    pairs = load_known_stereotypes()
    assert len(pairs) == len({(pair.code, pair.attribute) for pair in pairs}) == 6700
    codes = Counter(pair.code for pair in pairs)
    assert len(codes) == 168 and set(codes) <= set(load_country_names())
    assert all(pair.attribute.strip() == pair.attribute != "" for pair in pairs)


def test_votes_and_ratings_are_on_their_scales() -> None:
    pairs = load_known_stereotypes()
    assert min(min(count_votes(pair)) for pair in pairs) == 0
    assert sum(sum(count_votes(pair)[:2]) == 0 for pair in pairs) == 3
    ratings = [pair.offensiveness for pair in pairs if pair.offensiveness is not None]
    assert (len(pairs) - len(ratings), min(ratings), max(ratings)) == (1179, -1, 4)


def test_praise_is_rated_as_not_offensive() -> None:
    """-1 is a rating, not the mark of a missing one."""
    ratings = {
        pair.offensiveness for pair in load_known_stereotypes() if pair.attribute in {"kind", "friendly", "brave"}
    }
    assert ratings == {-1.0}


def test_north_americas_own_votes_are_repeated() -> None:
    votes = [count_votes(pair) for pair in load_known_stereotypes() if pair.code in OWN_REGION_IS_NORTH_AMERICA]
    assert len(votes) == 316 and all(row[:2] == row[2:] for row in votes)


def test_the_attribute_is_not_in_the_repr() -> None:
    pair = load_known_stereotypes()[0]
    assert pair.attribute not in repr(pair) and pair.code in repr(pair)
