"""HERB's main study: ask a language model about the people of every region, and measure how its answers differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from geobias.audits.inputs import parse_city_count, split_list
from geobias.audits.model_identity import model_identity, versions
from geobias.audits.numbers import number
from geobias.audits.regions.inference import Inference, infer
from geobias.audits.regions.placebo import PLACES, Invented, ask_invented, invented_names
from geobias.audits.regions.wording import Substitutes, Wording, checked_ablations, substitutes, wordings
from geobias.audits.regions.wording import to_dict as wording_dict
from geobias.checks import check_size
from geobias.engine.ask import Answers, Keeper, ask
from geobias.errors import InputError
from geobias.measures.arrays import fetched, nearby
from geobias.measures.herb import (
    FORMS,
    descriptive_vectors,
    flat_sparseness,
    herb_scores,
    sparseness,
    topic_sparseness,
    word_sparseness,
)
from geobias.measures.pairs import pair_count
from geobias.models.scorer import Scorer
from geobias.texts.defaults import DEFAULT_TEMPLATE
from geobias.texts.templates import Sentences, checked_template, mark, refuse_region_after_description
from geobias.world.regions import RegionTree, checked_tree, read_tree, world
from geobias.world.words import Word, checked, herb_words, read_words

if TYPE_CHECKING:
    import pandas as pd

SCHEMA_VERSION = 1
DEFAULT_CITIES = 5


@dataclass(frozen=True)
class Question:
    """What is asked of every model alike: which regions, which words, which sentences."""

    tree: RegionTree = field(repr=False)
    words: tuple[Word, ...] = field(repr=False)
    templates: tuple[str, ...]
    settings: dict[str, Any] = field(repr=False)
    ablate: tuple[str, ...] = ()
    substitutes: Substitutes | None = field(default=None, repr=False)
    invented: tuple[str, ...] = field(default=(), repr=False)  # candidates for a placebo: they exist nowhere

    def sentences(self, *, marked: bool) -> Sentences:
        """All that is asked of the regions; nobody is asked about the root itself.

        Substitutes are asked together with the words, since one may be the other: no text is scored twice.
        """
        others = () if self.substitutes is None else self.substitutes.words
        names = [region.name for region in self.tree.regions[1:]]
        return Sentences(self.templates, names, [*(word.word for word in self.words), *others], marked=marked)

    @property
    def asked_besides(self) -> int:
        """How many texts are asked beside the sentences: bare names, and invented places with all words."""
        invented = len(self.invented) + (PLACES * len(self.words) * len(self.templates) if self.invented else 0)
        return len(self.tree) - 1 + invented

    def settings_for(self, model: str, score: str) -> dict[str, Any]:
        """What tells a run from another: this question, put to that model by that score."""
        return {**self.settings, "model": model, "score": score}


@dataclass(frozen=True)
class RegionsResult:
    """What one model said of the world by one score."""

    question: Question
    model: dict[str, Any]
    counts: dict[str, int]
    likelihoods: np.ndarray = field(repr=False)  # templates x regions x words; the root's row is NaN
    name_likelihoods: np.ndarray = field(repr=False)  # f of each region's bare name
    substituted: np.ndarray | None = field(default=None, repr=False)  # likelihoods with every word's substitute
    work: dict[str, int] = field(default_factory=dict)  # what this run had to compute; the rest was known
    name_tokens: np.ndarray | None = field(default=None, repr=False)  # of each bare name, if the scorer counts them
    invented: Invented | None = field(default=None, repr=False)

    @property
    def settings(self) -> dict[str, Any]:
        return self.question.settings_for(self.model["name"], self.model["score"])

    @property
    def frame(self) -> pd.DataFrame:
        """A row for each region."""
        import pandas as pd

        return pd.json_normalize(self.regions, sep="_")

    def region(self, name: str) -> dict[str, Any]:
        """One region's entry by id or name; of several at different levels, the highest."""
        found = [entry for entry in self.regions if name in (entry["id"], entry["name"])]
        if not found:
            raise InputError(f"No region {name!r} in this result.")
        same = [entry for entry in found if entry["level"] == found[0]["level"]]
        if len(same) > 1:
            ids = ", ".join(f"{entry['id']} (in {entry['parent']})" for entry in same)
            raise InputError(f"{len(same)} regions are called {name!r}: give one of the ids {ids}.")
        return found[0]

    @cached_property
    def _by_template(self) -> list[dict[str, np.ndarray]]:
        """Every measure of every region, once for each template."""
        children = self.question.tree.children
        topics = [word.topic for word in self.question.words]

        def measured(likelihoods: Any) -> dict[str, np.ndarray]:
            vectors = descriptive_vectors(likelihoods)
            scores = herb_scores(vectors, self.name_likelihoods, children)
            found = {
                **{f"c_w.{form}": scores.c_w[form] for form in FORMS},
                **{f"c_z.{form}": scores.c_z[form] for form in FORMS},
                "flat": flat_sparseness(vectors, children),
                "sparseness": sparseness(vectors, children),
                "words": word_sparseness(vectors, children),
                **{f"topic.{t}": c for t, c in topic_sparseness(vectors, children, topics).items()},
            }
            return {name: fetched(values) for name, values in found.items()}

        return [nearby(measured, likelihoods) for likelihoods in self.likelihoods]

    def by_template(self, name: str) -> list[np.ndarray]:
        """A measure of every region, once for each template."""
        return [measured[name] for measured in self._by_template]

    def measure(self, name: str) -> np.ndarray:
        """A measure of every region, the mean over templates."""
        return np.mean(self.by_template(name), axis=0)

    def spread(self, name: str) -> np.ndarray:
        """The standard deviation of a measure over the templates."""
        return np.std(self.by_template(name), axis=0, ddof=1)

    @cached_property
    def regions(self) -> list[dict[str, Any]]:
        """For every region what results.json says of it."""
        tree = self.question.tree
        names = [f"{variant}.{form}" for variant in ("c_w", "c_z") for form in FORMS]
        values = {name: self.measure(name) for name in (*names, "flat", "sparseness")}
        spreads = {name: self.spread(name) for name in names} if len(self.question.templates) > 1 else {}
        entries = []
        for i, region in enumerate(tree.regions):
            below = len(tree.children[i])
            entry: dict[str, Any] = {
                "id": region.id,
                "name": region.name,
                "level": region.level,
                "parent": None if region.parent is None else tree.regions[region.parent].id,
                "children": below,
                "pairs": pair_count(below),
                "leaf": below == 0,  # its C is a distance to its siblings' centroid, not to be ranked with the others
                "c_w": {form: number(values[f"c_w.{form}"][i]) for form in FORMS},
                "c_z": {form: number(values[f"c_z.{form}"][i]) for form in FORMS},
            }
            if below:
                entry["flat"] = number(values["flat"][i])
                entry["sparseness"] = number(values["sparseness"][i])
            if spreads:
                entry["spread"] = {
                    variant: {form: number(spreads[f"{variant}.{form}"][i]) for form in FORMS}
                    for variant in ("c_w", "c_z")
                }
            entries.append(entry | self.inference.of(self, i))
        return entries

    @cached_property
    def inference(self) -> Inference:
        """How sure the scores are, and what the names alone do: seconds of work for the world, done when looked at."""
        return infer(self)

    @cached_property
    def wordings(self) -> list[Wording]:
        """The scores with words left out or replaced, as far as that was asked; the first is the score as it is."""
        return wordings(self) if self.question.ablate or self.substituted is not None else []

    def differing_words(self, region: int, count: int) -> list[str]:
        """The words in which a region's sub-regions differ most, without repeats; none where there is no pair."""
        differences = self.measure("words")[region]
        if np.isnan(differences).any():
            return []
        ordered = [self.question.words[i].word for i in np.argsort(-differences, kind="stable")]
        return list(dict.fromkeys(ordered))[:count]

    def to_dict(self) -> dict[str, Any]:
        """The content of results.json: the same for the same question and model, whenever and wherever it is asked."""
        results = {
            "schema_version": SCHEMA_VERSION,
            "audit": "regions",
            "settings": self.settings,
            "model": self.model,
            "versions": versions(),
            "counts": self.counts,
            "regions": self.regions,
            "inference": self.inference.summary,
            "tokenisation": self.inference.tokenisation,
            "placebo": self.inference.placebo,
            "kendall_w": self.inference.kendall_w,
        }
        return results | ({"wording": wording_dict(self, self.wordings)} if self.wordings else {})


