"""Associations in findings, tables, files, gates, cards and comparisons."""

from __future__ import annotations

import csv
from dataclasses import replace
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import geobias
from geobias.audits.pages import add_findings, read_run
from geobias.audits.regions.answers import AssociationAnswers, InventedPlaces, RegionsAnswers
from geobias.audits.regions.association import measure_association
from geobias.audits.regions.findings import list_findings
from geobias.audits.regions.result import RegionsResult, list_clear
from geobias.audits.reports import list_card_rows
from geobias.audits.show_results import View, show_result
from geobias.errors import InputError
from geobias.measures.estimates import Estimate
from geobias.report.findings import Finding, with_role
from tests.audits.regions.association_worlds import make_design
from tests.audits.regions.test_association import COUNTRIES, FAVOURABLE, WORDS, audit, say
from tests.conftest import Run
from tests.gates import assert_gate

PLANTED = ("Kenya", "Poland", "Japan", "Italy", "Egypt", "Greenland")


def judge(text: str) -> float:
    """Six pairs, and the tone of one country."""
    pairs = sum(say(place, [WORDS[k].word], log(60 + 10 * k))(text) for k, place in enumerate(PLANTED))
    return pairs + say("Sweden", FAVOURABLE, 0.8)(text)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> RegionsResult:
    return audit(judge, countries=[*COUNTRIES, "GL"], out=tmp_path_factory.mktemp("association") / "run")


def silence(result: RegionsResult, marked: int = 0, p_adjusted: float | None = None) -> RegionsResult:
    """No signal and nothing that stands out, except for the first `marked` regions by one word each."""
    association = result.association
    assert association is not None and association.signal is not None
    nothing = Estimate(-0.1, -0.2, 0.05, 0.5, 0.5)
    signal = replace(
        association.signal, beyond_names=nothing, beyond_fame=nothing, p_names=1.0, p_regions=1.0, p_together=1.0
    )
    words = [next(row for row in result.associations if row.id == region.id) for region in result.region_associations]
    times = Estimate(2.0, 1.5, 2.5, 1e-6, p_adjusted)
    return replace(
        result,
        association=replace(association, signal=signal, marked=marked),
        region_associations=[replace(row, valence=None, p_adjusted=1.0) for row in result.region_associations],
        topic_associations=[],
        associations=[replace(row, times=times) for row in words[:marked]],
    )


def details(result: RegionsResult) -> list[Finding]:
    return [each for each in with_role(result.findings, "detail") if each.measure == "association"]


def test_findings_come_in_the_order_of_their_weight(saved: RegionsResult) -> None:
    first, second, *others = saved.findings
    assert (first.role, first.measure, first.evidence) == ("overall", "association", "clear")
    assert (second.role, second.measure) == ("overall", "distance")
    roles = [each.role for each in others]
    assert roles == sorted(roles, key=["detail", "caution"].index)
    measures = [each.measure or "" for each in with_role(others, "detail")]
    assert measures == sorted(measures)  # association before distance
    pairs = [each for each in details(saved) if " it says '" in each.sentence]
    assert len(pairs) == 5 and "Greenland" not in [each.subject for each in pairs]  # no state of the United Nations
    names = [row.name for row in list_clear(saved, saved.associations)]
    assert names[-1] == "Greenland" and len(names) >= 6
    assert [(each.subject, each.valence) for each in details(saved) if each.valence] == [("Sweden", "better")]


def test_evidence_is_never_stronger_than_the_overall_test(saved: RegionsResult) -> None:
    """A pair may be marked where the test of everything is not clear."""
    result = add_findings(silence(saved, 1, 0.02))
    assert result.findings[0].p_adjusted == pytest.approx(0.08) and result.findings[0].evidence == "suggestive"
    assert [each.evidence for each in details(result)] == ["suggestive"]
    assert add_findings(silence(saved)).findings[0].evidence == "none"


def test_worlds_without_associations_are_called_clear_in_at_most_five_of_a_hundred(saved: RegionsResult) -> None:
    design = make_design(cities=0, countries=COUNTRIES, words=WORDS, paraphrases=2)
    assert design.association is not None
    rows, shape = design.association.rows, (2, len(design.association.rows) + 60, len(WORDS))
    clear = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        names, paraphrases = rng.normal(size=(1, *shape[1:])), rng.normal(size=shape)
        totals = -20 + 0.3 * names + 0.1 * paraphrases + 3 * rng.normal(size=len(WORDS))
        scored = AssociationAnswers(rows, totals[:, :-60], totals[:, -60:])
        invented = InventedPlaces(tuple(f"Place{k}" for k in range(60)), totals[:1, -60:], None)
        count = len(design.tree)
        answers = RegionsAnswers(
            saved.model, saved.counts, {}, np.zeros((1, count, len(WORDS))), np.zeros(count),
            invented=invented, association=scored,
        )  # fmt: skip
        measured = measure_association(design, answers)
        assert measured is not None
        result = replace(
            saved,
            association=measured.whole,
            region_associations=measured.regions,
            topic_associations=measured.topics,
            associations=measured.words,
        )
        findings = add_findings(result).findings
        clear += any(each.evidence == "clear" and each.measure == "association" for each in findings)
    assert clear <= 5


