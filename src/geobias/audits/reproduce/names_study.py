"""The tables of Barriere and Cifuentes again: change and Delta by country, correlations with perplexity.

Their tweets are not published, so what is compared is their models on other texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from geobias.audits.inputs import load_texts
from geobias.audits.names.design import Asked, NamesQuestion, answer, question
from geobias.audits.names.perplexity import of_originals
from geobias.audits.names.result import Judgement
from geobias.audits.reproduce.published import Published
from geobias.audits.reproduce.result import (
    Models,
    Reproduced,
    ReproduceResult,
    checked_stand_ins,
    one_form,
    published_only,
    result,
)
from geobias.engine.ask import ask
from geobias.errors import InputError
from geobias.measures.change import change_by_country
from geobias.measures.correlation import global_correlation, pooled_correlation
from geobias.models.load import load, load_classifier
from geobias.models.scorer import Classifier, Scorer
from geobias.texts.user_texts import Texts

MULTILINGUAL, ENGLISH = "cardiffnlp/twitter-xlm-roberta-base", "cardiffnlp/twitter-roberta-base"
LANGUAGES = {"English": "en", "Dutch": "nl", "Spanish": "es", "Hindi": "hi", "Malayalam": "ml", "Turkish": "tr",
             "Basque": "eu", "Maori": "mi"}  # fmt: skip


@dataclass(frozen=True)
class Task:
    """A published classifier, the language model that it was made from, and its labels in their order."""

    classifier: str
    lm: str
    labels: tuple[str, ...]


TASKS = {
    "sentiment": Task(f"{MULTILINGUAL}-sentiment", MULTILINGUAL, ("negative", "neutral", "positive")),
    "emotion": Task(f"{ENGLISH}-emotion", ENGLISH, ("anger", "joy", "optimism", "sadness")),
    "hate": Task(f"{ENGLISH}-hate", ENGLISH, ("non_hate", "hate")),
    "offensive": Task(f"{ENGLISH}-offensive", ENGLISH, ("non_offensive", "offensive")),
}
MODELS = (*(task.classifier for task in TASKS.values()), MULTILINGUAL, ENGLISH)
OVERALL = "Overall"
TEXTS_NOTE = (
    "The paper's 8,891 English tweets and their translations are not published: these are its models on other texts "
    "({about}), so signs and orders can be compared, sizes hardly."
)
LM_NOTE = (
    "The paper does not name the language model behind its perplexities: here the one that each classifier was made "
    f"from, {MULTILINGUAL} for sentiment, {ENGLISH} for the others, one token masked at a time."
)


@dataclass(frozen=True)
class _Said:
    """What one classifier said, its labels named as the tables name them."""

    labels: tuple[str, ...]
    judgement: Judgement | None = None
    by_language: dict[str, np.ndarray] = field(default_factory=dict)  # language -> correlation of each label


def reproduce_names(
    tables: Sequence[Published],
    *,
    stand_ins: Sequence[str] = (),
    texts: Mapping[str, Any] | None = None,
    column: str = "text",
    finder: str | None = None,
    limit: int | None = None,
    draws: int = 50,
    perplexity_draws: int | None = None,
    device: str = "auto",
    dtype: str = "float32",
    ready: Callable[[dict[str, Any]], None] | None = None,
    progress: bool | None = None,
) -> ReproduceResult:
    """Ask the published classifiers, or those that stand in for them, and put their numbers beside the published ones.

    `texts` go by language; those of no language are English, and without any the tweets inside are asked.
    `ready` is called with the settings before anything is asked: it may refuse them.
    """
    models = Models(checked_stand_ins(stand_ins, MODELS), device, dtype)
    given = {language or "en": one for language, one in (texts or {"en": None}).items()}
    for language in set(given) - set(LANGUAGES.values()):
        raise InputError(f"No table has the language {language!r}: choose of {', '.join(LANGUAGES.values())}.")
    sources = {language: None if one is None else {language: one} for language, one in given.items()}
    read = {language: load_texts(one, column=column, limit=limit) for language, one in sources.items()}
    numbers = {table.number for table in tables}
    asked = None
    if "en" in given and numbers & {"1", "5"}:
        asked = question(texts=sources["en"], column=column, finder=finder, limit=limit, draws=draws, device=device)
    taken = draws if perplexity_draws is None else min(perplexity_draws, draws)
    settings = {
        "paper": "names",
        "tables": [table.number for table in tables],
        "models": {name: models.stand_ins.get(name, name) for name in MODELS},
        "texts": {language: {"source": one.source, "count": len(one), "digest": one.digest} for language, one in
                  read.items()},
        "draws": draws,
        "perplexity_draws": taken,
        "finder": finder,
        "dtype": dtype,
    }  # fmt: skip
    if ready is not None:
        ready(settings)
    said = {
        name: found
        for name in _wanted(numbers)
        if (found := _ask(name, asked, read, numbers, taken, models, progress)) is not None
    }
    about = ", ".join(f"{language}: {len(one):,} of {one.source}" for language, one in read.items())
    notes = [TEXTS_NOTE.format(about=about)]
    if numbers & {"2", "4", "5"}:
        notes.append(LM_NOTE)
    return result(settings, [_table(table, said, asked, read) for table in tables], models, notes)


def _wanted(numbers: set[str]) -> list[str]:
    """The tasks whose classifiers these tables need."""
    if numbers & {"1", "5"}:
        return list(TASKS)
    return ["sentiment", "hate"] if "2" in numbers else ["sentiment"]


def _ask(
    name: str,
    asked: NamesQuestion | None,
    texts: Mapping[str, Texts],
    numbers: set[str],
    draws: int,
    models: Models,
    progress: bool | None,
) -> _Said | None:
    """One task's classifier and its language model; None where the classifier is out of reach."""
    task = TASKS[name]
    classifier = models.load(task.classifier, load_classifier)
    lm = models.load(task.lm, load) if numbers & {"2", "4", "5"} else None
    if classifier is None:
        return None
    labels = _named_labels(classifier, task)
    strange: Scorer | None = None if lm is None else lm.scorer(lm.perplexity_method)
    judgement = None
    if asked is not None:
        tones: dict[str, Any] = {}
        if name == "sentiment":  # whatever the labels are called, Delta is of these two
            tones = {tone: (classifier.labels[labels.index(tone)],) for tone in ("positive", "negative")}
        how = Asked(lm=strange, perplexity_draws=draws if strange is not None and "5" in numbers else 0, **tones)
        found = answer(asked, [classifier], how, device=models.device, dtype=models.dtype, progress=progress)
        judgement = found.judgements[0]
        models.note(task.classifier, classifier, found.work)
    by_language = {}
    if strange is not None:
        models.note(task.lm, strange, {})
        if numbers & {"2", "4"} and name in ("sentiment", "hate"):
            by_language = {
                language: _correlation(classifier, strange, some, progress) for language, some in texts.items()
            }
            models.note(task.classifier, classifier, {})
    return _Said(labels, judgement, by_language)


