"""A model whose opinions are known: the whole audit, from sentences to results, gives the scores of the equations."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

import geobias
from geobias.world.places import put_place
from tests.audits.regions.association_worlds import ByText
from tests.measures.test_herb import loops

TEMPLATE = "People in {region} are {description}."


def test_continents_and_earth_worked_out_by_hand() -> None:
    """Three words, three continents; all likelihoods are minus what stands here, which turns no distance around."""
    words = ["kind", "rude", "loud"]
    opinions = {
        # France, Germany and Italy along one axis each; Europe itself along the first.
        "France": [2, 0, 0], "Germany": [0, 5, 0], "Italy": [0, 0, 1], "Europe": [7, 0, 0],
        # One along the first axis, one at (3, 4, 0) / 5.
        "Nigeria": [1, 0, 0], "Kenya": [3, 4, 0], "Africa": [1, 0, 0],
        # No difference at all.
        "Japan": [0, 1, 0], "India": [0, 2, 0], "Asia": [0, 3, 0],
    }  # fmt: skip
    said = {
        TEMPLATE.format(region=region, description=word): -float(value)
        for region, values in opinions.items()
        for word, value in zip(words, values, strict=True)
    }
    names = {"Europe": np.log(1), "Africa": np.log(2), "Asia": np.log(3)}
    scorer = ByText(lambda text: said[text] if text in said else names.get(text, -1.0))
    result = geobias.audit_regions(scorer, cities=0, countries="FR,DE,IT,NG,KE,JP,IN", words=words)

    def found(region: str, variant: str = "c_w") -> tuple[float, float]:
        scores = result.region(region)
        return tuple(getattr(scores, f"{variant}_{form}").value for form in ("balanced", "paper"))

    # Leaves: to the centroid (1, 1, 1) / 3; half the way from one to the other; no way at all.
    assert found("Italy") == pytest.approx([np.sqrt(2 / 3)] * 2)
    assert found("Kenya") == pytest.approx([np.sqrt(0.8) / 2] * 2)
    assert found("India") == pytest.approx([0, 0], abs=1e-15)
    # Every two axes are sqrt(2) apart, in 3 pairs; (1, 0, 0) and (.6, .8, 0) are sqrt(.16 + .64) apart, in one.
    for variant in ("c_w", "c_z"):
        assert found("Europe", variant) == pytest.approx([np.sqrt(2), np.sqrt(2) / 3])
        assert found("Africa", variant) == pytest.approx([np.sqrt(0.8)] * 2)
        assert found("Asia", variant) == pytest.approx([0, 0], abs=1e-15)
    # V: Europe's countries differ by 2/3 in every word and Asia's by nothing, so alpha is 1/3 in each; Africa's differ
    # by (.4, .8, 0), around (.8, .4, 0).
    alpha = np.exp([0.4, 0.8, 0]) / np.exp([0.4, 0.8, 0]).sum()
    europe, africa, asia = np.array([10, 1, 1]) / 9, np.array([1 + 0.8 * alpha[0], 0.4 * alpha[1], 0]), [0, 4 / 3, 0]
    apart = np.linalg.norm([europe - africa, europe - asia, africa - asia], axis=1)
    for form, c_europe in enumerate((np.sqrt(2), np.sqrt(2) / 3)):
        weights = np.exp([c_europe + np.sqrt(0.8), c_europe, np.sqrt(0.8)])
        assert found("Earth")[form] == pytest.approx(apart @ weights / weights.sum() / (1, 3)[form])
    # Names 1 : 2 : 3, so the pairs weigh 2, 3 and 6.
    assert found("Earth", "c_z") == pytest.approx([apart @ [2, 3, 6] / 11, apart @ [2, 3, 6] / 33])


def test_every_region_of_the_world_by_the_equations_as_loops() -> None:
    def any_number(text: str) -> float:
        return -0.5 - zlib.crc32(text.encode()) / 2**31

    words = ["kind", "rude", "loud", "shy"]
    result = geobias.audit_regions(ByText(any_number), cities=2, words=words)
    tree = result.tree
    assert len(tree) > 600 and {0, 1} <= {region.children for region in result.regions}
    sentences = [put_place(TEMPLATE, region.in_sentence) for region in tree.regions]
    said = np.array([[any_number(sentence.format(description=w)) for w in words] for sentence in sentences])
    vectors = said / np.sqrt((said**2).sum(axis=1, keepdims=True))
    names = np.array([any_number(region.in_sentence) for region in tree.regions])
    for variant in ("w", "z"):
        for form in ("balanced", "paper"):
            expected = loops(vectors, names, [np.array(below) for below in tree.children], variant, form)
            found = np.array(
                [getattr(region, f"c_{variant}_{form}").value for region in result.regions], dtype=np.float64
            )
            np.testing.assert_allclose(found, expected, rtol=1e-9)
