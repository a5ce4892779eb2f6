"""Conclusions of the regions audit on simulated answers: never stronger than what was planted in them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from geobias.audits.pages import add_findings
from geobias.audits.regions.answers import PLACEBO_PLACES, InventedPlaces, RegionsAnswers, RegionsCounts
from geobias.audits.regions.design import SCORE_ONLY, RegionsDesign
from geobias.audits.regions.findings import list_findings
from geobias.audits.regions.measure import measure_regions
from geobias.audits.regions.result import RegionsResult
from geobias.audits.regions.rows import RegionScores
from geobias.audits.regions.tables import is_artefact
from geobias.audits.reports import add_headlines
from geobias.measures.grouping import compare_groups
from geobias.models.scorer import ModelIdentity
from geobias.report.findings import Finding, grade_evidence, with_role
from geobias.report.results import from_json
from geobias.world.regions import Region, RegionTree
from tests.audits.regions.association_worlds import make_design as build_design

WORDS = "kind rude loud calm shy bold proud quiet".split()
PARENTS, MEMBERS = 5, 14
ALIKE = (0.3, 1.0, 1.0, 1.0, 1.0)  # the members of the first parent
NULL_SEEDS = range(200, 204)
TEMPLATES = ["People in {region} are {description}.", "{region}: {description}", "In {region}: {description}"]


@cache
def make_design(templates: int = 1) -> RegionsDesign:
    """Five parents of 14 regions each."""
    parents = [Region(f"P{k}", f"Parent {k}", "continent", 0) for k in range(PARENTS)]
    members = [Region(f"M{k}-{i}", f"Member {k}-{i}", "country", k + 1) for k in range(PARENTS) for i in range(MEMBERS)]
    tree = RegionTree((Region("root", "Root", "earth", None), *parents, *members))
    return build_design(tree=tree, words=WORDS, templates=TEMPLATES[:templates], **SCORE_ONLY)


@cache
def measure_world(
    seed: int,
    *,
    scale: tuple[float, ...] = (1.0,) * PARENTS,
    follows_tokens: bool = False,
    invented_scale: float | None = None,
    templates: int = 1,
) -> RegionsResult:
    """Regions around one point: the members of a parent spread by its scale or by the tokens of their names alone.

    The names of the first parent's members are short then.
    """
    rng, design = np.random.default_rng(seed), make_design(templates)
    regions = len(design.tree)
    spread = np.concatenate([np.ones(1 + PARENTS), np.repeat(scale, MEMBERS)])
    name_tokens = np.full(regions, 2.0)
    if follows_tokens:
        name_tokens[1 + PARENTS + MEMBERS :] = rng.integers(1, 6, (PARENTS - 1) * MEMBERS)
        name_tokens[1 + PARENTS : 1 + PARENTS + MEMBERS] = 1.0
        spread[1 + PARENTS :] = name_tokens[1 + PARENTS :]
    noise = rng.normal(size=(templates, regions, len(WORDS))) * spread[:, None]
    likelihoods = -5.0 + 0.2 * noise
    likelihoods[:, 0] = np.nan
    invented = None
    if invented_scale is not None:
        invented_noise = rng.normal(size=(templates, PLACEBO_PLACES, len(WORDS)))
        names = tuple(f"Invented {k}" for k in range(PLACEBO_PLACES))
        invented = InventedPlaces(names, -5.0 + 0.2 * invented_scale * invented_noise, None)
    answers = RegionsAnswers(
        model=ModelIdentity("owner/lm", "aul", None, architecture="BertForMaskedLM"),
        counts=RegionsCounts(regions, 0, 0, 0, 0),
        work={},
        likelihoods=likelihoods,
        name_likelihoods=np.append(np.nan, rng.normal(size=regions - 1)),
        name_tokens=name_tokens,
        invented=invented,
    )
    return add_findings(measure_regions(design, answers))


def overall(result: RegionsResult) -> Finding:
    (answer,) = with_role(result.findings, "overall")
    assert result.findings[0] is answer
    return answer


def test_a_parent_whose_regions_are_described_alike_is_reported() -> None:
    result = measure_world(1, scale=ALIKE)
    answer, details = overall(result), with_role(result.findings, "detail")
    assert answer.evidence == "clear" and answer.direction == "lower" and answer.valence is None
    assert answer.size and answer.size.low and answer.size.high and answer.size.low <= answer.size.value < 1
    assert "described more alike" in answer.sentence and "of 5 continents" in answer.sentence
    assert details[0].subject == "Parent 0" and details[0].evidence == "clear" and details[0].direction == "lower"
    assert "The 14 countries of Parent 0" in details[0].sentence
    assert with_role(result.findings, "caution") == [] and not is_artefact(result)


def test_a_parent_whose_regions_are_described_differently_is_reported() -> None:
    details = with_role(measure_world(2, scale=(1, 1, 1, 1, 2.5)).findings, "detail")
    assert [(each.subject, each.direction) for each in details if each.direction == "higher"] == [
        ("Parent 4", "higher")
    ]
    assert "described more differently" in next(each for each in details if each.subject == "Parent 4").sentence


def test_worlds_without_a_pattern_are_rarely_called_clear() -> None:
    """At 5 %, two or more of four happen with a probability of 1 %; the seeds are fixed."""
    results = [measure_world(seed) for seed in NULL_SEEDS]
    assert sum(overall(result).evidence == "clear" for result in results) <= 1
    assert any(overall(result).evidence == "none" for result in results)
    for result in results:
        answer = overall(result)
        assert answer.evidence == grade_evidence(answer.p_adjusted)
        if answer.evidence == "none":
            assert "% could be missed." in answer.sentence and "no pattern by continent" in answer.sentence
            assert with_role(result.findings, "detail") == []


def test_what_a_null_says_would_be_missed_is_about_right() -> None:
    """A departure twice as large as the one named is found."""
    null = measure_world(NULL_SEEDS[0])
    missed = float(overall(null).sentence.rsplit("under ", 1)[1].split(" %")[0]) / 100
    assert 0.001 < missed < 0.2
    assert null.grouping and missed == pytest.approx(3.35 * null.grouping.null_spread, rel=0.1)
    (ratio, larger) = (compare_planted(shift) for shift in (0.0, 1.0))
    assert abs(ratio - 1) < missed < abs(larger - 1)


def test_a_null_without_a_test_of_all_groups_says_what_could_be_missed() -> None:
    """As in runs that were made before there was this test: by the p-values of single regions."""
    result = replace(measure_world(NULL_SEEDS[0]), grouping=None)
    answer = list_findings(result)[0]
    assert answer.evidence == "none" and "No region's sub-regions" in answer.sentence and answer.size
    missed = float(answer.sentence.rsplit("under ", 1)[1].split(" %")[0]) / 100
    assert abs(answer.size.value - 1) <= missed + 0.005 and 0.02 < missed < 0.5
    planted = measure_world(NULL_SEEDS[0], scale=(1 + 2 * missed, 1.0, 1.0, 1.0, 1.0))
    assert list_findings(replace(planted, grouping=None))[0].evidence == "clear"


def test_states_are_named_before_territories() -> None:
    """Greenland stands out most; France does too. A territory is named first only where no state stands out."""
    result = measure_world(1, scale=(0.2, 0.4, 1.0, 1.0, 1.0))
    by_parent = {"P0": ("GL", "Greenland"), "P1": ("FR", "France")}

    def rename(region: RegionScores) -> RegionScores:
        code, name = by_parent.get(region.id, (region.id, region.name))
        level = {"continent": "country", "country": "city"}.get(region.level, region.level)
        return replace(region, level=level, id=code, name=name)

    regions = list(map(rename, result.regions))
    world = replace(result, regions=regions, grouping=None, settings=replace(result.settings, countries="all"))
    answer, *details = (each for each in list_findings(world) if each.role != "caution")
    assert "the clearest: France" in answer.sentence
    assert [each.subject for each in details[:2]] == ["France", "Greenland"]
    chosen = replace(world, settings=replace(world.settings, countries=["GL", "FR"]))
    assert "the clearest: Greenland" in list_findings(chosen)[0].sentence
    quiet = [
        replace(each, c_w_balanced=replace(each.c_w_balanced, p_adjusted=1.0)) if each.id == "FR" else each
        for each in regions
    ]
    assert "the clearest: Greenland" in list_findings(replace(world, regions=quiet))[0].sentence


def compare_planted(shift: float) -> float:
    """The ratio where every group has a mean of its own, so far from the others."""
    rng = np.random.default_rng(3)
    groups = [np.arange(k * MEMBERS, (k + 1) * MEMBERS) for k in range(PARENTS)]
    centres = np.repeat(rng.normal(size=(PARENTS, len(WORDS))), MEMBERS, axis=0)
    likelihoods = -5.0 + 0.2 * (rng.normal(size=centres.shape) + shift * centres)
    test = compare_groups([likelihoods], groups)
    assert test and test.ratio.value is not None and test.ratio.p is not None
    assert (test.ratio.p < 0.05) == (shift > 0)
    return test.ratio.value


def test_distances_that_follow_tokens_only_are_an_artefact() -> None:
    """The names of one parent are short, so its regions lie close together: nothing of it is called clear."""
    result = measure_world(5, follows_tokens=True)
    answer, (caution, *_) = overall(result), with_role(result.findings, "caution")
    assert is_artefact(result)
    assert answer.p_adjusted is not None and answer.p_adjusted < 0.05 and answer.evidence == "suggestive"
    assert "names alone may explain it" in answer.sentence
    assert all(each.evidence != "clear" for each in result.findings if each.role != "caution")
    assert caution.evidence == "clear" and caution.size and caution.size.value >= 0.5
    assert "The more tokens a name has" in caution.sentence and "--score conditional --placebo" in caution.next_step


def test_a_placebo_as_wide_as_the_world_is_an_artefact() -> None:
    for invented_scale, expected, part in (
        (1.1, True, "nearly all of HERB's distances"),
        (0.6, False, "names alone produce much"),
    ):
        result = measure_world(1, scale=ALIKE, invented_scale=invented_scale)
        (caution,) = with_role(result.findings, "caution")
        assert is_artefact(result) == expected and part in caution.sentence
        assert overall(result).evidence == ("suggestive" if expected else "clear")
        assert "--placebo" not in caution.next_step
    assert with_role(measure_world(1, scale=ALIKE, invented_scale=0.1).findings, "caution") == []


def test_templates_that_disagree_are_a_caution() -> None:
    cautions = with_role(measure_world(1, templates=3).findings, "caution")
    assert ["templates do not rank the 70 countries alike" in each.sentence for each in cautions] == [True]


def test_one_parent_cannot_be_tested() -> None:
    regions = (Region("root", "Root", "root", None), *(Region(f"{k}", f"R{k}", "level 1", 0) for k in range(6)))
    design = build_design(tree=RegionTree(regions), words=WORDS, **SCORE_ONLY)
    likelihoods = -5 + np.random.default_rng(0).normal(size=(1, 7, len(WORDS)))
    answers = RegionsAnswers(
        ModelIdentity("owner/lm", "aul", None), RegionsCounts(7, 0, 0, 0, 0), {}, likelihoods, np.zeros(7)
    )
    result = add_findings(measure_regions(design, answers))
    (answer,) = result.findings
    assert answer.evidence == "not testable" and answer.p is None and "cannot be tested" in answer.sentence


def test_findings_are_kept_and_can_be_made_again_from_a_saved_result() -> None:
    result = measure_world(1, scale=ALIKE)
    saved = from_json(RegionsResult, result.to_dict())
    again = add_headlines(replace(saved, findings=list(list_findings(saved))))
    assert saved.findings == result.findings == again.findings
    without_test = list(list_findings(replace(saved, grouping=None)))  # a run made before there was this test
    assert without_test[0].evidence == "clear" and "the clearest: Parent 0" in without_test[0].sentence


def test_levels_without_a_name_are_said_in_whole_words() -> None:
    result = measure_world(1, scale=ALIKE)
    numbers = {level: f"level {k}" for k, level in enumerate(dict.fromkeys(each.level for each in result.regions))}
    renamed = replace(result, regions=[replace(each, level=numbers[each.level]) for each in result.regions])
    answer = next(finding for finding in list_findings(renamed) if finding.role == "overall")
    assert "Regions at level 2 of one region at level 1 lie " in answer.sentence
    assert answer.question == (
        "Are the regions at level 2 of one region at level 1 described more alike than random regions at level 2?"
    )
