"""How sure the regions audit is of its numbers: intervals, random regions, ranks, and what the names alone do.

Nothing is asked for it but the sentences about invented places, and those only where a placebo was wanted.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from geobias.audits.numbers import number
from geobias.audits.regions.placebo import ENOUGH, placebo
from geobias.measures.estimates import RESAMPLES, Estimates
from geobias.measures.herb import FORMS, Children, descriptive_vectors
from geobias.measures.random_regions import (
    PERMUTATIONS,
    LeaveOneOut,
    RandomRegionTests,
    compare_with_random_regions,
    leave_one_out,
    rows_by_level,
)
from geobias.measures.ranks import bootstrap_rank_correlations, kendalls_w, rank_intervals
from geobias.measures.region_intervals import (
    FLAT,
    SCORES,
    RegionJackknife,
    centroid_distances,
    jackknife_regions,
)

if TYPE_CHECKING:
    from geobias.audits.regions.design import RegionsResult

FEWEST_RANKED = 3  # regions that templates put in an order


@dataclass(frozen=True)
class Inference:
    """Beside every score: its interval, what random regions give, its rank, the sub-region that it hangs on most."""

    intervals: dict[str, Estimates]  # by measure, each over all regions; the p of c_w.balanced is that of the null
    nulls: RandomRegionTests
    ranks: dict[int, dict[str, Any]]
    left_out: dict[int, LeaveOneOut | None]
    tokenisation: list[dict[str, Any]]
    placebo: dict[str, Any] | None
    kendall_w: list[dict[str, Any]] | None
    summary: dict[str, Any]  # how much was resampled, and what was not

    def of(self, result: RegionsResult, region: int) -> dict[str, Any]:
        """What is added to one region's entry; nothing for a region without a pair of sub-regions."""
        tree = result.question.tree
        if len(tree.children[region]) < 2:
            return {}
        entry: dict[str, Any] = {
            "inference": {
                variant: {form: asdict(self.intervals[f"{variant}.{form}"].at(region)) for form in FORMS}
                for variant in ("c_w", "c_z")
            }
            | {FLAT: asdict(self.intervals[FLAT].at(region))},
            "null": self._null(result, region),
        }
        if region in self.ranks:
            entry["rank"] = self.ranks[region]
        if region in self.left_out:
            entry["leave_one_out"] = _left_out(result, self.left_out[region], region)
        return entry

    def _null(self, result: RegionsResult, region: int) -> dict[str, Any] | None:
        """What random regions give, for balanced C_w and, within, for plain sparseness (Eq. 3); None without them."""
        if np.isnan(self.nulls.p["c_w"][region]):
            return None
        found = {}
        for measure, name in (("c_w", "c_w.balanced"), ("sparseness", "sparseness")):
            value, mean = result.measure(name)[region], self.nulls.mean[measure][region]
            found[measure] = {
                "mean": number(mean),
                "ratio": number(value / mean) if mean > 0 else None,
                "p": number(self.nulls.p[measure][region]),
                "p_adjusted": number(self.nulls.p_adjusted[measure][region]),
                "sparser": bool(value > mean),
            }
        return found["c_w"] | {"sparseness": None if region == 0 else found["sparseness"]}


def infer(result: RegionsResult) -> Inference:
    """Everything at once; what is too large for it is left out, and the summary says so."""
    children, likelihoods = result.question.tree.children, result.likelihoods
    vectors = [descriptive_vectors(of_template) for of_template in likelihoods]
    c_w = result.by_template("c_w.balanced")
    nulls = compare_with_random_regions(vectors, c_w, children)
    by_words = jackknife_regions(likelihoods, result.name_likelihoods, children)
    intervals = {
        name: by_words[name].estimates(name, len(children))
        if name in by_words
        else Estimates.unknown(result.measure(name))
        for name in (*SCORES, FLAT)
    }
    balanced = intervals["c_w.balanced"]
    intervals["c_w.balanced"] = Estimates(
        balanced.value, balanced.low, balanced.high, nulls.p["c_w"], nulls.p_adjusted["c_w"]
    )
    return Inference(
        intervals=intervals,
        nulls=nulls,
        ranks=_ranks(balanced.value, by_words.get("c_w.balanced"), children),
        left_out=leave_one_out(vectors, c_w, children),
        tokenisation=_tokenisation(result, vectors),
        placebo=None if result.invented is None else placebo(result, result.invented),
        kendall_w=_agreement(result, c_w) if len(likelihoods) > 1 else None,
        summary={
            "words_left_out": len(result.question.words) if by_words else 0,
            "resamples": RESAMPLES,
            "permutations": PERMUTATIONS,
            "left_out": _left_out_notes(by_words, nulls),
        },
    )


