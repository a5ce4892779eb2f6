"""What a language model answers about regions, as arrays: sentences, bare names, paraphrases, other places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import linear_sum_assignment

from geobias.engine.ask import StoreWriter, ask
from geobias.measures.random_regions import main_level
from geobias.models.scorer import ModelIdentity, Scorer
from geobias.texts.templates import Sentences, mark, refuse_region_after_description, select_texts
from geobias.world.countries import load_country_names
from geobias.world.places import add_article, invent_demonym, name_people, plural_demonym
from geobias.world.regions import RegionTree

if TYPE_CHECKING:
    from geobias.audits.regions.design import AssociationDesign, RegionsDesign
    from geobias.audits.regions.known import KnownDesign

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
    candidate_tokens: np.ndarray | None = field(repr=False)  # of all names that these were chosen from


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
    return InventedPlaces(names, likelihoods, None if tokens is None else tokens[rows], tokens), answers.scored


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
    answers = AssociationAnswers(design.rows, everything[:, :real], everything[:, last:] if invented else None, scored)
    if not known:
        return answers
    places, names_scored = _ask_known_names(design, name_totals, scorer, label, progress=progress)
    return replace(
        answers, known_totals=everything[:, real:last], known_places=places, scored=answers.scored + names_scored
    )


def _ask_known_names(
    design: AssociationDesign, name_totals: np.ndarray, scorer: Scorer, label: str, *, progress: bool | None
) -> tuple[KnownPlaceAnswers, int]:
    """The total log-likelihoods of bare names, a proxy of fame."""
    places = [place.name for place in design.known_places]
    texts = [mark(name) for name in places] if scorer.needs_mark else places
    answers = ask(scorer, texts, label=f"{label} names", progress=progress)
    return KnownPlaceAnswers(
        names=tuple(places),
        populations=np.array([float(place.population) for place in design.known_places]),
        likelihoods=sum_tokens(scorer, answers.scores),
        tokens=answers.column("tokens"),
        region_likelihoods=name_totals[design.rows],
    ), answers.scored


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
