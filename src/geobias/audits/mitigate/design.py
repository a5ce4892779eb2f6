"""The design of a mitigation: the methods, the texts to train on and to test with, and held-out names."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from geobias.audits.doubts import doubt_finder, doubt_names, refuse_unread
from geobias.audits.inputs import (
    NobodyNamedError,
    TextsSettings,
    choose_countries,
    digest_mentions,
    distinct_texts,
    drop_short_lists,
    load_texts,
    rename_people,
    split_by_class,
    text_classes,
)
from geobias.audits.mitigate.result import MitigateCounts, MitigateSettings
from geobias.checks import check_number, describe_choices, split_list
from geobias.errors import InputError
from geobias.models.finders import EMBEDDED_FINDER
from geobias.models.mitigated import PeopleReader
from geobias.models.wrappers import MOST_COPIES, PLACEHOLDER
from geobias.report.findings import LanguageDoubt
from geobias.texts.counterfactuals import Counterfactuals
from geobias.texts.paraphrases import paraphrase_templates
from geobias.texts.people import Person, find_people
from geobias.texts.user_texts import Texts, copy_key, find_first_copies, sample_texts
from geobias.world.gazetteer import (
    FEWEST_NAMES,
    Gazetteer,
    drop_names_in_texts,
    load_gazetteer,
    select_for_mitigation,
    select_held_out,
    select_unseen,
)
from geobias.world.regions import load_world
from geobias.world.words import Word, herb_words

if TYPE_CHECKING:
    from geobias.models.training.alignment import AlignmentSplit

METHODS = {  # and what they do
    "blind": "names replaced by one placeholder before the model reads the text",
    "average": "mean over K versions of a text with names of K countries",
    "augment": "training on texts with names of other countries",
    "pair": "training with a penalty where the logits differ between names",
    "align": "training so that all regions get the mean distribution over descriptions",
}
WRAPPERS, NEED_LABELS = ("blind", "average"), ("augment", "pair")
DEFAULT_COPIES, MOST_VERSIONS = 8, 100
WHOLE_STRENGTHS = {"average": ("K of average:K", MOST_COPIES), "augment": ("N of augment:N", MOST_VERSIONS)}
LARGEST_STRENGTHS = {"pair": 1000.0, "align": 1.0}  # the weight of the penalty; the share of the change that is kept
TRAINING_SHARE = 0.5  # of the texts, where no others are given
TESTED_TEXTS = 100  # of which the perplexity of a language model is measured
REPLAY_TEXTS, FEWEST_TEXTS = 2000, 20  # of a language model: replayed in training; needed at all
TRAINING_DRAWS = 2  # renamed versions of a training text for each country


@dataclass(frozen=True)
class Method:
    """A method with its strength: K of average, N of augment, the weight of pair, the share of align."""

    name: str
    strength: float | None = None

    @property
    def label(self) -> str:
        """As the user writes it: "average:8"."""
        return self.name if self.strength is None else f"{self.name}:{self.strength:g}"

    @property
    def subfolder(self) -> str:
        """The name of its model's folder: "average-8"."""
        return self.label.replace(":", "-")

    @property
    def is_wrapper(self) -> bool:
        return self.name in WRAPPERS


def parse_methods(methods: str | Sequence[str]) -> list[Method]:
    """Methods as the user names them, "blind,average:8", each once; InputError for what cannot be used."""
    parsed = [_parse_method(method.strip()) for method in split_list(methods, "--method")]
    if not parsed:
        raise InputError(f"--method is empty. {describe_choices('', list(METHODS))}")
    return list(dict.fromkeys(parsed))


def _parse_method(text: str) -> Method:
    name, separator, strength = text.partition(":")
    if name not in METHODS:
        raise InputError(f"Unknown --method {text!r}. {describe_choices(name, list(METHODS))}")
    if separator and (not strength or name == "blind"):
        problem = "has no value after the colon" if not strength else "takes no value"
        raise InputError(f"--method {text!r} {problem}. Remove the colon, or see `geobias mitigate --help`.")
    strength = strength or (str(DEFAULT_COPIES) if name == "average" else "")
    if not strength:
        return Method(name)
    try:
        number = float(strength)
    except ValueError:
        raise InputError(f"--method {text!r} needs a number after the colon.") from None
    if name in WHOLE_STRENGTHS:
        title, most = WHOLE_STRENGTHS[name]
        if number % 1:
            raise InputError(f"{title} must be a whole number, not {strength}.")
        check_number(title, int(number), 1, most)
    elif not 0 < number <= LARGEST_STRENGTHS[name]:
        largest = LARGEST_STRENGTHS[name]
        raise InputError(f"The strength in --method {text!r} must be above 0 and at most {largest:g}.")
    return Method(name, number)


