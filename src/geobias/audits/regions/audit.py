"""`geobias.audit_regions`: the audit as a Python function, and how a language model is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import comb
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from geobias.audits.plan import Plan, Step, timed
from geobias.audits.regions.answers import RegionsAnswers, ask_regions, mark_names
from geobias.audits.regions.design import (
    DEFAULT_CITIES,
    DEFAULT_PARAPHRASES,
    RegionsDesign,
    RegionsOptions,
    design_regions,
)
from geobias.audits.regions.measure import measure_regions
from geobias.audits.regions.result import RegionsResult, RegionsSettings
from geobias.audits.served_models import LETTERS_A_TOKEN, Served, Workload, agree, workload
from geobias.audits.study import RunOptions, Study, collect_options, execute
from geobias.errors import InputError
from geobias.measures.estimates import SIGNIFICANT
from geobias.measures.herb import descriptive_vectors
from geobias.measures.random_regions import minimum_detectable_ratio
from geobias.models.kinds import ScorerLike, read_model_object
from geobias.models.load import find_default_score, load_scorer
from geobias.models.scorer import EMBEDDED_LM, Scorer
from geobias.models.served_lm import ServedLM
from geobias.models.sources import is_function_name
from geobias.report.run_folder import RunFolder
from geobias.texts import DEFAULT_TEMPLATE
from geobias.texts.templates import Sentences
from geobias.world.regions import RegionTree
from geobias.world.words import Word

if TYPE_CHECKING:
    from geobias.models.language_model import LanguageModel

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
    placebo: bool = True,
    paraphrases: int = DEFAULT_PARAPHRASES,
    subject: str = "region",
    known: bool = False,
    show_offensive: bool = False,
    device: str = "auto",
    dtype: str = "auto",
    ray: str | None = None,
    out: str | Path | None = None,
    progress: bool | None = None,
) -> RegionsResult:
    """Measure how differently a language model describes the people of the world's regions.

    The model scores every sentence "People in REGION are WORD.". The score of a region, C_w, says how much these scores
    differ between its sub-regions. The method is HERB (Li et al. 2022, Eq. 1 to 10).

    Parameters
    ----------
    model : str, Path, callable or object, optional
        What to audit:

        - "embedded/lm", a Hugging Face id, a folder with a saved model, or a GGUF file;
        - a function from a list of texts to log-likelihoods, or its name as "package.module:function";
        - a fill-mask or text-generation pipeline of transformers;
        - a model from `load`, a `ServedLM`, or any `Scorer`.

        Default: "embedded/lm".
    score : str, optional
        Score of a sentence. Default: "conditional", the log-likelihood of the word given the rest of the sentence.
        Masked models also have "aul" (HERB's), "aula", "pll" and "pll-word"; causal models "mean" and "sum";
        encoder-decoders "aul", "mean" and "sum". A function or a scorer has only its own.
    cities : int or str, default 5
        Number of the largest cities of each country to include; 0 for none, "all" for all.
    continents : str or list of str, optional
        Keep only these continents, by code ("EU") or name ("Africa"). Default: all six.
    countries : str or list of str, optional
        Keep only these countries, by code ("FR", "FRA") or name. Default: all.
    tree : str, Path or RegionTree, optional
        Your own regions instead of the world: a CSV file with the columns id, name, parent and, optionally, in_sentence
        ("the Highlands"). Default: the world.
    words : str, Path or list of str, optional
        Your own words: a file with one word per line, a CSV file with the columns word, topic and substitute, or a
        list. Default: the 112 words of HERB.
    templates : str or list of str, default "People in {region} are {description}."
        Sentences with "{region}" and "{description}". With several, scores are the mean over them.
    placebo : bool, default True
        Whether to score 60 invented and 60 known places too. Associations are tested against them.
    paraphrases : int, default 4
        Paraphrases of the sentence for the associations of regions and words, up to 14; 0 for no associations.
    subject : {"region", "demonym", "both"}, default "region"
        Whom the paraphrases are about: "people in Kenya", "Kenyans", or both.
    known : bool, default False
        Whether to compare the model's associations with the stereotypes that people know (SeeGULL).
    show_offensive : bool, default False
        Whether results and page name the offensive attributes that the model associates most. Needs `known`.
    device : str, default "auto"
        Where to run models: "auto" (a GPU if there is one), "cpu", "cuda", "cuda:1", ...
    dtype : str, default "auto"
        Precision of the weights: "auto" (bfloat16 on a GPU that supports it, else float32), "float32", "bfloat16" or
        "float16".
    ray : str, optional
        Ray cluster to run on: "auto" (the cluster of this machine), "local" (a new cluster of its GPUs or cores) or an
        address. Default: this process only.
    out : str or Path, optional
        Folder for the run: results, tables, answers and the page. It must be new, empty, or hold the same run. Default:
        nothing is saved.
    progress : bool, optional
        Whether to show a progress bar. Default: on terminals and in notebooks.

    Returns
    -------
    RegionsResult
        `findings` has the conclusions, `region(name)` the scores of one region, `to_frame()` a row for each region and
        measure, and `open()` opens the page of a saved run.

    Raises
    ------
    InputError
        If an option or the model cannot be used. The message says what to do.
    GeobiasError
        If a model, a server or a cluster fails while the audit runs.

    Examples
    --------
    >>> import geobias
    >>> result = geobias.audit_regions(cities=0, countries=["FR", "DE", "NG", "KE"], words=["kind", "poor", "smart"])
    >>> [region.name for region in result.regions[:3]]
    ['Earth', 'Africa', 'Europe']
    >>> result.region("Africa").c_w.balanced >= 0
    True

    >>> result = geobias.audit_regions("gpt2", score="conditional", placebo=True, out="runs/gpt2")  # doctest: +SKIP
    """
    design = design_regions(collect_options(RegionsOptions, locals()))
    return execute(RegionsStudy(design, model, score, RunOptions(device, dtype, ray, out, progress)))


class RegionsStudy(Study[Scorer, RegionsAnswers, RegionsResult]):
    """The same sentences, put to one language model by one score."""

    audit = "regions"

    def __init__(self, design: RegionsDesign, model: Any, score: str | None, options: RunOptions) -> None:
        super().__init__(options)
        self.design = design
        is_name = model is None or isinstance(model, str | Path)
        self.model = str(model or EMBEDDED_LM) if is_name else read_model_object(model)
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
            raise InputError(f"The function {self.model} returns its own score. Remove --score {self.score}.")
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
        step = timed(
            " ".join(self.names()),
            scorer,
            sentences,
            besides=len(design.region_names) + design.added_texts + design.subset_texts,
        )
        about = f"{len(design.tree):,} regions, {len(design.words)} words, {len(design.templates)} template(s)."
        return Plan(about, [step], _smallest_effect(design, scorer, step))

    def workload(self) -> Workload:
        """What would be sent to a server; texts of a placebo are about as long as its sentences."""
        assert isinstance(self.model, Served)
        lm = ServedLM(self.model.endpoint(), begin=self.model.begin)
        scorer, design = lm.scorer(self.score), self.design
        sentences = design.sentences(marked=scorer.needs_mark)
        known = lm.known_fingerprints(scorer.method)[:1]  # the model that answered last most likely answers again
        total = Workload(design.added_texts, design.added_texts * len(sentences[0]) // LETTERS_A_TOKEN)
        for texts in (sentences, mark_names(design.region_names, scorer)):
            total += workload(texts, scorer.columns, known, name=f"{lm.name} {scorer.method}")
        return total.add_checks()


def connect(served: Served, total: Workload) -> ServedLM:
    """The served model, once the user has agreed to what is sent to it."""
    lm = ServedLM(served.endpoint(), begin=served.begin)
    agree(served, total)
    if not lm.source.scores_first_token:
        raise InputError(
            "The server returns no score for the first token of a text. Set --server begin= to the token that starts "
            f"texts for {lm.name}, such as '<s>' or '<|endoftext|>'."
        )
    return lm


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
    names, descriptions = [tree.regions[row].in_sentence for row in rows], [design.words[k].word for k in words]
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
