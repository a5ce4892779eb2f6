"""What the models of a names audit answer, as arrays; and counterfactuals.parquet, where a run keeps every text.

The file has a row for every text, original (without a country) or renamed: who became whom, and its scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from geobias.audits.labels import ReadAnswers
from geobias.audits.names.rows import NameList, Over, PerplexityCorrelation, PerplexityCounts
from geobias.engine.ask import Answers, ask
from geobias.errors import InputError
from geobias.measures.correlation import (
    estimate_correlations,
    estimate_pooled_correlations,
    estimate_within_correlations,
    local_correlations,
)
from geobias.measures.crossed_variance import NameUnits
from geobias.measures.estimates import Estimates
from geobias.measures.paired_differences import NamesAnswers
from geobias.models.scorer import LOG_LIKELIHOOD, ModelIdentity, Scorer
from geobias.report.runs import FinishedRun
from geobias.report.tables import column_values, damaged, read_columns
from geobias.texts.counterfactuals import Counterfactuals
from geobias.texts.user_texts import Texts

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow

    from geobias.audits.names.design import NamesDesign
    from geobias.audits.names.result import ClassifierReading, NamesResult

COUNTERFACTUALS = "counterfactuals.parquet"
TEXTS_AT_ONCE = 20  # texts whose renamed versions are held while the file is written
COUNTED = ("texts", "texts_without_variance")  # for each class
MOST_UNKNOWN = 0.05  # share of a language's tokens: with more, its perplexity means nothing

Row = dict[str, Any]


@dataclass(frozen=True)
class Perplexities:
    """Log-perplexities of one language model; NaN where it was not scored, or does not know the language."""

    model: ModelIdentity
    original: np.ndarray = field(repr=False)  # all texts
    renamed: np.ndarray = field(repr=False)  # texts with names x countries x scored draws
    sizes: np.ndarray = field(repr=False)  # all texts x (tokens, characters)
    renamed_sizes: np.ndarray = field(repr=False)  # texts with names x countries x scored draws x the same
    counts: PerplexityCounts
    texts_scored: int


@dataclass(frozen=True, kw_only=True)
class ClassifierAnswers(ReadAnswers):
    """The probabilities of one classifier for every text, original and with its people renamed."""

    positive: list[int]  # positions of labels
    negative: list[int]
    renamed: np.ndarray = field(repr=False)  # texts with names x countries x draws x labels
    perplexities: Perplexities | None = None

    @property
    def has_delta(self) -> bool:
        return bool(self.positive and self.negative)


def score_perplexities(design: NamesDesign, scorer: Scorer, progress: bool | None) -> Perplexities:
    """Log-perplexities of all original texts, and of the first draws of each country."""
    originals = score_originals(scorer, design.texts, progress)
    languages = np.array(design.texts.languages)
    rows = np.flatnonzero(~np.isin(languages[design.named], originals.languages_refused))
    renamed = design.counterfactuals.part(rows, design.perplexity_draws)
    answers = ask(scorer, renamed, label=f"perplexity by {scorer.identity().name}", progress=progress)
    values = np.full((len(design.named), *renamed.shape[1:]), np.nan)
    values[rows] = _log_perplexity(answers, scorer).reshape(renamed.shape)
    renamed_sizes = np.full((*values.shape, 2), np.nan)
    renamed_sizes[rows] = _text_sizes(answers, renamed).reshape(*renamed.shape, 2)
    return Perplexities(
        model=scorer.identity(),
        original=originals.log_perplexity,
        renamed=values,
        sizes=_text_sizes(originals.answers, design.texts.texts),
        renamed_sizes=renamed_sizes,
        counts=PerplexityCounts(
            lm=scorer.identity().name,
            draws=values.shape[2],
            texts=int((~np.isnan(values)).any(axis=(1, 2)).sum()),
            texts_cut=originals.answers.cut + answers.cut,
            unknown_tokens=originals.unknown_tokens,
            languages_refused=originals.languages_refused,
        ),
        texts_scored=originals.answers.scored + answers.scored,
    )


@dataclass(frozen=True)
class OriginalPerplexities:
    """Log-perplexities of original texts; NaN in a language of which the model does not know too many tokens."""

    answers: Answers
    log_perplexity: np.ndarray
    unknown_tokens: dict[str, float]  # language -> share of its tokens
    languages_refused: list[str]


def score_originals(scorer: Scorer, texts: Texts, progress: bool | None = None) -> OriginalPerplexities:
    answers = ask(scorer, texts.texts, label=f"perplexity by {scorer.identity().name}", progress=progress)
    languages = np.array(texts.languages)
    shares = {language: _unknown_share(answers, languages == language) for language in dict.fromkeys(texts.languages)}
    refused = [language for language, share in shares.items() if share > MOST_UNKNOWN]
    values = _log_perplexity(answers, scorer)
    values[np.isin(languages, refused)] = np.nan
    return OriginalPerplexities(answers, values, shares, refused)


def _text_sizes(answers: Answers, texts: Sequence[str]) -> np.ndarray:
    """texts x (tokens, characters): what moves the perplexity of a text without any name in it."""
    tokens = answers.column("tokens")
    return np.column_stack([np.zeros(len(texts)) if tokens is None else tokens, [len(text) for text in texts]])


def _unknown_share(answers: Answers, rows: np.ndarray) -> float:
    """The share of these texts' tokens that the model does not know; 0 where it does not say."""
    unknown, tokens = answers.column("unknown"), answers.column("tokens")
    return 0.0 if unknown is None or tokens is None else float(unknown[rows].sum() / max(tokens[rows].sum(), 1))


