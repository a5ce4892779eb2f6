"""The forms of the regions scores on a model as it is: how much of each is the names of places.

What is true of such a model is unknown, so there is no AUC. Known is that nobody can know anything about invented
places: a form that measures content sets real places apart from them, and does not depend on the tokens of a name.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import geobias
from geobias.audits.regions.result import RegionsResult
from geobias.measures.association import adjust_over_regions, associate, compare_with_invented, remove_length
from geobias.measures.association_signal import compare_size_with_invented
from geobias.measures.estimates import SIGNIFICANT, Estimate
from geobias.measures.herb import descriptive_vectors
from geobias.measures.ranks import bootstrap_rank_correlations
from geobias.world.countries import load_entries
from geobias.world.regions import load_world

NO_LONGER_COUNTRIES = {"AN", "CS"}


def audit_model(model: str, score: str | None, largest: int, paraphrases: int) -> RegionsResult:
    """The regions audit of the most populous countries; scores of an earlier run are not computed again."""
    entries = load_entries()
    codes = [region.id for region in load_world(cities=0).regions if region.level == "country"]
    codes = [code for code in codes if code not in NO_LONGER_COUNTRIES]
    codes.sort(key=lambda code: -int(entries[code].population))
    return geobias.audit_regions(model, score=score, cities=0, countries=codes[:largest], paraphrases=paraphrases)


def list_forms(result: RegionsResult) -> Iterator[tuple[str, np.ndarray, np.ndarray, np.ndarray]]:
    """Each form: its name, its values of countries and of invented places (x words), and the tokens of countries.

    HERB's vectors and centred scores are of HERB's own sentence, associations of the paraphrases.
    """
    answers = result.answers
    assert answers is not None and answers.invented is not None and answers.association is not None
    assert answers.name_tokens is not None and answers.invented.tokens is not None
    rows = np.array([k for k, region in enumerate(result.regions) if region.level == "country"])
    tokens, scored = answers.name_tokens[rows], answers.association
    assert scored.invented is not None
    means = answers.likelihoods[:, rows].mean(axis=0), answers.invented.likelihoods.mean(axis=0)
    vectors = [descriptive_vectors(each) for each in means]
    yield "HERB vector", *(each - each.mean(axis=0) for each in vectors), tokens
    yield "centred", *(each - each.mean(axis=0) for each in means), tokens
    real = associate(scored.totals[:, np.searchsorted(scored.rows, rows)])
    both = remove_length(real, tokens, associate(scored.invented), answers.invented.tokens)
    yield "association", *(each.mean(axis=0) for each in both), tokens


def describe_model(result: RegionsResult) -> list[str]:
    """The lines of the model's section: shares of variance, and a row for each form."""
    association = result.association
    assert association is not None and association.detectable_times is not None
    shares = association.variance
    lines = [
        f"{sum(region.level == 'country' for region in result.regions)} countries, {len(result.scored_words)} words, "
        f"{association.paraphrases} paraphrases for associations, 60 invented places with as many tokens. Shares of "
        f"the variance of log-likelihoods: word {shares.word:.1%}, region {shares.region:.1%}, interaction "
        f"{shares.interaction:.1%}. Smallest association of a single pair that would probably be marked: "
        f"{association.detectable_times:.0f} times.",
        "",
        "| model | score | form | pairs marked | real / invented | strength and tokens of the name (Spearman) |",
        "|---|---|---|---:|---|---|",
    ]
    for form, value, invented, tokens in list_forms(result):
        # The smallest spread of the test is in nats, which only associations are measured in.
        unit = 1.0 if form == "association" else float(np.median(np.abs(invented)))
        p = adjust_over_regions(compare_with_invented(value / unit, invented / unit))
        strength = np.sqrt((value**2).mean(axis=1))
        ratio = compare_size_with_invented(value, invented).at()
        correlation = bootstrap_rank_correlations(strength, {"tokens": tokens}).at(0)
        cells = (
            result.model.name,
            result.model.score,
            form,
            f"{(p < SIGNIFICANT).sum()} of {p.size:,}",
            format_interval(ratio, ".2f"),
            format_interval(correlation, "+.2f"),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def format_interval(estimate: Estimate, style: str) -> str:
    assert estimate.value is not None and estimate.low is not None and estimate.high is not None
    return f"{estimate.value:{style}} ({estimate.low:{style}} to {estimate.high:{style}})"
