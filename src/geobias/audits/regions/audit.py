"""`geobias.audit_regions`: the audit as a Python function, and how a language model is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import comb
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from geobias.audits.consent import LETTERS_A_TOKEN, Served, Workload, agree, workload
from geobias.audits.plan import Plan, Step, timed
from geobias.audits.regions.answers import RegionsAnswers, RegionsCounts
from geobias.audits.regions.design import DEFAULT_CITIES, RegionsDesign, design_regions
from geobias.audits.regions.measure import measure_regions
from geobias.audits.regions.placebo import ask_invented
from geobias.audits.regions.result import RegionsResult, RegionsSettings
from geobias.audits.study import RunOptions, Study
from geobias.engine.ask import Answers, StoreWriter, ask
from geobias.errors import InputError
from geobias.measures.estimates import SIGNIFICANT
from geobias.measures.herb import descriptive_vectors
from geobias.measures.random_regions import minimum_detectable_ratio
from geobias.models.load import find_default_score, load_scorer
from geobias.models.scorer import EMBEDDED_LM, Scorer, ScorerLike
from geobias.models.served.served_lm import ServedLM
from geobias.models.sources import is_function_name
from geobias.report.run_folder import RunFolder
from geobias.texts.defaults import DEFAULT_TEMPLATE
from geobias.texts.templates import Sentences, mark, refuse_region_after_description
from geobias.world.regions import RegionTree
from geobias.world.words import Word

if TYPE_CHECKING:
    from geobias.models.language.language_model import LanguageModel

PILOT_REGIONS, MIN_PILOT_REGIONS, PILOT_WORDS, PILOT_SECONDS = 30, 10, 24, 5.0


def audit_regions(
    model: str | Path | Callable[[list[str]], Any] | ScorerLike | LanguageModel | Served | None = None,
    *,
    score: str | None = None,
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
    device: str = "auto",
    dtype: str = "auto",
    ray: str | None = None,
    out: str | Path | None = None,
    progress: bool | None = None,
) -> RegionsResult:
    """How differently a language model speaks of the people of the world's regions (HERB, Eq. 1 to 10).

    `model` is a Hugging Face id, a folder, a loaded model, a function from texts to log-likelihoods (itself, or as
    "package.module:function"), or any scorer of them, which has its own score; by default the embedded model.
    `score` is one that its kind has: aul (the default), aula, pll, pll-word, conditional of a masked LM; mean
    (the default), sum, conditional of a causal one; aul (the default), mean, sum, conditional of an encoder-decoder.
    `ray` ("auto", "local" or an address) computes on a Ray cluster instead of in this process.
    The options are those of `geobias regions`; with `out` the same folder is left.
    """
    design = design_regions(
        cities=cities,
        continents=continents,
        countries=countries,
        tree=tree,
        words=words,
        templates=templates,
        ablate=ablate,
        substitute=substitute,
        vectors=vectors,
        placebo=placebo,
    )
    return RegionsStudy(design, model, score, RunOptions(device, dtype, ray, out, progress)).run()


class RegionsStudy(Study[Scorer, RegionsAnswers, RegionsResult]):
    """The same sentences, put to one language model by one score."""

    audit = "regions"

    def __init__(self, design: RegionsDesign, model: Any, score: str | None, options: RunOptions) -> None:
        super().__init__(options)
        self.design = design
        self.model = str(model or EMBEDDED_LM) if model is None or isinstance(model, str | Path) else model
        self.score = score
        self.folder: RunFolder | None = None

    def settings(self) -> RegionsSettings:
        return self.design.settings_for(*self.names())

    def names(self) -> tuple[str, str]:
        """The names of the model and of the score; a model given by its name is not loaded for it."""
        if isinstance(self.model, Served):
            return self.model.model, self.score or ServedLM.default_method
        if not isinstance(self.model, str):
            identity = load_scorer(self.model, self.score).identity()
            return identity.name, identity.score
        if self.score and is_function_name(self.model):
            raise InputError(f"The function {self.model} has a score of its own: leave out --score {self.score}.")
        return self.model, self.score or find_default_score(self.model)

    @contextmanager
    def open_folder(self) -> Iterator[RunFolder | None]:
        with super().open_folder() as self.folder:
            yield self.folder

    def load(self, device: str, dtype: str) -> list[Scorer]:
        if isinstance(self.model, Served):
            self.model = connect(self.model, self.workload())
        scorer = load_scorer(self.model, self.score, device=device, dtype=dtype)
        if self.folder is not None:  # before hours of work, not after
            self.folder.check([scorer.fingerprint])
        return [scorer]

    def ask(self, scorers: Sequence[Scorer]) -> RegionsAnswers:
        return ask_regions(self.design, scorers[0], progress=self.options.progress)

    def measure(self, answers: RegionsAnswers) -> RegionsResult:
        return measure_regions(self.design, answers)

    def plan(self) -> Plan:
        """How long the study takes, and how small an effect it can find; for a served model, what would be sent."""
        if isinstance(self.model, Served):
            return Plan.of_served(self.workload())
        (scorer,) = self.load(self.options.device, self.options.dtype)
        design = self.design
        sentences = design.sentences(marked=scorer.needs_mark)
        other_texts = len(design.region_names) + design.placebo_texts
        step = timed(" ".join(self.names()), scorer, sentences, besides=other_texts)
        about = f"{len(design.tree):,} regions, {len(design.words)} words, {len(design.templates)} template(s)."
        return Plan(about, [step], _smallest_effect(design, scorer, step))

    def workload(self) -> Workload:
        """What would be sent to a server; texts of a placebo are about as long as its sentences."""
        assert isinstance(self.model, Served)
        lm = served_model(self.model)
        scorer = lm.scorer(self.score)
        names = self.design.region_names
        sentences = self.design.sentences(marked=scorer.needs_mark)
        known = lm.known_fingerprints(scorer.method)[:1]  # the model that answered last most likely answers again
        total = Workload(self.design.placebo_texts, self.design.placebo_texts * len(sentences[0]) // LETTERS_A_TOKEN)
        for texts in (sentences, [mark(name) for name in names] if scorer.needs_mark else names):
            total += workload(texts, scorer.columns, known, name=f"{lm.name} {scorer.method}")
        return total


def served_model(served: Served) -> ServedLM:
    return ServedLM(served.endpoint(), begin=served.begin)


def connect(served: Served, total: Workload) -> ServedLM:
    """The served model, once the user has agreed to what is sent to it."""
    lm = served_model(served)
    agree(served, total)
    if not lm.source.scores_first_token:
        raise InputError(
            f"The server gives no number for the first word of a text, and names of regions have no other: give "
            f"--begin with the token that begins texts for {lm.name}, such as '<s>' or '<|endoftext|>'."
        )
    return lm


def ask_regions(design: RegionsDesign, scorer: Scorer, *, progress: bool | None = None) -> RegionsAnswers:
    """Score every sentence, every bare name and, for a placebo, the sentences about invented places."""
    if scorer.looks_back_only:
        for template in design.templates:
            refuse_region_after_description(template)
    marked = scorer.needs_mark
    sentences = design.sentences(marked=marked)
    names = [mark(name) for name in design.region_names] if marked else design.region_names
    model = scorer.identity()
    label = f"{model.name} {model.score}"
    with StoreWriter(scorer, label) as writer:
        sentence_answers = ask(scorer, sentences, label=label, progress=progress, writer=writer)
        name_answers = ask(scorer, names, label=label, progress=progress, writer=writer)
    work = {"sentences_scored": sentence_answers.scored, "names_scored": name_answers.scored}
    name_tokens, invented = name_answers.column("tokens"), None
    if name_tokens is not None:
        name_tokens = _with_root(name_tokens)
    if design.placebo_candidates:
        invented, scored = ask_invented(design, scorer, name_tokens, label, progress=progress)
        work["placebo_sentences_scored"] = scored
    likelihoods = _with_root(sentence_answers.scores[:, 0].reshape(sentences.shape), axis=1)
    words = len(design.words)
    return RegionsAnswers(
        model=model,
        counts=_count(design, sentence_answers, name_answers),
        work=work,
        likelihoods=likelihoods[..., :words],
        name_likelihoods=_with_root(name_answers.scores[:, 0]),
        name_tokens=name_tokens,
        substituted=likelihoods[..., words:] if design.substitutes else None,
        invented=invented,
    )


def _with_root(values: np.ndarray, axis: int = 0) -> np.ndarray:
    """With NaN for the root, which nothing is asked about, before the other regions."""
    return np.insert(values, 0, np.nan, axis=axis)


def _count(design: RegionsDesign, sentences: Answers, names: Answers) -> RegionsCounts:
    children = [len(rows) for rows in design.tree.children]
    unknown = names.column("unknown")
    return RegionsCounts(
        regions=len(design.tree),
        sentences=len(sentences.scores),
        distinct_sentences=sentences.distinct,
        sentences_cut=sentences.cut,
        names_with_unknown_tokens=0 if unknown is None else int((unknown > 0).sum()),
        regions_with_one_sub_region=children.count(1),
        leaves=children.count(0),
    )


def _smallest_effect(design: RegionsDesign, scorer: Scorer, step: Step) -> list[str]:
    """From a pilot of a few regions and words: how far apart random sub-regions below the root may lie."""
    tree = design.tree
    inner = [row for row in tree.children[0] if len(tree.children[row]) > 1]
    if len(inner) < 2:
        return []
    level = np.concatenate([tree.children[row] for row in tree.children[0]])
    words = _spaced(np.arange(len(design.words)), PILOT_WORDS)
    affordable = PILOT_SECONDS / (step.seconds_each * len(words))
    rows = _spaced(level, int(np.clip(affordable, MIN_PILOT_REGIONS, PILOT_REGIONS)))
    names, descriptions = [tree.regions[row].name for row in rows], [design.words[k].word for k in words]
    sentences = Sentences(design.templates[:1], names, descriptions, marked=scorer.needs_mark)
    pilot = descriptive_vectors(scorer.score(list(sentences))[:, 0].reshape(len(rows), len(words)))
    sizes = sorted(len(tree.children[row]) for row in inner)
    ratios = {
        size: minimum_detectable_ratio(pilot, size, len(level), len(inner))
        for size in (sizes[0], sizes[len(sizes) // 2])
        if 2 / comb(len(level), size) < SIGNIFICANT / len(inner)  # else no draw of regions is rare enough
    }
    shown = " and ".join(f"×{ratio:.2f} for {size} sub-regions" for size, ratio in ratios.items() if ratio > 1)
    if not shown:
        return []
    return [
        f"{step.what}: the smallest ratio to random regions that would be found 4 times of 5, corrected for "
        f"{len(inner)} at the level {tree.regions[inner[0]].level}: about {shown}."
    ]


def _spaced(values: np.ndarray, count: int) -> np.ndarray:
    """At most `count` of the values, evenly spaced."""
    return values[np.unique(np.linspace(0, len(values) - 1, count).astype(int))]
