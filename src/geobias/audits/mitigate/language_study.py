"""How language models are aligned, and audited before and after on held-out words, regions and templates."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from geobias.audits.compare.audit import compare
from geobias.audits.inputs import TextsSettings, distinct_texts, load_texts
from geobias.audits.mitigate.design import MOST_EPOCHS, MitigateOptions, method_subfolder
from geobias.audits.mitigate.measure import falls
from geobias.audits.mitigate.methods import LEAST_WORD_VARIANCE, MOST_CAPITALS_LOST, MOST_PERPLEXITY_RISE, Method
from geobias.audits.mitigate.result import (
    LanguageModelComparison,
    LanguageModelMeasures,
    MitigateCounts,
    MitigateResult,
    MitigateSettings,
)
from geobias.audits.regions.audit import audit_regions
from geobias.audits.regions.result import RegionsResult
from geobias.audits.study import RunOptions, TrainingStudy
from geobias.checks import HIGHEST_SEED, check_number
from geobias.errors import InputError
from geobias.measures.estimates import benjamini_hochberg
from geobias.measures.mitigation import bootstrap_interval
from geobias.models.kinds import find_tasks
from geobias.models.scorer import Scorer
from geobias.models.sources import is_function_name
from geobias.models.training.alignment_split import AlignmentSplit, split_for_alignment
from geobias.models.training.quality import (
    CapitalsKnown,
    TextLikelihoods,
    compute_word_variance_ratio,
    pseudo_perplexity,
    share_of_capitals_known,
)
from geobias.report.results import Interval, number
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


def describe_language_model(answers: LanguageAnswers) -> LanguageModelMeasures:
    root = answers.audit.regions[0]
    score = Interval(root.c_w_balanced.value, root.c_w_balanced.low, root.c_w_balanced.high)
    variance = float(answers.word_scores.mean(axis=0).var())
    return LanguageModelMeasures(score, answers.likelihoods.perplexity, 100 * answers.capitals.share, variance)


def compare_perplexities(before: TextLikelihoods, after: TextLikelihoods) -> Interval:
    """The change in per cent, with its interval over texts."""
    log_ratios, tokens = before.log_p - after.log_p, before.tokens

    def change(texts: np.ndarray) -> float:
        return float(100 * (np.exp(log_ratios[texts].sum() / tokens[texts].sum()) - 1))

    return Interval(*bootstrap_interval(change, len(tokens)))


def compare_capitals(before: CapitalsKnown, after: CapitalsKnown) -> Interval:
    """The change in percentage points, with its interval over capitals."""
    changes = 100 * (after.is_known.astype(float) - before.is_known)
    return Interval(*bootstrap_interval(lambda capitals: float(changes[capitals].mean()), len(changes)))


def compare_word_variances(before: LanguageAnswers, after: LanguageAnswers) -> Interval:
    """The variance over words after mitigation divided by that before, with its interval over words."""
    first, second = before.word_scores, after.word_scores

    def ratio(words: np.ndarray) -> float:
        return compute_word_variance_ratio(first[:, words], second[:, words])

    return Interval(*bootstrap_interval(ratio, first.shape[1]))


def adjust_language_methods(comparisons: Sequence[LanguageModelComparison]) -> list[LanguageModelComparison]:
    """Adjust the tests of all methods as one family, and decide which of them help."""
    p_values = [entry.score_change.p for entry in comparisons]
    adjusted = benjamini_hochberg(np.array([np.nan if p is None else p for p in p_values]))
    entries = []
    for entry, p_adjusted in zip(comparisons, adjusted, strict=True):
        change = replace(entry.score_change, p_adjusted=number(p_adjusted))
        keeps_words = (entry.word_variance_ratio.value or 0) >= LEAST_WORD_VARIANCE
        has_lower_score = falls(change) and change.high is not None and change.high < 0
        entries.append(replace(entry, score_change=change, helps=has_lower_score and keeps_words))
    return entries


def recommend_language_method(comparisons: Sequence[LanguageModelComparison]) -> str | None:
    """The method that lowers the score most, of those that cost little; None if there is none."""
    candidates = [
        entry
        for entry in comparisons
        if entry.helps
        and (entry.perplexity_change.value or 0) <= MOST_PERPLEXITY_RISE
        and (entry.capitals_change.value or 0) >= -MOST_CAPITALS_LOST
    ]
    return min(candidates, key=lambda entry: entry.score_change.value or 0).method if candidates else None


def is_for_language_model(model: Any, methods: Sequence[Method]) -> bool:
    """Whether a model is to be mitigated as a language model; refuse methods that do not fit it."""
    if all(method.name != "align" for method in methods):
        return False
    for method in methods:
        if method.name != "align":
            raise InputError(f"--method {method.label} is for classifiers, align for language models. Use one kind.")
    if not isinstance(model, str | Path) or is_function_name(str(model)):
        raise InputError(f"--method {methods[0].label} trains a language model: give its Hugging Face id or folder.")
    if find_tasks(model) != ("language model",):
        raise InputError(f"{model} is a classifier. --method align is for language models: use augment or pair.")
    return True


@dataclass(frozen=True)
class LanguageDesign:
    """What a language model is trained on and what it is audited with."""

    options: MitigateOptions = field(repr=False)
    methods: list[Method]
    split: AlignmentSplit = field(repr=False)
    replay: Texts = field(repr=False)
    test_texts: Texts = field(repr=False)

    def settings_for(self, model: str) -> MitigateSettings:
        held_out = self.split.held_out
        content = repr((held_out.regions, held_out.words, held_out.templates[:1]))
        return MitigateSettings(
            model=model,
            methods=[method.label for method in self.methods],
            texts=TextsSettings.describe(self.test_texts),
            train=TextsSettings.describe(self.replay),
            finder=None,
            mentions=None,
            countries=[region.id for region in held_out.regions],
            draws=0,
            seed=self.options.seed,
            names=hashlib.blake2b(content.encode(), digest_size=16).hexdigest(),
            positive="by name",
            negative="by name",
            epochs=self.options.epochs,
        )

    def count(self) -> MitigateCounts:
        return MitigateCounts(
            texts=len(self.test_texts),
            texts_with_names=0,
            training_texts=len(self.replay),
            rows_without_text=self.test_texts.left_out,
            countries=len(self.split.held_out.regions),
            draws=0,
            held_out_names=0,
            texts_unreadable=None,
            countries_left_out=[],
            held_out_words=len(self.split.held_out.words),
        )


def design_language_mitigation(options: MitigateOptions, methods: list[Method]) -> LanguageDesign:
    """Resolve the options into plain texts and a split of regions, words and templates."""
    check_number("--seed", options.seed, 0, HIGHEST_SEED)
    check_number("--epochs", options.epochs, 1, MOST_EPOCHS)
    texts = distinct_texts(_load_plain_texts(options.texts, options))
    if len(texts) < FEWEST_TEXTS:
        raise InputError(
            f"{texts.source} has {len(texts)} different texts. A language model needs {FEWEST_TEXTS} plain texts."
        )
    if options.train is not None:
        test_texts, replay = texts.head(TESTED_TEXTS), distinct_texts(_load_plain_texts(options.train, options))
        test_set = set(test_texts.texts)
        replay = replay.take(row for row, text in enumerate(replay.texts) if text not in test_set)
        if not len(replay):
            raise InputError(f"Every text of {replay.source} is also in --texts. Train on other texts.")
    else:
        count = min(TESTED_TEXTS, len(texts) // 2)
        test_texts, replay = texts.head(count), texts.take(range(count, len(texts)))
    countries = [region for region in load_world(cities=0, dissolved=False).regions if region.level == "country"]
    split = split_for_alignment(countries, herb_words(), paraphrase_templates(Word("kind")), seed=options.seed)
    return LanguageDesign(options, methods, split, replay.head(REPLAY_TEXTS), test_texts)


def _load_plain_texts(source: Any, options: MitigateOptions) -> Texts:
    if source is not None:
        return load_texts(source, column=options.column, limit=options.limit)
    return sample_texts() if options.limit is None else sample_texts().head(options.limit)


class LanguageStudy(TrainingStudy[Scorer, list[LanguageAnswers], MitigateResult]):
    """The original language model and what every method makes of it. All models are kept in the folder of the run."""

    audit = "mitigate"
    subfolder = MODELS

    def __init__(self, design: LanguageDesign, model: str, options: RunOptions) -> None:
        if options.out is None:
            raise InputError(f"--method {design.methods[0].label} trains a model. Name a folder for it with --out.")
        super().__init__(options)
        self.design, self.model = design, model

    def settings(self) -> MitigateSettings:
        return self.design.settings_for(self.model)

    def ask(self, scorers: Sequence[Scorer]) -> list[LanguageAnswers]:
        folders = [self._make(method) for method in self.design.methods]
        names = ["original", *map(method_subfolder, self.design.methods)]
        models = [self.model, *map(str, folders)]
        return [self._audit(model, name) for model, name in zip(models, names, strict=True)]

    def measure(self, answers: list[LanguageAnswers]) -> MitigateResult:
        before = answers[0]
        comparisons = adjust_language_methods(
            [self._compare(*pair, before) for pair in zip(self.design.methods, answers[1:], strict=True)]
        )
        return MitigateResult(
            settings=self.settings(),
            models=[before.audit.model, *(entry.model for entry in comparisons)],
            counts=self.design.count(),
            before=None,
            methods=[],
            language_model=describe_language_model(before),
            language_models=comparisons,
            recommended=recommend_language_method(comparisons),
            work={"models": len(answers)},
        )

    def _make(self, method: Method) -> Path:
        """Train a method's model, or resume its training."""
        from geobias.models.training.alignment import AlignmentSettings, align_language_model  # imports torch

        train, options = self.design.split.train, self.options
        strength = AlignmentSettings.strength if method.strength is None else method.strength
        return align_language_model(
            self.model,
            AlignmentSettings(strength, self.design.options.epochs, seed=self.design.options.seed),
            regions=[region.in_sentence for region in train.regions],
            words=[word.word for word in train.words],
            templates=train.templates[:TRAINING_TEMPLATES],
            replay_texts=list(self.design.replay.texts),
            out=self.path / MODELS / method_subfolder(method),
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
            out=self.path / MODELS / f"audit-{name}",
            progress=options.progress,
        )
        assert isinstance(audit, RegionsResult)  # of one model
        return LanguageAnswers(
            audit,
            pseudo_perplexity(model, self.design.test_texts.texts, device=options.device),
            share_of_capitals_known(model, device=options.device),
        )

    def _compare(self, method: Method, after: LanguageAnswers, before: LanguageAnswers) -> LanguageModelComparison:
        (comparison,) = compare([before.audit, after.audit]).comparisons
        change = next(each for each in comparison.rows if each.name == ROOT).difference
        return LanguageModelComparison(
            method=method.label,
            model=after.audit.model,
            folder=f"{MODELS}/{method_subfolder(method)}",
            after=describe_language_model(after),
            score_change=change,
            perplexity_change=compare_perplexities(before.likelihoods, after.likelihoods),
            capitals_change=compare_capitals(before.capitals, after.capitals),
            word_variance_ratio=compare_word_variances(before, after),
            helps=False,  # decided when p-values are adjusted for all methods
        )
