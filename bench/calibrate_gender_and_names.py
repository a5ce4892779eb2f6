"""Women's against men's names, and single names: false marks, coverage, and whether what is planted is found.

    python -m bench.calibrate_gender_and_names [REPETITIONS]      (200: two minutes on one core)

Forty texts, six countries, twelve draws from lists of 60 names; worlds of `make calibrate`. A name is named wrongly if
its effect is 5 points or less, against the other names of its list.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np

from bench.calibration_worlds import NAMES, WORLDS, Layout, World
from geobias.measures.crossed_variance import CrossedVariance, LinearMeasure
from geobias.measures.estimates import SIGNIFICANT
from geobias.measures.paired_differences import CountedMean, subtract_means
from geobias.measures.single_names import LARGE, estimate_name_effects
from geobias.measures.uncertainty import Family

SHAPE = (40, 6, 12)
CHOSEN = (
    "names have no effect",
    "normal name effects",
    "heavy-tailed name effects",
    "few names with large effects",
    "text x country, no mean effect",
    "text x name",
    "planted: one country, 3 points",
    "planted: women of one country, 6 points",
)

HEADING = """
## Women's and men's names, and single names

`python -m bench.calibrate_gender_and_names 100`: 40 texts, six countries, 12 draws. "Contrast marked": some country's,
or the planted one's; "named wrongly": a name that moves answers by 5 points or less is named.
"""


def repeat(world: World, index: int) -> dict[str, float]:
    """One draw of texts and names."""
    texts, countries, draws = SHAPE
    layout = Layout(texts, countries, draws, np.random.default_rng([index, 1]))
    values = layout.draw_answers(world, np.random.default_rng([index, 2]))
    # The first that `draw_answers` draws are the effects of names.
    effects = world.name_effects(np.random.default_rng([index, 2]), (3, countries, NAMES))
    counted = np.ones((texts, draws), dtype=bool)
    centre, shown = np.eye(countries) - 1 / countries, layout.gender[:, 0]
    whole = CrossedVariance(layout.units, SHAPE, counted)
    parts = []
    for gender in (1, 0):
        design = CrossedVariance(layout.units, SHAPE, shown == gender)
        parts.append(CountedMean(design, design.summarise(values), centre))
    contrast, uncertainty = subtract_means(*parts)
    if not uncertainty.is_known:
        return {}
    family = Family(
        [centre @ whole.means(values), contrast], [whole.uncertainty(LinearMeasure(values, centre)), uncertainty]
    )
    gaps, estimates = family.estimates(0), family.estimates(1)
    truth = centre[0] * (world.planted if world.planted_on == "women" else 0.0)
    is_marked = estimates.p_adjusted < SIGNIFICANT
    names = estimate_name_effects(whole, values, shown.astype(str))
    sizes = np.abs(effects - effects.mean(axis=2, keepdims=True)).ravel()[: len(names.effect)]
    return {
        "covered": float(((estimates.low <= truth) & (truth <= estimates.high)).mean()),
        "contrast": float(is_marked[0] if truth.any() else is_marked.any()),
        "gap": float((gaps.p_adjusted < SIGNIFICANT).any()),
        "named": float(names.is_large.sum()),
        "wrongly": float((names.is_large & (sizes <= LARGE)).any()),
    }


def describe(world: World, numbers: Sequence[dict[str, float]]) -> str:
    mean = {key: float(np.mean([each[key] for each in numbers])) for key in numbers[0]}
    shares = [f"{100 * mean[key]:.1f} %" for key in ("covered", "contrast", "gap", "wrongly")]
    return f"| {world.name} | {' | '.join(shares)} | {mean['named']:.1f} |"


def main() -> None:
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    print(HEADING)
    print(
        "| world | contrast covered | contrast marked | some country marked | some name named wrongly | names named |"
    )
    print("|---|---|---|---|---|---|")
    for world in (world for world in WORLDS if world.name in CHOSEN):
        numbers = [result for index in range(repetitions) if (result := repeat(world, index))]
        print(describe(world, numbers), flush=True)


if __name__ == "__main__":
    main()
