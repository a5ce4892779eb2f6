"""The design of a reproduction: which tables of which paper, and which models and texts are used for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from geobias.audits.inputs import TextsSettings, load_texts
from geobias.audits.names.design import NamesDesign, NamesOptions, design_names
from geobias.audits.regions.design import SCORE_ONLY, RegionsDesign, RegionsOptions, design_regions
from geobias.audits.reproduce.paper_study import PaperDesign
from geobias.audits.reproduce.prefix_tables import PREFIXES, Dataset, design_datasets
from geobias.audits.reproduce.published import PublishedTable
from geobias.audits.reproduce.result import HerbSettings, NamesTablesSettings
from geobias.checks import describe_choices
from geobias.errors import InputError
from geobias.models.sources import locate_weights
from geobias.texts.defaults import DEFAULT_TEMPLATE
from geobias.texts.user_texts import Texts

ALBERT = "albert-base-v2"
HERB_MODELS = ("bert-base-cased", ALBERT, "roberta-base", "facebook/bart-base")
HERB_SCORE = "aul"
MULTILINGUAL, ENGLISH = "cardiffnlp/twitter-xlm-roberta-base", "cardiffnlp/twitter-roberta-base"
LANGUAGES = {"English": "en", "Dutch": "nl", "Spanish": "es", "Hindi": "hi", "Malayalam": "ml", "Turkish": "tr",
             "Basque": "eu", "Maori": "mi"}  # fmt: skip
DRAWS = 50


@dataclass(frozen=True, kw_only=True)
class ReproduceOptions:
    """The options of `reproduce`, as the user gives them, without the paper. None stands for what the paper has."""

    table: str | Sequence[str] = ()
    model: Mapping[str, str] | Sequence[str] = ()
    cities: int | str | None = None
    hatespeech18: str | Path | None = None
    imdb: str | Path | None = None
    classifier: Mapping[str, str] | Sequence[str] = ()
    texts: Any = None
    column: str | None = None
    finder: str | None = None
    draws: int | None = None
    perplexity_draws: int | None = None
    limit: int | None = None


@dataclass(frozen=True)
class Task:
    """A classifier of the names paper, the language model that it was made from, and its labels in their order."""

    classifier: str
    lm: str
    labels: tuple[str, ...]


TASKS = {
    "sentiment": Task(f"{MULTILINGUAL}-sentiment", MULTILINGUAL, ("negative", "neutral", "positive")),
    "emotion": Task(f"{ENGLISH}-emotion", ENGLISH, ("anger", "joy", "optimism", "sadness")),
    "hate": Task(f"{ENGLISH}-hate", ENGLISH, ("non_hate", "hate")),
    "offensive": Task(f"{ENGLISH}-offensive", ENGLISH, ("non_offensive", "offensive")),
}
NAMES_MODELS = (*(task.classifier for task in TASKS.values()), MULTILINGUAL, ENGLISH)


@dataclass(frozen=True)
class HerbDesign(PaperDesign):
    """Tables of HERB."""

    regions: RegionsDesign = field(repr=False)
    wordings: RegionsDesign = field(repr=False)  # the same, with topics left out and replaced as the tables need it
    datasets: dict[str, Dataset]


@dataclass(frozen=True)
class NamesTablesDesign(PaperDesign):
    """Tables of Barriere and Cifuentes."""

    texts: dict[str, Texts] = field(repr=False)  # by language
    renaming: NamesDesign | None = field(repr=False)  # of the English texts, where a table needs it


def design_herb(tables: tuple[PublishedTable, ...], options: ReproduceOptions, dtype: str) -> HerbDesign:
    """Resolve the options; raise InputError for what is wrong with them, before any model is loaded."""
    _refuse_options("names", options, ("texts", "column", "finder", "draws", "perplexity_draws"))
    replacements = read_replacements("--model", options.model, HERB_MODELS)
    files = {name: file for name in PREFIXES if (file := getattr(options, name)) is not None}
    classifiers = read_replacements("--classifier", options.classifier, PREFIXES)
    datasets = design_datasets(files, classifiers, options.limit)
    numbers = [table.number for table in tables]
    cities = "all" if options.cities is None else options.cities
    regions = design_regions(RegionsOptions(cities=cities, **SCORE_ONLY), articles=False)
    wordings = design_regions(
        RegionsOptions(
            cities=cities,
            ablate="topics" if "3" in numbers else (),
            substitute="topics" if "6" in numbers else None,
            **SCORE_ONLY,
        ),
        articles=False,
    )
    assert regions.settings.cities is not None  # only a tree of the user's has none
    settings = HerbSettings(
        paper="herb",
        tables=numbers,
        models={name: replacements.get(name, name) for name in HERB_MODELS},
        score=HERB_SCORE,
        template=DEFAULT_TEMPLATE,
        cities=regions.settings.cities,
        regions_digest=regions.settings.regions_digest,
        datasets={name: dataset.settings for name, dataset in datasets.items()},
        limit=options.limit,
        dtype=dtype,
    )
    return HerbDesign(tables, replacements, settings, regions, wordings, datasets)


def design_names_tables(
    tables: tuple[PublishedTable, ...], options: ReproduceOptions, device: str, dtype: str
) -> NamesTablesDesign:
    """Resolve the options; raise InputError for what is wrong with them, before any model is loaded."""
    _refuse_options("herb", options, ("cities", *PREFIXES, "classifier"))
    by_language = options.texts if isinstance(options.texts, Mapping) else {"en": options.texts}
    sources = {language or "en": source for language, source in by_language.items()}
    for language in sources.keys() - set(LANGUAGES.values()):
        raise InputError(f"No table has the language {language!r}. {describe_choices(language, LANGUAGES.values())}")
    sources = {language: None if source is None else {language: source} for language, source in sources.items()}
    replacements = read_replacements("--model", options.model, NAMES_MODELS)
    text_options: dict[str, Any] = {"column": options.column or "text", "limit": options.limit}
    texts_by_language = {language: load_texts(source, **text_options) for language, source in sources.items()}
    draws = DRAWS if options.draws is None else options.draws
    perplexity_draws = draws if options.perplexity_draws is None else min(options.perplexity_draws, draws)
    numbers = [table.number for table in tables]
    renaming = None
    if "en" in sources and {"1", "5"} & set(numbers):
        names_options = NamesOptions(
            texts=sources["en"],
            **text_options,
            finder=options.finder,
            doubtful="keep",  # the paper renamed whatever its finder marked
            draws=draws,
            perplexity_draws=perplexity_draws if "5" in numbers else 0,
        )
        renaming = design_names(names_options, device)
    settings = NamesTablesSettings(
        paper="names",
        tables=numbers,
        models={name: replacements.get(name, name) for name in NAMES_MODELS},
        texts={language: TextsSettings.describe(each) for language, each in texts_by_language.items()},
        draws=draws,
        perplexity_draws=perplexity_draws,
        finder=options.finder,
        dtype=dtype,
    )
    return NamesTablesDesign(tables, replacements, settings, texts_by_language, renaming)


def read_replacements(
    option: str, replacements: Mapping[str, str] | Sequence[str], published: Iterable[str]
) -> dict[str, str]:
    """PUBLISHED=LOCAL, one or several, as a dictionary; InputError for a name that the paper does not have."""
    names = list(published)
    if isinstance(replacements, str):
        replacements = [replacements]
    if not isinstance(replacements, Mapping):
        for text in replacements:
            if not text.partition("=")[2]:
                raise InputError(f"{option} must be PUBLISHED=LOCAL, such as {names[0]}=FOLDER, not {text!r}.")
        replacements = dict(text.split("=", 1) for text in replacements)
    for name, local in replacements.items():
        if name not in names:
            raise InputError(f"{option} {name!r} is not in the paper's tables. {describe_choices(name, names)}")
        locate_weights(local)
    return dict(replacements)


def _refuse_options(paper: str, options: ReproduceOptions, names: Iterable[str]) -> None:
    """Refuse the first of these options that is given though only the other paper has it."""
    for name in names:
        value = getattr(options, name)
        is_empty = isinstance(value, list | tuple | dict) and not value
        if value is not None and not is_empty:
            raise InputError(f"--{name.replace('_', '-')} is only for `geobias reproduce {paper}`. Remove it.")
