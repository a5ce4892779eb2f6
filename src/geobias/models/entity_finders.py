"""Finders of people and places in texts: the embedded one, any spaCy pipeline, any Hugging Face token classifier."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from geobias.errors import InputError
from geobias.models.bundled.catalogue import embedded_folder
from geobias.models.sources import locate_weights
from geobias.texts.user_texts import LONGEST_TEXT

EMBEDDED_FINDER = "embedded/entities"
LABELS = {  # as corpora name them
    "person": {"PERSON", "PER"},
    "place": {"PLACE", "GPE", "LOC", "LOCATION"},
}

BATCH_CHARACTERS = 1_000_000  # for which spaCy takes about 3 GB
BATCH_TEXTS = 1000  # spaCy's default

Span = tuple[int, int]
Find = Callable[[Sequence[str]], list[list[Span]]]


def load_finder(name: str = EMBEDDED_FINDER, *, entity: str = "person", device: str = "auto") -> Find:
    """Return a function that finds, in each text, the offsets of the people (or places) named in it."""
    folder = embedded_folder() / "entities" if name == EMBEDDED_FINDER else Path(name).expanduser()
    if os.path.isfile(folder / "meta.json") or _is_spacy_package(name):  # False for a name too long to be a file's
        return _spacy_finder(name, str(folder) if folder.is_dir() else name, entity)
    return _token_classifier_finder(name, entity, device)


def _is_spacy_package(name: str) -> bool:
    import spacy

    return bool(spacy.util.is_package(name))


def _spacy_finder(name: str, source: str, entity: str) -> Find:
    import spacy

    try:
        pipeline = spacy.load(source)
    except Exception as error:  # a pipeline of another version fails in many ways
        raise InputError(f"The spaCy pipeline {name} cannot be loaded: {' '.join(str(error).split())[:300]}") from error
    pipeline_labels = {label for labels in pipeline.pipe_labels.values() for label in labels}
    entity_labels = _select_labels(name, pipeline_labels, entity)
    pipeline.max_length = max(pipeline.max_length, LONGEST_TEXT)

    def find(texts: Sequence[str]) -> list[list[Span]]:
        longest = max(map(len, texts), default=0)
        batch_size = min(BATCH_TEXTS, max(1, BATCH_CHARACTERS // max(longest, 1)))
        return [
            [(span.start_char, span.end_char) for span in document.ents if span.label_ in entity_labels]
            for document in pipeline.pipe(texts, batch_size=batch_size)
        ]

    return find


def _token_classifier_finder(name: str, entity: str, device: str) -> Find:
    import transformers

    from geobias.models.model_files import load_pretrained
    from geobias.models.pretrained import longest_input, resolve_device, resolve_dtype

    device = resolve_device(device)
    model, tokenizer = load_pretrained(
        transformers.AutoModelForTokenClassification,
        name,
        locate_weights(name),
        dtype=resolve_dtype("float32", device),
        kind="token-classification",
    )
    entity_labels = _select_labels(name, {_entity_type(label) for label in model.config.id2label.values()}, entity)
    tokenizer.model_max_length = longest_input(model, tokenizer)
    tagger: Any = transformers.pipeline(
        "token-classification",
        model=model,
        tokenizer=tokenizer,
        device=device,
        aggregation_strategy="simple",
        stride=tokenizer.model_max_length // 4,  # a text longer than the model takes is read in overlapping parts
    )

    def find_spans(text: str) -> list[Span]:
        groups = tagger(text)
        return [
            (group["start"], group["end"]) for group in groups if _entity_type(group["entity_group"]) in entity_labels
        ]

    def find(texts: Sequence[str]) -> list[list[Span]]:
        return [widen_to_words(text, find_spans(text)) for text in texts]

    return find


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


def _entity_type(label: str) -> str:
    """Return PER for B-PER and I-PER."""
    return label.upper()[2:] if label[:2].upper() in ("B-", "I-", "E-", "S-", "L-", "U-") else label.upper()


def _select_labels(name: str, labels: set[str], entity: str) -> set[str]:
    """Return those of a finder's labels that stand for this kind of entity; refuse a finder without any."""
    entity_labels = {label for label in labels if label.upper() in LABELS[entity]}
    if not entity_labels:
        raise InputError(
            f"{name} finds no {entity}: it marks {', '.join(sorted(labels)) or 'nothing'}. "
            f"Give a finder with a label {' or '.join(sorted(LABELS[entity]))}."
        )
    return entity_labels
