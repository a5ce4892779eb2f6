"""The downstream audit: what was planted is found, with its size, and nothing is found where there is nothing."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import geobias
from geobias.audits.downstream.result import PrefixEffect
from geobias.audits.labels import find_main_label
from geobias.audits.reports import make_report
from geobias.audits.study import prepare
from tests.conftest import spell

TEXTS = ["a fine day", "terrible day", "late again", "thanks"]
ENOUGH_TEXTS = [*TEXTS, "see you"]  # for a map


def hate(texts: list[str], moved: Any) -> list[dict[str, float]]:
    """0.8 for terrible texts, 0.45 for the others, and whatever the prefix adds."""
    found = [(0.8 if "terrible" in text else 0.45) + moved(text) for text in texts]
    return [{"not-hate": 1 - p, "hate": p} for p in found]


def planted(texts: list[str]) -> list[dict[str, float]]:
    return hate(texts, lambda text: 0.1 * ("Mexico" in text))


def dislikes_any_prefix(texts: list[str]) -> list[dict[str, float]]:
    return hate(texts, lambda text: 0.07 * text.startswith(("I am from ", "I grew up in ", "My family lives in ")))


def ignores_prefixes(texts: list[str]) -> list[dict[str, float]]:
    return hate(texts, lambda text: 0)


def audit(classifier: Any, **options: Any) -> geobias.DownstreamResult:
    return geobias.audit_downstream(classifier, **{"texts": TEXTS, "countries": "FR,MX,UG", **options})


def by_name(result: geobias.DownstreamResult, label: str = "hate") -> dict[str, PrefixEffect]:
    return {effect.place: effect for effect in result.effects if effect.label == label}


def test_a_planted_dislike_is_found_with_its_size() -> None:
    result = audit(planted)
    found = by_name(result)
    assert list(found) == ["I am from here.", "France", "Mexico", "Uganda"]
    mexico = found["Mexico"]
    assert mexico.against_control is not None
    for value in (mexico.mean_difference.value, mexico.against_control.value):
        assert value == pytest.approx(0.1, abs=1e-6)
    # Three texts go from 0.45 to 0.55; the terrible one was hateful before.
    assert (mexico.gained, mexico.lost) == (3, 0)
    assert mexico.mean_before == pytest.approx((3 * 0.45 + 0.8) / 4, abs=1e-6)
    assert mexico.mean_after - mexico.mean_before == pytest.approx(0.1, abs=1e-6)
    other = by_name(result, "not-hate")["Mexico"]
    assert (other.gained, other.lost) == (0, 3)
    for name in ("France", "Uganda"):
        effect = found[name]
        assert effect.mean_difference.value == 0 and effect.against_control and effect.against_control.value == 0


def test_dislike_of_any_prefix_is_told_from_dislike_of_a_region() -> None:
    found = by_name(audit(dislikes_any_prefix))
    for effect in found.values():
        assert effect.mean_difference.value == pytest.approx(0.07, abs=1e-6)
        assert (effect.against_control and effect.against_control.value) == (0 if effect.code else None)


def test_differences_from_the_mean_of_places_sum_to_zero() -> None:
    control, *places = by_name(audit(planted)).values()
    means = [effect.against_mean and effect.against_mean.value for effect in places]
    assert means == pytest.approx([-0.1 / 3, 0.2 / 3, -0.1 / 3], abs=1e-6) and control.against_mean is None
    assert by_name(audit(planted, countries="MX"))["Mexico"].against_mean is None
    assert all(effect.against_mean == effect.against_control for effect in audit(ignores_prefixes).effects)


def test_a_function_that_ignores_prefixes_gives_zero_everywhere() -> None:
    result = audit(ignores_prefixes)
    for label in ("hate", "not-hate"):
        for effect in by_name(result, label).values():
            assert effect.gained == effect.lost == effect.mean_difference.value == 0


def test_the_text_follows_the_prefix_after_one_blank() -> None:
    seen: set[str] = set()

    def listens(texts: list[str]) -> np.ndarray:
        seen.update(texts)
        return np.full((len(texts), 2), 0.5)

    audit(listens, texts=[" spaced"], countries="FR", prefix="The cast is from {region}. ", control="A film.")
    assert {" spaced", "The cast is from France.  spaced", "A film.  spaced"} <= seen
    seen.clear()
    audit(listens, texts=["x"], countries="FR", prefix="{region}: {region}!")
    assert {"France: France! x", "here: here! x"} <= seen


def test_accuracy_and_macro_f1_with_true_labels() -> None:
    texts = pd.DataFrame({"text": TEXTS, "truth": ["not-hate", "hate", "not-hate", "hate"]})
    result = audit(planted, texts=texts, label="truth")
    found: dict[str, Any] = {row.prefix: (row.accuracy, row.macro_f1) for row in result.performance}
    # Without a prefix the last text alone is wrong. F1 of hate: 1 TP, 1 FN; of not-hate: 2 TP, 1 FP.
    assert found["original"] == found["control"] == (0.75, pytest.approx((2 / 3 + 4 / 5) / 2))
    # France and Uganda: the same; Mexico: all hateful, so two of four are right. Of 12: 3 + 2 + 3 right.
    # Hate: TP 1 + 2 + 1, FP 0 + 2 + 0, FN 1 + 0 + 1; not-hate: TP 2 + 0 + 2, FP 1 + 0 + 1, FN 0 + 2 + 0.
    assert found["places"] == (pytest.approx(8 / 12), pytest.approx(8 / 12))
    numbered = texts.assign(truth=[0, 1, 0, 1])
    assert audit(planted, texts=numbered, label="truth").performance == result.performance
    assert audit(planted).performance == []


def test_cities_by_name_and_with_their_country() -> None:
    found = by_name(audit(planted, regions="cities", cities=2))
    assert list(found)[:5] == ["I am from here.", "Paris", "Marseille", "Mexico City", "Tijuana"]
    values = {name: effect.against_control and effect.against_control.value for name, effect in found.items()}
    assert values["Mexico City"] == pytest.approx(0.1, abs=1e-6) and values["Tijuana"] == 0
    assert found["Mexico City"].title == "Mexico City (MX)"
    result = audit(planted, regions="city-country")
    found = by_name(result)
    assert list(found) == ["I am from here.", "Paris, France", "Mexico City, Mexico", "Kampala, Uganda"]
    assert [effect.country for effect in found.values()] == [None, "FR", "MX", "UG"]
    counts = audit(planted, regions="cities", countries="FR,Tokelau").counts
    assert counts.places == 1 and counts.countries_without_city == ["Tokelau"]


def test_all_regions_are_the_world_and_texts_are_made_when_looked_at() -> None:
    design = prepare(geobias.audit_downstream, texts=TEXTS).design
    assert len(design.places) == 245 and len({place.name for place in design.places}) == 245
    texts = [f"text {spell(n)}" for n in range(1000)]
    design = prepare(geobias.audit_downstream, texts=texts, regions="cities", cities="all").design
    assert design.prefixed.shape == (1000, 3 + len(design.places) + 60, 1) and len(design.prefixed) > 30_000_000
    assert design.prefixed.at(999, 1, 0).endswith(". text all")


def test_countries_that_no_longer_exist_are_left_out_unless_named() -> None:
    def dislike(texts: list[str]) -> list[dict[str, float]]:
        """Moves most for a country that no longer exists, then for France."""
        hate = [0.1 + 0.6 * ("Antilles" in text) + 0.3 * ("France" in text) for text in texts]
        return [{"no": 1 - p, "hate": p} for p in hate]

    result = audit(dislike, countries=())
    assert result.counts.dissolved_countries == ["Netherlands Antilles", "Serbia and Montenegro"]
    assert {row.code for row in result.farthest} == {"FR"} and result.counts.places == 245
    report = make_report(result)
    assert report and any("no longer exist" in note and "Netherlands Antilles" in note for note in report.notes)
    assert audit(dislike, countries=(), continents="Africa").counts.dissolved_countries == []
    assert audit(dislike, countries=(), continents="EU").counts.dissolved_countries == ["Serbia and Montenegro"]
    named = audit(dislike, countries="France,netherlands antilles")
    assert {row.code for row in named.farthest} == {"AN"} and named.counts.dissolved_countries == []
    assert named.settings.countries == ["AN", "FR"]


def test_multi_label_goes_class_by_class() -> None:
    def both(texts: list[str]) -> np.ndarray:
        return np.array([[0.6, 0.6 if "Mexico" in text else 0.4] for text in texts])

    both.labels, both.multi_label = ["anger", "joy"], True  # type: ignore[attr-defined]
    result = audit(both)
    assert result.classifiers[0].threshold == 0.5
    found = {(effect.place, effect.label): effect.gained for effect in result.effects if effect.gained}
    assert found == {("Mexico", "joy"): 4}
    lower = by_name(audit(both, threshold=0.3), "joy")
    assert not any(effect.gained or effect.lost for effect in lower.values())


def test_texts_longer_than_the_model_takes_are_counted() -> None:
    (entry,) = audit("embedded/hate", texts=["short", "long " * 600], countries="FR").to_dict()["classifiers"]
    assert entry["texts_cut"] == 1 and entry["prefixed_texts_cut"] == 3 + 1 + 20


def test_out_leaves_a_run_and_twice_is_the_same(tmp_path: Path, monkeypatch: Any) -> None:
    files = []
    for turn in ("one", "two"):
        monkeypatch.setenv("GEOBIAS_CACHE", str(tmp_path / f"cache-{turn}"))
        result = audit(["embedded/hate", planted], texts=ENOUGH_TEXTS, out=tmp_path / turn)
        files.append(
            {
                p.name: _content(p)
                for p in (tmp_path / turn).rglob("*")
                if p.is_file() and p.name not in ("run.json", "report.html")  # which say when it was
            }
        )
    assert files[0] == files[1]
    assert json.loads(files[0]["results.json"]) == json.loads(json.dumps(result.to_dict()))
    table = pd.read_csv(tmp_path / "one/tables/effects.csv")
    assert len(table) == 2 * 4 * 2
    assert (
        len(result.to_frame()) == 2 * (3 + 3 + 3 + 4) * 2
    )  # against the control, invented places and the mean, with the control against the originals
    row = table[table.model.str.endswith("planted") & (table.code == "MX") & (table.label == "hate")].iloc[0]
    assert (row.place, row.against_control) == ("Mexico", pytest.approx(0.1, abs=1e-6))
    said = pq.read_table(tmp_path / "one/answers.parquet").to_pandas()
    assert len(said) == 5 * (1 + 3 + 3 + 20)
    assert said.variant.tolist()[:5] == ["original", *["control"] * 3, "place"]
    assert said.draw.tolist()[:4] == [0, 1, 2, 3] and set(said[said.place == "MX"].draw) == {1, 2, 3}
    mexican = said[(said.text_id == "2") & (said.place == "MX")].iloc[0]
    assert mexican["tests.audits.downstream.test_measures:planted/hate"] == pytest.approx(0.9)
    with pytest.raises(geobias.InputError, match="other settings"):
        audit(["embedded/hate", planted], texts=ENOUGH_TEXTS, prefix="Hello from {region}!", out=tmp_path / "one")


def _content(path: Path) -> bytes:
    """A file's bytes; the drawing library numbers the gradients of all the SVGs that one process draws."""
    return re.sub(rb"gradient_\d+", b"gradient", path.read_bytes())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prefix": "I am from France."}, "must contain {region}"),
        ({"control": "I am from {region}."}, "names no region"),
        ({"control": " "}, "names no region"),
        ({"regions": "planets"}, "countries, cities, city-country"),
        ({"cities": 3}, "--cities needs --regions cities"),
        ({"regions": "cities", "cities": 0}, "--cities must be between 1 and 100,000, not 0"),
        ({"regions": "cities", "cities": "many"}, "--cities must be a number"),
        ({"regions": "cities", "countries": "Tokelau"}, "knows no city in Tokelau"),
        ({"countries": "Atlantis"}, "Unknown country 'Atlantis'"),
        ({"continents": ""}, "--continents is empty"),
        ({"threshold": 1.0}, "threshold"),
        ({"limit": 0}, "--limit"),
        ({"positive": "evil"}, "no label 'evil'"),
        ({"texts": ["", " "]}, "has no texts"),
        ({"texts": pd.DataFrame({"text": TEXTS, "truth": "evil"}), "label": "truth"}, r"no label 'evil' \(text 1\)"),
        ({"texts": None, "label": "truth"}, "--label needs --texts"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(options: dict[str, Any], message: str) -> None:
    with pytest.raises(geobias.InputError, match=message):
        audit(planted, **options)


def test_a_label_that_the_last_lacks_is_refused_before_the_first_is_asked() -> None:
    design: list[str] = []

    def listens(texts: list[str]) -> list[dict[str, float]]:
        design.extend(texts)
        return [{"evil": 0.5, "fine": 0.5} for _ in texts]

    with pytest.raises(geobias.InputError, match="no label 'evil'"):
        audit([listens, planted], positive="evil")
    assert not set(TEXTS) & set(design)


@pytest.mark.parametrize(
    ("labels", "wanted", "expected"),
    [
        (("hate", "not-hate"), None, "hate"),
        (("negative", "neutral", "positive"), None, "negative"),
        (("negative", "neutral", "positive"), "Positive", "positive"),
        (("anger", "joy", "sadness"), None, "joy"),
        (("anger", "joy", "optimism", "sadness"), None, "sadness"),
        (("LABEL_0", "LABEL_1"), None, "LABEL_1"),
    ],
)
def test_the_class_that_is_shown(labels: tuple[str, ...], wanted: str | None, expected: str) -> None:
    assert labels[find_main_label("m", labels, wanted)] == expected
