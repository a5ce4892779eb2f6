"""The numbers behind the world map of a regions run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from geobias.audits.pages import read_run
from geobias.audits.regions.files import read_likelihoods
from geobias.audits.regions.page_map import regions_map, relative_likelihoods
from tests.report.pages import WORDS, regions_run


def test_relative_likelihoods_by_hand() -> None:
    """Minus the mean of each word over countries, then minus the mean of that over the words."""
    found = relative_likelihoods(np.array([[-3.0, -1.0], [0.0, 0.0], [np.nan, -2.0]]))
    words = np.array([-1.5, -1.0])  # the means over countries, without the unknown
    for country, likelihoods in enumerate(([-3.0, -1.0], [0.0, 0.0])):
        against_others = np.array(likelihoods) - words
        assert found[country] == pytest.approx(against_others - against_others.mean())
    assert np.isnan(found[2]).all()


def test_the_map_lists_the_words_that_stand_out(tmp_path: Path) -> None:
    regions_run(tmp_path / "run")
    run = read_run(tmp_path / "run", ["regions"])
    (world,) = regions_map(run, "regions")
    words = world.data["words"]
    names = [name for of_topic in WORDS.values() for name in of_topic]
    assert words["names"] == names
    f, _ = read_likelihoods(run)
    rows = {region.id: row for row, region in enumerate(run.result.regions) if region.level == "country"}
    relative = relative_likelihoods(f[0, list(rows.values())])
    for country, code in enumerate(rows):
        salient = words["salient"][code]
        assert [k for k, _ in salient["likelier"]] == [
            k for k in np.argsort(-relative[country]) if relative[country, k] > 0
        ][:6]
        assert all(
            value == pytest.approx(relative[country, k], abs=1e-4) for side in salient.values() for k, value in side
        )
    topic = words["topics"][0]
    assert topic["words"] == [0, 1, 2]
    assert topic["values"]["FR"] == pytest.approx(f[0, rows["FR"], :3].mean(), abs=1e-4)