def _log_perplexity(answers: Answers, scorer: Scorer) -> np.ndarray:
    """Minus the mean of log P of a text's tokens."""
    mean = answers.column(LOG_LIKELIHOOD)
    if mean is None:
        raise InputError(f"{scorer.identity().name} has no {LOG_LIKELIHOOD}. Perplexity needs a language model.")
    return np.asarray(-mean)


def measure_correlations(
    design: NamesDesign, countries: Sequence[NameList], answers: ClassifierAnswers, perplexities: Perplexities
) -> Iterator[PerplexityCorrelation]:
    """Global correlations by language, then local ones over all countries and by country.

    Partial correlations hold the number of tokens and of characters fixed that a renaming adds.
    """
    model, labels, seed = answers.model.name, answers.labels, design.seed

    def list_labels(estimates: Estimates, over: Over, *index: int, **about: Any) -> Iterator[PerplexityCorrelation]:
        for k, label in enumerate(labels):
            numbers: dict[str, Any] = {
                name: int(value[k]) if name in COUNTED else value for name, value in about.items()
            }
            yield PerplexityCorrelation(
                model=model, over=over, label=label, correlation=estimates.at(*index, k), **numbers
            )

    languages = np.array(design.texts.languages)
    for language in dict.fromkeys(design.texts.languages):
        rows = np.flatnonzero((languages == language) & ~np.isnan(perplexities.original))
        if len(rows):
            x, y = perplexities.original[rows], answers.original[rows]
            originals, _ = estimate_correlations(x, y, perplexities.sizes[rows], rows, seed=seed)
            yield from list_labels(originals, "originals", language=language, texts=[len(rows)] * len(labels))
    rows, log_perplexity = design.named, perplexities.renamed
    probabilities = answers.renamed[:, :, : log_perplexity.shape[2]]
    added_log_perplexity = log_perplexity - perplexities.original[rows][:, None, None]
    added_probability = probabilities - answers.original[rows][:, None, None]
    added_size = perplexities.renamed_sizes - perplexities.sizes[rows][:, None, None]
    text_ids = np.broadcast_to(rows[:, None, None], added_log_perplexity.shape)
    pooled, length_fixed = estimate_correlations(
        added_log_perplexity.ravel(),
        added_probability.reshape(-1, len(labels)),
        added_size.reshape(-1, 2),
        text_ids.ravel(),
        seed=seed,
    )
    by_text = local_correlations(log_perplexity, probabilities)
    within_country, within = estimate_within_correlations(by_text, seed=seed)
    pooled_country = estimate_pooled_correlations(added_log_perplexity, added_probability, seed=seed)
    yield from list_labels(within, "within")
    yield from list_labels(pooled, "pooled")
    yield from list_labels(length_fixed, "pooled, length fixed")
    known = (~np.isnan(by_text)).sum(axis=0)  # countries x classes
    measured = np.broadcast_to((~np.isnan(log_perplexity)).all(axis=2).sum(axis=0)[:, None], known.shape)
    for c, country in enumerate(countries):
        about: dict[str, Any] = {"place": country.place, "code": country.code}
        without_variance = measured[c] - known[c]
        yield from list_labels(
            within_country, "within", c, **about, texts=known[c], texts_without_variance=without_variance
        )
        yield from list_labels(pooled_country, "pooled", c, **about, texts=measured[c])


