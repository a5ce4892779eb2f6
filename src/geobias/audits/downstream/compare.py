"""Two runs of the downstream audit on the same prefixed texts."""

from __future__ import annotations

from geobias.audits.compare.result import Comparison, Difference, list_differences, pair_classifiers
from geobias.audits.downstream.answers import read_differences
from geobias.audits.downstream.result import DownstreamResult
from geobias.measures.paired_differences import MeasureKey, stack_as_family, text_differences
from geobias.report.runs import FinishedRun

SAME_SETTINGS = {  # what two runs must share to be compared
    "texts": "texts",
    "prefixes": "prefixes",
    "controls": "controls",
    "invented": "invented places",
    "regions": "kind of regions",
    "regions_digest": "regions",
}
READ_ALIKE = {"labels": "labels", "threshold": "threshold"}
MEASURES = (MeasureKey("mean_difference", "originals"), MeasureKey("against_control", "control"))


def compare_runs(first: FinishedRun[DownstreamResult], second: FinishedRun[DownstreamResult]) -> Comparison:
    pairs, left_out = pair_classifiers((first, second), READ_ALIKE)
    rows: list[Difference] = []
    for pair in pairs:
        labels, names = pair[0].labels, [entry.model for entry in pair]
        effects = first.result.list_effects(names[0], labels[0])
        places = [(row.code or "", row.place) for row in effects]
        both = [
            read_differences(run.folder, run.result, name, labels)
            for run, name in zip((first, second), names, strict=True)
        ]
        for measure in MEASURES:
            by_label = [
                text_differences(*(each[measure.measure][:, :, k] for each in both)) for k in range(len(labels))
            ]
            rows += list_differences(names, measure, labels, places, stack_as_family(by_label))
    return Comparison(str(first.folder), str(second.folder), left_out, rows)
