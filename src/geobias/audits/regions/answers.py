"""What a language model answers about regions, names, paraphrases and other places: in memory and in files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from geobias.engine.ask import StoreWriter, ask
from geobias.errors import InputError
from geobias.measures.association_signal import to_times
from geobias.measures.estimates import Estimates
from geobias.measures.random_regions import main_level
from geobias.models.scorer import ModelIdentity, Scorer
from geobias.report.tables import column_values, damaged, read_columns, write_csv
from geobias.texts.templates import Sentences, mark, refuse_region_after_description, select_texts
from geobias.world.countries import load_country_names
from geobias.world.places import add_article, invent_demonym, name_people, plural_demonym
from geobias.world.regions import RegionTree

if TYPE_CHECKING:
    from geobias.audits.regions.design import AssociationDesign, KnownDesign, RegionsDesign
    from geobias.audits.regions.result import RegionsResult

LIKELIHOODS, ASSOCIATIONS = "likelihoods.parquet", "associations.parquet"
NUMBERS = ("times", "low", "high", "p", "p_adjusted")  # of an association in the second
PLACEBO_PLACES = 60
TOTAL_SCORES = ("sum",)  # the other scores of language models are means per token


@dataclass(frozen=True)
class RegionsCounts:
    """Numbers of sentences scored, cut or not comparable."""

    regions: int
    sentences: int
    distinct_sentences: int
    """Each is scored once."""
    sentences_cut: int
    """Longer than the model takes."""
    names_with_unknown_tokens: int


@dataclass(frozen=True)
class InventedPlaces:
    """The answers about invented places."""

    names: tuple[str, ...]
    likelihoods: np.ndarray = field(repr=False)  # templates x places x words
    tokens: np.ndarray | None = field(repr=False)  # of each bare name


@dataclass(frozen=True)
class KnownPlaceAnswers:
    """The bare names of known places that are no countries."""

    names: tuple[str, ...]
    populations: np.ndarray = field(repr=False)
    likelihoods: np.ndarray = field(repr=False)  # of each bare name, in all
    tokens: np.ndarray | None = field(repr=False)
    region_likelihoods: np.ndarray = field(repr=False)  # the same of the regions of `AssociationAnswers.rows`


@dataclass(frozen=True)
class AssociationAnswers:
    """Total log-likelihoods of paraphrases, for the association of regions and words."""

    rows: np.ndarray = field(repr=False)  # of the regions
    totals: np.ndarray = field(repr=False)  # paraphrases x regions x words
    invented: np.ndarray | None = field(repr=False)  # paraphrases x invented places x words
    scored: int = 0  # sentences that were not in the store
    known_totals: np.ndarray | None = field(default=None, repr=False)  # paraphrases x known places x words
    known_places: KnownPlaceAnswers | None = field(default=None, repr=False)


@dataclass(frozen=True)
class KnownAnswers:
    """Total log-likelihoods of the sentences about known stereotypes."""

    totals: np.ndarray = field(repr=False)  # templates x countries x attributes; NaN where not scored
    scored: int = 0  # sentences that were not in the store
    cut: int = 0  # longer than the model takes


@dataclass(frozen=True)
class RegionsAnswers:
    """The log-likelihoods that one model gives by one score. The root is not scored: its row is NaN."""

    model: ModelIdentity
    counts: RegionsCounts
    work: dict[str, int]
    likelihoods: np.ndarray = field(repr=False)  # templates x regions x words
    name_likelihoods: np.ndarray = field(repr=False)  # of each region's bare name
    name_tokens: np.ndarray | None = field(default=None, repr=False)  # of each bare name, if the scorer counts them
    invented: InventedPlaces | None = field(default=None, repr=False)
    association: AssociationAnswers | None = field(default=None, repr=False)
    known: KnownAnswers | None = field(default=None, repr=False)


def ask_regions(design: RegionsDesign, scorer: Scorer, *, progress: bool | None = None) -> RegionsAnswers:
    """Score every sentence, every bare name and, for a placebo, the sentences about invented places."""
    if scorer.looks_back_only:
        for template in design.templates:
            refuse_region_after_description(template)
    sentences, names = design.sentences(marked=scorer.needs_mark), mark_names(design.region_names, scorer)
    model = scorer.identity()
    label = f"{model.name} {model.score}"
    with StoreWriter(scorer, label) as writer:
        sentence_answers = ask(scorer, sentences, label=label, progress=progress, writer=writer)
        name_answers = ask(scorer, names, label=label, progress=progress, writer=writer)
    work = {"sentences_scored": sentence_answers.scored, "names_scored": name_answers.scored}
    tokens, invented = name_answers.column("tokens"), None
    name_tokens = None if tokens is None else _with_root(tokens)
    if design.placebo_candidates:
        invented, scored = ask_invented(design, scorer, name_tokens, label, progress=progress)
        work["placebo_sentences_scored"] = scored
    association = None
    if design.association is not None:
        places = () if invented is None else invented.names
        name_totals = _with_root(sum_tokens(scorer, name_answers.scores))
        association = ask_associations(
            design.association, design.tree, scorer, places, name_totals, label, progress=progress
        )
        work["paraphrases_scored"] = association.scored
    known = None
    if (known_design := design.known_for(model)) is not None:
        known = ask_known(known_design, scorer, label, progress=progress)
        work["known_sentences_scored"] = known.scored
    likelihoods = _with_root(sentence_answers.scores[:, 0].reshape(sentences.shape), axis=1)
    unknown = name_answers.column("unknown")
    return RegionsAnswers(
        model=model,
        counts=RegionsCounts(
            regions=len(design.tree),
            sentences=len(sentence_answers.scores),
            distinct_sentences=sentence_answers.distinct,
            sentences_cut=sentence_answers.cut,
            names_with_unknown_tokens=0 if unknown is None else int((unknown > 0).sum()),
        ),
        work=work,
        likelihoods=likelihoods,
        name_likelihoods=_with_root(name_answers.scores[:, 0]),
        name_tokens=name_tokens,
        invented=invented,
        association=association,
        known=known,
    )


def _with_root(values: np.ndarray, axis: int = 0) -> np.ndarray:
    """With NaN for the root, which nothing is asked about, before the other regions."""
    return np.insert(values, 0, np.nan, axis=axis)


def match_tokens(candidate_tokens: np.ndarray, real_tokens: np.ndarray, count: int) -> np.ndarray:
    """Positions of `count` candidates whose numbers of tokens are together as near as can be to those of real names.

    Each stands for a quantile of the real names; the sum of the differences is the smallest possible.
    """
    quantiles = np.quantile(real_tokens, (np.arange(count) + 0.5) / count, method="inverted_cdf")
    return np.sort(linear_sum_assignment(np.abs(quantiles[:, None] - candidate_tokens))[1])


def mark_names(names: Sequence[str], scorer: Scorer) -> Sequence[str]:
    """Bare names as this scorer takes them."""
    return [mark(name) for name in names] if scorer.needs_mark else names


def ask_invented(
    design: RegionsDesign, scorer: Scorer, name_tokens: np.ndarray | None, label: str, *, progress: bool | None
) -> tuple[InventedPlaces, int]:
    """The answers about invented places, and how many sentences had to be scored for them.

    The bare candidates come first, for their tokens, then the chosen ones with all words. Where the scorer counts no
    tokens, the first candidates are taken.
    """
    tokens, rows = None, np.arange(PLACEBO_PLACES)
    if name_tokens is not None:
        candidates = mark_names(design.placebo_candidates, scorer)
        tokens = ask(scorer, candidates, label=label, progress=progress).column("tokens")
        assert tokens is not None  # who counts the tokens of names counts these
        rows = match_tokens(tokens, name_tokens[main_level(design.tree.children)], PLACEBO_PLACES)
    names = tuple(design.placebo_candidates[row] for row in rows)
    sentences = Sentences(design.templates, names, [word.word for word in design.words], marked=scorer.needs_mark)
    answers = ask(scorer, sentences, label=f"{label} placebo", progress=progress)
    likelihoods = answers.scores[:, 0].reshape(sentences.shape)
    return InventedPlaces(names, likelihoods, None if tokens is None else tokens[rows]), answers.scored


def ask_associations(
    design: AssociationDesign,
    tree: RegionTree,
    scorer: Scorer,
    invented: Sequence[str],
    name_totals: np.ndarray,
    label: str,
    *,
    progress: bool | None,
) -> AssociationAnswers:
    """The total log-likelihood of every paraphrase with every word, for regions, known and invented places.

    `name_totals` are those of the bare names of all regions of the tree.
    """
    names = [tree.regions[row].in_sentence for row in design.rows]
    known, scored = [place.name for place in design.known_places], 0
    totals = []
    with StoreWriter(scorer, label) as writer:
        for subject in design.subjects:
            people = [*names, *known, *invented]
            if subject == "demonym":
                people = [name_people(tree.regions[row].level, tree.regions[row].id) or "" for row in design.rows]
                people += map(invent_demonym, invented)
            values = np.empty((design.paraphrases, len(people), len(design.words)))
            for positions, sentences in design.blocks(people, subject, marked=scorer.needs_mark):
                scores = ask(scorer, sentences, label=f"{label} paraphrases", progress=progress, writer=writer)
                values[..., positions] = sum_tokens(scorer, scores.scores).reshape(sentences.shape)
                scored += scores.scored
            totals.append(values)
    everything, real, last = np.concatenate(totals), len(names), len(names) + len(known)
    known_places, known_totals = None, None
    if known:
        answers = ask(scorer, mark_names(known, scorer), label=f"{label} names", progress=progress)
        scored += answers.scored
        known_totals = everything[:, real:last]
        known_places = KnownPlaceAnswers(
            names=tuple(known),
            populations=np.array([float(place.population) for place in design.known_places]),
            likelihoods=sum_tokens(scorer, answers.scores),
            tokens=answers.column("tokens"),
            region_likelihoods=name_totals[design.rows],
        )
    invented_totals = everything[:, last:] if invented else None
    return AssociationAnswers(design.rows, everything[:, :real], invented_totals, scored, known_totals, known_places)


def sum_tokens(scorer: Scorer, scores: np.ndarray) -> np.ndarray:
    """Total log-likelihoods; a function returns whatever it does, which is taken for a total."""
    columns = list(scorer.columns)
    if "tokens" not in columns or scorer.identity().score in TOTAL_SCORES:
        return scores[:, 0]
    return scores[:, 0] * scores[:, columns.index("tokens")]


def ask_known(design: KnownDesign, scorer: Scorer, label: str, *, progress: bool | None) -> KnownAnswers:
    """The total log-likelihoods of all sentences; NaN in cells that are not scored."""
    names = load_country_names()
    places = {
        "region": [add_article(names[code]) for code in design.codes],
        "demonym": [plural_demonym(code) or "" for code in design.codes],
    }
    totals, scored, cut = [], 0, 0
    for subject in design.subjects:
        templates = design.list_templates(subject)
        sentences = Sentences(templates, places[subject], design.attributes, marked=scorer.needs_mark)
        positions = np.flatnonzero(np.broadcast_to(design.find_cells(), sentences.shape))
        answers = ask(scorer, select_texts(sentences, positions), label=f"{label} known", progress=progress)
        values = np.full(len(sentences), np.nan)
        values[positions] = sum_tokens(scorer, answers.scores)
        totals.append(values.reshape(sentences.shape))
        scored, cut = scored + answers.scored, cut + answers.cut
    return KnownAnswers(np.concatenate(totals), scored, cut)


def write_answers(folder: Path, result: RegionsResult) -> None:
    """The likelihood of every sentence, the association of every pair, and two tables that are not in results.json.

    `words.csv`: how much the sub-regions of each region differ in each word (Eq. 6); `known.csv`: every pair of known
    stereotypes, which the user asked for.
    """
    regions, templates, words = result.regions[1:], result.settings.templates, result.scored_words
    columns: dict[str, Any] = {"template": [template for template in templates for _ in regions]}
    columns |= {key: [getattr(region, key) for region in regions] * len(templates) for key in ("id", "level", "name")}
    columns["name_likelihood"] = np.tile(result.name_likelihoods[1:], len(templates))
    f = result.likelihoods[:, 1:]
    columns |= {name: f[..., k].ravel() for k, name in enumerate(_name_columns(result))}
    _write_parquet(folder / LIKELIHOODS, columns)
    if result.association is not None:
        compared, times = result.region_associations, vars(to_times(result.all_associations)).values()
        columns = {key: [getattr(region, key) for region in compared for _ in words] for key in ("id", "name")}
        columns |= {key: [getattr(word, key) for word in words] * len(compared) for key in ("word", "topic")}
        columns |= {name: numbers.ravel() for name, numbers in zip(NUMBERS, times, strict=True)}
        _write_parquet(folder / ASSOCIATIONS, columns)
    differences = result.word_differences
    assert differences is not None  # a result that was just measured
    rows = (
        {**{key: getattr(region, key) for key in ("id", "name", "level")}, "word": word.word, "topic": word.topic}
        | {"sparseness": float(differences[row, k])}
        for row, region in enumerate(result.regions)
        if region.has_pairs
        for k, word in enumerate(words)
    )
    write_csv(folder / "tables/words.csv", rows)
    if result.known_pairs:
        write_csv(folder / "tables/known.csv", result.known_pairs)


def _write_parquet(path: Path, columns: dict[str, Any]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table(columns), path, compression="zstd")


def _name_columns(result: RegionsResult) -> list[str]:
    return [f"{word.topic}/{word.word}" for word in result.scored_words]


def read_likelihoods(result: RegionsResult) -> tuple[np.ndarray, np.ndarray]:
    """f of every sentence (templates x regions x words) and of every region's bare name; NaN for the root."""
    columns = ["name_likelihood", *_name_columns(result)]
    values = _read_parquet(result, LIKELIHOODS, columns, len(result.settings.templates), len(result.regions) - 1)
    values = np.insert(values, 0, np.nan, axis=1)
    return values[..., 1:], values[0, :, 0]


def read_associations(result: RegionsResult) -> Estimates:
    """All associations in nats: regions x words."""
    values = _read_parquet(result, ASSOCIATIONS, NUMBERS, len(result.region_associations), len(result.scored_words))
    times, low, high, p, p_adjusted = np.moveaxis(values, -1, 0)
    return Estimates(np.log(times), np.log(low), np.log(high), p, p_adjusted)


def _read_parquet(result: RegionsResult, name: str, columns: Sequence[str], *shape: int) -> np.ndarray:
    if result.folder is None:
        raise InputError("This result was not saved. Run the audit again with out='runs/NAME'.")
    table = read_columns(result.folder / name, columns)
    if len(table) != np.prod(shape):
        raise damaged(result.folder / name)
    return column_values(table, columns).reshape(*shape, len(columns))