def test_a_null_does_not_deny_the_pairs_that_are_marked(saved: RegionsResult) -> None:
    quiet = silence(saved, 2, 0.04)
    topic = replace(saved.topic_associations[0], times=Estimate(1, 1, 1, 1, 1))
    tones = [replace(row, valence=Estimate(1, 1, 1, 1, 1)) for row in quiet.region_associations]
    first = list_findings(replace(quiet, topic_associations=[topic], region_associations=tones))[0]
    assert first.evidence == "none" and "2 of " in first.sentence and "pairs stand out" in first.sentence
    assert "None of" not in first.sentence


def test_a_pair_has_the_p_of_the_answer_that_rests_on_it(saved: RegionsResult) -> None:
    findings = list(list_findings(silence(saved, 1, 0.004)))
    answer, detail = findings[0], next(finding for finding in findings if finding.role == "detail")
    assert answer.measure == detail.measure == "association" and detail.subject == saved.region_associations[0].name
    assert answer.p_adjusted == detail.p_adjusted == pytest.approx(4 * 0.004)  # pairs, regions, all together, signal
    assert "p = 0.016" in answer.sentence and "p = 0.016" in detail.sentence


def test_more_than_a_name_is_not_yet_more_than_fame(saved: RegionsResult) -> None:
    silent = silence(saved)
    quiet = silent.association
    assert quiet is not None and quiet.signal is not None
    above, below = Estimate(0.3, 0.2, 0.4, 1e-9, 1e-9), Estimate(-0.3, -0.4, -0.2, 1e-9, 1e-9)

    def say_first(**fields: Any) -> Finding:
        assert quiet is not None and quiet.signal is not None
        changed = replace(quiet, signal=replace(quiet.signal, **fields))
        return list_findings(replace(silent, association=changed))[0]

    both = say_first(beyond_names=above, beyond_fame=above, p_names=1e-9)
    assert both.evidence == "clear" and "depends on the country, not only on its name or fame" in both.sentence
    assert both.size is not None and both.size.unit == "nats" and both.sentence.count("+0.30 nats") == 2
    for finding in (both, say_first(beyond_names=above, p_names=1e-9)):  # a third statement, never mixed with those two
        assert f"Fame explains {100 * (quiet.signal.fame_share or 0):.0f} % of the associations." in finding.sentence
    names_only = say_first(beyond_names=above, p_names=1e-9)
    assert names_only.evidence == "suggestive" and "perhaps no more than fame" in names_only.sentence
    assert (
        names_only.size is not None and names_only.size.value == above.value
    )  # the number that its sentence leads with
    for beyond_names in (below, Estimate(0.1, -0.1, 0.3, 0.4, 0.4)):  # then single regions or topics are more
        single = say_first(beyond_names=beyond_names, beyond_fame=below, p_names=1e-9)
        assert single.evidence == "suggestive" and single.size is None
        assert "Some words go with single countries more" in single.sentence and "less than" not in single.sentence
    unlike = say_first(beyond_names=above, beyond_fame=above, p_names=1e-9, overlap=0.3)
    assert unlike.evidence == "suggestive" and "cannot tell" in unlike.sentence and "Fame" not in unlike.sentence
    missing = say_first(beyond_names=above, beyond_fame=None, p_names=1e-9, overlap=None)
    assert missing.evidence == "suggestive" and "cannot tell" in missing.sentence
    longer = say_first(beyond_names=above, beyond_fame=above, p_names=1e-9, comparable_names=0.1, comparable_known=0.2)
    assert longer.evidence == "suggestive" and "extrapolated" in longer.limit
    less = say_first(beyond_names=below, beyond_fame=below)
    assert less.evidence == "none" and "do not clearly go with countries more" in less.sentence
    fame = say_first(beyond_names=below, beyond_fame=Estimate(-0.1, -0.2, 0.0, 0.5, 0.5))
    assert fame.size is not None and fame.size.value == -0.3 and "-0.30 nats" in fame.sentence


def test_paraphrases_that_disagree_are_a_caution(saved: RegionsResult) -> None:
    association = saved.association
    assert association is not None
    for agreement, expected in ((0.6, 1), (0.8, 0)):
        result = add_findings(replace(saved, association=replace(association, agreement=agreement)))
        cautions = [each for each in with_role(result.findings, "caution") if "paraphrases agree" in each.sentence]
        assert len(cautions) == expected
        assert all("--paraphrases 14" in each.next_step for each in cautions)


