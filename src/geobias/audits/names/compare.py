"""Two runs of the names audit on the same renamed texts."""

from __future__ import annotations

from geobias.audits.compare.result import Comparison, Difference, list_differences, pair_classifiers
from geobias.audits.names.answers import read_name_units, read_renamed
from geobias.audits.names.result import NamesResult
from geobias.measures.paired_differences import names_differences
from geobias.report.runs import FinishedRun

SAME_SETTINGS = {  # what two runs must share to be compared
    "texts": "texts",
    "mentions": "people found in the texts",
    "countries": "countries",
    "draws": "draws",
    "seed": "seed",
    "names": "names",
    "names_are": "names, random or fixed,",
}
READ_ALIKE = {
    "labels": "labels",
    "threshold": "threshold",
    "positive": "positive labels",
    "negative": "negative labels",
}


def compare_runs(first: FinishedRun[NamesResult], second: FinishedRun[NamesResult]) -> Comparison:
    """Classes are in the order of the first run's labels."""
    pairs, left_out = pair_classifiers((first, second), READ_ALIKE)
    name_units = read_name_units(first)
    rows: list[Difference] = []
    for pair in pairs:
        entry, labels = pair[0], pair[0].labels
        differences = names_differences(
            read_renamed(first, pair[0], labels),
            read_renamed(second, pair[1], labels),
            name_units,
            positive=[labels.index(label) for label in entry.positive],
            negative=[labels.index(label) for label in entry.negative],
            threshold=entry.threshold,
            names_fixed=first.result.settings.names_are == "fixed",
        )
        models = [entry.model for entry in pair]
        places = [(row.code or "", row.place) for row in first.result.list_deltas(entry.model)]
        for measure, paired in differences.items():
            measure_labels = labels if measure.measure == "change" else ()
            rows += list_differences(models, measure, measure_labels, places, paired)
    return Comparison(str(first.folder), str(second.folder), left_out, rows)