def _ranks(value: np.ndarray, by_words: RegionJackknife | None, children: Children) -> dict[int, dict[str, Any]]:
    """The ranks of the inner regions directly below the root."""
    rows = np.array([row for row in children[0] if len(children[row]) > 1], dtype=np.int64)
    if by_words is None or len(rows) < 2:
        return {}
    found = rank_intervals(value[rows], by_words.bootstrap_values("c_w.balanced", rows))
    names = ("value", "low", "high")
    return {
        int(row): {name: int(rank[k]) for name, rank in zip(names, found, strict=True)} for k, row in enumerate(rows)
    }


def _left_out(result: RegionsResult, left_out: LeaveOneOut | None, region: int) -> dict[str, Any] | None:
    if left_out is None:
        return None
    other = result.question.tree.regions[left_out.region]
    change = left_out.value - result.measure("c_w.balanced")[region]
    return {"id": other.id, "name": other.name, "value": left_out.value, "change": float(change)}


def _tokenisation(result: RegionsResult, vectors: Sequence[np.ndarray]) -> list[dict[str, Any]]:
    """Level by level: does a region's distance to its siblings go with its name's tokens or f, or with its norm?"""
    children, regions = result.question.tree.children, result.question.tree.regions
    distance = np.mean([centroid_distances(v, children) for v in vectors], axis=0)
    about = {
        "tokens": result.name_tokens,
        "name_likelihood": result.name_likelihoods,
        "norm": np.linalg.norm(result.likelihoods, axis=2).mean(axis=0),
    }
    known = {name: values for name, values in about.items() if values is not None}
    found = []
    for level in rows_by_level(children)[1:]:
        rows = level[~np.isnan(distance[level])]
        if len(rows) < ENOUGH:
            continue
        correlations = bootstrap_rank_correlations(
            distance[rows], {name: values[rows] for name, values in known.items()}
        )
        entry: dict[str, Any] = {"level": regions[rows[0]].level, "regions": len(rows)}
        found.append(
            entry | {name: None for name in about} | {n: asdict(correlations.at(k)) for k, n in enumerate(known)}
        )
    return found


def _agreement(result: RegionsResult, c_w: Sequence[np.ndarray]) -> list[dict[str, Any]]:
    """Do the templates put the regions of a level in one order? Inner regions and leaves, whose C differs, apart."""
    tree = result.question.tree
    scores = np.array(c_w)
    found = []
    for level in rows_by_level(tree.children)[1:]:
        below = np.array([len(tree.children[row]) for row in level])
        for by, rows in (("c_w", level[below > 1]), ("distance", level[below == 0])):
            if len(rows) >= FEWEST_RANKED:
                w, p = kendalls_w(scores[:, rows])
                entry = {"level": tree.regions[rows[0]].level, "by": by, "regions": len(rows)}
                found.append(entry | {"w": number(np.float64(w)), "p": number(np.float64(p))})
    return found


def _left_out_notes(by_words: Collection[str], nulls: RandomRegionTests) -> list[str]:
    """What the size of the question forbids, in words."""
    notes = []
    if SCORES[0] not in by_words:
        notes.append(
            "No intervals: the words are too few, or the tree is too large to measure it without each of them."
        )
    elif FLAT not in by_words:
        notes.append("No intervals of flat: it has too many pairs to measure it without each word.")
    if nulls.too_large:
        notes.append(f"No random regions beside {nulls.too_large:,} region(s): their level is too large.")
    return notes
