"""HERB's study of training (Figure 5): a masked language model reads on, and after every epoch is asked about regions.

It reads the sentences about countries that it finds likeliest itself, or texts of the user's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from geobias.audits.drift.corpus import TEXTS, TOXIC, Corpus, ToxicCorpus, text_corpus, toxic_corpus
from geobias.audits.inputs import load_texts, split_list
from geobias.audits.model_identity import model_identity, versions
from geobias.audits.numbers import number
from geobias.audits.regions.design import Question, RegionsResult
from geobias.audits.regions.design import answer as ask_regions
from geobias.audits.regions.design import question as regions_question
from geobias.checks import HIGHEST_SEED, LARGEST_BATCH, MOST_EPOCHS, check_number
from geobias.errors import InputError
from geobias.measures.estimates import Estimates
from geobias.measures.herb import FORMS, descriptive_vectors, herb_scores
from geobias.measures.paired_differences import word_differences
from geobias.measures.region_intervals import affordable, moved
from geobias.models.language.masked import MaskedLM
from geobias.models.scorer import checked_method
from geobias.models.training.epochs import Checkpoint, train_epoch
from geobias.models.training.masking import refuse_untrainable
from geobias.texts.user_texts import Texts

SCHEMA_VERSION = 1
DEFAULT_LEVELS, DEFAULT_TOP, MOST_SENTENCES = "country", 20, 100_000
FEWEST_EPOCHS = 3  # points between which an order can be seen
OPTIMISER, HIGHEST_RATE = "SGD", 1000


@dataclass(frozen=True)
class DriftQuestion:
    """What is asked after every epoch, and how the model is trained between."""

    regions: Question = field(repr=False)
    texts: Texts | None = field(repr=False)  # None: the sentences that the model finds likeliest
    score: str
    levels: tuple[str, ...]
    top: int
    epochs: int
    rate: float
    batch: int
    seed: int

    @property
    def followed(self) -> list[int]:
        """The root and what lies directly below it, as far as they have a score."""
        children = self.regions.tree.children
        return [row for row in (0, *map(int, children[0])) if len(children[row]) > 1]

    def settings_for(self, model: str) -> dict[str, Any]:
        """What tells a run from another."""
        corpus: dict[str, Any] = {"kind": TOXIC, "levels": list(self.levels), "top": self.top}
        if self.texts is not None:
            corpus = {"kind": TEXTS, "source": self.texts.source, "digest": self.texts.digest}
        training = {"optimiser": OPTIMISER, "rate": self.rate, "epochs": self.epochs, "batch": self.batch}
        return self.regions.settings_for(model, self.score) | {"corpus": corpus} | training | {"seed": self.seed}


@dataclass(frozen=True)
class DriftResult:
    """How the scores moved while the model was trained: plain numbers, as results.json has them."""

    settings: dict[str, Any]
    model: dict[str, Any]  # as it was before
    versions: dict[str, str] = field(repr=False)
    counts: dict[str, int]
    epochs: list[dict[str, Any]] = field(repr=False)  # the first is the model before training
    inference: dict[str, Any] = field(repr=False)
    corpus: list[dict[str, Any]] = field(default_factory=list, repr=False)  # in tables/corpus.csv alone
    work: dict[str, int] = field(default_factory=dict)

    @classmethod
    def read(cls, results: Mapping[str, Any]) -> DriftResult:
        """From results.json."""
        return cls(**{each.name: results[each.name] for each in fields(cls) if each.name in results})

    def to_dict(self) -> dict[str, Any]:
        """The content of results.json."""
        held = {name: value for name, value in asdict(self).items() if name not in ("corpus", "work")}
        return {"schema_version": SCHEMA_VERSION, "audit": "drift", **held}


def question(
    *,
    texts: Any = None,
    column: str = "text",
    levels: str | Sequence[str] | None = None,
    top: int | None = None,
    epochs: int = 20,
    rate: float = 5e-5,
    batch: int = 32,
    seed: int = 0,
    score: str = "aul",
    **regions: Any,
) -> DriftQuestion:
    """Resolve the options; what is wrong with them is found here, before any work. `regions`: that audit's."""
    check_number("--epochs", epochs, 1, MOST_EPOCHS)
    check_number("--batch", batch, 1, LARGEST_BATCH)
    check_number("--top", DEFAULT_TOP if top is None else top, 1, MOST_SENTENCES)
    check_number("--seed", seed, 0, HIGHEST_SEED)
    if not 0 < rate < HIGHEST_RATE:
        raise InputError(f"--rate is a learning rate above 0 and below {HIGHEST_RATE}, such as 5e-5, not {rate}.")
    asked = regions_question(**regions)
    if texts is not None and (levels is not None or top is not None):
        raise InputError("--levels and --top choose the model's own sentences: leave them out with --texts.")
    if texts is None and column != "text":
        raise InputError("--column names a column of texts of your own: give --texts.")
    wanted = tuple(dict.fromkeys(split_list(DEFAULT_LEVELS if levels is None else levels, "--levels")))
    known = dict.fromkeys(region.level for region in asked.tree.regions[1:])
    for level in (level for level in wanted if texts is None and level not in known):
        hint = " (--cities asks for cities)" if level == "city" else ""
        raise InputError(f"No region of the level {level!r} is asked about{hint}: choose of {', '.join(known)}.")
    given = None if texts is None else load_texts(texts, column=column)
    top = DEFAULT_TOP if top is None else top
    found = DriftQuestion(asked, given, checked_method(score), wanted, top, epochs, rate, batch, seed)
    if not found.followed:
        raise InputError("There is nothing to follow: neither the root nor what lies directly below it has two parts.")
    return found