@dataclass(frozen=True)
class MitigateDesign:
    """What every method is trained on and tested with."""

    methods: list[Method]
    texts: Texts = field(repr=False)  # tested
    rows_with_names: np.ndarray = field(repr=False)  # positions of the tested texts that name somebody
    counterfactuals: Counterfactuals = field(repr=False)  # with held-out names
    train: Texts | None = field(repr=False)
    train_counterfactuals: Counterfactuals | None = field(repr=False)  # with names for mitigation
    reader: PeopleReader = field(repr=False)
    countries_left_out: tuple[str, ...]
    language_doubts: list[LanguageDoubt]
    positive: list[str]
    negative: list[str]
    seed: int
    epochs: int

    def settings_for(self, model: str) -> MitigateSettings:
        return MitigateSettings(
            model=model,
            methods=[method.label for method in self.methods],
            texts=TextsSettings.describe(self.texts),
            train=None if self.train is None else TextsSettings.describe(self.train),
            finder=self.reader.finder.name,
            mentions=digest_mentions(self.counterfactuals.people),
            countries=list(self.counterfactuals.countries),
            draws=self.counterfactuals.draws,
            seed=self.seed,
            names=self.counterfactuals.gazetteer.digest,
            positive=self.positive or "by name",
            negative=self.negative or "by name",
            epochs=None if self.train is None else self.epochs,
        )

    def count(self, originals: np.ndarray | None) -> MitigateCounts:
        """`originals`: whether the finder marks each name that the user marked in the original texts."""
        counterfactuals = self.counterfactuals
        return MitigateCounts(
            texts=len(self.texts),
            texts_with_names=len(self.rows_with_names),
            training_texts=0 if self.train is None else len(self.train),
            rows_without_text=self.texts.left_out,
            copies=self.texts.copies,
            countries=len(counterfactuals.countries),
            draws=counterfactuals.draws,
            held_out_names=len(counterfactuals.name_index[2]),
            countries_left_out=[counterfactuals.gazetteer.country(code) for code in self.countries_left_out],
            originals=None if originals is None else len(originals),
            originals_missed=None if originals is None else int((~originals).sum()),
        )


def load_tested_and_training_texts(
    source: Any, train: Any, methods: Sequence[Method], *, seed: int, **columns: Any
) -> tuple[Texts, Texts | None]:
    """The texts to test with and those to train on, if a method is trained; no text is in both."""

    def load(source: Any) -> Texts:
        texts = load_texts(source, **columns)
        return texts.drop_copies(find_first_copies(texts.texts, texts.spans))

    texts = load(source)
    if train is not None:
        return texts, drop_tested(load(train), texts.texts, copy_key)
    if all(method.is_wrapper for method in methods):
        return texts, None
    rest, held_out = split_by_class(np.arange(len(texts)), text_classes(texts), 1 - TRAINING_SHARE, seed)
    return texts.take(held_out), texts.take(rest)


def drop_tested(train: Texts, texts: Sequence[str], key: Callable[[str], object]) -> Texts:
    """The texts to train on that are not tested: `key` says which texts are the same."""
    tested = set(map(key, texts))
    others = train.take(row for row, text in enumerate(train.texts) if key(text) not in tested)
    if not len(others):
        raise InputError(f"Every text of {train.source} is also in --texts. Train on other texts.")
    return others


