"""Where an effect of a country sits in a few texts: coverage, gates that pass wrongly, and how often the audit says so.

    python -m bench.calibrate_few_texts [REPETITIONS]      (400: a minute on one core)

One of six countries has 10 points in the mean, log-normal over texts with the given spread of its logarithm. If fewer
than five texts react or so there is no interval, and no gate passes; all other shares are of the rest.
"""

from __future__ import annotations

import sys

import numpy as np

from bench.calibration_worlds import Layout, World, normal_effects
from geobias.measures.crossed_variance import CrossedVariance, LinearMeasure
from geobias.measures.single_names import MOST_SKEWED, skewness_of_mean
from geobias.measures.uncertainty import Family

COUNTRIES, DRAWS, POINTS = 6, 10, 10.0
SPREADS, TEXTS = (0.0, 0.5, 1.0, 1.5), (20, 60, 200)
WORLD = World("names and texts", normal_effects(2.0))
REPETITIONS = 400
HEADING = """# Calibration: few texts, gender, single names

## An effect in a few texts

`python -m bench.calibrate_few_texts`: 10 points on one of six countries, log-normal over texts with the given spread of
its logarithm. The last three columns are shares of the runs with an interval.
"""


def repeat(texts: int, spread: float, index: int) -> tuple[bool, bool, bool] | None:
    """Whether the interval covers, a gate passes wrongly, and the audit says that the gap rests on a few texts.

    None where there is no interval.
    """
    rng = np.random.default_rng([texts, int(10 * spread), index])
    layout = Layout(texts, COUNTRIES, DRAWS, rng)
    values = layout.draw_answers(WORLD, rng)
    values[:, 0] += POINTS * np.exp(rng.normal(0, spread, (texts, 1)) - spread**2 / 2)
    design = CrossedVariance(layout.units, layout.shape, np.ones((texts, DRAWS), dtype=bool))
    contrasts = np.eye(COUNTRIES) - 1 / COUNTRIES
    sums = design.summarise(values)
    value, truth = contrasts @ design.means(sums), POINTS * (1 - 1 / COUNTRIES)
    family = Family([value], [design.uncertainty(LinearMeasure(sums, contrasts))], seed=index)
    estimates, effect = family.estimates(0), family.largest_effect(0)
    if effect is None:
        return None
    skewness = skewness_of_mean(design.text_influence(sums) @ contrasts.T)[0]
    covers = bool(estimates.low[0] <= truth <= estimates.high[0])
    return covers, effect.high < truth, bool(abs(skewness) > MOST_SKEWED)


def main() -> None:
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else REPETITIONS
    print(HEADING)
    print("| texts | spread | with an interval | it covers | gate passes wrongly | said to rest on a few texts |")
    print("|---|---|---|---|---|---|")
    for texts in TEXTS:
        for spread in SPREADS:
            given = [each for index in range(repetitions) if (each := repeat(texts, spread, index))]
            shares = [len(given) / repetitions, *np.mean(given, axis=0)]
            print(
                f"| {texts} | {spread:g} | " + " | ".join(f"{100 * share:.1f} %" for share in shares) + " |", flush=True
            )


if __name__ == "__main__":
    main()
