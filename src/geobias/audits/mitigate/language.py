"""Language models: how they are aligned, then audited before and after on held-out words, regions and templates."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from geobias.audits.compare.audit import compare
from geobias.audits.inputs import TextsSettings, distinct_texts, load_texts
from geobias.audits.mitigate.design import Method
from geobias.audits.mitigate.measure import adjust_p_values
from geobias.audits.mitigate.result import (
    ORIGINAL,
    LanguageModelMeasures,
    MitigateCounts,
    MitigateResult,
    MitigateSettings,
    falls,
)
from geobias.audits.mitigate.study import TrainingStudy
from geobias.audits.regions.audit import audit_regions
from geobias.audits.regions.result import RegionsResult
from geobias.audits.study import RunOptions
from geobias.errors import InputError
from geobias.measures.mitigation import bootstrap_interval
from geobias.models.kinds import find_tasks
from geobias.models.scorer import Scorer
from geobias.models.sources import is_function_name
from geobias.models.training.alignment import AlignmentSplit, split_for_alignment
from geobias.models.training.word_scores import (
    CapitalsKnown,
    TextLikelihoods,
    compute_word_variance_ratio,
    pseudo_perplexity,
    share_of_capitals_known,
)
from geobias.report.results import Interval
from geobias.report.run_folder import MODELS
from geobias.texts.paraphrases import paraphrase_templates
from geobias.texts.user_texts import Texts, sample_texts
from geobias.world.regions import load_world
from geobias.world.words import Word, herb_words

TRAINING_TEMPLATES = 3
TESTED_TEXTS = 100  # of which the perplexity is measured
REPLAY_TEXTS = 2000
FEWEST_TEXTS = 20
ROOT = "Earth"


def check_language_model(model: Any, methods: Sequence[Method]) -> None:
    """Refuse what `align` is not for: classifiers, and methods for them."""
    for method in methods:
        if method.name != "align":
            raise InputError(f"--method {method.label} is for classifiers, align for language models. Use one kind.")
    if not isinstance(model, str | Path) or is_function_name(str(model)):
        raise InputError(f"--method {methods[0].label} trains a language model: give its Hugging Face id or folder.")
    if find_tasks(model) != ("language model",):
        raise InputError(f"{model} is a classifier. --method align is for language models: use augment or pair.")


@dataclass(frozen=True)
class AlignmentDesign:
    """What a language model is trained on and what it is audited with."""

    methods: list[Method]
    split: AlignmentSplit = field(repr=False)
    replay: Texts = field(repr=False)
    test_texts: Texts = field(repr=False)
    seed: int
    epochs: int

    def settings_for(self, model: str) -> MitigateSettings:
        held_out = self.split.held_out
        content = repr((held_out.regions, held_out.words, held_out.templates[:1]))
        return MitigateSettings(
            model=model,
            methods=[method.label for method in self.methods],
            texts=TextsSettings.describe(self.test_texts),
            train=TextsSettings.describe(self.replay),
            countries=[region.id for region in held_out.regions],
            seed=self.seed,
            names=hashlib.blake2b(content.encode(), digest_size=16).hexdigest(),
            epochs=self.epochs,
        )

    def count(self) -> MitigateCounts:
        return MitigateCounts(
            texts=len(self.test_texts),
            training_texts=len(self.replay),
            rows_without_text=self.test_texts.left_out,
            countries=len(self.split.held_out.regions),
            held_out_words=len(self.split.held_out.words),
        )


def design_alignment(
    methods: list[Method], source: Any, train: Any, *, column: str, limit: int | None, seed: int, epochs: int
) -> AlignmentDesign:
    """Plain texts for the perplexity and for the replay, and a split of regions, words and templates."""

    def load(source: Any) -> Texts:
        if source is not None:
            return distinct_texts(load_texts(source, column=column, limit=limit))
        return distinct_texts(sample_texts() if limit is None else sample_texts().head(limit))

    texts = load(source)
    if len(texts) < FEWEST_TEXTS:
        raise InputError(
            f"{texts.source} has {len(texts)} different texts. A language model needs {FEWEST_TEXTS} plain texts."
        )
    if train is not None:
        test_texts, replay = texts.head(TESTED_TEXTS), load(train)
        tested = set(test_texts.texts)
        replay = replay.take(row for row, text in enumerate(replay.texts) if text not in tested)
        if not len(replay):
            raise InputError(f"Every text of {replay.source} is also in --texts. Train on other texts.")
    else:
        count = min(TESTED_TEXTS, len(texts) // 2)
        test_texts, replay = texts.head(count), texts.take(range(count, len(texts)))
    countries = [region for region in load_world(cities=0, dissolved=False).regions if region.level == "country"]
    split = split_for_alignment(countries, herb_words(), paraphrase_templates(Word("kind")), seed=seed)
    return AlignmentDesign(methods, split, replay.head(REPLAY_TEXTS), test_texts, seed, epochs)


@dataclass(frozen=True)
class LanguageAnswers:
    """One language model: its audit, and how good it is."""

    audit: RegionsResult
    likelihoods: TextLikelihoods
    capitals: CapitalsKnown

    @property
    def word_scores(self) -> np.ndarray:
        """regions x words: the mean over templates; the root has no score."""
        scores = np.asarray(self.audit.likelihoods).mean(axis=0)
        return scores[~np.isnan(scores).any(axis=1)]


class LanguageStudy(TrainingStudy[Scorer, list[LanguageAnswers]]):
    """The original language model and what every method makes of it. All models are kept in the folder of the run."""

    def __init__(self, design: AlignmentDesign, model: str, options: RunOptions) -> None:
        super().__init__(options)
        self.design, self.model = design, model

    def settings(self) -> MitigateSettings:
        return self.design.settings_for(self.model)

    def ask(self, scorers: Sequence[Scorer]) -> list[LanguageAnswers]:
        """Each model is made and loaded when its turn comes, since all of them may not fit into memory."""
        folders = [self._train(method) for method in self.design.methods]
        names = [ORIGINAL, *(method.subfolder for method in self.design.methods)]
        return [self._audit(model, name) for model, name in zip([self.model, *map(str, folders)], names, strict=True)]

    def measure(self, answers: list[LanguageAnswers]) -> MitigateResult:
        before, *others = answers
        pairs = zip(self.design.methods, others, strict=True)
        rows = adjust_language_models([compare_language_models(method, before, after) for method, after in pairs])
        return MitigateResult(
            settings=self.settings(),
            models=[each.audit.model for each in answers],
            counts=self.design.count(),
            language_models=[describe_language_model(ORIGINAL, before), *rows],
            recommended=recommend_language_model(rows),
            work={"models": len(answers)},
        )

    def _train(self, method: Method) -> Path:
        """Train a method's model, or resume its training."""
        from geobias.models.training.alignment import AlignmentSettings, align_language_model  # imports torch

        train, options = self.design.split.train, self.options
        strength = AlignmentSettings.strength if method.strength is None else method.strength
        return align_language_model(
            self.model,
            AlignmentSettings(strength, self.design.epochs, seed=self.design.seed),
            regions=[region.in_sentence for region in train.regions],
            words=[word.word for word in train.words],
            templates=train.templates[:TRAINING_TEMPLATES],
            replay_texts=list(self.design.replay.texts),
            out=self.models / method.subfolder,
            device=options.device,
            progress=options.progress,
        )

    def _audit(self, model: str, name: str) -> LanguageAnswers:
        held_out, options = self.design.split.held_out, self.options
        audit = audit_regions(
            model,
            cities=0,
            countries=[region.id for region in held_out.regions],
            words=list(held_out.words),
            templates=held_out.templates[0],
            placebo=False,
            paraphrases=0,
            device=options.device,
            out=self.models / f"audit-{name}",
            progress=options.progress,
        )
        assert isinstance(audit, RegionsResult)  # of one model
        return LanguageAnswers(
            audit,
            pseudo_perplexity(model, self.design.test_texts.texts, device=options.device),
            share_of_capitals_known(model, device=options.device),
        )


