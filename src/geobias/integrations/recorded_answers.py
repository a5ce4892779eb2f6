"""Answers that another tool collected, as models for the audits.

Inspect and lm-evaluation-harness put the texts to a model; the audit then reads the answers from a table. So its
numbers are those of the command line for the same answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from geobias.audits.decide.study import DecidingModel
from geobias.errors import InputError
from geobias.models.answers import ANSWER_SETS, AnswerSet, Decider
from geobias.models.scorer import Classifier, probability_columns

Row = Sequence[float] | np.ndarray  # the scores of one text


class RecordedClassifier(Classifier):
    """A label for each text, as a classifier whose probabilities are 0 and 1."""

    is_prompted = True
    notes: tuple[str, ...]

    def __init__(self, name: str, labels: Sequence[str], answers: Mapping[str, str], notes: Sequence[str] = ()) -> None:
        self.name, self.labels, self.answers = name, tuple(labels), answers
        self.columns = probability_columns(self.labels)
        self.notes = tuple(notes)

    def score(self, texts: Sequence[str]) -> np.ndarray:
        _refuse_missing(self.name, texts, self.answers)
        return np.array([[*(float(self.answers[text] == label) for label in self.labels), 0.0] for text in texts])


class RecordedDecider(Decider):
    """Rows of scores for questions of one kind, as a model that decides."""

    def __init__(self, name: str, answers: AnswerSet, rows: Mapping[str, Row]) -> None:
        self.name, self.answers, self.rows = name, answers, rows
        self.columns = answers.columns

    def score(self, texts: Sequence[str]) -> np.ndarray:
        _refuse_missing(self.name, texts, self.rows)
        return np.array([self.rows[text] for text in texts])


def make_recorded_model(name: str, rows: Mapping[str, Mapping[str, Row]]) -> DecidingModel:
    """A model for the decisions audit; `rows` has the scores of each text by kind of question."""
    return DecidingModel(
        {kind: RecordedDecider(name, ANSWER_SETS[kind], kind_rows) for kind, kind_rows in rows.items()}
    )


def _refuse_missing(name: str, texts: Sequence[str], answers: Mapping[str, object]) -> None:
    missing = [text for text in texts if text not in answers]
    if missing:
        raise InputError(
            f"{name} has no answer to {len(missing):,} text(s), such as {missing[0][:60]!r}. Run the task on all "
            "of its samples, without a limit."
        )
