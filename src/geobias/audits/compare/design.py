"""Two finished runs of one audit, unit by unit: the second minus the first.

They must have asked the same of the same: only the models (and, of regions, the scores) may differ. What is not so is
refused, with the first thing that differs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from geobias.audits.model_identity import versions
from geobias.audits.numbers import number
from geobias.errors import InputError
from geobias.measures.herb import descriptive_vectors, herb_scores
from geobias.measures.names_bootstrap import NameUnits
from geobias.measures.paired_differences import (
    MeasureKey,
    NamesAnswers,
    PairedDifference,
    names_differences,
    stack_as_family,
    text_differences,
    word_differences,
)
from geobias.world.regions import RegionTree

SCHEMA_VERSION = 1
CONTROL = "control"
SAME: dict[str, dict[str, str]] = {  # by audit: the settings that two runs must share, and what to call them
    "names": {
        "texts": "texts",
        "mentions": "people found in the texts",
        "entity": "entity",
        "countries": "countries",
        "draws": "draws",
        "seed": "seed",
        "names": "names",
        "names_are": "names, random or fixed,",
    },
    "regions": {"regions_digest": "tree of regions", "words": "words", "templates": "templates"},
    "downstream": {
        "texts": "texts",
        "prefix": "prefix",
        "control": "control",
        "regions": "kind of regions",
        "regions_digest": "regions",
    },
}
READ_ALIKE = {
    "labels": "labels",
    "threshold": "threshold",
    "positive": "positive labels",
    "negative": "negative labels",
}

Entry = Mapping[str, Any]


@dataclass(frozen=True)
class Comparison:
    """Two runs: a row for every measure of every country or region."""

    first: str
    second: str
    left_out: tuple[str, ...]  # classifiers that only one of the runs has
    rows: list[dict[str, Any]] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        return {"first": self.first, "second": self.second, "left_out": list(self.left_out), "rows": self.rows}


@dataclass(frozen=True)
class CompareResult:
    """Runs of one audit, each against the first."""

    audit: str
    runs: tuple[str, ...]
    models: list[dict[str, Any]] = field(repr=False)
    comparisons: tuple[Comparison, ...] = field(repr=False)

    @property
    def settings(self) -> dict[str, Any]:
        return {"audit": self.audit, "runs": list(self.runs)}

    @property
    def work(self) -> dict[str, int]:
        return {"models_asked": 0}

    def to_dict(self) -> dict[str, Any]:
        """The content of results.json."""
        return {
            "schema_version": SCHEMA_VERSION,
            "audit": "compare",
            "settings": self.settings,
            "models": self.models,
            "versions": versions(),
            "comparisons": [comparison.to_dict() for comparison in self.comparisons],
        }


def refuse_incomparable(first: Entry, second: Entry, names: tuple[str, str]) -> None:
    """Refuse runs of other audits, or of other texts, words or places; the sentence names the first difference."""
    if first["audit"] != second["audit"]:
        why = f"one is a run of `geobias {first['audit']}`, the other of `geobias {second['audit']}`"
        raise InputError(f"{names[0]} and {names[1]} cannot be compared: {why}.")
    for setting, what in SAME[first["audit"]].items():
        here, there = (_asked(run, setting) for run in (first, second))
        _refuse_other(what, here, there, names, show=not setting.endswith(("texts", "mentions", "names", "digest")))


def asked_otherwise(first: Entry, second: Entry) -> list[str]:
    """What two runs of one audit do not share, of all that they would have to share to be compared."""
    return [what for setting, what in SAME[first["audit"]].items() if _asked(first, setting) != _asked(second, setting)]


def _asked(run: Entry, setting: str) -> Any:
    value = run["settings"].get(setting)
    return value["digest"] if setting == "texts" else value  # the same ones may lie in another file


def _refuse_other(what: str, here: Any, there: Any, names: tuple[str, str], *, show: bool = True) -> None:
    if here != there:
        shown = show and not isinstance(here, list) and not isinstance(there, list)
        values = f" ({here} and {there})" if shown else ""
        raise InputError(f"{names[0]} and {names[1]} cannot be compared: other {what}{values}.")


def paired_classifiers(
    first: Entry, second: Entry, names: tuple[str, str]
) -> tuple[list[tuple[Entry, Entry]], tuple[str, ...]]:
    """Classifiers of one name; where each run has only one, those two, whatever their names. And who is left out."""
    here, there = ({entry["model"]["name"]: entry for entry in run["classifiers"]} for run in (first, second))
    if len(here) == len(there) == 1:
        pairs = [(*here.values(), *there.values())]
        left_out: tuple[str, ...] = ()
    else:
        pairs = [(here[name], there[name]) for name in here if name in there]
        left_out = tuple(sorted(here.keys() ^ there.keys()))
    if not pairs:
        raise InputError(
            f"{names[0]} and {names[1]} cannot be compared: no classifier is in both ({', '.join(left_out)})."
        )
    for one, other in pairs:
        for key, what in READ_ALIKE.items():
            values = (entry.get(key) for entry in (one, other))
            known, told = (sorted(value) if isinstance(value, list) else value for value in values)
            if key == "positive" and first["audit"] == "downstream":
                continue  # it says which class is shown, and all are compared
            _refuse_other(f"{what} ({one['model']['name']}, {other['model']['name']})", known, told, names, show=False)
    return pairs, left_out


def names_rows(
    pair: tuple[Entry, Entry], first: NamesAnswers, second: NamesAnswers, names: NameUnits, *, names_fixed: bool
) -> Iterator[dict[str, Any]]:
    """Two classifiers on the same renamed texts; classes are in the order of the first one's labels."""
    entry, labels = pair[0], pair[0]["labels"]
    positive, negative = ([labels.index(label) for label in entry[side]] for side in ("positive", "negative"))
    found = names_differences(
        first,
        second,
        names,
        positive=positive,
        negative=negative,
        threshold=entry["threshold"],
        names_fixed=names_fixed,
    )
    places = [(country["code"], country["country"]) for country in entry["countries"]]
    for key, paired in found.items():
        yield from _rows(pair, key, labels if key.measure == "change" else (), places, paired)


