"""The design of a mitigation: which texts are trained on and which are tested, with which held-out names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from geobias.audits.inputs import TextsSettings, load_texts, split_by_class, split_list, text_classes
from geobias.audits.languages import count_other_languages, doubt_finder, doubt_names, refuse_unread
from geobias.audits.mitigate.methods import DEFAULT_METHODS, NEEDS_LABELS, Method, parse_methods
from geobias.audits.mitigate.result import MitigateCounts, MitigateSettings
from geobias.audits.renaming import (
    MOST_DRAWS,
    NobodyNamedError,
    choose_countries,
    digest_mentions,
    rename_people,
)
from geobias.checks import HIGHEST_SEED, check_number
from geobias.errors import InputError
from geobias.models.finders import EMBEDDED_FINDER
from geobias.models.mitigated import PeopleReader
from geobias.models.wrappers import PLACEHOLDER
from geobias.report.findings import LanguageDoubt
from geobias.texts.counterfactuals import Counterfactuals
from geobias.texts.people import Person, find_people
from geobias.texts.user_texts import Texts, copy_key, find_first_copies
from geobias.world.gazetteer import (
    FEWEST_NAMES,
    Gazetteer,
    drop_names_in_texts,
    load_gazetteer,
    select_for_mitigation,
    select_held_out,
    select_unseen,
)

TRAINING_SHARE = 0.5  # of the texts, where no others are given
TRAINING_DRAWS = 2  # renamed versions of a training text for each country
MOST_EPOCHS = 100


@dataclass(frozen=True, kw_only=True)
class MitigateOptions:
    """The options of `mitigate`, as the user gives them."""

    method: str | Sequence[str] = DEFAULT_METHODS
    texts: Any = None
    column: str = "text"
    spans: str | None = None
    label: str | None = None
    train: Any = None
    limit: int | None = None
    finder: Any = None
    countries: str | Sequence[str] | None = None
    draws: int = 10
    seed: int = 0
    positive: str | Sequence[str] = ()
    negative: str | Sequence[str] = ()
    epochs: int = 2


@dataclass(frozen=True)
class MitigateDesign:
    """What every method is trained on and tested with."""

    options: MitigateOptions = field(repr=False)
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

    def settings_for(self, model: str) -> MitigateSettings:
        options = self.options
        return MitigateSettings(
            model=model,
            methods=[method.label for method in self.methods],
            texts=TextsSettings.describe(self.texts),
            train=None if self.train is None else TextsSettings.describe(self.train),
            finder=self.reader.finder.name,
            mentions=digest_mentions(self.counterfactuals.people),
            countries=list(self.counterfactuals.countries),
            draws=options.draws,
            seed=options.seed,
            names=self.counterfactuals.gazetteer.digest,
            positive=self.positive or "by name",
            negative=self.negative or "by name",
            epochs=None if self.train is None else options.epochs,
        )

    def count(self) -> MitigateCounts:
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
            texts_unreadable=count_other_languages(self.texts.texts) if self.reader.checks_language else None,
            countries_left_out=[counterfactuals.gazetteer.country(code) for code in self.countries_left_out],
        )


def design_mitigation(options: MitigateOptions, device: str = "auto") -> MitigateDesign:
    """Resolve the options into texts, people, names and methods; raise InputError for what is wrong with them."""
    methods = parse_methods(options.method)
    check_number("--draws", options.draws, 1, MOST_DRAWS)
    check_number("--seed", options.seed, 0, HIGHEST_SEED)
    check_number("--epochs", options.epochs, 1, MOST_EPOCHS)
    training = [method for method in methods if not method.is_wrapper]
    for method in methods:
        if method.name in NEEDS_LABELS and options.label is None:
            raise InputError(f"--method {method.label} is trained on true labels. Name their column with --label.")
    if options.train is not None and not training:
        raise InputError("--train has texts to train on, but no --method is trained. Remove it, or add augment.")
    gazetteer = load_gazetteer()
    finder = EMBEDDED_FINDER if options.finder is None else options.finder
    is_bundled = isinstance(finder, str) and finder == EMBEDDED_FINDER
    texts = _load_texts(options.texts, options)
    train = None
    if training:
        texts, train = _split_texts(texts, options)
    used_texts = [PLACEHOLDER, *(() if train is None else train.texts)]
    held_out, codes, left_out = choose_held_out_names(gazetteer, options.countries, used_texts, is_bundled=is_bundled)
    reader = PeopleReader(finder, device=device)
    doubts = doubt_finder(texts.texts, reader.finder) if texts.spans is None else []
    if options.finder is None:
        refuse_unread(texts, doubts)
    people = _find_people(texts, reader)
    rows_with_names, counterfactuals = rename_people(
        texts, people, held_out, codes, draws=options.draws, seed=options.seed
    )
    if not len(rows_with_names):
        refuse_unread(texts, doubts, most=0)
        raise NobodyNamedError(f"None of the {len(texts)} texts of {texts.source} names a person.")
    return MitigateDesign(
        options,
        methods,
        texts,
        rows_with_names,
        counterfactuals,
        train,
        None if train is None else _rename_training_texts(train, reader, gazetteer, options.seed),
        reader,
        left_out,
        language_doubts=[*doubts, *doubt_names(counterfactuals)],
        positive=split_list(options.positive, "--positive"),
        negative=split_list(options.negative, "--negative"),
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
    short = {code: lists for code in codes if (lists := held_out.find_short_lists(code, FEWEST_NAMES))}
    if short and (countries not in (None, "all") or len(short) == len(codes)):
        code, lists = next(iter(short.items()))
        kind, count = lists[0]
        raise InputError(
            f"{gazetteer.country(code)} has {count} {kind} names that no method uses and no training text has; at "
            f"least {FEWEST_NAMES} are needed. Remove the country from --countries."
        )
    codes = tuple(code for code in codes if code not in short)
    if len(codes) < 2:
        raise InputError("Mitigation is measured between countries. Name at least two in --countries.")
    return held_out, codes, (*left_out, *short)


def _load_texts(source: Any, options: MitigateOptions) -> Texts:
    texts = load_texts(source, column=options.column, spans=options.spans, label=options.label, limit=options.limit)
    return texts.drop_copies(find_first_copies(texts.texts, texts.spans))


def _split_texts(texts: Texts, options: MitigateOptions) -> tuple[Texts, Texts]:
    """The texts to test with and those to train on; no text is in both."""
    if options.train is not None:
        train = _load_texts(options.train, options)
        tested = {copy_key(text) for text in texts.texts}
        train = train.take(row for row, text in enumerate(train.texts) if copy_key(text) not in tested)
        if not len(train):
            raise InputError(f"Every text of {train.source} is also in --texts. Train on other texts.")
        return texts, train
    rest, held_out = split_by_class(np.arange(len(texts)), text_classes(texts), 1 - TRAINING_SHARE, options.seed)
    return texts.take(held_out), texts.take(rest)


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


def method_subfolder(method: Method) -> str:
    """The name of a method's folder: "average-8"."""
    return method.label.replace(":", "-")