def write_answers(folder: Path, result: NamesResult) -> None:
    """A row for every original text (without a country) and for every renamed one: who became whom, and its scores."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    texts, named, counterfactuals = result.texts, result.named, result.counterfactuals
    assert texts is not None and named is not None and counterfactuals is not None  # a result that was just measured
    names = pa.list_(pa.string())
    schema = pa.schema(
        [
            ("text_id", pa.string()),
            ("country", pa.string()),
            ("draw", pa.int32()),
            ("person", names),
            ("first_name", names),
            ("last_name", names),
            ("first_name_kind", names),
            ("text", pa.string()),
            *((column, pa.float64()) for column in _score_columns(result.answers, "original", 0)),
        ]
    )
    positions = {int(row): i for i, row in enumerate(named)}
    with pq.ParquetWriter(folder / COUNTERFACTUALS, schema, compression="zstd") as writer:
        for start in range(0, len(texts), TEXTS_AT_ONCE):
            blocks = []
            for row in range(start, min(start + TEXTS_AT_ONCE, len(texts))):
                original = {"text_id": [texts.ids[row]], "text": [texts.texts[row]]}
                blocks.append(original | _score_columns(result.answers, "original", row))
                if row in positions:
                    i = positions[row]
                    scores = _score_columns(result.answers, "renamed", i, counterfactuals.draws)
                    blocks.append(_renamed_block(counterfactuals, i, texts.ids[row]) | scores)
            # An original text has no country, draw or names.
            columns = {name: [cell for block in blocks for cell in block.get(name, [None])] for name in schema.names}
            writer.write_table(pa.table(columns, schema=schema))


def _renamed_block(counterfactuals: Counterfactuals, i: int, text_id: str) -> Row:
    """All versions of one text, country by country and draw by draw."""
    _, countries, draws = counterfactuals.shape
    versions = [(c, draw) for c in range(countries) for draw in range(draws)]
    people = [person.text for person in counterfactuals.people[i]]
    new_names = [[names[draw] for names in counterfactuals.new_names(i, c)] for c, draw in versions]
    kinds_by_draw = [list(kinds) for kinds in zip(*counterfactuals.first_kinds(i), strict=True)]
    return {
        "text_id": [text_id] * len(versions),
        "country": [counterfactuals.countries[c] for c, _ in versions],
        "draw": [draw + 1 for _, draw in versions],
        "person": [people] * len(versions),
        "first_name": [[name.first or None for name in names] for names in new_names],
        "last_name": [[name.last or None for name in names] for names in new_names],
        "first_name_kind": kinds_by_draw * countries,
        "text": [counterfactuals.at(i, c, draw) for c, draw in versions],
    }


def _score_columns(
    answers: Sequence[ClassifierAnswers], kind: Literal["original", "renamed"], position: int, draws: int = 1
) -> Row:
    """A column for every label of every classifier, and for every language model's log-perplexity.

    Draws whose perplexity was not scored have none.
    """
    columns: Row = {}
    for classifier in answers:
        scores = getattr(classifier, kind)[position].reshape(-1, len(classifier.labels))
        columns |= {f"{classifier.model.name}/{label}": scores[:, k] for k, label in enumerate(classifier.labels)}
        if classifier.perplexities is not None:
            scored = np.atleast_2d(getattr(classifier.perplexities, kind)[position])
            values = np.pad(scored, ((0, 0), (0, draws - scored.shape[1])), constant_values=np.nan).ravel()
            name = f"perplexity/{classifier.perplexities.model.name}"
            columns[name] = [None if np.isnan(value) else float(value) for value in values]
    return columns


def read_renamed(run: FinishedRun[NamesResult], entry: ClassifierReading, labels: Sequence[str]) -> NamesAnswers:
    """The probabilities of one classifier for the texts that name somebody, and for their renamed versions."""
    columns, counts = [f"{entry.model}/{label}" for label in labels], run.result.counts
    table, is_original = _read_run(run, columns)
    values = column_values(table, columns)
    has_versions = is_original & ~np.append(is_original[1:], True)  # they follow their original
    renamed = values[~is_original].reshape(-1, counts.countries, counts.draws, len(labels))
    return NamesAnswers(values[has_versions], renamed)


def read_name_units(run: FinishedRun[NamesResult]) -> NameUnits:
    """Which renamed texts show which male, female and last names."""
    import pandas as pd
    import pyarrow as pa
    import pyarrow.compute as pc

    table, is_original = _read_run(run, ["first_name", "last_name", "first_name_kind"])
    versions = table.filter(pa.array(~is_original))

    def flatten(column: str) -> pd.Series:
        return pc.list_flatten(versions[column].combine_chunks()).to_pandas()

    rows = pc.list_parent_indices(versions["first_name"].combine_chunks()).to_numpy()
    first_names = {"row": rows, "kind": flatten("first_name_kind"), "name": flatten("first_name")}
    last_names = {"row": rows, "kind": "last", "name": flatten("last_name")}
    shown = pd.concat([pd.DataFrame(first_names), pd.DataFrame(last_names)]).dropna()
    units = shown.groupby(["kind", "name"])
    kinds = pd.factorize(np.array([kind for (kind, _), _ in units]))[0]
    return NameUnits(shown["row"].to_numpy(), units.ngroup().to_numpy(), kinds)


def _read_run(run: FinishedRun[NamesResult], columns: Sequence[str]) -> tuple[pyarrow.Table, np.ndarray]:
    """Columns of a run's file, and which rows are originals; refuses a file that holds another number of versions."""
    counts, path = run.result.counts, run.folder / COUNTERFACTUALS
    table = read_columns(path, ["country", *columns])
    is_original = np.asarray(table["country"].is_null().to_numpy())
    if (~is_original).sum() != counts.texts_with_names * counts.countries * counts.draws:
        raise damaged(path)
    return table, is_original
