"""Two runs of the regions audit on the same words."""

from __future__ import annotations

import numpy as np

from geobias.audits.compare.result import Comparison, list_differences
from geobias.audits.regions.measure import score_vectors
from geobias.audits.regions.result import BALANCED, RegionsResult
from geobias.errors import InputError
from geobias.measures.herb import descriptive_vectors
from geobias.measures.paired_differences import MeasureKey, word_differences
from geobias.measures.random_regions import top_rows_with_pairs
from geobias.report.runs import FinishedRun

SAME_SETTINGS = {  # what two runs must share to be compared
    "regions_digest": "tree of regions",
    "words": "words",
    "templates": "templates",
    "paraphrases": "number of paraphrases",
    "subject": "subject of the paraphrases",
}


def compare_runs(first: FinishedRun[RegionsResult], second: FinishedRun[RegionsResult]) -> Comparison:
    """Balanced C_w of the root and of what lies directly below it.

    Associations are not compared: their strength as a whole is moved by training alone.
    """
    tree, words = first.result.tree, len(first.result.scored_words)
    rows = top_rows_with_pairs(tree.children)
    if not rows or words < 2:
        raise InputError(
            "Nothing to compare: the runs need at least two words, and a root region with two sub-regions."
        )
    answers = [(run.result.likelihoods, run.result.name_likelihoods) for run in (first, second)]

    def measure(kept: np.ndarray) -> np.ndarray:
        """templates x runs x regions, from the kept words only."""
        by_run = [
            [score_vectors(descriptive_vectors(f[:, kept]), names, tree.children)[BALANCED][rows] for f in by_template]
            for by_template, names in answers
        ]
        return np.stack(by_run, axis=1)

    models = [run.result.model.name for run in (first, second)]
    places = [(tree.regions[row].id, tree.regions[row].name) for row in rows]
    differences = list_differences(
        models, MeasureKey(BALANCED, "sub-regions"), (), places, word_differences(measure, words)
    )
    return Comparison(str(first.folder), str(second.folder), [], list(differences))
