"""Simulated worlds of associations with known content, and every candidate headline of one run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geobias.measures.association import adjust_over_regions, associate, compare_with_invented
from geobias.measures.association_signal import (
    compare_lengths,
    compare_signal,
    compare_size_with_invented,
    compare_together,
    remove_fame,
)

PLACES, WORDS, PARAPHRASES = 60, 40, 4
NAME, WORDING = 0.3, 0.3  # nats: what a name and a sentence do to a word
TAIL = 0.995
Kinds = tuple[np.ndarray, np.ndarray, np.ndarray]  # log-likelihoods of countries, known and invented places


@dataclass(frozen=True)
class World:
    """Likelihoods with known content; sizes are in nats."""

    countries: int = 40
    paraphrases: int = PARAPHRASES
    planted: tuple[int, int] = (0, 0)
    size: float = 0.0
    fame: float = 0.0  # what a standard deviation of log fame does to a word
    fame_of_known: float = 1.0  # of known places, relative to countries
    heavy: bool = False
    many_tokens: float = 1.0  # how much noisier names of many tokens are


def draw(world: World, seed: int) -> tuple[Kinds, list[np.ndarray], list[np.ndarray]]:
    """Log-likelihoods, proxies of fame of countries and known places, and the tokens of all names."""
    rng = np.random.default_rng(seed)
    slopes = rng.normal(size=WORDS)
    wording = 1 + 0.2 * rng.normal(size=(world.paraphrases, 1, 1))
    totals, proxies, lengths = [], [], []
    for kind, count in enumerate((world.countries, PLACES, PLACES)):
        noise = rng.standard_t(5, (count, WORDS)) * np.sqrt(3 / 5) if world.heavy else rng.normal(size=(count, WORDS))
        tokens = rng.integers(1, 4, count)
        effects = NAME * noise * world.many_tokens ** (tokens - 1)[:, None]
        if kind < 2:
            log_fame = rng.normal(size=count) + (np.log(world.fame_of_known) if kind else 0.0)
            # More than proportional: what is said of the best known places is said most.
            effects += world.fame * np.outer(log_fame + 0.1 * log_fame**2, slopes)
            proxies.append(log_fame[:, None] + 0.7 * rng.normal(size=(count, 2)))
        if kind == 0:
            for row in rng.permutation(count)[: world.planted[0]]:
                signs = rng.choice([-1.0, 1.0], world.planted[1]) if world.planted[1] == WORDS else 1.0
                effects[row, rng.choice(WORDS, world.planted[1], replace=False)] += world.size * signs
        word, name = 3 * rng.normal(size=WORDS), rng.normal(size=(count, 1))
        shape = (world.paraphrases, count, WORDS)
        totals.append(-20 + word + name + wording * effects + WORDING * rng.normal(size=shape))
        lengths.append(tokens)
    return (totals[0], totals[1], totals[2]), proxies, lengths


@dataclass(frozen=True)
class Verdict:
    """Every candidate of one run, and what the audit's rule says of it."""

    ratio: float
    beyond_names: float
    beyond_fame: float
    countries: float
    together: float
    tail: float
    halves: float
    names_clear: bool
    fame_clear: bool
    stands_out: bool  # a single country, at a family-wise error of 5 %
    together_clear: bool
    single_clear: bool  # as part of the overall answer
    pair_clear: bool
    ratio_clear: bool
    reverse_clear: bool  # fewer associations than both, the opposite of a finding

    @property
    def country_clear(self) -> bool:
        """Four kinds of test answer, so each counts four times."""
        return self.together_clear or self.single_clear or self.pair_clear or (self.names_clear and self.fame_clear)


def judge(totals: Kinds, proxies: list[np.ndarray], lengths: list[np.ndarray] | None = None) -> Verdict:
    countries, known, invented = map(associate, totals)
    first, second, third = lengths or [np.ones(each.shape[1]) for each in totals]
    names = compare_signal(countries, invented, first, third)
    without, known_without = remove_fame(countries, proxies[0], known, proxies[1])
    fame = compare_signal(without, known_without, first, second)
    beyond_names = compare_lengths(countries.mean(axis=0), invented.mean(axis=0), first, third)
    beyond_fame = compare_lengths(without.mean(axis=0), known_without.mean(axis=0), first, second)
    together = max(compare_together(beyond_names, invented.shape[1]), compare_together(beyond_fame, known.shape[1]))
    adjusted = np.maximum(beyond_names, beyond_fame) * len(beyond_names)
    others = np.abs(np.concatenate([invented.mean(axis=0), known_without.mean(axis=0)]))
    beyond = np.maximum(np.abs(without.mean(axis=0)) - np.quantile(others, TAIL), 0)
    ratio = compare_size_with_invented(countries.mean(axis=0), invented.mean(axis=0))
    half = len(countries) // 2
    covariances = [
        float((each[:half].mean(axis=0) * each[half:].mean(axis=0)).mean()) for each in (countries, invented)
    ]
    pairs = np.maximum(
        compare_with_invented(countries.mean(axis=0), invented.mean(axis=0)),
        compare_with_invented(without.mean(axis=0), known_without.mean(axis=0)),
    )
    level = 0.05 / 4  # of four kinds of test
    return Verdict(
        ratio=float(ratio.value),
        beyond_names=float(names.value),
        beyond_fame=float(fame.value),
        countries=float((adjusted < 0.05).sum()),
        together=-float(np.log10(together)),
        tail=float(np.sqrt((beyond**2).mean())),
        halves=float(np.sign(covariances[0] - covariances[1]) * np.sqrt(abs(covariances[0] - covariances[1]))),
        names_clear=bool(names.p < level and names.value > 0),
        fame_clear=bool(fame.p < level and fame.value > 0),
        stands_out=bool(adjusted.min() < 0.05),
        together_clear=bool(together < level),
        single_clear=bool(adjusted.min() < level),
        pair_clear=bool(adjust_over_regions(pairs).min() < level),
        reverse_clear=bool(max(names.p, fame.p) < level and names.value < 0 and fame.value < 0),
        ratio_clear=bool(ratio.p < 0.05 and ratio.value > 1),
    )


CANDIDATES = ("ratio", "halves", "beyond_names", "beyond_fame", "countries", "together", "tail")


def run_world(world: World, seeds: int, *, first: int = 0) -> list[Verdict]:
    return [judge(*draw(world, first + seed)) for seed in range(seeds)]