def _correlation(classifier: Classifier, lm: Scorer, texts: Texts, progress: bool | None) -> np.ndarray:
    """Over all texts of a language, for each class."""
    said = ask(classifier, texts.texts, label=classifier.name, progress=progress)
    strange = of_originals(lm, texts, "mean", progress)[1]
    known = ~np.isnan(strange)
    return global_correlation(strange[known], said.scores[known, : len(classifier.labels)])


def _named_labels(classifier: Classifier, task: Task) -> tuple[str, ...]:
    """The classifier's labels as the tables name them: by name, or LABEL_0, LABEL_1, ... by their order."""
    plain = tuple(re.sub(r"^no[nt]?[\s_-]", "non_", label.casefold()) for label in classifier.labels)
    if sorted(plain) == sorted(task.labels):
        return plain
    if plain == tuple(f"label_{k}" for k in range(len(task.labels))):
        return task.labels
    raise InputError(
        f"{classifier.name} cannot stand for {task.classifier}: its labels are {', '.join(classifier.labels)}, not "
        f"{', '.join(task.labels)}."
    )


def _table(
    table: Published, said: Mapping[str, _Said], asked: NamesQuestion | None, texts: Mapping[str, Texts]
) -> Reproduced:
    if table.number in ("2", "4"):
        measured = np.array([[_global(table, row, column, said) for column in table.columns] for row in table.rows])
        lacking = [f"{name} ({LANGUAGES[name]}=FILE)" for name in table.columns if LANGUAGES[name] not in texts]
        notes = [f"Without texts, so without a measured number: {', '.join(lacking)}; give --texts."] if lacking else []
        return Reproduced(table, (one_form(table, measured),), ranked=table.columns, notes=tuple(notes))
    if asked is None:
        return published_only(table, "This table needs English texts: --texts en=FILE.")
    columns: dict[str, np.ndarray] = {}
    for one in said.values():
        columns |= _changes(one, asked) if table.number == "1" else _local(one, asked)
    listed, countries = asked.renamed.gazetteer, asked.renamed.countries
    at = [len(countries) if row[0] == OVERALL else countries.index(listed.find(row[0])) for row in table.rows]
    unknown = np.full(len(countries) + 1, np.nan)
    measured = np.column_stack([columns.get(name, unknown)[at] for name in table.columns])
    note = (
        f"{len(asked.named):,} of {len(asked.texts):,} texts name somebody; {asked.renamed.draws} renamed versions of "
        "each for each country."
    )
    return Reproduced(table, (one_form(table, measured),), notes=(note,))


def _global(table: Published, row: Sequence[str], column: str, said: Mapping[str, _Said]) -> float:
    task, label = row if table.number == "2" else ("sentiment", row[0])
    found = said.get(task)
    if found is None or LANGUAGES[column] not in found.by_language:
        return np.nan
    return float(100 * found.by_language[LANGUAGES[column]][found.labels.index(label)])


def _changes(said: _Said, asked: NamesQuestion) -> dict[str, np.ndarray]:
    """By column of Table 1, a number for each country."""
    judged = said.judgement
    assert judged is not None
    found = change_by_country(
        judged.original[asked.named],
        judged.renamed,
        counted=np.ones(asked.renamed.shape[::2], dtype=bool),
        positive=judged.positive,
        negative=judged.negative,
        threshold=judged.threshold,
        multi_label=judged.multi_label,
    )
    columns = dict(zip(said.labels, found.change.T, strict=True))
    return columns | ({"delta": found.delta} if "positive" in columns else {})


def _local(said: _Said, asked: NamesQuestion) -> dict[str, np.ndarray]:
    """By column of Table 5, a number for each country, then that of all; none without a language model."""
    judged = said.judgement
    assert judged is not None
    if judged.perplexity is None:
        return {}
    strange = judged.perplexity.renamed
    before = judged.perplexity.original[asked.named], judged.original[asked.named]
    found = pooled_correlation(strange, judged.renamed[:, :, : strange.shape[2]], *before)
    return dict(zip(said.labels, 100 * np.vstack([found.by_country, found.overall]).T, strict=True))