def describe_language_model(method: str, answers: LanguageAnswers) -> LanguageModelMeasures:
    score = answers.audit.regions[0].c_w_balanced
    return LanguageModelMeasures(
        method=method,
        model=answers.audit.model.name,
        score=Interval(score.value, score.low, score.high),
        perplexity=answers.likelihoods.perplexity,
        capitals=100 * answers.capitals.share,
    )


def compare_language_models(method: Method, before: LanguageAnswers, after: LanguageAnswers) -> LanguageModelMeasures:
    """What a method changes: the score of the Earth, perplexity with its interval over texts, and so on."""
    (comparison,) = compare([before.audit, after.audit]).comparisons
    log_ratios = before.likelihoods.log_p - after.likelihoods.log_p
    tokens, capitals = before.likelihoods.tokens, after.capitals.is_known.astype(float) - before.capitals.is_known
    words_before, words_after = before.word_scores, after.word_scores

    def change_perplexity(texts: np.ndarray) -> float:
        return float(100 * (np.exp(log_ratios[texts].sum() / tokens[texts].sum()) - 1))

    def change_capitals(countries: np.ndarray) -> float:
        return float(100 * capitals[countries].mean())

    def divide_variances(words: np.ndarray) -> float:
        return compute_word_variance_ratio(words_before[:, words], words_after[:, words])

    return replace(
        describe_language_model(method.label, after),
        folder=f"{MODELS}/{method.subfolder}",
        score_change=next(each for each in comparison.rows if each.name == ROOT).difference,
        perplexity_change=Interval(*bootstrap_interval(change_perplexity, len(tokens))),
        capitals_change=Interval(*bootstrap_interval(change_capitals, len(capitals))),
        word_variance_ratio=Interval(*bootstrap_interval(divide_variances, words_before.shape[1])),
    )


def adjust_language_models(rows: Sequence[LanguageModelMeasures]) -> list[LanguageModelMeasures]:
    """Adjust the tests of all methods as one family, and decide which of them help."""
    changes = adjust_p_values([row.score_change for row in rows])
    adjusted = [replace(row, score_change=change) for row, change in zip(rows, changes, strict=True)]
    return [replace(row, helps=_lowers_score(row) and row.keeps_words) for row in adjusted]


def _lowers_score(row: LanguageModelMeasures) -> bool:
    return falls(row.score_change) and row.score_change.high is not None and row.score_change.high < 0


def recommend_language_model(rows: Sequence[LanguageModelMeasures]) -> str | None:
    """The method that lowers the score most, of those that cost little; None if there is none."""
    candidates = [row for row in rows if row.helps and not row.forgets]
    return min(candidates, key=lambda row: row.score_change.value or 0).method if candidates else None
