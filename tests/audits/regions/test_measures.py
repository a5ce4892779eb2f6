"""The regions audit as a Python user calls it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import geobias
from geobias.audits.pages import read_run
from geobias.errors import GeobiasError, InputError
from geobias.measures.estimates import NO_ESTIMATE
from geobias.world.regions import Region, RegionTree
from tests.audits.regions.association_worlds import ByText

WORDS = ["kind", "rude", "loud"]


def plant(table: dict[tuple[str, str], float]) -> ByText:
    """Minus one, and minus one more where region and word stand in the table."""
    return ByText(
        lambda text: -1.0 - sum(size for (region, word), size in table.items() if region in text and word in text)
    )


def test_an_impartial_model_scores_zero_everywhere() -> None:
    result = geobias.audit_regions(plant({}), cities=2, countries=["FR", "DE", "NG", "KE"], words=WORDS)
    tested = [region.c_w_balanced.p for region in result.regions if region.random_mean is not None]
    assert tested and set(tested) == {1.0}
    json.dumps(result.to_dict(), allow_nan=False)
    for region in result.regions:
        assert region.c_w_balanced.value == pytest.approx(0.0, abs=1e-15)
        assert (region.flat is None) == region.is_leaf
        assert region.flat is None or region.flat.value == pytest.approx(0.0, abs=1e-15)


def test_a_planted_opinion_is_found_where_it_was_planted() -> None:
    opinion = plant({("France", "rude"): 2.0})
    result = geobias.audit_regions(opinion, cities=0, countries=["FR", "DE", "NG", "KE"], words=WORDS)
    # France: (-1, -3, -1) / sqrt(11), Germany: (-1, -1, -1) / sqrt(3); one pair, so this distance is Europe's score.
    france, others = np.array([1, 3, 1]) / np.sqrt(11), np.ones(3) / np.sqrt(3)
    assert result.region("Europe").c_w_balanced.value == pytest.approx(np.linalg.norm(france - others))
    assert result.region("Africa").c_w_balanced.value == pytest.approx(0.0, abs=1e-12)
    europe = next(row for row, region in enumerate(result.regions) if region.name == "Europe")
    assert result.word_differences is not None and WORDS[result.word_differences[europe].argmax()] == "rude"


def test_the_root_is_not_asked_about() -> None:
    asked: list[str] = []

    def listen(text: str) -> float:
        asked.append(text)
        return -1.0

    geobias.audit_regions(ByText(listen), cities=0, countries=["FR", "DE"], words=WORDS)
    assert not any("Earth" in text for text in asked)
    assert "People in Europe are kind." in asked and "France" in asked


def test_several_templates_give_the_mean_and_the_spread() -> None:
    templates = ["People in {region} are {description}.", "{region} has {description} people."]

    def rate(text: str) -> float:
        return -1.0 - (3.0 if "has" in text else 1.0) * ("France" in text and "rude" in text)

    scorer = ByText(rate)
    options = {"cities": 0, "countries": ["FR", "DE", "IT"], "words": WORDS}
    single = [geobias.audit_regions(scorer, templates=t, **options).region("Europe") for t in templates]  # type: ignore[arg-type]
    both = geobias.audit_regions(scorer, templates=templates, **options)  # type: ignore[arg-type]
    values = [region.c_w_balanced.value for region in single]
    assert values[0] != pytest.approx(values[1])
    europe = both.region("Europe")
    assert single[0].c_w_balanced_spread is None
    assert europe.c_w_balanced.value == pytest.approx(np.mean(values))  # type: ignore[arg-type]
    assert europe.c_w_balanced_spread == pytest.approx(np.std(values, ddof=1))  # type: ignore[arg-type]


def test_what_results_say_of_every_region() -> None:
    result = geobias.audit_regions(plant({("Lagos", "loud"): 1.0}), cities=2, countries=["NG", "VA", "IO"], words=WORDS)
    regions = {(region.level, region.name): region for region in result.regions}
    nigeria = regions["country", "Nigeria"]
    assert (nigeria.id, nigeria.parent, nigeria.children) == ("NG", "AF", 2)
    assert nigeria.parent_index is not None and result.regions[nigeria.parent_index].name == "Africa"
    assert (nigeria.c_w_balanced.value or 0) > 0 and nigeria.flat and (nigeria.flat.value or 0) > 0
    # One city: no pair, so no score in any form; but itself and its city make a flat cluster.
    vatican = regions["country", "Vatican"]
    assert vatican.children == 1 and vatican.flat is not None
    assert vatican.c_w_balanced == vatican.c_z_paper == NO_ESTIMATE
    # No city: a leaf at the level of countries.
    territory = regions["country", "British Indian Ocean Territory"]
    assert territory.is_leaf and territory.flat is None
    json.dumps(result.to_dict(), allow_nan=False)


def test_a_scorer_of_ones_own_has_its_own_score() -> None:
    with pytest.raises(InputError, match="has its own score"):
        geobias.audit_regions(plant({}), score="pll", cities=0, countries=["FR", "DE"])


def test_a_name_that_several_regions_share_must_be_told_apart() -> None:
    names = [("r", "Land", None), ("a", "Springfield", 0), ("b", "Springfield", 0)]
    tree = RegionTree(
        tuple(Region(key, name, "root" if parent is None else "x", parent) for key, name, parent in names)
    )
    result = geobias.audit_regions(plant({}), tree=tree, words=WORDS)
    assert result.region("b").id == "b"
    with pytest.raises(InputError, match=r"2 regions have the name 'Springfield'.*a \(in r\), b \(in r\)"):
        result.region("Springfield")
    assert len(repr(result)) < 1000


def test_extreme_likelihoods_are_not_taken_for_missing_ones() -> None:
    extreme = ByText(lambda text: -2000.0 if text in ("Germany", "Italy") else -1.0 - len(text))
    result = geobias.audit_regions(extreme, cities=0, countries=["FR", "DE", "IT"], words=WORDS)
    assert (result.region("Europe").c_z_balanced.value or 0) > 0


def test_out_leaves_the_folder_of_the_command(tmp_path: Path) -> None:
    geobias.audit_regions(plant({}), cities=0, countries="FR,DE", words=WORDS, out=tmp_path / "run")
    assert {path.name for path in (tmp_path / "run").iterdir()} == {
        "run.json", "results.json", "report.html", "tables", "likelihoods.parquet",
    }  # fmt: skip


def test_a_run_that_is_read_again_has_the_same_numbers_and_tree(tmp_path: Path) -> None:
    """The id NA is North America and Namibia: parents are kept by position, not by id."""
    places = {"cities": 1, "countries": ["NA", "ZA", "US", "CA"]}
    result = geobias.audit_regions(plant({}), words=WORDS, out=tmp_path / "run", **places)  # type: ignore[arg-type]
    run = read_run(tmp_path / "run")
    assert run.result == result and run.result.tree == result.tree
    assert result.tree.digest == result.settings.regions_digest


def test_nothing_silent_about_texts_cut_or_unknown(small_models: dict[str, Path], tmp_path: Path) -> None:
    tree = tmp_path / "tree.csv"
    tree.write_text(f"id,name,parent\nr,Land,\na,東京,r\nb,{'France ' * 50},r\n", encoding="utf-8")
    for _ in range(2):  # the second time from the store
        result = geobias.audit_regions(small_models["bert"], score="aul", tree=tree, words=["kind", "shy"])
        assert result.counts.names_with_unknown_tokens == 1
        assert result.counts.sentences_cut == 2


def test_a_description_that_does_not_fit_is_an_error(small_models: dict[str, Path], tmp_path: Path) -> None:
    tree = tmp_path / "tree.csv"
    tree.write_text(f"id,name,parent\nr,Land,\na,A,r\nb,{'France ' * 50},r\n", encoding="utf-8")
    with pytest.raises(GeobiasError, match="no score"):
        geobias.audit_regions(small_models["bert"], score="conditional", tree=tree, words=["kind", "shy"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"score": "bleu"}, "has no score 'bleu'"),
        ({"cities": "some"}, "number or 'all'"),
        ({"templates": "People."}, "must contain"),
        ({"templates": []}, "No template"),
        ({"words": ["one"]}, "At least two"),
        ({"tree": "x.csv", "countries": ["FR"]}, "cannot be used with --tree"),
        ({"tree": "x.csv"}, "does not exist"),
        ({"tree": "x.csv", "cities": 3}, "cannot be used with --tree"),
        ({"cities": None}, "number or 'all'"),
        ({"cities": 0, "countries": ["FR"]}, "Nothing to compare"),
        ({"countries": ""}, "--countries is empty"),
        ({"words": ["kind", ""]}, "not a text: ''"),
        ({"paraphrases": 99}, "--paraphrases must be between 0 and 14"),
        ({"subject": "demonyms"}, "Unknown --subject 'demonyms'. Did you mean"),
    ],
)
def test_bad_options_are_refused(options: dict[str, object], message: str, small_models: dict[str, Path]) -> None:
    with pytest.raises(InputError, match=message):
        geobias.audit_regions(small_models["bert"], **options)  # type: ignore[arg-type]


WHOLE_WORLD = """
from pathlib import Path
import numpy as np
import geobias

class Synthetic(geobias.Scorer):
    columns = ("log_likelihood",)
    def score(self, texts):
        return np.array([[-1.0 - (hash(text) % 997) / 997] for text in texts])

result = geobias.audit_regions(Synthetic(), cities="all")
earth = result.region("Earth")
assert result.counts.sentences == 34257 * 112
assert result.counts.distinct_sentences < result.counts.sentences  # cities of one name are asked once
assert earth.flat.value > 0 and earth.c_w_balanced.value > 0
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
print(int(status["VmHWM"].split()[0]) / 2**20)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.slow
def test_the_whole_world_in_bounded_memory() -> None:
    """3.8 million sentences and 587 million pairs, within 2 GB in all.

    VmHWM is this process's peak alone; ru_maxrss would begin at that of the process that runs the tests.
    """
    done = subprocess.run([sys.executable, "-c", WHOLE_WORLD], check=True, capture_output=True, text=True)
    assert float(done.stdout) < 2.0
