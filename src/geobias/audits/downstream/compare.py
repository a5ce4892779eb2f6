"""Two runs of the downstream audit on the same prefixed texts."""

from __future__ import annotations

from geobias.audits.compare.result import Comparison, Difference, list_differences, pair_classifiers
from geobias.audits.downstream.files import read_predictions
from geobias.audits.downstream.result import DownstreamResult
from geobias.measures.paired_differences import MeasureKey, stack_as_family, text_differences
from geobias.report.runs import FinishedRun

SAME_SETTINGS = {  # what two runs must share to be compared
    "texts": "texts",
    "prefix": "prefix",
    "control": "control",
    "prefixes": "prefixes",
    "controls": "controls",
    "invented": "invented places",
    "regions": "kind of regions",
    "regions_digest": "regions",
}
READ_ALIKE = {"labels": "labels", "threshold": "threshold"}
BASES = (
    (MeasureKey("mean_difference", "originals"), "original"),
    (MeasureKey("against_control", "control"), "control"),
)


def compare_runs(first: FinishedRun[DownstreamResult], second: FinishedRun[DownstreamResult]) -> Comparison:
    pairs, left_out = pair_classifiers((first, second), READ_ALIKE)
    rows: list[Difference] = []
    for pair in pairs:
        labels, names = pair[0].labels, [entry.model.name for entry in pair]
        places = [(place.id, place.name) for place in pair[0].regions]
        predictions = [read_predictions(run, entry, labels) for run, entry in zip((first, second), pair, strict=True)]
        for measure, base in BASES:
            by_label = [
                text_differences(*((each.regions - getattr(each, base))[:, :, k] for each in predictions))
                for k in range(len(labels))
            ]
            rows += list_differences(names, measure, labels, places, stack_as_family(by_label))
    return Comparison(str(first.folder), str(second.folder), left_out, rows)
