"""Whether associations are those of countries, or of any name, or of any place that is well known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from geobias.audits.regions.answers import AssociationAnswers
from geobias.audits.regions.association_records import AssociationSignal, StandsOut
from geobias.measures.association import FEWEST_PLACES, adjust_over_regions, associate, compare_with_invented
from geobias.measures.association_signal import compare_lengths, compare_signal, remove_fame, share_of_fame
from geobias.measures.estimates import SIGNIFICANT, Estimates
from geobias.report.results import number
from geobias.world.countries import load_geonames
from geobias.world.regions import Region

FEWEST_PEOPLE = 1000.0  # territories without any count as small as this
RANGE = (0.05, 0.95)  # quantiles of known places between which a region is as well known
LEAST_OVERLAP = 0.5  # share of regions within the range: with fewer, fame and country cannot be told apart
LIKELIHOOD, POPULATION = "likelihood of the bare name", "population"


@dataclass(frozen=True)
class Controls:
    """Associations of the compared regions and of known places, both without what goes with fame."""

    regions: np.ndarray  # paraphrases x regions x words
    known: np.ndarray  # paraphrases x known places x words
    length: np.ndarray
    known_length: np.ndarray
    is_known: np.ndarray  # of each region, whether it is as well known as known places
    fame_share: float | None
    proxies: list[str]

    @property
    def overlap(self) -> float:
        return float(self.is_known.mean())

    @property
    def comparable(self) -> float:
        """Share of regions whose names are as long as those of known places."""
        return float(find_comparable(self.length, self.known_length).mean())

    @property
    def can_tell(self) -> bool:
        """Whether regions and known places are alike enough in fame."""
        return self.overlap >= LEAST_OVERLAP


def control_fame(
    scored: AssociationAnswers, compared: np.ndarray, regions: Sequence[Region], length: np.ndarray
) -> Controls | None:
    """Associations without fame; None without known places."""
    places = scored.known_places
    if places is None or scored.known_totals is None or len(places.names) < FEWEST_PLACES:
        return None
    likelihoods = places.region_likelihoods[compared]
    proxies, known_proxies, names = [likelihoods], [places.likelihoods], [LIKELIHOOD]
    populations = _find_populations(regions)
    if populations is not None:
        proxies.append(np.log(populations))
        known_proxies.append(np.log(places.populations))
        names.append(POPULATION)
    associations, known = associate(scored.totals[:, compared]), associate(scored.known_totals)
    known_length = places.tokens
    if known_length is None:
        known_length = np.array([len(name) for name in places.names])
    without = remove_fame(associations, np.column_stack(proxies), known, np.column_stack(known_proxies))
    low, high = np.quantile(places.likelihoods, RANGE)
    return Controls(
        *without,
        length,
        known_length,
        (low <= likelihoods) & (likelihoods <= high),
        share_of_fame(associations, without[0]),
        names,
    )


def measure_signal(
    regions: Sequence[Region],
    associations: np.ndarray,
    invented: np.ndarray,
    length: np.ndarray,
    invented_length: np.ndarray,
    controls: Controls | None,
    other_p: Sequence[float],
    *,
    has_tokens: bool,
) -> AssociationSignal:
    """All comparisons; `other_p` are the smallest adjusted p-values of pairs, tones and topics against invented places.

    Regions whose names have more or fewer tokens than any invented one have no part in the first comparison, unless
    fewer than three are left.
    """
    is_comparable = find_comparable(length, invented_length)
    kept = is_comparable if is_comparable.sum() > 2 else np.ones(len(length), dtype=bool)
    beyond_names = compare_signal(associations[:, kept], invented, length[kept], invented_length).at()
    p = compare_lengths(associations.mean(axis=0), invented.mean(axis=0), length, invented_length)
    beyond_fame = None
    p_names = [_one_sided(beyond_names.value, beyond_names.p), min(1.0, p.min() * len(p)), *other_p]
    if controls is not None:
        beyond_fame = compare_signal(controls.regions, controls.known, controls.length, controls.known_length).at()
        fame = compare_lengths(
            controls.regions.mean(axis=0), controls.known.mean(axis=0), controls.length, controls.known_length
        )
        p = np.where(controls.is_known, np.maximum(p, fame), 1.0)
    adjusted = np.minimum(p * len(p), 1.0)
    order = [k for k in np.argsort(adjusted, kind="stable") if adjusted[k] < SIGNIFICANT]
    return AssociationSignal(
        beyond_names=beyond_names,
        beyond_fame=beyond_fame,
        fame_share=None if controls is None else controls.fame_share,
        known_places=0 if controls is None else controls.known.shape[1],
        overlap=None if controls is None else controls.overlap,
        comparable_names=float(is_comparable.mean()) if has_tokens else 1.0,
        comparable_known=None if controls is None else controls.comparable if has_tokens else 1.0,
        proxies=[] if controls is None else controls.proxies,
        p_names=float(min(1.0, len(p_names) * min(p_names))),
        p_regions=number(adjusted.min()),
        standing_out=[StandsOut(regions[k].id, regions[k].name, float(adjusted[k])) for k in order],
    )


def find_comparable(length: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Whether each length lies within the range of the others; what is beyond it would be extrapolated."""
    return np.asarray((length >= others.min()) & (length <= others.max()))


def require_known_places(estimates: Estimates, controls: Controls) -> Estimates:
    """The larger p-value of each pair, against invented places and against known places with fame held fixed."""
    against_known = compare_with_invented(controls.regions.mean(axis=0), controls.known.mean(axis=0))
    p = np.maximum(estimates.p, against_known)
    return replace(estimates, p=p, p_adjusted=adjust_over_regions(p))


def _one_sided(value: float | None, p: float | None) -> float:
    """The p-value of an estimate that is above 0; 1 of others."""
    return p if p is not None and value is not None and value > 0 else 1.0


def _find_populations(regions: Sequence[Region]) -> np.ndarray | None:
    """The people of each country; None of other regions."""
    entries = load_geonames().get_countries()
    if any(region.level != "country" or region.id not in entries for region in regions):
        return None
    return np.array([max(float(entries[region.id]["population"]), FEWEST_PEOPLE) for region in regions])
