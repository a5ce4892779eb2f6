"""Audits as tasks of Inspect, which runs models of every provider: `inspect eval geobias/names` and `geobias/decide`.

The model labels every text, original and renamed, or answers every question, by a prompt. The metrics are the numbers
of `geobias names` and `geobias decide` for the same answers.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageSystem, ChatMessageUser, GenerateConfig
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, Value, metric, scorer
from inspect_ai.solver import TaskState, generate

from geobias.audits.decide.audit import audit_decisions
from geobias.audits.decide.design import DEFAULT_ORIGIN, MOST_SAMPLES
from geobias.audits.names.audit import audit_names
from geobias.audits.reports import list_summary_numbers
from geobias.audits.study import prepare
from geobias.checks import check_number
from geobias.integrations.recorded_answers import RecordedClassifier, make_recorded_model
from geobias.models.answers import ANSWER_SETS, TEXT, Prompt, count_answers, make_prompt
from geobias.models.functions import ONLY_LABELS
from geobias.report.results import AuditResult

OTHER = "other"  # the label of answers that have none of the words
Details = Mapping[str, str]  # of one answer: its text, what it says, and the model


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
        **{"countries": countries or (), "draws": draws, "seed": seed},
    }
    design = prepare(audit_names, **options).design
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


@task
def decide(
    scenarios: str | None = None,
    domains: str | list[str] = "",
    origin: str | list[str] = DEFAULT_ORIGIN,
    countries: str | list[str] = "",
    draws: int = 2,
    paraphrases: int = 1,
    seed: int = 0,
    system: str | None = None,
    limit: int | None = None,
    samples: int = 1,
    out: str | None = None,
) -> Task:
    """Measure whom a model decides for: hire, lend to, admit or believe, by country.

    Parameters
    ----------
    scenarios : str, optional
        File of scenarios, as for `geobias decide --scenarios`. Default: 80 bundled scenarios.
    domains : str or list of str, optional
        Domains to use, such as "hiring". Default: all.
    origin : str or list of str, default "stated"
        How origin shows: "stated", "demonym", "name" or "said".
    countries : str or list of str, optional
        Countries, by code or name. Default: all.
    draws : int, default 2
        Names drawn for each case and country, for the origin "name".
    paraphrases : int, default 1
        Wordings of each question, at most.
    seed : int, default 0
        Seed of the draws of names.
    system : str, optional
        System prompt.
    limit : int, optional
        Use the first cases of each kind only. Inspect's own `--limit` would leave questions without an answer.
    samples : int, default 1
        Answers to each question: 1 at temperature 0, or more at temperature 1, of which the shares are used.
    out : str, optional
        Folder for the run of geobias: results, tables and page. Default: nothing is saved besides Inspect's log.

    Returns
    -------
    Task
        One sample for each answer to each distinct question; the metrics are the numbers of the audit.
    """
    check_number("samples", samples, 1, MOST_SAMPLES)
    options: dict[str, Any] = {
        **{"scenarios": scenarios, "domains": domains or (), "origin": origin, "countries": countries or ()},
        **{"draws": draws, "paraphrases": paraphrases, "seed": seed, "system": system, "limit": limit},
        "samples": samples if samples > 1 else None,
    }
    questions = prepare(audit_decisions, **options).design.list_questions()
    distinct_questions = dict.fromkeys((kind, text) for kind, texts in questions for text in texts)
    task_samples = [
        Sample(
            id=f"{number}.{repetition}",
            input=_write_messages(ANSWER_SETS[kind].message.replace(TEXT, text), system),
            metadata={"text": text, "kind": kind},
        )
        for number, (kind, text) in enumerate(distinct_questions, 1)
        for repetition in range(1, samples + 1)
    ]
    return Task(
        dataset=MemoryDataset(task_samples, name="geobias decide"),
        solver=generate(),
        scorer=read_decision(),
        metrics=[measure_decisions(len(task_samples), json.dumps({**options, "out": out}))],
        config=GenerateConfig(temperature=0.0 if samples == 1 else 1.0),
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


@scorer(metrics=[])
def read_decision() -> Scorer:
    """What the answer begins with: 1 if it is one that the question allows, else 0."""

    async def score(state: TaskState, target: Target) -> Score:
        completion, kind = state.output.completion, state.metadata["kind"]
        answers = ANSWER_SETS[kind]
        choice = answers.parse(completion)
        return Score(
            value=float(choice is not None),
            answer=None if choice is None else answers.words[choice],
            explanation=completion,
            metadata={"text": state.metadata["text"], "kind": kind, "answer": completion, "model": str(state.model)},
        )

    return score


@metric
def measure_names(samples: int, options: str) -> Metric:
    """The numbers of the names audit of all answers together, and how many answers had no label."""
    return _measure_when_complete(samples, lambda details: measure_labels(json.loads(options), details))


@metric
def measure_decisions(samples: int, options: str) -> Metric:
    """The numbers of the decisions audit of all answers together, and how many answers decided nothing."""
    return _measure_when_complete(samples, lambda details: measure_answers(json.loads(options), details))


def _measure_when_complete(samples: int, measure: Callable[[list[Details]], dict[str, float]]) -> Metric:
    """Inspect asks for metrics while samples are still running, too: until all have an answer, count the missing."""

    def measure_complete(scores: list[SampleScore]) -> Value:
        if len(scores) < samples:
            return {"answers_missing": samples - len(scores)}
        return dict(measure([score.score.metadata or {} for score in scores]))

    return measure_complete


def find_label(answer: str, prompt: Prompt) -> str:
    """The label whose word comes first in an answer, as a whole word; else "other"."""
    places = {
        label: match.start()
        for label, word in prompt.words.items()
        if (match := re.search(rf"(?<!\w){re.escape(word)}(?!\w)", answer, re.IGNORECASE))
    }
    return min(places, key=lambda label: places[label]) if places else OTHER


def measure_labels(options: Mapping[str, Any], answers: Sequence[Details]) -> dict[str, float]:
    """The numbers that sum up a names audit of recorded labels, and how many answers had no label."""
    label_counts = Counter(answer["label"] for answer in answers)
    labels = make_prompt(options["labels"]).labels
    if OTHER in label_counts and OTHER not in labels:
        labels = (*labels, OTHER)
    classifier = RecordedClassifier(
        answers[0]["model"], labels, {answer["text"]: answer["label"] for answer in answers}, (ONLY_LABELS,)
    )
    result = audit_names(classifier, **{**options, "progress": False})
    return _list_metrics(result) | {"answers_without_label": float(label_counts[OTHER])}


def measure_answers(options: Mapping[str, Any], answers: Sequence[Details]) -> dict[str, float]:
    """The numbers that sum up a decisions audit of recorded answers, and how many answers decided nothing."""
    completions: dict[str, dict[str, list[str]]] = {}
    for answer in answers:
        completions.setdefault(answer["kind"], {}).setdefault(answer["text"], []).append(answer["answer"])
    rows = {
        kind: {text: count_answers(ANSWER_SETS[kind], of_text) for text, of_text in texts.items()}
        for kind, texts in completions.items()
    }
    result = audit_decisions(make_recorded_model(answers[0]["model"], rows), **options, progress=False)
    undecided = sum(ANSWER_SETS[answer["kind"]].parse(answer["answer"]) is None for answer in answers)
    return _list_metrics(result) | {"answers_without_decision": float(undecided)}


def _list_metrics(result: AuditResult) -> dict[str, float]:
    """The numbers that sum up a result, by the last parts of their gate paths, with the ends of their intervals."""
    metrics: dict[str, float] = {}
    for number in list_summary_numbers(result):
        name = ".".join(number.parts[2:])  # without the audit and the model
        metrics[name] = number.value
        if number.low is not None and number.high is not None:
            metrics |= {f"{name}.low": number.low, f"{name}.high": number.high}
    return metrics


def _write_messages(message: str, system: str | None) -> str | list[ChatMessageSystem | ChatMessageUser]:
    return message if system is None else [ChatMessageSystem(content=system), ChatMessageUser(content=message)]