def answer(asked: DriftQuestion, lm: MaskedLM, training: Path, *, progress: bool | None = None) -> DriftResult:
    """Train the loaded model, and ask it after every epoch; `training` keeps what is needed to go on after a kill."""
    refuse_untrainable(lm)
    scorer = lm.scorer(asked.score)
    model, settings = model_identity(scorer), asked.settings_for(lm.name)
    checkpoint = Checkpoint(training, settings | {"fingerprint": scorer.fingerprint})
    trained_before = len(checkpoint.epochs)
    first = ask_regions(asked.regions, scorer, progress=progress)
    corpus: Corpus
    if asked.texts is None:
        corpus = toxic_corpus(first, lm, levels=asked.levels, top=asked.top)
    else:
        corpus = text_corpus(asked.texts, lm)

    optimiser = _optimiser(lm, asked.rate)
    checkpoint.restore(lm.model, optimiser)
    lm.trained_on = True
    scored, last = first.work["sentences_scored"], None
    for epoch in range(trained_before + 1, asked.epochs + 1):
        batches = corpus.batches(epoch, size=asked.batch, seed=asked.seed)
        loss = train_epoch(
            lm.model, batches, optimiser, epoch=epoch, seed=asked.seed, clip=None, label=lm.name, progress=progress
        )
        try:
            last = ask_regions(asked.regions, scorer, progress=progress)
        except InputError as error:  # it could answer before
            raise InputError(f"After epoch {epoch} {lm.name} gives no numbers any more: lower --rate.") from error
        scored += last.work["sentences_scored"]
        checkpoint.keep(lm.model, optimiser, {"loss": loss, "regions": _scores(asked, last)})
    if last is None:  # stopped after the last epoch, before the run was saved
        last = ask_regions(asked.regions, scorer, progress=progress)
    epochs = [{"epoch": 0, "loss": None, "regions": _scores(asked, first)}, *checkpoint.epochs]
    return DriftResult(
        settings,
        model,
        versions(),
        first.counts | corpus.counts,
        epochs,
        {"regions": _trends(asked, epochs, first, last), "words_left_out": _words_left_out(first)},
        corpus.rows if isinstance(corpus, ToxicCorpus) else [],
        {"sentences_scored": scored, "epochs_trained": asked.epochs - trained_before},
    )


def _optimiser(lm: MaskedLM, rate: float) -> Any:
    """Plain: no momentum, no decay; the rate stays as it is."""
    import torch

    return torch.optim.SGD(lm.model.parameters(), lr=rate)


def _scores(asked: DriftQuestion, said: RegionsResult) -> list[dict[str, Any]]:
    """C_w of the followed regions, with intervals over words where there are any."""
    tree = asked.regions.tree
    by_words = moved(said.likelihoods, said.name_likelihoods, tree.children, flat=False)
    found = {}
    for form in FORMS:
        name = f"c_w.{form}"
        known = by_words.get(name)
        found[form] = Estimates.unknown(said.measure(name)) if known is None else known.estimates(name, len(tree))
    return [
        {"id": tree.regions[row].id, "name": tree.regions[row].name, "level": tree.regions[row].level}
        | {form: {key: found[form].at(row)[key] for key in ("value", "low", "high")} for form in FORMS}
        for row in asked.followed
    ]


def _trends(
    asked: DriftQuestion, epochs: Sequence[Mapping[str, Any]], first: RegionsResult, last: RegionsResult
) -> list[dict[str, Any]]:
    """Of every followed region: does its score go with the epochs, and how far has it come from first to last?"""
    found = []
    differences = {form: _difference(asked, form, first, last) for form in FORMS}
    for k, region in enumerate(epochs[0]["regions"]):
        entry: dict[str, Any] = {"id": region["id"], "name": region["name"]}
        for form in FORMS:
            values = [epoch["regions"][k][form]["value"] for epoch in epochs]
            entry[form] = {"spearman": _spearman(values), "difference": differences[form].at(k)}
        found.append(entry)
    return found


def _spearman(values: Sequence[float]) -> float | None:
    if len(values) < FEWEST_EPOCHS or len(set(values)) == 1:
        return None
    return number(np.float64(stats.spearmanr(range(len(values)), values).statistic))


def _difference(asked: DriftQuestion, form: str, *said: RegionsResult) -> Estimates:
    """The last minus the first, on the same words."""
    children, rows = asked.regions.tree.children, asked.followed

    def of_template(said: RegionsResult, template: int, words: np.ndarray) -> np.ndarray:
        vectors = descriptive_vectors(said.likelihoods[template][:, words])
        return herb_scores(vectors, said.name_likelihoods, children).c_w[form][rows]

    def c_w(words: np.ndarray) -> np.ndarray:
        """templates x runs x regions."""
        templates = range(len(asked.regions.templates))
        return np.array([[of_template(one, template, words) for one in said] for template in templates])

    if not _words_left_out(said[0]):
        return Estimates.unknown(said[1].measure(f"c_w.{form}")[rows] - said[0].measure(f"c_w.{form}")[rows])
    return word_differences(c_w, len(asked.regions.words)).difference


def _words_left_out(said: RegionsResult) -> int:
    """All, or none where they are too few or the tree is too large."""
    return len(said.question.words) if affordable(said.likelihoods, said.question.tree.children)["scores"] else 0
