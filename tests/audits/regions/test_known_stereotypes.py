"""Known stereotypes: models that follow one group's votes or nobody's, panels against loops, content, bad input."""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections.abc import Callable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import geobias
from geobias.audits.regions.answers import KnownAnswers, ask_known
from geobias.audits.regions.design import KnownDesign, design_known, design_known_subset
from geobias.audits.regions.known import measure_known
from geobias.audits.regions.result import RegionsResult
from geobias.audits.regions.rows import KnownStereotypes
from geobias.errors import InputError
from geobias.measures.association import associate, associate_with_panels
from geobias.models.load import load_scorer
from geobias.models.scorer import ModelIdentity, Scorer
from geobias.report.results import from_json
from geobias.texts.templates import mark
from geobias.world.countries import load_country_names
from geobias.world.known_stereotypes import KnownStereotype, load_known_stereotypes
from geobias.world.places import plural_demonym
from geobias.world.regions import load_world
from tests.audits.regions.association_worlds import make_design
from tests.conftest import Run

SUBSET_DIGEST = "10870d74eedc10d6"  # of the pairs: numbers of different versions are of the same sentences
COUNTRIES = "EG,GH,KE,SD,UG,ZM,IE,NL,SE,IR,TR,IL"
FEW: dict[str, Any] = {
    "cities": 0,
    "words": ["kind", "rude"],
    "placebo": False,
    "paraphrases": 0,
    "countries": COUNTRIES,
}
SENTENCE = re.compile(
    r"(?:The word that best describes people in (.+?) is|One word sums up the people of (.+?):) (.+)\."
)
STRENGTH = 0.8

Label = Callable[[KnownStereotype], bool]


def by_region(pair: KnownStereotype) -> bool:
    return pair.region_stereotype > pair.region_other


def by_north_america(pair: KnownStereotype) -> bool:
    return pair.north_america_stereotype > pair.north_america_other


class Follower(Scorer):
    """Normal noise of each sentence, plus its strength where it names a pair with the label."""

    columns = ("log_likelihood",)

    def __init__(self, label: Label, strength: float = STRENGTH, salt: bytes = b"") -> None:
        names = load_country_names()
        self.labelled = {(names[pair.code], pair.attribute) for pair in load_known_stereotypes() if label(pair)}
        self.strength, self.salt = strength, salt
        self.texts: list[str] = []

    def score(self, texts: Sequence[str]) -> np.ndarray:
        self.texts += texts
        digests = b"".join(blake2b(text.encode(), digest_size=4, salt=self.salt).digest() for text in texts)
        noise = stats.norm.ppf((np.frombuffer(digests, dtype=np.uint32) + 0.5) / 2**32)
        return (noise + [self.strength * self.is_labelled(text) for text in texts] - 30)[:, None]

    def is_labelled(self, text: str) -> bool:
        match = SENTENCE.fullmatch(text)
        return match is not None and (match[1] or match[2], match[3]) in self.labelled


def audit(model: Any, **options: Any) -> tuple[RegionsResult, KnownStereotypes]:
    result = geobias.audit_regions(model, known=True, **(FEW | options))
    assert result.known is not None
    return result, result.known


def known_findings(result: RegionsResult) -> list[geobias.Finding]:
    return [finding for finding in result.findings if "votes" in finding.sentence or "associat" in finding.sentence]


@pytest.mark.parametrize(("label", "sign"), [(by_region, 1), (by_north_america, -1)])
def test_a_model_that_follows_one_groups_votes(label: Label, sign: int) -> None:
    result, known = audit(Follower(label))
    # The noise is the mean of two templates: the AUC by the votes that it follows is that of two normal distributions.
    planted = stats.norm.cdf(STRENGTH / np.sqrt(2) / np.sqrt(0.5))
    assert known.views is not None
    followed, other = known.views.region, known.views.north_america
    if sign < 0:
        followed, other = other, followed
    assert followed.low is not None and followed.high is not None and followed.value is not None
    assert followed.low < planted < followed.high
    assert other.value is not None and other.value < followed.low
    difference = known.views.difference
    assert difference.low is not None and difference.high is not None
    assert sign * difference.low > 0 and sign * difference.high > 0
    overall, view = known_findings(result)
    assert "known stereotype" in overall.headline and f"{100 * (known.auc.value or 0):.0f} %" in overall.headline
    assert (overall.role, overall.evidence, overall.direction) == ("overall", "clear", "higher")
    assert overall.size is not None and overall.size.value == known.auc.value and overall.size.unit == "AUC"
    assert (view.role, view.evidence) == ("detail", "clear")
    first = view.sentence.index("own regions"), view.sentence.index("North America")
    assert sign * (first[1] - first[0]) > 0


@pytest.fixture(scope="module")
def few_countries() -> KnownDesign:
    return design_known(load_world(cities=0, countries=COUNTRIES.split(",")), "region")