def question(
    *,
    cities: int | str = DEFAULT_CITIES,
    continents: str | Sequence[str] = (),
    countries: str | Sequence[str] = (),
    tree: str | Path | RegionTree | None = None,
    words: str | Path | Sequence[str | Word] | None = None,
    templates: str | Sequence[str] = DEFAULT_TEMPLATE,
    ablate: str | Sequence[str] = (),
    substitute: str | None = None,
    vectors: str | Path | None = None,
    placebo: bool = False,
) -> Question:
    """Resolve the options into regions, words and templates; what is wrong with them is found here, before any work."""
    continents, countries = split_list(continents, "--continents"), split_list(countries, "--countries")
    if tree is None:
        count = parse_city_count(cities)
        regions = world(cities=count, continents=continents, countries=countries)
        about_tree: dict[str, Any] = {
            "cities": "all" if count is None else count,
            "continents": sorted({r.id for r in regions.regions if r.level == "continent"}),
            "countries": sorted(countries) or "all",
        }
    elif continents or countries or str(cities) != str(DEFAULT_CITIES):
        raise InputError(
            "--cities, --continents and --countries are for the world, not for a tree of your own (--tree)."
        )
    else:
        regions = checked_tree(tree) if isinstance(tree, RegionTree) else read_tree(Path(tree))
        about_tree = {"tree": str(tree) if not isinstance(tree, RegionTree) else "given"}
    if not any(len(children) > 1 for children in regions.children):
        raise InputError(
            "There is nothing to compare: no region has two sub-regions. Name two countries or more, or ask for cities."
        )
    chosen = _resolved_words(words)
    wanted = tuple(dict.fromkeys([templates] if isinstance(templates, str) else templates))
    if not wanted:
        raise InputError(f"No template given; for example: {DEFAULT_TEMPLATE!r}.")
    check_size(len(wanted) * len(regions) * len(chosen), "sentences", "use fewer regions, words or templates")
    settings = {
        **about_tree,
        "words": "herb" if words is None else [[word.word, word.topic] for word in chosen],
        "templates": [checked_template(template) for template in wanted],
        "regions_digest": regions.digest,
    }
    left_out, replaced = checked_ablations(ablate, chosen), substitutes(chosen, substitute, vectors)
    if left_out:
        settings["ablate"] = list(left_out)
    if replaced is not None:
        settings |= {"substitute": substitute, "substitutes": list(replaced.words)}
    invented = invented_names(regions, chosen) if placebo else ()
    if invented:
        settings["placebo"] = PLACES
    return Question(regions, chosen, wanted, settings, left_out, replaced, invented)


