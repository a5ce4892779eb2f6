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
LABELS = {  # what corpora call them
    "person": {"PERSON", "PER"},
    "place": {"PLACE", "GPE", "LOC", "LOCATION"},
}

CHARACTERS_AT_ONCE = 1_000_000  # spaCy takes about 3 GB for them
TEXTS_AT_ONCE = 1000  # spaCy's own default

Span = tuple[int, int]
Find = Callable[[Sequence[str]], list[list[Span]]]


def load_finder(name: str = EMBEDDED_FINDER, *, entity: str = "person", device: str = "auto") -> Find:
    """A function that gives, for each text, the offsets of the people (or places) named in it."""
    folder = embedded_folder() / "entities" if name == EMBEDDED_FINDER else Path(name).expanduser()
    if os.path.isfile(folder / "meta.json") or _is_spacy_package(name):  # False for a name too long to be a file's
        return _spacy_finder(name, str(folder) if folder.is_dir() else name, entity)
    return _token_classifier(name, entity, device)


def _is_spacy_package(name: str) -> bool:
    import spacy

    return bool(spacy.util.is_package(name))


def _spacy_finder(name: str, source: str, entity: str) -> Find:
    import spacy

    try:
        pipeline = spacy.load(source)
    except Exception as error:  # a pipeline of another version fails in many ways
        raise InputError(f"The spaCy pipeline {name} cannot be loaded: {' '.join(str(error).split())[:300]}") from error
    marked = {label for labels in pipeline.pipe_labels.values() for label in labels}
    wanted = _checked_labels(name, marked, entity)

    pipeline.max_length = max(pipeline.max_length, LONGEST_TEXT)

    def find(texts: Sequence[str]) -> list[list[Span]]:
        longest = max(map(len, texts), default=0)
        together = min(TEXTS_AT_ONCE, max(1, CHARACTERS_AT_ONCE // max(longest, 1)))
        return [
            [(found.start_char, found.end_char) for found in document.ents if found.label_ in wanted]
            for document in pipeline.pipe(texts, batch_size=together)
        ]

    return find


def _token_classifier(name: str, entity: str, device: str) -> Find:
    import transformers

    from geobias.models.model_files import load_pretrained
    from geobias.models.pretrained import longest_input, resolve_device, resolve_dtype

    where = resolve_device(device)
    model, tokenizer = load_pretrained(
        transformers.AutoModelForTokenClassification,
        name,
        locate_weights(name),
        dtype=resolve_dtype("float32", where),
        kind="token-classification",
    )
    marked = {_bare(label) for label in model.config.id2label.values()}
    wanted = _checked_labels(name, marked, entity)
    tokenizer.model_max_length = longest_input(model, tokenizer)
    tagger: Any = transformers.pipeline(
        "token-classification",
        model=model,
        tokenizer=tokenizer,
        device=where,
        aggregation_strategy="simple",
        stride=tokenizer.model_max_length // 4,  # a text longer than the model takes is read in overlapping parts
    )

    def find(texts: Sequence[str]) -> list[list[Span]]:
        return [
            whole_words(
                text,
                [(found["start"], found["end"]) for found in tagger(text) if _bare(found["entity_group"]) in wanted],
            )
            for text in texts
        ]

    return find


def whole_words(text: str, spans: Sequence[Span]) -> list[Span]:
    """Spans widened to the borders of words, and those that then overlap joined: a tagger marks pieces of words."""
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


def _bare(label: str) -> str:
    """PER of B-PER and I-PER."""
    return (
        label.split("-", 1)[-1].upper() if label[:2].upper() in ("B-", "I-", "E-", "S-", "L-", "U-") else label.upper()
    )


def _checked_labels(name: str, marked: set[str], entity: str) -> set[str]:
    wanted = {label for label in marked if label.upper() in LABELS[entity]}
    if not wanted:
        raise InputError(
            f"{name} finds no {entity}: it marks {', '.join(sorted(marked)) or 'nothing'}. "
            f"Give a finder with a label {' or '.join(sorted(LABELS[entity]))}."
        )
    return wanted