def test_false_alarms_of_random_models(few_countries: KnownDesign) -> None:
    rng, shape = np.random.default_rng(11), (2, len(few_countries.codes), len(few_countries.attributes))
    alarms = np.zeros(4)
    for _ in range(40):
        known = measure_known(few_countries, KnownAnswers(rng.normal(size=shape)))
        whole = known.whole
        assert whole and whole.views and whole.offensive
        countries = min((country.auc.p_adjusted or 0 for country in known.countries), default=1.0)
        p_values = whole.auc.p, whole.views.difference.p, whole.offensive.ratio.p, countries
        alarms += [p is not None and p < 0.05 for p in p_values]
    assert (alarms <= 7).all()  # of 40; more than 7 happen once in 500


def test_every_number_by_loops(few_countries: KnownDesign) -> None:
    """Associations from the panels, the AUC of a country, and means of offensive pairs, without NumPy's help."""
    design = few_countries
    totals = np.random.default_rng(2).normal(size=(2, len(design.codes), len(design.attributes)))
    totals[:, ~design.find_cells()] = np.nan
    known = measure_known(design, KnownAnswers(totals))
    mean = totals.mean(axis=0)

    def associate_pair(row: int, column: int) -> float:
        country = np.mean([mean[row, k] for k in design.panel_columns])
        attribute = np.mean([mean[k, column] for k in design.panel_rows])
        overall = np.mean([mean[r, c] for r in design.panel_rows for c in design.panel_columns])
        return float(mean[row, column] - country - attribute + overall)

    values = [associate_pair(*cell) for cell in zip(design.pair_rows, design.pair_columns, strict=True)]
    pairs = list(zip(design.pairs, values, strict=True))
    by_pair = {(pair.code, pair.attribute): value for pair, value in pairs}
    assert {(row["code"], row["attribute"]): row["association"] for row in known.pairs} == pytest.approx(by_pair)
    for country in known.countries:
        of_country = [(pair.is_called_stereotype, value) for pair, value in pairs if pair.code == country.code]
        cases = [value for is_case, value in of_country if is_case]
        controls = [value for is_case, value in of_country if not is_case]
        assert (len(cases), len(controls)) == (country.stereotypes, country.others)
        assert min(len(cases), len(controls)) >= 10
        wins = sum(case > control for case in cases for control in controls)
        assert country.auc.value == pytest.approx(wins / len(cases) / len(controls))
    offensive = [value for pair, value in pairs if pair.is_offensive]
    assert known.whole and known.whole.offensive and known.whole.offensive.pairs == len(offensive)
    assert known.whole.offensive.times.value == pytest.approx(np.exp(np.mean(offensive)))


def test_panels_of_everything_are_double_centring() -> None:
    totals = np.random.default_rng(0).normal(size=(9, 13))
    assert associate_with_panels(totals, np.arange(9), np.arange(13)) == pytest.approx(associate(totals))


def test_planted_offensive_associations_are_reported() -> None:
    result, known = audit(Follower(lambda pair: pair.is_offensive))
    assert known.offensive and known.offensive.ratio.value == pytest.approx(np.exp(STRENGTH), rel=0.2)
    finding = next(each for each in result.findings if "offensive" in each.question)
    assert (finding.role, finding.direction) == ("detail", "higher")
    assert finding.p_adjusted is not None and finding.p_adjusted < 0.05
    assert finding.evidence == "suggestive"  # a detail is never stronger than the overall answers


def test_an_association_does_not_depend_on_the_countries_of_a_run() -> None:
    results = [audit(Follower(by_region), countries=countries)[0] for countries in (COUNTRIES, "KE,NL")]
    many, few = (
        {(row["code"], row["attribute"]): row["association"] for row in result.known_pairs} for result in results
    )
    assert few == pytest.approx({pair: many[pair] for pair in few}) and len(few) < len(many)
    intervals = [result.known and result.known.interval_over for result in results]
    assert intervals == ["countries and attributes", "attributes"]


def test_the_whole_world_stays_below_200_000_sentences() -> None:
    design = design_known(load_world(cities=0), "region")
    assert len(design.pairs) == 6700 and design.count_sentences() < 200_000
    assert (len(design.panel_rows), len(design.panel_columns)) == (30, 60)
    cells = design.find_cells()
    assert cells[design.pair_rows, design.pair_columns].all()
    assert cells[design.panel_rows].all() and cells[:, design.panel_columns].all()


@pytest.mark.parametrize("subject", ["demonym", "both"])
def test_the_subject_of_the_sentences(subject: str) -> None:
    model = Follower(by_region)
    result, _ = audit(model, countries="KE,NL", subject=subject)
    design = design_known(load_world(cities=0, countries=["KE", "NL"]), subject)
    assert any("sums up Kenyans:" in text for text in model.texts)
    assert any("people of Kenya:" in text for text in model.texts) == (subject == "both")
    assert result.settings.subject == subject
    sentences = [text for text in model.texts if "word that best" in text or "One word" in text]
    assert (
        len(set(sentences)) == design.count_sentences()
    )  # some are asked twice, to see whether the model answers alike


