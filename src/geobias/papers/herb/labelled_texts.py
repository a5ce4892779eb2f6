"""Labelled texts of HERB's Tables 4 and 5: hatespeech18, IMDB, or the user's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from geobias.audits.inputs import distinct_texts, split_by_class, text_classes
from geobias.checks import describe_choices
from geobias.errors import InputError
from geobias.models.training.finetuning import LabelledTexts
from geobias.texts.copies import find_first_copies
from geobias.texts.input_table import read_table
from geobias.texts.user_texts import Texts, read_texts

SPLIT, TRAIN, TEST = "split", "train", "test"
VALIDATION_SHARE, TEST_SHARE = 0.1, 0.2


def read_test_texts(source: Any, *, column: str, label: str, limit: int | None = None) -> Texts:
    """The texts to test on, the first `limit` of them; copies are left out."""
    texts = read_split(source, TEST, column, label)
    texts = texts.head(limit or len(texts))
    return texts.drop_copies(find_first_copies(texts.texts, texts.spans))


def read_split(source: Any, part: str, column: str, label: str) -> Texts:
    """The texts of one part of a data set, by its column "split"; all of them where it has none."""
    subsets = (SPLIT,) if SPLIT in (read_table(source).names or ()) else ()
    texts = read_texts(source, column=column, label=label, subsets=subsets)
    if subsets:
        texts = texts.take(k for k, name in enumerate(texts.groups[SPLIT]) if name == part)
    if not len(texts):
        raise InputError(
            f"{texts.source} has no row with {part!r} in the column {SPLIT}. Fix the column, or remove it."
        )
    return texts


def divide_texts(
    source: Any, column: str, label: str, seed: int
) -> tuple[LabelledTexts, LabelledTexts, pd.DataFrame, list[str]]:
    """Texts to train on, to choose the epoch on, and to test on: by a column "split", else a fifth of them."""
    texts = distinct_texts(read_split(source, TRAIN, column, label))
    classes = text_classes(texts)
    labels, rows = sorted(set(classes)), np.arange(len(texts))
    if len(labels) < 2:
        raise InputError(f"All texts of {texts.source} have the label {labels[0]!r}. Training needs two classes.")
    if texts.groups:  # by the column "split"
        test = distinct_texts(read_split(source, TEST, column, label))
    else:
        rows, held_out = split_by_class(rows, classes, TEST_SHARE, seed)
        test = texts.take(held_out)
    seen = {texts.texts[row] for row in rows}
    test = test.take(k for k, text in enumerate(test.texts) if text not in seen)
    if not len(test):
        raise InputError(f"Every text of {test.source} to test on is also a training text.")
    unknown = sorted(set(text_classes(test)) - set(labels))
    if unknown:
        raise InputError(
            f"The texts to test on have the label {unknown[0]!r}, which no training text has. "
            f"{describe_choices(unknown[0], labels, 'Training labels')}"
        )
    train, validation = split_by_class(rows, classes, VALIDATION_SHARE, seed + 1)

    def select(part: np.ndarray) -> LabelledTexts:
        chosen: Texts = texts.take(part)
        return LabelledTexts(chosen.texts, np.array([*map(labels.index, text_classes(chosen))]), chosen.digest)

    frame = pd.DataFrame({"text": test.texts, "label": text_classes(test)})
    return select(train), select(validation), frame, labels
