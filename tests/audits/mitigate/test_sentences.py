"""What the sentences of a mitigation must say besides its success: who is missed, what mirrors, what was no gap."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from hashlib import blake2b

import numpy as np
import pytest

import geobias
from geobias.audits.mitigate.findings import list_findings
from geobias.report.results import Interval
from tests.audits.mitigate.test_planted import run_mitigation, sentences
from tests.models.mitigated.planted import COUNTRIES, dislike_poland, find_everybody, has_name_of, make_texts, name_of


def move_by_name(texts: list[str]) -> np.ndarray:
    """Every name has an effect of its own; no country has one."""
    noise = [blake2b(name_of(text).encode(), digest_size=1).digest()[0] / 255 - 0.5 for text in texts]
    good = 0.5 + 0.3 * np.array(noise)
    return np.column_stack([1 - good, good])


move_by_name.labels = ["negative", "positive"]  # type: ignore[attr-defined]


def test_hiding_single_names_is_not_praised_as_less_spread_between_countries() -> None:
    result = geobias.mitigate(
        move_by_name, texts=make_texts(), method="blind", finder=find_everybody, countries=COUNTRIES, draws=6
    )
    assert result.before is not None and not result.before.spread.exceeds_noise
    answer = sentences(result, "overall")
    assert "% less" not in answer and "Before, the spread was no more than noise (equal countries would show" in answer
    assert (result.methods[0].change.flips.value or 0) < 0  # but fewer labels flip, and that is what it helps with
    assert "fewer labels flip (change" in answer


def test_the_names_that_the_finder_misses_stand_beside_the_fall() -> None:
    def miss(code: str) -> Callable[[list[str]], list[list[tuple[int, int]]]]:
        def find(texts: list[str]) -> list[list[tuple[int, int]]]:
            found = find_everybody(texts)
            return [[] if has_name_of(text, code) else spans for text, spans in zip(texts, found, strict=True)]

        return find

    rows = [{"text": text, "spans": [list(find_everybody([text])[0][0])]} for text in make_texts(24)]
    rows[0] = {"text": (text := "Today I met Jan Kowalski at work. We had lunch."), "spans": [[12, 24]]}
    assert text[12:24] == "Jan Kowalski"
    result = geobias.mitigate(
        dislike_poland, texts=rows, spans="spans", method="blind", finder=miss("PL"), countries="PL,FR,IT", draws=3
    )
    answer = sentences(result, "overall")
    assert "misses, " in answer and "% of those tested (Poland " in answer and "hidden by construction" in answer
    assert (result.counts.originals, result.counts.originals_missed) == (24, 1)
    assert "In the original texts it misses 1 of 24 marked names." in answer
    found = run_mitigation(dislike_poland, "blind")
    answer = sentences(found, "overall")
    assert "misses, 0 % of those tested: the others" in answer and found.counts.originals is None
    assert "People whom it missed in the original texts are not tested: mark them (--spans)." in answer


def test_gaps_after_have_intervals_and_mirrors_are_said() -> None:
    """Only Poland changes: the five others move by a fifth of it, and no sentence may take that for an improvement."""
    result = run_mitigation(dislike_poland, "blind")
    (entry,) = result.methods
    poland = next(country for country in entry.countries if country.code == "PL")
    assert (
        sum(country.change.p_adjusted is not None and country.change.p_adjusted < 0.05 for country in entry.countries)
        > 2
    )
    sentence = next(finding.sentence for finding in result.findings if finding.question.startswith("For whom"))
    assert f"the gap shrinks for Poland ({poland.before.value:+.1f} to +0.0, 95 % interval " in sentence
    assert "and 2 more may only mirror that" in sentence and "France (" not in sentence
    untested = replace(entry, countries=[replace(poland, after=replace(poland.after, low=None, high=None))])
    text = list_findings(replace(result, methods=[untested]))[2].sentence
    assert "95 %" not in text and "Poland (" in text


def test_a_finder_that_misses_nobody_of_a_country_does_not_name_it() -> None:
    result = run_mitigation(dislike_poland, "blind")
    (entry,) = result.methods
    countries = [
        replace(country, recall=Interval(recall, None, None))
        for country, recall in zip(entry.countries, (1.0, 0.98, 0.9, 1.0, 0.999, 0.7), strict=True)
    ]
    changed = replace(entry, countries=countries, recall=Interval(0.93, None, None))
    names = [country.country for country in countries]
    answer = list_findings(replace(result, methods=[changed]))[0].sentence
    assert f"7.0 % of those tested ({names[5]} 30 %, {names[2]} 10 % and {names[1]} 2 %)" in answer


@pytest.mark.parametrize("exceeds", [True, False])
def test_a_spread_within_the_noise_floor_is_none_to_mitigate(exceeds: bool) -> None:
    result = run_mitigation(dislike_poland, "blind")
    assert result.before is not None and result.before.spread.exceeds_noise
    before = replace(result.before, spread=replace(result.before.spread, exceeds_noise=exceeds))
    assert ("% less" in list_findings(replace(result, before=before))[0].sentence) == exceeds