def answer(asked: Question, scorer: Scorer, *, progress: bool | None = None) -> RegionsResult:
    """Put the question to a scorer."""
    if getattr(scorer, "looks_back_only", False):
        for template in asked.templates:
            refuse_region_after_description(template)
    regions = asked.tree.regions[1:]  # nobody is asked about the root itself
    names = [region.name for region in regions]
    marked = getattr(scorer, "needs_mark", False)
    sentences = asked.sentences(marked=marked)
    model = model_identity(scorer)
    label = f"{model['name']} {model['score']}"
    with Keeper(scorer, label) as keeper:
        said = ask(scorer, sentences, label=label, progress=progress, keeper=keeper)
        called = [mark(name) for name in names] if marked else names
        bare = ask(scorer, called, label=label, progress=progress, keeper=keeper)
    work, invented = {"sentences_scored": said.scored, "names_scored": bare.scored}, None
    tokens = None if (counted := bare.column("tokens")) is None else _with_root(counted)
    if asked.invented:
        invented, work["placebo_sentences_scored"] = ask_invented(asked, scorer, tokens, label, progress=progress)
    found = _by_region(said, sentences.shape)
    return RegionsResult(
        asked,
        model,
        _counts(asked, said, bare),
        found[..., : len(asked.words)],
        _with_root(bare.scores[:, 0]),
        found[..., len(asked.words) :] if asked.substitutes else None,
        work,
        tokens,
        invented,
    )


def _with_root(values: np.ndarray) -> np.ndarray:
    """The root, which nobody was asked about, is NaN."""
    return np.append(np.nan, values)


def _by_region(said: Answers, shape: tuple[int, int, int]) -> np.ndarray:
    """templates x regions x words; the root, which nobody was asked about, is NaN."""
    templates, regions, words = shape
    likelihoods = np.full((templates, regions + 1, words), np.nan)
    likelihoods[:, 1:] = said.scores[:, 0].reshape(shape)
    return likelihoods


def _counts(asked: Question, said: Answers, bare: Answers) -> dict[str, int]:
    """Nothing silent: how much was asked, and what could not be asked or compared as it should be."""
    below = [len(children) for children in asked.tree.children]
    unknown = bare.column("unknown")
    return {
        "regions": len(asked.tree),
        "sentences": len(said.scores),
        "distinct_sentences": said.distinct,
        "sentences_cut": said.cut,
        "names_with_unknown_tokens": 0 if unknown is None else int((unknown > 0).sum()),
        "regions_with_one_sub_region": below.count(1),
        "leaves": below.count(0),
    }


def _resolved_words(words: str | Path | Sequence[str | Word] | None) -> tuple[Word, ...]:
    if words is None:
        return herb_words()
    if isinstance(words, (str, Path)):
        return read_words(Path(words))
    return checked(word if isinstance(word, Word) else Word(word) for word in words)