def design_mitigation(
    methods: list[Method],
    texts: Texts,
    train: Texts | None,
    finder: Any,
    *,
    countries: str | Sequence[str] | None,
    draws: int,
    seed: int,
    epochs: int,
    positive: str | Sequence[str],
    negative: str | Sequence[str],
    device: str,
) -> MitigateDesign:
    """Find the people in the texts and give them held-out names; raise InputError where that is not possible."""
    gazetteer = load_gazetteer()
    reads_bundled = finder is None or (isinstance(finder, str) and finder == EMBEDDED_FINDER)
    used_texts = [PLACEHOLDER, *(() if train is None else train.texts)]
    held_out, codes, left_out = choose_held_out_names(gazetteer, countries, used_texts, is_bundled=reads_bundled)
    reader = PeopleReader(EMBEDDED_FINDER if finder is None else finder, device=device)
    doubts = doubt_finder(texts.texts, reader.finder) if texts.spans is None else []
    if finder is None:
        refuse_unread(texts, doubts)
    people = _find_people(texts, reader)
    rows_with_names, counterfactuals = rename_people(texts, people, held_out, codes, draws=draws, seed=seed)
    if not len(rows_with_names):
        refuse_unread(texts, doubts, most=0)
        raise NobodyNamedError(f"None of the {len(texts)} texts of {texts.source} names a person.")
    return MitigateDesign(
        methods,
        texts,
        rows_with_names,
        counterfactuals,
        train,
        None if train is None else _rename_training_texts(train, reader, gazetteer, seed),
        reader,
        left_out,
        language_doubts=[*doubts, *doubt_names(counterfactuals)],
        positive=split_list(positive, "--positive"),
        negative=split_list(negative, "--negative"),
        seed=seed,
        epochs=epochs,
    )


def choose_held_out_names(
    gazetteer: Gazetteer, countries: str | Sequence[str] | None, used_texts: Sequence[str], *, is_bundled: bool
) -> tuple[Gazetteer, tuple[str, ...], tuple[str, ...]]:
    """The names to test with, the codes of their countries, and of those that have too few.

    No method uses these names, and none of them is in a text that a model is trained on or reads in place of a name; if
    the bundled finder is used, its training did not use them either.
    """
    held_out = select_held_out(select_unseen(gazetteer) if is_bundled else gazetteer)
    held_out = drop_names_in_texts(held_out, used_texts)
    codes, left_out = choose_countries(gazetteer, countries)
    codes, short = drop_short_lists(held_out, codes, countries, "that no method uses and no training text has")
    if len(codes) < 2:
        raise InputError("Mitigation is measured between countries. Name at least two in --countries.")
    return held_out, codes, left_out + short


def _find_people(texts: Texts, reader: PeopleReader) -> list[tuple[Person, ...]]:
    """The people of every text, by the spans that the texts bring or by the finder."""
    if texts.spans is None:
        return [each.people for each in reader.read(texts.texts)]
    return [find_people(text, row, reader.gazetteer) for text, row in zip(texts.texts, texts.spans, strict=True)]


def _rename_training_texts(train: Texts, reader: PeopleReader, gazetteer: Gazetteer, seed: int) -> Counterfactuals:
    """The training texts that name somebody, with names for mitigation of every country that has enough."""
    names = select_for_mitigation(gazetteer)
    codes = [code for code in names.codes if not names.find_short_lists(code, FEWEST_NAMES)]
    people = _find_people(train, reader)
    rows_with_names, counterfactuals = rename_people(train, people, names, codes, draws=TRAINING_DRAWS, seed=seed)
    if not len(rows_with_names):
        raise NobodyNamedError(f"None of the {len(train)} texts of {train.source} to train on names a person.")
    return counterfactuals


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
    from geobias.models.training.alignment import split_for_alignment  # imports torch

    def load(source: Any) -> Texts:
        if source is not None:
            return distinct_texts(load_texts(source, column=column, limit=limit))
        return distinct_texts(sample_texts() if limit is None else sample_texts().head(limit))

    texts = load(source)
    if len(texts) < FEWEST_TEXTS:
        raise InputError(
            f"{texts.source} has {len(texts)} different texts. A language model needs {FEWEST_TEXTS} plain texts."
        )
    count = min(TESTED_TEXTS, len(texts) // (2 if train is None else 1))
    test_texts, replay = texts.head(count), texts.take(range(count, len(texts)))
    if train is not None:
        replay = drop_tested(load(train), test_texts.texts, str)
    countries = [region for region in load_world(cities=0, dissolved=False).regions if region.level == "country"]
    split = split_for_alignment(countries, herb_words(), paraphrase_templates(Word("kind")), seed=seed)
    return AlignmentDesign(methods, split, replay.head(REPLAY_TEXTS), test_texts, seed, epochs)
