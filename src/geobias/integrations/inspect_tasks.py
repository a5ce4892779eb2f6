"""The names audit as a task of Inspect, which runs models of every provider: `inspect eval geobias/names`.

The model labels every text, original and renamed, by a prompt. The metrics are the numbers of `geobias names` for the
same answers.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, Value, metric, scorer
from inspect_ai.solver import TaskState, generate

from geobias.audits.names.audit import audit_names
from geobias.audits.names.design import NamesOptions, design_names
from geobias.audits.run_numbers import list_summary_numbers
from geobias.integrations.recorded_answers import RecordedClassifier
from geobias.models.classifiers.prompted import Prompt, make_prompt
from geobias.models.functions import ONLY_LABELS
from geobias.models.prompt_reader import TEXT

OTHER = "other"  # the label of answers that have none of the words


@task
def names(
    texts: str | None = None,
    labels: str = "negative,neutral,positive",
    prompt: str | None = None,
    column: str = "text",
    countries: str | list[str] = "",
    draws: int = 8,
    limit: int | None = None,
    seed: int = 0,
    out: str | None = None,
) -> Task:
    """Measure whether the names of people change how a model labels texts.

    Parameters
    ----------
    texts : str, optional
        File of texts, as for `geobias names --texts`. Default: 100 bundled tweets.
    labels : str, default "negative,neutral,positive"
        Labels to choose from, as for `geobias names --labels`.
    prompt : str, optional
        Prompt with "{text}". Default: built from the labels.
    column : str, default "text"
        Column of `texts` that holds the text.
    countries : str or list of str, optional
        Countries whose names are used, by code or name. Default: all.
    draws : int, default 8
        Names drawn per text and country.
    limit : int, optional
        Use the first texts only. Inspect's own `--limit` would leave renamed texts without an answer.
    seed : int, default 0
        Seed of the draws of names.
    out : str, optional
        Folder for the run of geobias: results, tables and page. Default: nothing is saved besides Inspect's log.

    Returns
    -------
    Task
        One sample for each distinct text; the metrics are the numbers of the audit.
    """
    options: dict[str, Any] = {
        **{"texts": texts, "column": column, "labels": labels, "prompt": prompt, "limit": limit},
        **{"countries": countries or (), "draws": draws, "seed": seed, "perplexity_draws": 0},
    }
    design = design_names(NamesOptions(**options))
    template = make_prompt(labels, prompt).template
    distinct_texts = dict.fromkeys([*design.texts.texts, *design.counterfactuals])
    samples = [
        Sample(id=number, input=template.replace(TEXT, text), metadata={"text": text})
        for number, text in enumerate(distinct_texts, 1)
    ]
    return Task(
        dataset=MemoryDataset(samples, name="geobias names"),
        solver=generate(),
        scorer=read_label(labels),
        metrics=[measure_names(len(samples), json.dumps({**options, "out": out}))],
        config=GenerateConfig(temperature=0.0),
    )


@scorer(metrics=[])
def read_label(labels: str) -> Scorer:
    """The label whose word comes first in the answer: 1 if it has one of them, else 0 and the label "other"."""
    prompt = make_prompt(labels)

    async def score(state: TaskState, target: Target) -> Score:
        label = find_label(state.output.completion, prompt)
        details = {"text": state.metadata["text"], "label": label, "model": str(state.model)}
        return Score(value=float(label != OTHER), answer=label, explanation=state.output.completion, metadata=details)

    return score


@metric
def measure_names(samples: int, options: str) -> Metric:
    """The numbers of the names audit of all answers together, and how many answers had no label.

    Inspect asks for metrics while samples are still running, too: until all have an answer, only their number is given.
    """

    def measure(scores: list[SampleScore]) -> Value:
        if len(scores) < samples:
            return {"answers_missing": samples - len(scores)}
        details = [score.score.metadata or {} for score in scores]
        return dict(measure_answers(json.loads(options), details))

    return measure


def find_label(answer: str, prompt: Prompt) -> str:
    """The label whose word comes first in an answer, as a whole word; else "other"."""
    places = {
        label: match.start()
        for label, word in prompt.words.items()
        if (match := re.search(rf"(?<!\w){re.escape(word)}(?!\w)", answer, re.IGNORECASE))
    }
    return min(places, key=lambda label: places[label]) if places else OTHER


def measure_answers(options: Mapping[str, Any], answers: Sequence[Mapping[str, str]]) -> dict[str, float]:
    """The numbers that sum up a names audit of recorded answers, by the last parts of their gate paths."""
    label_counts = Counter(answer["label"] for answer in answers)
    labels = make_prompt(options["labels"]).labels
    if OTHER in label_counts and OTHER not in labels:
        labels = (*labels, OTHER)
    classifier = RecordedClassifier(
        answers[0]["model"], labels, {answer["text"]: answer["label"] for answer in answers}, (ONLY_LABELS,)
    )
    result = audit_names(classifier, **{**options, "progress": False})
    metrics: dict[str, float] = {}
    for number in list_summary_numbers(result):
        name = ".".join(number.parts[2:])  # without "names" and the model
        metrics[name] = number.value
        if number.low is not None and number.high is not None:
            metrics |= {f"{name}.low": number.low, f"{name}.high": number.high}
    return metrics | {"answers_without_label": float(label_counts[OTHER])}
