"""Barriere and Cifuentes, Table 4: perplexity and sentiment of texts in eight languages (appendix D).

Are texts that are strange to the language model classified otherwise? Over all original texts of a language, the
correlation of the log-perplexity with the probability of each class (x 100).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from geobias.audits.inputs import load_texts
from geobias.audits.names.answers import score_originals
from geobias.checks import describe_choices
from geobias.engine.ask import ask
from geobias.errors import InputError
from geobias.measures.correlation import pearson
from geobias.models.scorer import Scorer
from geobias.papers.names.table_1 import TEXTS_NOTE
from geobias.papers.names.table_5 import describe_perplexities, load_perplexity
from geobias.papers.names.tasks import TASKS, Task, TaskModel, load_tasks
from geobias.papers.tables import Reproduction, read_published
from geobias.texts.user_texts import Texts

TITLE = "global correlations of sentiment with perplexity (x 100)"
LANGUAGES = {"English": "en", "Dutch": "nl", "Spanish": "es", "Hindi": "hi", "Malayalam": "ml", "Turkish": "tr",
             "Basque": "eu", "Maori": "mi"}  # fmt: skip


def measure(
    models: Sequence[str] = (),
    *,
    perplexity: str | None = None,
    texts: Any = None,
    column: str = "text",
    limit: int | None = None,
    device: str = "auto",
    progress: bool | None = None,
) -> Reproduction:
    """The correlations of the sentiment classifier."""
    by_language = read_languages(texts, column=column, limit=limit)
    return measure_global("table_4", models, TASKS[:1], perplexity, by_language, device, title=TITLE, progress=progress)


def measure_global(
    name: str,
    models: Sequence[str],
    tasks: Sequence[Task],
    perplexity: str | None,
    texts: Mapping[str, Texts],
    device: str,
    *,
    title: str,
    progress: bool | None,
) -> Reproduction:
    """A table of global correlations; a row is a task and a label, or a label of sentiment."""
    table, missing = read_published("names", name), list[str]()
    values: dict[tuple[str, ...], float] = {}
    measured, identities = [], []
    for model in load_tasks(models, missing, device, tasks):
        lm = load_perplexity(model, perplexity, missing, device)
        if lm is None:
            continue
        measured.append(model)
        identities += [model.classifier.identity(), lm.identity()]
        for language, part in texts.items():
            correlations = _correlate(model, lm, part, progress)
            values |= {(model.task.name, label, language): value for label, value in correlations.items()}
    rows = {row: row if len(row) == 2 else ("sentiment", *row) for row in table.rows}
    lacking = [f"{column} ({LANGUAGES[column]}=FILE)" for column in table.columns if LANGUAGES[column] not in texts]
    about = ", ".join(f"{language}: {len(part):,} of {part.source}" for language, part in texts.items())
    return table.compare(
        {
            row: np.array([values.get((*key, LANGUAGES[column]), np.nan) for column in table.columns])
            for row, key in rows.items()
        },
        title=title,
        models=list({str(model): model for model in identities}.values()),
        missing=missing,
        ranked=table.columns,
        notes=[
            TEXTS_NOTE.format(about=about),
            *describe_perplexities(measured, perplexity),
            *([f"Without texts, so without a measured number: {', '.join(lacking)}; give --texts."] if lacking else []),
        ],
    )


def read_languages(texts: Any, **options: Any) -> dict[str, Texts]:
    """The texts by language; those without one are English."""
    by_language = texts if isinstance(texts, Mapping) else {"en": texts}
    sources = {language or "en": source for language, source in by_language.items()}
    for language in sources.keys() - set(LANGUAGES.values()):
        raise InputError(f"No table has the language {language!r}. {describe_choices(language, LANGUAGES.values())}")
    return {
        language: load_texts(None if source is None else {language: source}, **options)
        for language, source in sources.items()
    }


def _correlate(model: TaskModel, lm: Scorer, texts: Texts, progress: bool | None) -> dict[str, float]:
    """By label, over the texts whose language the model knows."""
    answers = ask(model.classifier, texts.texts, label=model.classifier.name, progress=progress)
    log_perplexity = score_originals(lm, texts, progress).log_perplexity
    correlations = pearson(log_perplexity, answers.scores[:, : len(model.labels)])
    return dict(zip(model.labels, (100 * correlations).tolist(), strict=True))
