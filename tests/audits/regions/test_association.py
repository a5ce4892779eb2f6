"""Associations of regions and words from sentences to results: planted ones are found, and names alone give none."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Sequence
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import geobias
from geobias.audits.regions.rows import RegionAssociation, WordAssociation
from geobias.measures.association_signal import LARGEST_LOG, to_times
from geobias.measures.estimates import Estimate, Estimates
from geobias.report.findings import Finding, with_role
from geobias.world.places import plural_demonym
from geobias.world.words import Word, herb_words
from tests.audits.regions.association_worlds import ByText

COUNTRIES = "FR DE IT ES PL SE NG KE GH EG MA ET JP IN CN TH VN ID".split()
ADJECTIVES = tuple(word for word in herb_words() if word.part_of_speech == "adjective")
WORDS = (*(word for word in ADJECTIVES if word.valence), *(word for word in ADJECTIVES if not word.valence))[:44]
PAIRS = len(COUNTRIES) * len({word.word for word in WORDS})  # "strong" and "weak" are in two topics
FAVOURABLE = [word.word for word in WORDS if (word.valence or 0) > 0]
TOPIC = next(word.topic for word in WORDS)
NOISE = 0.2
Likelihood = Callable[[str], float]


def hold(opinion: Likelihood = lambda text: 0.0, noise: float = NOISE) -> ByText:
    """A scorer with noise in every sentence, and an opinion about some regions."""
    return ByText(lambda text: -20 + noise * np.sqrt(12) * (zlib.crc32(text.encode()) / 2**32 - 0.5) + opinion(text))


def say(place: str, words: Sequence[str], size: float) -> Likelihood:
    """An opinion: the words are so many nats likelier of a place."""
    ends = tuple(f" {word}." for word in words)
    return lambda text: size * (place in text and text.endswith(ends))


def audit(opinion: Likelihood = lambda text: 0.0, noise: float = NOISE, **options: Any) -> geobias.RegionsResult:
    fields: dict[str, Any] = {"cities": 0, "countries": COUNTRIES, "words": WORDS, "paraphrases": 3, "progress": False}
    return geobias.audit_regions(hold(opinion, noise), **(fields | options))


def find(result: geobias.RegionsResult, name: str) -> RegionAssociation:
    return next(region for region in result.region_associations if region.name == name)


def list_words(result: geobias.RegionsResult, name: str) -> list[WordAssociation]:
    """The likeliest words of a region, then the least likely."""
    return [row for row in result.associations if row.name == name]


def find_topic(result: geobias.RegionsResult, name: str, topic: str) -> Estimate:
    return next(row.times for row in result.topic_associations if (row.name, row.topic) == (name, topic))


def clear_details(result: geobias.RegionsResult) -> list[Finding]:
    details = with_role(result.findings, "detail")
    return [each for each in details if each.evidence == "clear" and each.measure == "association"]


def answer(result: geobias.RegionsResult) -> Finding:
    first = result.findings[0]
    assert first.role == "overall" and first.measure == "association"
    return first


@pytest.mark.parametrize("noise", [NOISE, 0.0])
def test_one_planted_pair_is_named_with_its_size(noise: float) -> None:
    result = audit(say("Kenya", ["shy"], log(40)), noise)
    association = result.association
    assert association is not None and association.marked == 1 and association.tests == PAIRS
    word = list_words(result, "Kenya")[0]
    expected = 40 ** ((1 - 1 / len(COUNTRIES)) * (1 - 1 / len(WORDS)))  # the pair is in both means
    assert word.word == "shy" and word.times.value == pytest.approx(expected, rel=0.4 if noise else 0.01)
    (detail,) = clear_details(result)
    assert (detail.subject, detail.code, detail.direction) == ("Kenya", "KE", "higher")
    said = "times as often as of the average country, relative to other words"
    assert "Of Kenya it says 'shy' " in detail.sentence and said in detail.sentence
    assert answer(result).evidence == "clear"


def test_a_word_in_two_topics_is_one_pair() -> None:
    result = audit(say("Kenya", ["weak"], log(60)))
    assert result.association is not None and result.association.marked == 1
    rows = [(row.id, row.word) for row in result.associations]
    assert ("KE", "weak") in rows and len(rows) == len(set(rows))


def test_templates_in_another_language_have_no_associations() -> None:
    result = audit(countries=COUNTRIES[:6], templates=["Les gens de {region} sont {description}."])
    assert result.association is None
    first = answer(result)
    assert first.evidence == "not testable" and "another language" in first.sentence
    assert audit(countries=COUNTRIES[:6], templates=["Folks in {region} are {description}."]).association is not None


def test_a_planted_tone_has_its_direction() -> None:
    for size, better, valence in ((0.8, "more", "better"), (-0.8, "less", "worse")):
        result = audit(say("Poland", FAVOURABLE, size))
        tone = find(result, "Poland").valence
        assert tone is not None and tone.low is not None and tone.high is not None
        assert tone.low < exp(size * (1 - 1 / len(COUNTRIES))) < tone.high
        detail = next(each for each in clear_details(result) if each.valence)
        assert (detail.subject, detail.valence) == ("Poland", valence)
        assert f"Poland is described {better} favourably" in detail.sentence
        assert result.association is not None
        worst = result.association.valence_worst
        assert worst is not None and worst.value == pytest.approx(max(tone.value or 0, 1 / (tone.value or 1)))
        assert worst.low is not None and worst.value is not None and 1 < worst.low < worst.value


def test_a_planted_topic_is_found_although_no_single_word_is() -> None:
    words = [word.word for word in WORDS if word.topic == TOPIC]
    result = audit(say("Japan", words, 0.5))
    assert result.association is not None and result.association.marked == 0
    marked = [
        (row.name, row.topic)
        for row in result.topic_associations
        if row.times.p_adjusted is not None and row.times.p_adjusted < 0.05
    ]
    assert ("Japan", TOPIC) in marked and {name for name, _ in marked} == {"Japan"}
    assert find_topic(result, "Japan", TOPIC).value == pytest.approx(exp(0.5), rel=0.5)
    assert answer(result).evidence == "clear"
    assert any(f"words of the topic {TOPIC}" in each.sentence for each in clear_details(result))


def test_a_model_without_associations_gives_no_finding() -> None:
    result = audit()
    first = answer(result)
    assert first.evidence == "none" and clear_details(result) == []
    assert f"None of {PAIRS:,} pairs stands out" in first.sentence
    assert "would probably be missed" in first.sentence and "names alone" in first.sentence


def test_constant_scores_have_no_ratio() -> None:
    result = audit(noise=0.0)
    assert result.association is not None and result.association.ratio is None and result.association.marked == 0
    assert answer(result).evidence == "not testable" and answer(result).size is None


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_a_model_that_looks_at_the_length_of_names_only_marks_nothing(noise: float) -> None:
    """Some words are likelier of long names than of short ones."""

    def judge(text: str) -> float:
        word = text.rsplit(" ", 1)[-1]
        return -0.3 * len(text) * (1 + zlib.crc32(word.encode()) % 7 / 7)

    result = audit(judge, noise)
    assert result.association is not None and result.association.marked == 0 and clear_details(result) == []
    assert answer(result).evidence in ("none", "suggestive")


def test_scores_are_carried_up_the_tree() -> None:
    result = audit(say("Kenya", ["shy", "ugly", "brave"], 2.0))
    scores = {region.name: region.association_score for region in result.regions}
    assert set(scores) >= {"Earth", "Africa", "Asia", "Europe", "Kenya"} and scores["Kenya"] is None
    assert scores["Africa"] == max(scores[name] or 0 for name in ("Africa", "Asia", "Europe"))
    strongest = max(result.region_associations, key=lambda region: region.strength)
    assert strongest.name == "Kenya"


def test_without_invented_places_nothing_is_tested() -> None:
    result = audit(say("Kenya", ["shy"], 3.0), placebo=False)
    assert result.association is not None and result.association.ratio is None
    assert list_words(result, "Kenya")[0].word == "shy" and list_words(result, "Kenya")[0].times.p is None
    assert answer(result).evidence == "not testable" and "--no-placebo" in answer(result).next_step


def test_few_regions_or_words_cannot_be_tested() -> None:
    for options in ({"countries": ["FR", "DE"]}, {"words": WORDS[:2]}):
        result = audit(**options)
        assert result.association is None
        assert answer(result).evidence == "not testable" and "three regions" in answer(result).sentence


def test_no_paraphrases_give_no_associations() -> None:
    result = audit(paraphrases=0, placebo=False)
    assert result.association is None and "paraphrases_scored" not in result.work
    assert all(finding.measure is None for finding in result.findings)


def test_one_paraphrase_has_no_interval_names_no_pair_and_is_at_most_suggestive() -> None:
    result = audit(say("Kenya", ["shy"], log(40)), paraphrases=1)
    assert result.association is not None and result.association.agreement is None and result.association.marked == 0
    word = list_words(result, "Kenya")[0]
    assert word.word == "shy" and word.times.low is None and word.times.p_adjusted is None
    assert not any("'shy'" in f"{each.sentence} {each.limit}" for each in result.findings)
    assert answer(result).evidence == "suggestive" and "--paraphrases 4" in answer(result).limit
    null = answer(audit(paraphrases=1))
    assert null.evidence == "none" and "no pair is tested" in null.sentence and "None of" not in null.sentence


@pytest.mark.parametrize("subject", ["demonym", "both"])
def test_demonyms_are_a_subject(subject: str) -> None:
    texts: list[str] = []
    demonym = plural_demonym("KE")
    assert demonym == "Kenyans"

    def judge(text: str) -> float:
        texts.append(text)
        return log(60) * ("Kenya" in text and text.endswith(" shy."))

    result = audit(judge, subject=subject, placebo=True)
    association = result.association
    assert association is not None and association.subject == subject and list_words(result, "Kenya")[0].word == "shy"
    assert association.paraphrases == (6 if subject == "both" else 3)
    assert (association.subject_agreement is not None) == (subject == "both")
    assert any("Kenyans" in text for text in texts) and any("Africans" in text for text in texts)
    assert association.signal is not None and association.signal.beyond_fame is None  # no city has a demonym
    assert answer(result).evidence == "suggestive" and "cannot be told apart" in answer(result).limit


def test_regions_without_a_demonym_are_left_out_and_counted(tmp_path: Path) -> None:
    result = audit(countries=[*COUNTRIES, "JE"], subject="demonym", placebo=False)
    assert result.association is not None and result.association.without_demonym == ["Jersey"]
    assert "Jersey" not in [region.name for region in result.region_associations]
    own = tmp_path / "tree.csv"
    own.write_text("id,name,parent\nE,All,\n" + "".join(f"{k},Place {k},E\n" for k in range(12)), encoding="utf-8")
    untested = geobias.audit_regions(hold(), tree=own, words=WORDS, subject="demonym", progress=False)
    assert untested.association is None and "demonym" in answer(untested).next_step


def test_a_tree_of_the_users(tmp_path: Path) -> None:
    own = tmp_path / "tree.csv"
    rows = [f"N{k},Northton {k},N" for k in range(8)] + [f"S{k},Southville {k},S" for k in range(8)]
    own.write_text("\n".join(["id,name,parent", "E,All,", "N,North,E", "S,South,E", *rows]), encoding="utf-8")
    opinion = hold(say("Southville 3", ["shy"], log(60)))
    result = geobias.audit_regions(opinion, tree=own, words=WORDS, paraphrases=4, progress=False)
    assert result.association is not None and result.association.level == "level 2"
    assert result.association.signal is not None
    assert result.association.signal.proxies == ["likelihood of the bare name"]  # no population is known
    (detail,) = clear_details(result)
    assert detail.code == "S3" and "of the average region" in detail.sentence


def test_words_of_the_users_may_have_a_valence(tmp_path: Path) -> None:
    file = tmp_path / "words.csv"
    rows = [f"word{k},first,{3 if k % 2 else -3}" for k in range(30)] + ["unrated,second,"]
    file.write_text("\n".join(["word,topic,valence", *rows]), encoding="utf-8")
    opinion = say("Kenya", [f"word{k}" for k in range(1, 30, 2)], 0.8)
    result = audit(opinion, words=file)
    assert [word.valence for word in result.scored_words[:2]] == [-3, 3]
    assert result.scored_words[-1].valence is None and {row.topic for row in result.topic_associations} == {"first"}
    tone = find(result, "Kenya").valence
    assert tone is not None and tone.low is not None and tone.low > 1.5
    assert any("more favourably" in detail.sentence for detail in clear_details(result))
    unrated = audit(words=[Word(f"zzz{k}") for k in range(12)])
    assert unrated.association is not None and unrated.association.valence_worst is None
    assert all(region.valence is None for region in unrated.region_associations)


def test_numbers_stay_finite_whatever_a_function_returns(tmp_path: Path) -> None:
    result = audit(say("Kenya", ["shy"], 1e5), out=tmp_path / "run")
    json.loads((tmp_path / "run" / "results.json").read_text())
    assert list_words(result, "Kenya")[0].times.value == pytest.approx(exp(LARGEST_LOG))
    assert np.isfinite(to_times(Estimates.unknown(np.array([-1e9, 1e9]))).value).all()
