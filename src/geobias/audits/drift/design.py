"""The design of a drift audit: what a masked language model is trained on, and what is scored after every epoch.

After HERB's section 4.7 (Figure 5). The model is trained on the sentences about countries that it finds likeliest
itself, or on the user's texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from geobias.audits.drift.result import CorpusSettings, DriftSettings
from geobias.audits.inputs import load_texts, split_list
from geobias.audits.regions.design import SCORE_ONLY, RegionsDesign, RegionsOptions, design_regions
from geobias.checks import HIGHEST_SEED, LARGEST_BATCH, MOST_EPOCHS, check_number, describe_choices
from geobias.errors import InputError
from geobias.models.load import check_method
from geobias.texts.defaults import DEFAULT_TEMPLATE
from geobias.texts.user_texts import Texts
from geobias.world.words import Word

DEFAULT_LEVELS, DEFAULT_TOP, MOST_SENTENCES = "country", 20, 100_000
OPTIMISER, HIGHEST_RATE = "SGD", 1000


@dataclass(frozen=True, kw_only=True)
class DriftOptions:
    """The options of `audit_drift`, as the user gives them, without the model."""

    texts: Any = None
    column: str = "text"
    levels: str | Sequence[str] | None = None
    top: int | None = None
    epochs: int = 20
    rate: float = 5e-5
    batch: int = 32
    seed: int = 0
    score: str = "aul"
    cities: int | str = 0
    continents: str | Sequence[str] = ()
    countries: str | Sequence[str] = ()
    words: str | Path | Sequence[str | Word] | None = None
    templates: str | Sequence[str] = DEFAULT_TEMPLATE


@dataclass(frozen=True)
class DriftDesign:
    """What is scored after every epoch, and how the model is trained in between."""

    regions: RegionsDesign = field(repr=False)
    texts: Texts | None = field(repr=False)  # None: the sentences that the model finds likeliest
    levels: tuple[str, ...]
    top: int
    settings: DriftSettings = field(repr=False)  # without a model

    @property
    def rows(self) -> list[int]:
        """The regions that are measured: the root and those directly below it, if they have a score."""
        children = self.regions.tree.children
        return [row for row in (0, *map(int, children[0])) if len(children[row]) > 1]

    def settings_for(self, model: str) -> DriftSettings:
        return replace(self.settings, model=model)


def design_drift(options: DriftOptions) -> DriftDesign:
    """Resolve the options; raise InputError for what is wrong with them, before any work."""
    top = DEFAULT_TOP if options.top is None else options.top
    check_number("--epochs", options.epochs, 1, MOST_EPOCHS)
    check_number("--batch", options.batch, 1, LARGEST_BATCH)
    check_number("--top", top, 1, MOST_SENTENCES)
    check_number("--seed", options.seed, 0, HIGHEST_SEED)
    if not 0 < options.rate < HIGHEST_RATE:
        raise InputError(f"--rate must be above 0 and below {HIGHEST_RATE}, such as 5e-5, not {options.rate}.")
    regions = design_regions(
        RegionsOptions(
            cities=options.cities,
            continents=options.continents,
            countries=options.countries,
            words=options.words,
            templates=options.templates,
            **SCORE_ONLY,
        ),
        articles=False,
    )
    if options.texts is not None and (options.levels is not None or options.top is not None):
        raise InputError("--levels and --top choose the model's own sentences. Remove them, or remove --texts.")
    if options.texts is None and options.column != "text":
        raise InputError("--column needs --texts.")
    texts = None if options.texts is None else load_texts(options.texts, column=options.column)
    regions_settings = regions.settings_for("", check_method(options.score))
    levels = _resolve_levels(options.levels, regions)
    if texts is None:
        corpus = CorpusSettings("toxic", levels=list(levels), top=top)
    else:
        corpus = CorpusSettings("texts", source=texts.source, digest=texts.digest)
    settings = DriftSettings(
        **vars(regions_settings),
        corpus=corpus,
        optimiser=OPTIMISER,
        rate=options.rate,
        epochs=options.epochs,
        batch=options.batch,
        seed=options.seed,
    )
    design = DriftDesign(regions, texts, levels, top, settings)
    if not design.rows:
        raise InputError(
            "Nothing to measure: neither the root region nor one of its sub-regions has two sub-regions. Add regions."
        )
    return design


def _resolve_levels(levels: str | Sequence[str] | None, regions: RegionsDesign) -> tuple[str, ...]:
    """The levels whose sentences the model is trained on, if their regions are scored."""
    names = tuple(dict.fromkeys(split_list(DEFAULT_LEVELS if levels is None else levels, "--levels")))
    known = dict.fromkeys(region.level for region in regions.tree.regions[1:])
    for level in names:
        if level not in known:
            hint = " Add cities with --cities." if level == "city" else ""
            raise InputError(f"The regions have no level {level!r}. {describe_choices(level, known)}{hint}")
    return names
