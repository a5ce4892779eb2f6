"""HERB, Table 1: the hierarchical regional bias of language models (section 4.1).

A model scores "People in {region} are {description}." for every region and each of 112 words (AUL, Eq. 1). C_w and C_z
(Eq. 2 to 10) say how differently it describes the sub-regions of a region: of each continent, and of the Earth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from geobias.audits.regions.audit import audit_regions
from geobias.audits.regions.design import SCORE_ONLY
from geobias.audits.regions.result import RegionsResult
from geobias.checks import parse_city_count, split_list
from geobias.measures.herb import FORMS, descriptive_vectors, herb_scores, pair_count
from geobias.models.load import load
from geobias.models.scorer import Scorer
from geobias.papers.tables import Published, Reproduction, Row, load_each, read_published
from geobias.world.regions import load_world

TITLE = "hierarchical bias of language models"
MODELS = ("bert-base-cased", "albert-base-v2", "roberta-base", "facebook/bart-base")
SCALE = 1000  # Tables 1, 3 and 6 are printed so many times larger
CONTINENTS = ("AF", "AS", "EU", "OC", "SA", "NA")
TAKEN_FOR = {"OC": "NA", "SA": "OC", "NA": "SA"}  # the released code prints NA, OC, SA; the paper's heads OC, SA, NA
SWAPPED_NOTE = (
    "The columns printed OC, SA and NA are taken for NA, OC and SA, the order in which the released code prints them: "
    "as labelled, the published scores would leap 23- to 33-fold between SA and NA once the second division by the "
    "number of pairs is undone. So “NA” is likely South America, the continent with the fewest countries."
)
FORMS_NOTE = (
    "In the paper's form Eq. 8 divides by the number of pairs of sub-regions twice, so a score mostly reflects the "
    "number of sub-regions. The balanced form does not. Its published numbers are the printed ones with the second "
    "division undone (x n(n-1)/2 / 1000), which is an approximation."
)
Scores = Mapping[str, np.ndarray]  # by form, a number for each column


def measure(
    models: Sequence[str] = (), *, cities: int | str = "all", device: str = "auto", progress: bool | None = None
) -> Reproduction:
    """C_w and C_z of each model, of the paper's four or of others."""
    missing: list[str] = []
    results = {
        name: audit_herb(scorer, cities, progress=progress)
        for name, scorer in load_each(models, MODELS, lambda name: load_scorer(name, device), missing)
    }
    table = read_published("herb", "table_1")
    measured: dict[Row, Scores] = {
        (name, metric): score_columns(result, metric.lower(), table.columns)
        for name, result in results.items()
        for metric in ("C_w", "C_z")
    }
    return compare_scores(table, measured, results.values(), cities, title=TITLE, missing=missing)


def load_scorer(name: str, device: str) -> Scorer:
    """A language model that scores by AUL, as in the paper; one without it by its own default, in full precision."""
    lm = load(name, device=device, dtype="float32")
    return lm.scorer("aul" if "aul" in lm.methods else None)


def audit_herb(
    scorer: Scorer, cities: int | str, *, countries: str | Sequence[str] = (), **options: Any
) -> RegionsResult:
    """HERB's scores of all regions by one model; the paper's sentences have no articles ("People in United States")."""
    names = split_list(countries, "--countries") if countries else []
    world = load_world(cities=parse_city_count(cities), countries=names).drop_articles()
    return audit_regions(scorer, tree=world, **SCORE_ONLY, **options)


def score_columns(result: RegionsResult, metric: str, columns: Sequence[str]) -> Scores:
    """A score of the continents and the Earth in both forms, in the order of a table's columns."""
    regions = find_columns(result, columns)
    return {form: np.array([getattr(region, f"{metric}_{form}").value for region in regions], float) for form in FORMS}


def score_words(result: RegionsResult, words: Sequence[int] | np.ndarray, rows: Sequence[int]) -> Scores:
    """C_w of these regions in both forms, from the words at these positions."""
    vectors = descriptive_vectors(result.likelihoods[0][:, words])
    c_w = herb_scores(vectors, result.name_likelihoods, result.tree.children).c_w
    return {form: c_w[form][rows] for form in FORMS}


def find_columns(result: RegionsResult, columns: Sequence[str]) -> list[Any]:
    """The region behind each column; the Earth comes last, as "overall"."""
    continents = {region.id: region for region in result.regions if region.level == "continent"}
    return [result.regions[0] if name == "overall" else continents[TAKEN_FOR.get(name, name)] for name in columns]


def compare_scores(
    table: Published, measured: Mapping[Row, Scores], results: Any, cities: int | str, **about: Any
) -> Reproduction:
    """A table of the continents beside its published numbers, balanced and in the paper's form."""
    world = load_world(cities=0)
    children = {world.regions[row].id: world.children[row] for row in (0, *world.children[0])}
    ids = ["Earth" if name == "overall" else TAKEN_FOR.get(name, name) for name in table.columns]
    pairs = np.array([pair_count(len(children[region_id])) for region_id in ids])
    scores = {form: {row: values[form] for row, values in measured.items()} for form in FORMS}
    return table.compare_forms(
        {
            "balanced": (table.values * pairs / SCALE, scores["balanced"]),
            "paper": (table.values, {row: SCALE * values for row, values in scores["paper"].items()}),
        },
        models=[result.model for result in results],
        taken_for=TAKEN_FOR,
        ranked=CONTINENTS,
        notes=[SWAPPED_NOTE, FORMS_NOTE, *describe_regions(results, cities)],
        **about,
    )


def describe_regions(results: Any, cities: int | str) -> list[str]:
    """How the regions and the score differ from the paper's."""
    fewer = f"At most {cities} cities of each country are scored, the paper uses all (--cities all): scores differ for "
    other = [f"{result.model.name} has no AUL and is scored by {result.model.score}." for result in results
             if result.model.score != "aul"]  # fmt: skip
    return other if cities == "all" else [f"{fewer}that reason alone.", *other]
