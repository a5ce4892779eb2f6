"""The design of a reproduction: which tables of which paper, and which models and texts are used for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from geobias.audits.inputs import TextsSettings, load_texts
from geobias.audits.names.design import NamesDesign, design_names
from geobias.audits.regions.design import RegionsDesign, design_regions
from geobias.audits.reproduce.models import read_replacements
from geobias.audits.reproduce.prefix_tables import PREFIXES, Dataset, design_datasets
from geobias.audits.reproduce.published import PublishedTable, choose_tables
from geobias.audits.reproduce.result import HerbSettings, NamesTablesSettings
from geobias.errors import InputError
from geobias.texts.defaults import DEFAULT_TEMPLATE
from geobias.texts.user_texts import Texts

ALBERT = "albert-base-v2"
HERB_MODELS = ("bert-base-cased", ALBERT, "roberta-base", "facebook/bart-base")
HERB_SCORE = "aul"
MULTILINGUAL, ENGLISH = "cardiffnlp/twitter-xlm-roberta-base", "cardiffnlp/twitter-roberta-base"
LANGUAGES = {"English": "en", "Dutch": "nl", "Spanish": "es", "Hindi": "hi", "Malayalam": "ml", "Turkish": "tr",
             "Basque": "eu", "Maori": "mi"}  # fmt: skip
DRAWS = 50


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
class HerbDesign:
    """Tables of HERB."""

    tables: tuple[PublishedTable, ...]
    replacements: dict[str, str]  # by published model
    regions: RegionsDesign = field(repr=False)
    wordings: RegionsDesign = field(repr=False)  # the same, with topics left out and replaced as the tables need it
    datasets: dict[str, Dataset]
    settings: HerbSettings = field(repr=False)

    def has(self, *numbers: str) -> bool:
        """Whether any of these tables is wanted."""
        return any(table.number in numbers for table in self.tables)


@dataclass(frozen=True)
class NamesTablesDesign:
    """Tables of Barriere and Cifuentes."""

    tables: tuple[PublishedTable, ...]
    replacements: dict[str, str]
    texts: dict[str, Texts] = field(repr=False)  # by language
    renaming: NamesDesign | None = field(repr=False)  # of the English texts, where a table needs it
    perplexity_draws: int
    settings: NamesTablesSettings = field(repr=False)

    def has(self, *numbers: str) -> bool:
        """Whether any of these tables is wanted."""
        return any(table.number in numbers for table in self.tables)


def design_reproduction(
    paper: str,
    *,
    table: str | Sequence[str] = (),
    model: Mapping[str, str] | Sequence[str] = (),
    cities: int | str | None = None,
    hatespeech18: str | Path | None = None,
    imdb: str | Path | None = None,
    classifier: Mapping[str, str] | Sequence[str] = (),
    texts: Any = None,
    column: str | None = None,
    finder: str | None = None,
    draws: int | None = None,
    perplexity_draws: int | None = None,
    limit: int | None = None,
    device: str = "auto",
    dtype: str = "float32",
) -> HerbDesign | NamesTablesDesign:
    """Resolve the options; raise InputError for what is wrong with them, before any model is loaded."""
    tables = choose_tables(paper, [table] if isinstance(table, str) else table)
    files = {name: file for name, file in {"imdb": imdb, "hatespeech18": hatespeech18}.items() if file is not None}
    if paper == "herb":
        names_options = {"texts": texts, "column": column, "finder": finder, "draws": draws}
        _refuse_options("names", {**names_options, "perplexity_draws": perplexity_draws})
        return _design_herb(tables, model, "all" if cities is None else cities, files, classifier, limit, dtype)
    _refuse_options("herb", {"cities": cities, **files, "classifier": classifier or None})
    sources = texts if isinstance(texts, Mapping) else {"en": texts}
    sources = {language or "en": source for language, source in sources.items()}
    for language in sources.keys() - set(LANGUAGES.values()):
        raise InputError(f"No table has the language {language!r}: choose of {', '.join(LANGUAGES.values())}.")
    replacements = read_replacements("--model", model, NAMES_MODELS)
    text_options: dict[str, Any] = {"column": column or "text", "limit": limit}
    texts_by_language = {
        language: load_texts(None if source is None else {language: source}, **text_options)
        for language, source in sources.items()
    }
    draws = DRAWS if draws is None else draws
    perplexity_draws = draws if perplexity_draws is None else min(perplexity_draws, draws)
    renaming = None
    if "en" in sources and any(each.number in ("1", "5") for each in tables):
        english = None if sources["en"] is None else {"en": sources["en"]}
        renaming = design_names(texts=english, **text_options, finder=finder, draws=draws, device=device)
    settings = NamesTablesSettings(
        paper="names",
        tables=[each.number for each in tables],
        models={name: replacements.get(name, name) for name in NAMES_MODELS},
        texts={language: TextsSettings.describe(each) for language, each in texts_by_language.items()},
        draws=draws,
        perplexity_draws=perplexity_draws,
        finder=finder,
        dtype=dtype,
    )
    return NamesTablesDesign(tables, replacements, texts_by_language, renaming, perplexity_draws, settings)


def _design_herb(
    tables: tuple[PublishedTable, ...],
    model: Mapping[str, str] | Sequence[str],
    cities: int | str,
    files: Mapping[str, str | Path],
    classifier: Mapping[str, str] | Sequence[str],
    limit: int | None,
    dtype: str,
) -> HerbDesign:
    replacements = read_replacements("--model", model, HERB_MODELS)
    datasets = design_datasets(files, read_replacements("--classifier", classifier, PREFIXES), limit)
    numbers = [table.number for table in tables]
    regions = design_regions(cities=cities)
    wordings = design_regions(
        cities=cities, ablate="topics" if "3" in numbers else (), substitute="topics" if "6" in numbers else None
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
        limit=limit,
        dtype=dtype,
    )
    return HerbDesign(tables, replacements, regions, wordings, datasets, settings)


def _refuse_options(paper: str, options: Mapping[str, Any]) -> None:
    for option in (option for option, value in options.items() if value is not None):
        raise InputError(f"--{option.replace('_', '-')} is for `geobias reproduce {paper}`: leave it out.")
