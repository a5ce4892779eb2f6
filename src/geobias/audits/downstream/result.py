"""What a downstream audit found: for every classifier, prefix and class, how far the prefix moved it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from geobias.audits.model_identity import versions
from geobias.audits.numbers import number
from geobias.measures.bootstrap import bootstrap_means, largest_mean
from geobias.measures.estimates import Estimate
from geobias.measures.shift import Shift, flips, performance, shift
from geobias.texts.user_texts import Texts

if TYPE_CHECKING:
    import pandas as pd

SCHEMA_VERSION = 1
BY_CLASS = (
    "rose", "mean_rise", "fell", "mean_fall", "mean_difference", "against_control", "share_before", "share_after",
    "share_change", "gained", "lost",
)  # fmt: skip


@dataclass(frozen=True)
class Place:
    """A region that texts are said to come from."""

    id: str
    name: str  # as the prefix names it
    country: str  # code


@dataclass(frozen=True)
class Judgement:
    """What one classifier said of every text, as it was and with every prefix."""

    model: dict[str, Any]
    labels: tuple[str, ...]
    multi_label: bool
    shown: int  # the class that the terminal and the map show
    threshold: float | None
    original: np.ndarray = field(repr=False)  # texts x labels
    prefixed: np.ndarray = field(repr=False)  # texts x (control, then regions) x labels
    truth: np.ndarray | None = field(repr=False)  # texts x labels
    counts: dict[str, int]
    work: dict[str, int]
    notes: tuple[str, ...] = ()  # how something was read that was not said


@dataclass(frozen=True)
class DownstreamResult:
    """How classifiers judge the same texts, said to come from region after region."""

    texts: Texts = field(repr=False)
    places: tuple[Place, ...] = field(repr=False)
    control: str  # the prefix that names no region
    without_city: tuple[str, ...]
    settings: dict[str, Any] = field(repr=False)
    judgements: tuple[Judgement, ...] = field(repr=False)

    @cached_property
    def classifiers(self) -> list[dict[str, Any]]:
        """For every classifier what results.json says of it."""
        return [self._entry(judgement) for judgement in self.judgements]

    @property
    def counts(self) -> dict[str, Any]:
        """Nothing silent: how much was asked, and what was left out."""
        return {
            "texts": len(self.texts),
            "rows_without_text": self.texts.left_out,
            "regions": len(self.places),
            "countries_without_city": list(self.without_city),
        }

    @property
    def models(self) -> list[dict[str, Any]]:
        """Every classifier that was asked."""
        return [judgement.model for judgement in self.judgements]

    @property
    def work(self) -> dict[str, int]:
        """What this run had to compute; the rest was known."""
        return {
            name: sum(judgement.work[name] for judgement in self.judgements)
            for name in ("texts_scored", "prefixed_texts_scored")
        }

    @property
    def frame(self) -> pd.DataFrame:
        """A row for each classifier, region and class; the control is a region without an id."""
        import pandas as pd

        return pd.DataFrame(list(self.rows()))

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows of `frame` and of tables/regions.csv."""
        for entry in self.classifiers:
            for region in (entry["control"], *entry["regions"]):
                about = {"classifier": entry["model"]["name"]}
                about |= {"region": region["id"], "name": region["name"], "country": region["country"]}
                for label, found in region["classes"].items():
                    row = {**about, "label": label, **{name: found[name] for name in BY_CLASS}}
                    for name, estimate in found["inference"].items():
                        row |= {f"{name}_{key}": estimate[key] for key in ("low", "high", "p", "p_adjusted")}
                    yield row

    def to_dict(self) -> dict[str, Any]:
        """The content of results.json: the same for the same question and models, whenever and wherever it is asked."""
        return {
            "schema_version": SCHEMA_VERSION,
            "audit": "downstream",
            "settings": self.settings,
            "models": self.models,
            "versions": versions(),
            "counts": self.counts,
            "classifiers": self.classifiers,
        }

    def _entry(self, judged: Judgement) -> dict[str, Any]:
        control, *regions = self._regions(judged)
        entry: dict[str, Any] = {
            "model": judged.model,
            "labels": list(judged.labels),
            "multi_label": judged.multi_label,
            "threshold": judged.threshold,
            "shown": judged.labels[judged.shown],
            "counts": judged.counts,
            "notes": list(judged.notes),
        }
        if judged.truth is not None:
            tested = {
                "original": judged.original[:, None],
                "control": judged.prefixed[:, :1],
                "regions": judged.prefixed[:, 1:],
            }
            entry["performance"] = {
                name: {
                    measure: number(np.float64(value))
                    for measure, value in asdict(performance(judged.truth, said, judged.threshold)).items()
                }
                for name, said in tested.items()
            }
        return entry | {"worst": self._worst(judged), "control": control, "regions": regions}

    def _worst(self, judged: Judgement) -> dict[str, Any]:
        """For every class the region farthest from the control, with bounds that hold for all regions at once."""
        worst = {}
        for k, label in enumerate(judged.labels):
            value, low, high, which = largest_mean(judged.prefixed[:, 1:, k] - judged.prefixed[:, :1, k])
            bounds = {"low": number(np.float64(low)), "high": number(np.float64(high))}
            worst[label] = {"value": value, **bounds, "region": self.places[which].id}
        return worst

    def _regions(self, judged: Judgement) -> list[dict[str, Any]]:
        """The control, then every region: what it does to each class, and which texts change theirs."""
        moved = shift(judged.original, judged.prefixed, judged.threshold)
        against = moved.mean_difference - moved.mean_difference[0]
        against[0] = np.nan  # the control has nothing to stand against
        values = vars(moved) | {
            "against_control": against,
            "share_before": np.broadcast_to(moved.share_before, against.shape),
            "share_change": (moved.gained - moved.lost) / len(self.texts),
        }
        named: list[dict[str, Any]] = [{"id": None, "name": self.control, "country": None}]
        named += [asdict(place) for place in self.places]
        turned = self._flips(judged, moved)
        differences = judged.prefixed - judged.original[:, None]
        plain, beyond = bootstrap_means(differences), bootstrap_means(differences - differences[:, :1])
        return [
            {
                **about,
                "classes": {
                    label: {name: number(values[name][i, k]) for name in BY_CLASS}
                    | {
                        "inference": {
                            "mean_difference": asdict(plain.at(i, k)),
                            "against_control": asdict(beyond.at(i, k) if i else Estimate(None, None, None, None, None)),
                        }
                    }
                    for k, label in enumerate(judged.labels)
                },
                "flips": turned[i],
            }
            for i, about in enumerate(named)
        ]

    def _flips(self, judged: Judgement, moved: Shift) -> list[list[dict[str, Any]]]:
        """For each prefix, how many texts went from which class to which; pairs without any are left out.

        Where a text may have several classes or none, every class comes and goes by itself: its other side is None.
        """
        labels: tuple[str | None, ...] = judged.labels
        if judged.threshold is None:
            tables = flips(judged.original, judged.prefixed)
        else:
            labels = (*labels, None)
            tables = np.zeros((len(moved.gained), len(labels), len(labels)), dtype=np.int64)
            tables[:, -1, :-1], tables[:, :-1, -1] = moved.gained, moved.lost
        return [
            [{"from": labels[i], "to": labels[k], "texts": int(table[i, k])} for i, k in np.argwhere(table)]
            for table in tables
        ]
