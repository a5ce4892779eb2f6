"""Stored answers for the page's "Try it": one text, and what each model answered for every country.

Texts of the user's own files are on a page only where the user says so; bundled ones always are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from geobias.audits.downstream.result import DownstreamResult
from geobias.audits.limits_and_sources import BUNDLED_TEXTS
from geobias.audits.names.answers import COUNTERFACTUALS
from geobias.audits.names.result import ClassifierReading, NamesResult
from geobias.report.results import AuditResult
from geobias.report.runs import FinishedRun
from geobias.report.saved_answers import ANSWERS, ORIGINAL, PLACE, read_answers, reshape_answers
from geobias.texts.user_texts import sample_texts

MOST_TEXTS = 12
Try = dict[str, Any]


def is_bundled(result: AuditResult) -> bool:
    """Whether the texts came with geobias."""
    return getattr(getattr(result.settings, "texts", None), "source", "") == BUNDLED_TEXTS


def hide_texts(run: FinishedRun[Any]) -> FinishedRun[Any]:
    """The run without examples, if they are texts of the user's own files."""
    if is_bundled(run.result) or not any(finding.examples for finding in run.result.findings):
        return run
    findings = [replace(finding, examples=[]) for finding in run.result.findings]
    return replace(run, result=replace(run.result, findings=findings))


def list_tries(runs: Sequence[FinishedRun[Any]], *, with_texts: bool) -> list[Try]:
    """What can be tried of these runs, for the page's script."""
    tries = []
    for run in runs:
        read = READERS.get(run.result.audit)
        if read and (with_texts or is_bundled(run.result)):
            tries.append(read(run.folder, run.result))
    return [each for each in tries if each and each["texts"]]


def _read_names(folder: Path, result: NamesResult) -> Try | None:
    """The first version of each text for every country, and the scores of all draws."""
    if not (folder / COUNTERFACTUALS).is_file():  # a copy without texts
        return None
    columns = [f"{entry.model}/{label}" for entry in result.classifiers for label in entry.labels]
    table = pd.read_parquet(folder / COUNTERFACTUALS, columns=["text_id", "country", "draw", "text", *columns])
    places = {row.code: row.place for row in result.effects}
    texts = []
    for _, rows in table.groupby("text_id", sort=False):
        original, renamed = rows[rows.country.isna()], rows[rows.country.notna()]
        if len(renamed) and len(renamed) % len(places) == 0:
            scores = [_score_texts(rows, entry) for entry in result.classifiers]
            is_renamed = rows.country.notna().to_numpy()
            texts.append(
                {
                    "text": original.text.iloc[0],
                    "versions": renamed[renamed.draw == 1].text.tolist(),
                    "originals": [int(each[~is_renamed][0]) for each in scores],
                    "scores": [each[is_renamed].reshape(len(places), -1).tolist() for each in scores],
                }
            )
    codes = list(dict.fromkeys(table.country.dropna()))
    models = [
        {"name": entry.short_name, "low": -100, "high": 100, "ends": [_name(entry.negative), _name(entry.positive)]}
        if entry.has_delta
        else {"name": entry.short_name, "low": 0, "high": 100, "ends": [f"less {entry.labels[0]}", entry.labels[0]]}
        for entry in result.classifiers
    ]
    return {"title": "Change the name", "countries": [places[code] for code in codes], "models": models} | _sort(texts)


def _name(labels: Sequence[str]) -> str:
    return f"certainly {' or '.join(labels)}"


def _score_texts(rows: pd.DataFrame, entry: ClassifierReading) -> np.ndarray:
    """Points from -100 to +100, or per cent of the first class where no class is good or bad."""

    def add(labels: Sequence[str]) -> np.ndarray:
        return np.asarray(rows[[f"{entry.model}/{label}" for label in labels]].to_numpy().sum(axis=1))

    values = add(entry.positive) - add(entry.negative) if entry.has_delta else add(entry.labels[:1])
    return np.asarray((100 * values).round().astype(int))


def _read_places(folder: Path, result: DownstreamResult) -> Try | None:
    """Every country's sentence before a text; only of bundled texts, since no file of the run has the user's."""
    if result.settings.texts.source != BUNDLED_TEXTS or not (folder / ANSWERS).is_file():
        return None
    bundled = sample_texts()
    by_id = dict(zip(bundled.ids, bundled.texts, strict=True))
    answers = read_answers(folder, [f"{entry.model}/{entry.shown}" for entry in result.classifiers])
    named, originals = answers.select(PLACE), answers.select(ORIGINAL)
    shape = result.counts.texts, result.counts.places
    scores = (100 * reshape_answers(folder, named, *shape)).round().astype(int)
    wordings = named.keys["draw"].reshape(shape) - 1
    first = result.classifiers[0]
    rows = result.list_effects(first.model, first.shown)
    texts = [
        {
            "text": by_id[text_id],
            "wordings": wordings[k].tolist(),
            "originals": (100 * originals.values[k]).round().astype(int).tolist(),
            "scores": [scores[k, :, m, None].tolist() for m in range(len(result.classifiers))],
        }
        for k, text_id in enumerate(originals.keys["text_id"])
        if text_id in by_id
    ]
    models = [
        {
            "name": entry.model.split("/")[-1],
            "low": 0,
            "high": 100,
            "ends": [f"certainly not {entry.shown}", f"certainly {entry.shown}"],
        }
        for entry in result.classifiers
    ]
    about = {"title": "Put a country before it", "countries": [row.title for row in rows], "models": models}
    return about | {"names": [row.in_sentence for row in rows], "prefixes": result.settings.prefixes} | _sort(texts)


def _sort(texts: list[Try]) -> Try:
    """The texts that change most, by the means of countries."""

    def spread(text: Try) -> float:
        return max(float(np.ptp(np.mean(scores, axis=1))) for scores in text["scores"])

    return {"texts": sorted(texts, key=spread, reverse=True)[:MOST_TEXTS]}


READERS: dict[str, Any] = {"names": _read_names, "downstream": _read_places}