def downstream_rows(pair: tuple[Entry, Entry], first: np.ndarray, second: np.ndarray) -> Iterator[dict[str, Any]]:
    """Two classifiers on the same prefixed texts: texts x (as it was, control, regions) x the first one's labels."""
    entry = pair[0]
    places = [(region["id"], region["name"]) for region in entry["regions"]]
    for key, base in (
        (MeasureKey("mean_difference", "originals"), 0),
        (MeasureKey("against_control", CONTROL), 1),
    ):
        by_label = [
            text_differences(*(said[:, 2:, k] - said[:, base, None, k] for said in (first, second)))
            for k in range(len(entry["labels"]))
        ]
        yield from _rows(pair, key, entry["labels"], places, stack_as_family(by_label))


def regions_rows(
    pair: tuple[Entry, Entry], tree: RegionTree, likelihoods: Sequence[np.ndarray], names: Sequence[np.ndarray]
) -> Iterator[dict[str, Any]]:
    """Two models on the same words: the balanced C_w of the root and of what lies directly below it.

    Of each model the likelihoods (templates x regions x words) and those of the regions' names.
    """
    below = [int(i) for i in tree.children[0] if len(tree.children[i]) > 1]
    top = [0, *below] if len(tree.children[0]) > 1 else below
    if not top or likelihoods[0].shape[2] < 2:
        raise InputError(
            "There is nothing to compare: it takes two words, and a region at the top with two sub-regions."
        )

    def c_w(words: np.ndarray) -> np.ndarray:
        """templates x runs x regions."""
        return np.stack(
            [_balanced(f[:, :, words], name, tree)[:, top] for f, name in zip(likelihoods, names, strict=True)], axis=1
        )

    places = [(tree.regions[i].id, tree.regions[i].name) for i in top]
    key = MeasureKey("c_w.balanced", "sub-regions")
    yield from _rows(pair, key, (), places, word_differences(c_w, likelihoods[0].shape[2]))


def _balanced(likelihoods: np.ndarray, names: np.ndarray, tree: RegionTree) -> np.ndarray:
    """templates x regions."""
    return np.stack([herb_scores(descriptive_vectors(f), names, tree.children).c_w["balanced"] for f in likelihoods])


def _rows(
    pair: tuple[Entry, Entry],
    key: MeasureKey,
    labels: Sequence[str],
    places: list[tuple[str, str]],
    paired: PairedDifference,
) -> Iterator[dict[str, Any]]:
    """A row for each place, and for each label where the measure has them (labels x places)."""
    for index in np.ndindex(paired.first.shape):
        place, name = places[index[-1]]
        yield {
            "models": [entry["model"]["name"] for entry in pair],
            "measure": key.measure,
            "against": key.reference,
            "label": labels[index[0]] if labels else None,
            "id": place,
            "name": name,
            "first": number(paired.first[index]),
            "second": number(paired.second[index]),
            "difference": asdict(paired.difference.at(*index)),
        }