@pytest.mark.parametrize("width", [80, 60])
def test_a_result_fits_on_one_screen(
    saved: RegionsResult, width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    show_result(saved, Path("here"), View())
    out = capsys.readouterr().out
    lines = out.splitlines()
    assert all(len(line) <= width for line in lines) and (len(lines) <= 25 or width < 80)
    assert "Typical words" in out and "×*" in out and "C_w" not in out
    show_result(saved, Path("here"), View(full=True))
    full = capsys.readouterr().out
    joined = " ".join(full.split())
    assert all(len(line) <= width for line in full.splitlines())
    for part in ("Variance: the word", "Agreement of paraphrases", "Balanced C_w"):
        assert part in joined
    assert "Kenya" in full


def test_without_marks_the_table_is_that_of_the_scores(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    show_result(audit(), Path("here"), View())
    out = capsys.readouterr().out
    assert "Balanced C_w" in out and "Typical words" not in out


def test_files_hold_every_number(saved: RegionsResult) -> None:
    assert saved.folder is not None and saved.association is not None and saved.estimates is not None
    read = read_run(saved.folder).result
    for name, numbers in vars(saved.estimates).items():
        assert np.allclose(getattr(read.all_associations, name), numbers, equal_nan=True)
    with (saved.folder / "tables" / "associations.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert sum(float(row["times_p_adjusted"]) < 0.05 for row in rows) == saved.association.marked
    kenya = [row for row in rows if row["name"] == "Kenya"]
    assert len(kenya) == 12 and kenya[0]["word"] == WORDS[0].word and float(kenya[0]["times"]) > 20
    with (saved.folder / "tables" / "region_associations.csv").open(encoding="utf-8") as file:
        tones = {row["name"]: row for row in csv.DictReader(file)}
    sweden = next(region for region in saved.region_associations if region.name == "Sweden")
    assert sweden.valence is not None and float(tones["Sweden"]["valence"]) == sweden.valence.value
    assert len(tones) == len(saved.region_associations)


def test_a_damaged_file_is_refused(saved: RegionsResult, tmp_path: Path) -> None:
    assert saved.folder is not None
    read = read_run(saved.folder).result
    (tmp_path / "associations.parquet").write_bytes(b"no parquet")
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(InputError, match=r"associations.parquet is missing, damaged or of another run"):
            _ = replace(read, folder=folder).all_associations
    with pytest.raises(InputError, match="of another run"):
        _ = replace(read, scored_words=read.scored_words[1:]).all_associations
    with pytest.raises(InputError, match="was not saved"):
        _ = replace(read, folder=None).likelihoods


def test_rules_of_a_gate(saved: RegionsResult) -> None:
    model = f'"{saved.model.name}"'
    assert saved.association is not None and saved.association.ratio is not None
    low, high = saved.association.ratio.low or 0, saved.association.ratio.high or 0
    assert_gate(
        saved,
        f"regions.{model}.association.ratio < {high + 0.01}",
        f"regions.{model}.association.ratio > {low - 0.01}",
        f"regions.{model}.association.marked <= {saved.association.marked}",
        f"regions.{model}.association.valence.worst < 20",
    )
    for rule in (f"association.ratio < {high - 0.01}", "association.marked < 1", "association.valence.worst < 1.5"):
        with pytest.raises(AssertionError):
            assert_gate(saved, f"regions.{model}.{rule}")
    untested = audit(placebo=False)
    for path in ("ratio", "marked"):
        with pytest.raises(AssertionError, match="has no value"):
            assert_gate(untested, f"regions.{model}.association.{path} < 99")
    with pytest.raises(InputError, match="is unknown"):
        assert_gate(saved, f"regions.{model}.association.ration < 2")


def test_rows_of_cards_and_frames(saved: RegionsResult) -> None:
    rows = list_card_rows(saved)
    assert len({tuple(row) for row in rows}) == 1 and rows[0]["Measure"].startswith(
        "Association of words and countries"
    )
    assert saved.association is not None and saved.association.ratio is not None
    assert rows[0]["Value"] == f"{saved.association.ratio.value:.3g}" and "Earth" in rows[2]["Measure"]
    frame = saved.to_frame()
    measures = set(frame["measure"])
    assert {"association.valence", "association.strength", "association.score"} <= measures
    assert {f"association.topic.{word.topic}" for word in WORDS} <= measures
    tones = frame[frame["measure"] == "association.valence"]
    assert list(tones[tones["is_marked"]]["region"]) == ["Sweden"] and set(tones["against"]) == {"average country"}
    assert f"Associations of {len(COUNTRIES) + 1} countries" in "\n".join(saved.summarise())


def test_two_models_are_compared(tmp_path: Path, run: Run) -> None:
    words = [word.word for word in WORDS]

    def deepen(size: float) -> Any:
        return lambda text: size * sum(say(place, words[k::7], 1.0)(text) for k, place in enumerate(PLANTED[:5]))

    runs = [audit(deepen(size), out=tmp_path / name) for size, name in ((3.0, "strong"), (0.3, "weak"))]
    assert all(each.association and each.association.ratio for each in runs)
    result = geobias.compare([tmp_path / "strong", tmp_path / "weak"])
    assert {row.measure for row in result.comparisons[0].rows} == {"c_w.balanced"}  # training alone moves the ratio
    assert not any("invented names" in finding.sentence for finding in result.findings)
    audit(paraphrases=1, out=tmp_path / "fewer")
    code, _, err = run("compare", tmp_path / "weak", tmp_path / "fewer")
    assert code == 2 and "different number of paraphrases" in err
    code, out, err = run("compare", tmp_path / "strong", tmp_path / "weak", "--full")
    assert code == 0 and "association.ratio" not in out, err
