"""Does a region's score depend on how many sub-regions it has? A cluster of known vectors, subsampled at random.

    python bench/subsample.py [SUBSAMPLES] [FOLDER]      (make calibrate: 2,000, docs/figures)

One region of 64 sub-regions, each with its own spread around a common vector. A random subset is kept, and the region
is scored again. The vectors of the kept sub-regions do not change, so a score that is comparable between regions of
different size must not change either.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from geobias.measures.herb import FORMS, descriptive_vectors, herb_scores
from geobias.papers.figures import Lines, draw_figure

WHOLE, KEPT, WORDS = 64, (4, 8, 16, 32, 64), 112
BAND = (0.05, 0.95)


def cluster(seed: int = 0) -> np.ndarray:
    """Likelihoods of a region's sub-regions: alike but for noise, some of them twice as far off as others."""
    rng = np.random.default_rng(seed)
    spread = rng.uniform(0.2, 0.4, (WHOLE, 1))
    likelihoods: np.ndarray = -2.0 - rng.gamma(2.0, 0.3, (1, WORDS)) + spread * rng.normal(size=(WHOLE, WORDS))
    return likelihoods


def scores(likelihoods: np.ndarray) -> dict[str, float]:
    """C_w of the region above these sub-regions, in both forms."""
    n = len(likelihoods)
    vectors = descriptive_vectors(np.vstack([np.full(WORDS, np.nan), likelihoods]))
    nothing = np.array([], dtype=np.int64)
    result = herb_scores(vectors, np.zeros(n + 1), [np.arange(1, n + 1), *[nothing] * n])
    return {form: float(result.c_w[form][0]) for form in FORMS}


def relative(subsamples: int, seed: int = 0) -> list[dict[str, Any]]:
    """A row for each form and number of sub-regions kept: scores over the whole cluster's, their mean and 90 % band."""
    likelihoods = cluster(seed)
    whole = scores(likelihoods)
    rng = np.random.default_rng([seed, 1])
    rows = []
    for kept in KEPT:
        draws = [scores(likelihoods[rng.permutation(WHOLE)[:kept]]) for _ in range(subsamples)]
        for form in FORMS:
            ratios = np.array([draw[form] for draw in draws]) / whole[form]
            low, high = map(float, np.quantile(ratios, BAND))
            rows.append({"form": form, "kept": kept, "mean": float(ratios.mean()), "low": low, "high": high})
    return rows


def main() -> None:
    rows = relative(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
    print(f"| kept of {WHOLE} | {FORMS[0]}: mean (5 % to 95 %) | {FORMS[1]}: mean (5 % to 95 %) |\n|---|---|---|")
    for kept in KEPT:
        cells = [f"{r['mean']:.3f} ({r['low']:.3f} to {r['high']:.3f})" for r in rows if r["kept"] == kept]
        print(f"| {kept} | {' | '.join(cells)} |")
    if len(sys.argv) > 2:
        folder = Path(sys.argv[2])
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "subsample.svg").write_text(figure(rows), encoding="utf-8")


def figure(rows: list[dict[str, Any]]) -> str:
    """Both forms over the number of sub-regions kept, on scales on which a power law is a straight line."""
    names = {"balanced": "balanced", "paper": "as the paper prints it"}
    lines = {name: [row for row in rows if row["form"] == form] for form, name in names.items()}
    picture = Lines(
        {name: [(row["kept"], row["mean"]) for row in line] for name, line in lines.items()},
        {name: [(row["low"], row["high"]) for row in line] for name, line in lines.items()},
        {"balanced": "#0072B2", "as the paper prints it": "#E69F00"},
        (f"sub-regions kept, of {WHOLE}", "score / score of the whole cluster"),
        (KEPT, (1, 3, 10, 30, 100, 300)),
        is_ratio=True,
    )
    title = "One cluster, thinned out at random: mean and 90 % of subsamples"
    return draw_figure(title, picture, ["Both axes are logarithmic."], rows, "simulated likelihoods")


if __name__ == "__main__":
    main()
