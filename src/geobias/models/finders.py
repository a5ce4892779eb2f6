"""Finders of people and places in texts: the embedded one, spaCy pipelines, token classifiers, Python functions.

A function takes a list of texts and returns for each text a list of (start, end), which mark people, or of
(start, end, label):

    def find(texts):
        return [[(0, 4, "PERSON")] if text.startswith("Mary") else [] for text in texts]

    find.fingerprint = "2"    # optional: tells this version from others in results
"""

from __future__ import annotations

import hashlib
import os
import re
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from geobias.checks import shorten
from geobias.errors import InputError
from geobias.extensions import FINDERS, find_extension, is_extension
from geobias.models.functions import UserFunction, import_function
from geobias.models.scorer import ModelIdentity
from geobias.models.sources import embedded_folder, is_function_name, locate_weights
from geobias.texts.user_texts import LONGEST_TEXT

EMBEDDED_FINDER = "embedded/entities"
PERSON = "person"
LABELS = {  # as corpora name them
    PERSON: {"PERSON", "PER"},
    "place": {"PLACE", "GPE", "LOC", "LOCATION"},
}
SEVERAL_LANGUAGES = "xx"  # spaCy's code
SCORE = "entities"  # what a finder gives, in results
DOCUMENTATION = ("README.md", "LICENSE", "evaluation.json")  # files of a pipeline that change nothing it finds

BATCH_CHARACTERS = 1_000_000  # for which spaCy takes about 3 GB
BATCH_TEXTS = 1000  # spaCy's default

Span = tuple[int, int]
Find = Callable[[Sequence[str]], list[list[Span]]]


class Entity(NamedTuple):
    """A span of a text with its type: "person", "place", or a label of the finder that is neither."""

    start: int
    end: int
    label: str

    @property
    def span(self) -> Span:
        return self.start, self.end


class EntityFinder(ABC):
    """Finds entities in texts.

    Attributes
    ----------
    labels
        Every label that it can give, as it writes them. None if unknown.
    fingerprint
        Stands for everything that its answers depend on. None if unknown.
    language
        Code of the only language that it reads, such as "en". None if unknown, or if it reads several.
    """

    name: str
    language: str | None = None
    labels: set[str] | None = None
    fingerprint: str | None = None
    fast_parts: tuple[str, ...] = ()

    @abstractmethod
    def find(self, texts: Sequence[str]) -> list[list[Entity]]:
        """Return the entities of every text."""

    def identity(self) -> ModelIdentity:
        """Say which finder this is, for results and reports."""
        return ModelIdentity(self.name, SCORE, self.fingerprint)

    def require(self, entity: str) -> None:
        """Refuse a finder that never marks this type of entity ("person" or "place")."""
        if self.labels is not None and not any(entity_type(label) == entity for label in self.labels):
            raise InputError(
                f"{self.name} has no label for a {entity}. Its labels: {', '.join(sorted(self.labels)) or 'none'}. "
                f"Use a finder with the label {' or '.join(sorted(LABELS[entity]))}."
            )


def load_finder(finder: Any = EMBEDDED_FINDER) -> Find:
    """Return a function that finds, in each text, the offsets of the people named in it."""
    loaded = load_entity_finder(finder)
    loaded.require(PERSON)
    return lambda texts: [[each.span for each in row if each.label == PERSON] for row in loaded.find(texts)]


def load_entity_finder(finder: Any = EMBEDDED_FINDER, *, device: str = "auto") -> EntityFinder:
    """Load a finder: a spaCy pipeline or token classifier (by name, or folder), or a function (itself, or by name)."""
    import spacy
    from spacy.language import Language

    if isinstance(finder, EntityFinder):
        return finder
    if isinstance(finder, Language):
        return SpacyFinder(f"{finder.lang}_{finder.meta['name']}", finder)
    if callable(finder):
        return FunctionFinder(finder)
    if not isinstance(finder, str | Path):
        raise InputError(
            f"A finder must be a name, a folder, a spaCy pipeline or a function, not {shorten(repr(finder))}."
        )
    name = str(finder)
    if is_extension(FINDERS, name) and not os.path.exists(name):
        return FunctionFinder(import_function(find_extension(FINDERS, name)), name=name)
    if is_function_name(name):
        return FunctionFinder(import_function(name), name=name)
    folder = find_pipeline_folder(name)
    if folder or spacy.util.is_package(name):
        try:
            return SpacyFinder(name, spacy.load(folder or name))
        except Exception as error:  # a pipeline of another version fails in many ways
            raise InputError(f"Cannot load the spaCy pipeline {name}: {' '.join(str(error).split())[:300]}") from error
    return TokenClassifierFinder(name, device)


def find_pipeline_folder(name: str) -> Path | None:
    """The folder of a spaCy pipeline, bundled or the user's; None if this names something else."""
    folder = embedded_folder() / "entities" if name == EMBEDDED_FINDER else Path(name).expanduser()
    return folder if os.path.isfile(folder / "meta.json") else None  # False for a name too long to be a file's