def test_a_country_without_a_demonym_is_left_out_and_named() -> None:
    result, known = audit(Follower(by_region), countries="KE,GG", subject="demonym")
    assert plural_demonym("GG") is None and known.without_demonym == ["Guernsey"]
    assert {row["code"] for row in result.known_pairs} == {"KE"}


def test_too_few_pairs_cannot_be_tested() -> None:
    result, known = audit(Follower(by_region), countries="BM,GG")
    assert known.stereotypes == 0 or known.auc.p is None
    finding = known_findings(result)[0]
    assert finding.evidence == "not testable"


def test_a_tree_without_countries_has_no_known_stereotypes(tmp_path: Path) -> None:
    tree = tmp_path / "tree.csv"
    tree.write_text("id,name,parent\nE,Earth,\nN,North,E\nS,South,E\n")
    with pytest.raises(InputError, match="--known has no data about these regions"):
        geobias.audit_regions(Follower(by_region), known=True, **{**FEW, "countries": (), "cities": 5, "tree": tree})


def test_as_typed(run: Run, tmp_path: Path) -> None:
    """Only tables/known.csv has attributes. The gate knows the AUC."""
    (tmp_path / "model.py").write_text(
        "import zlib\n\ndef score(texts):\n    return [-20 - zlib.crc32(text.encode()) / 2**32 for text in texts]\n"
    )
    options = f"--cities 0 --countries {COUNTRIES} --paraphrases 0 --no-placebo --known --full".split()
    code, hidden, _ = run("regions", "model:score", *options, "--out", "hidden")
    assert code == 0 and "people's judgements of" in hidden and "difference of these two" in hidden
    content, page = (
        (tmp_path / "hidden" / name).read_text(encoding="utf-8") for name in ("results.json", "report.html")
    )
    rows = list(csv.DictReader((tmp_path / "hidden/tables/known.csv").open(encoding="utf-8")))
    assert len(rows) == json.loads(content)["known"]["pairs"]
    phrases = [row["attribute"] for row in rows if " " in row["attribute"]]
    assert len(phrases) > 20
    for text in (hidden, content, page):
        assert not [phrase for phrase in phrases if re.search(rf"\b{re.escape(phrase)}\b", text)]
    assert "SeeGULL (Jha et al. 2023, Google Research), CC BY 4.0" in page and "AUC" in page
    assert from_json(RegionsResult, json.loads(content)).known is not None

    assert run("gate", "hidden", "--rule", 'regions."model:score".known.auc < 0.9')[0] == 0
    assert run("gate", "hidden", "--rule", 'regions."model:score".known.auc < 0.3')[0] == 1


@pytest.mark.parametrize(("model", "score"), [("bert", "aul"), ("gpt2", "conditional")])
def test_totals_of_real_architectures(small_models: dict[str, Path], model: str, score: str) -> None:
    """Means per token times their number, of sentences put together by hand; in other cells nothing is scored."""
    design = design_known(load_world(cities=0, countries=["BM", "GG"]), "region")
    scorer = load_scorer(str(small_models[model]), score)
    totals = ask_known(design, scorer, "test", progress=False).totals
    cells = design.find_cells()
    assert np.isnan(totals[:, ~cells]).all() and not np.isnan(totals[:, cells]).any()
    names = load_country_names()
    for row, column in list(zip(design.pair_rows, design.pair_columns, strict=True))[:5]:
        attribute = design.attributes[column]
        marked = mark(attribute) if scorer.needs_mark else attribute
        text = f"The word that best describes people in {names[design.codes[row]]} is {marked}."
        ((value, tokens, *_),) = scorer.score([text])
        assert list(scorer.columns)[1] == "tokens"
        assert totals[0, row, column] == pytest.approx(value * tokens, rel=1e-4)


def test_the_subset_of_local_models_is_fixed_small_and_balanced() -> None:
    world = load_world(cities=0)
    subset = design_known_subset(world)
    assert subset is not None and subset.is_subset and subset.count_sentences() <= 6000
    called = [pair.is_called_stereotype for pair in subset.pairs]
    assert len(subset.pairs) == 288 and sum(called) == 144 and len({pair.code for pair in subset.pairs}) == 24
    lines = "\n".join(f"{pair.code}\t{pair.attribute}" for pair in subset.pairs)
    assert hashlib.sha256(lines.encode()).hexdigest()[:16] == SUBSET_DIGEST
    assert design_known_subset(load_world(cities=0, countries=["FR", "DE"])) is None


def test_the_subset_is_for_models_that_are_here() -> None:
    design = make_design(cities=0)
    here = ModelIdentity(name="a", score="sum", fingerprint="f", architecture="GPT2LMHeadModel")
    there = ModelIdentity(name="a", score="sum", fingerprint="f", endpoint="https://example.org")
    assert design.known_for(here) is design.known_subset and design.known_subset is not None
    assert design.known_for(there) is None
    assert make_design(cities=0, paraphrases=0).known_subset is None
    everything = make_design(cities=0, known=True)
    assert everything.known_subset is None and everything.known_for(there) is everything.known