class SpacyFinder(EntityFinder):
    """A spaCy pipeline."""

    def __init__(self, name: str, pipeline: Any) -> None:
        self.name, self.pipeline = name, pipeline
        self.labels = {label for labels in pipeline.pipe_labels.values() for label in labels}
        self.fingerprint = digest_files(pipeline.path) if pipeline.path else None
        self.language = None if pipeline.lang == SEVERAL_LANGUAGES else pipeline.lang
        pipeline.max_length = max(pipeline.max_length, LONGEST_TEXT)

    def find(self, texts: Sequence[str]) -> list[list[Entity]]:
        longest = max(map(len, texts), default=0)
        batch_size = min(BATCH_TEXTS, max(1, BATCH_CHARACTERS // max(longest, 1)))
        return [
            [Entity(span.start_char, span.end_char, entity_type(span.label_)) for span in document.ents]
            for document in self.pipeline.pipe(texts, batch_size=batch_size)
        ]


class TokenClassifierFinder(EntityFinder):
    """A token classifier of Hugging Face."""

    def __init__(self, name: str, device: str) -> None:
        import torch
        import transformers

        from geobias.models.model_files import compute_fingerprint, load_pretrained
        from geobias.models.pretrained import longest_input, resolve_device

        task: Final = "token-classification"
        auto_class = transformers.AutoModelForTokenClassification
        model, tokenizer = load_pretrained(auto_class, name, locate_weights(name), dtype=torch.float32, kind=task)
        self.name = name
        self.labels = {_remove_position(label) for label in model.config.id2label.values()}
        self.fingerprint = compute_fingerprint(model, tokenizer)
        tokenizer.model_max_length = longest_input(model, tokenizer)
        stride = tokenizer.model_max_length // 4  # a text longer than the model takes is read in overlapping parts
        self.tagger: Any = transformers.pipeline(
            task,
            model=model,
            tokenizer=tokenizer,
            device=resolve_device(device),
            aggregation_strategy="simple",
            stride=stride,
        )

    def find(self, texts: Sequence[str]) -> list[list[Entity]]:
        return [self._find_entities(text) for text in texts]

    def _find_entities(self, text: str) -> list[Entity]:
        spans: dict[str, list[Span]] = defaultdict(list)
        for group in self.tagger(text):
            spans[entity_type(_remove_position(group["entity_group"]))].append((group["start"], group["end"]))
        return sorted(Entity(*span, label) for label in spans for span in widen_to_words(text, spans[label]))


class FunctionFinder(UserFunction, EntityFinder):
    """A Python function. Its answers are checked: a wrong offset would become a wrong finding."""

    expected_answer = "a list of spans for each text"

    def find(self, texts: Sequence[str]) -> list[list[Entity]]:
        return [self._read_entities(row, text) for row, text in zip(self._call(texts), texts, strict=True)]

    def _read_entities(self, row: Any, text: str) -> list[Entity]:
        if not isinstance(row, list | tuple):
            raise InputError(f"{self.title} returned {shorten(repr(row))} for a text. Return a list of spans.")
        return [self._read_entity(item, text) for item in row]

    def _read_entity(self, item: Any, text: str) -> Entity:
        match item:
            case [int() | np.integer() as start, int() | np.integer() as end] if 0 <= start < end <= len(text):
                return Entity(int(start), int(end), PERSON)
            case [int() | np.integer() as start, int() | np.integer() as end, str(label)] if (
                0 <= start < end <= len(text)
            ):
                return Entity(int(start), int(end), entity_type(label))
        raise InputError(
            f"{self.title} returned the span {shorten(repr(item))} for the text {shorten(text)!r}. Return (start, end) "
            f"or (start, end, label) with 0 <= start < end <= {len(text)}, the length of the text."
        )


def entity_type(label: str) -> str:
    """Return "person" or "place" for a label that stands for one of them, any other label unchanged."""
    return next((kind for kind, labels in LABELS.items() if label == kind or label.upper() in labels), label)


def widen_to_words(text: str, spans: Sequence[Span]) -> list[Span]:
    """Widen spans to the borders of words, and join those that then overlap: a tagger marks pieces of words."""
    widened: list[Span] = []
    for start, end in sorted(spans):
        while start > 0 and text[start - 1].isalnum() and text[start].isalnum():
            start -= 1
        while end < len(text) and text[end].isalnum() and text[end - 1].isalnum():
            end += 1
        if widened and start < widened[-1][1]:
            widened[-1] = (widened[-1][0], max(end, widened[-1][1]))
        else:
            widened.append((start, end))
    return widened


def digest_files(folder: Path) -> str:
    """Return a hash of the files of a pipeline, wherever it lies."""
    digest = hashlib.blake2b(digest_size=16)
    for file in sorted(file for file in folder.rglob("*") if file.is_file() and file.name not in DOCUMENTATION):
        digest.update(file.relative_to(folder).as_posix().encode() + b"\x00")
        digest.update(hashlib.blake2b(file.read_bytes()).digest())
    return digest.hexdigest()


def _remove_position(label: str) -> str:
    """Return PER for B-PER and I-PER."""
    return re.sub("^[BIESLU]-", "", label.upper())
