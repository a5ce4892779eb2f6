"""The design of a downstream audit: which texts, which regions, and the sentence put before each text.

After HERB's section 4.5 (Table 4, Figure 4). Any sentence before a text changes it; so sentences that name no region,
the controls, are put there too, and so are the names of invented places, which mean nothing: what they do is done by
names. Each text meets each place once, with one of the wordings in turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from geobias.audits.doubts import doubt_prefix
from geobias.audits.downstream.answers import Place
from geobias.audits.downstream.result import DownstreamSettings
from geobias.audits.inputs import TextsSettings, load_texts
from geobias.checks import check_size, describe_choices, parse_city_count, split_list
from geobias.errors import InputError
from geobias.models.answers import Prompt
from geobias.report.findings import LanguageDoubt
from geobias.texts import DEFAULT_WORDINGS
from geobias.texts.templates import PrefixedTexts, check_prefix, make_control_prefix
from geobias.texts.user_texts import Texts, find_first_copies
from geobias.world.places import invent_places, put_place
from geobias.world.regions import Region, RegionTree, load_world

KINDS = ("countries", "cities", "city-country")
MOST_INVENTED, FEWEST_INVENTED = 60, 20
SAMPLE = 30  # of the bundled tweets: 245 countries and four classifiers are then a few minutes on two cores


@dataclass(frozen=True)
class PlaceSelection:
    """The places to name, and what was chosen to get them."""

    places: tuple[Place, ...] = field(repr=False)
    without_city: tuple[str, ...]  # countries without a known city
    dissolved: tuple[str, ...]  # countries that no longer exist, left out
    settings: dict[str, Any] = field(repr=False)  # of `DownstreamSettings`


@dataclass(frozen=True)
class DownstreamDesign:
    """What is the same for every classifier."""

    texts: Texts = field(repr=False)
    selection: PlaceSelection
    prefixed: PrefixedTexts = field(repr=False)  # the controls, the places, then the invented places
    positive: str | None
    threshold: float | None
    prompt: Prompt | None  # for language models among the classifiers
    language_doubts: list[LanguageDoubt]
    settings: DownstreamSettings = field(repr=False)  # without the classifiers
    invented: tuple[str, ...] = field(default=(), repr=False)  # as they stand in a sentence

    @property
    def places(self) -> tuple[Place, ...]:
        return self.selection.places

    @property
    def control(self) -> str:
        """The first one."""
        return self.settings.controls[0]

    @property
    def controls(self) -> int:
        return len(self.settings.controls)

    @property
    def has_single_wording(self) -> bool:
        """Whether there is one prefix, or one control, which says nothing of others."""
        return min(len(set(self.settings.prefixes)), len(set(self.settings.controls))) < 2

    @property
    def rotation(self) -> np.ndarray:
        """texts x (places, then invented places): which wording of the prefix a text has."""
        return self.prefixed.rotation[:, self.controls :]

    @property
    def names_in_sentence(self) -> list[str]:
        """Those of the places, then the invented ones."""
        return [*(place.in_sentence for place in self.places), *self.invented]

    def settings_for(self, classifiers: Sequence[str]) -> DownstreamSettings:
        return replace(self.settings, classifiers=list(classifiers))


def design_downstream(
    texts: Texts,
    selection: PlaceSelection,
    wordings: Sequence[tuple[str, str]],
    *,
    positive: str | None,
    threshold: float | None,
    prompt: Prompt | None,
) -> DownstreamDesign:
    """Put every text after every control, place and invented place."""
    prefixes, controls = zip(*wordings, strict=True)
    invented = _invent_places(selection.places)
    columns: list[str | tuple[str, ...]] = [*controls]
    for name in (*(place.in_sentence for place in selection.places), *invented):
        versions = tuple(put_place(prefix, name) for prefix in prefixes)
        columns.append(versions if len(versions) > 1 else versions[0])
    check_size(len(texts) * len(columns), "texts with a prefix", "Use fewer regions or texts (--limit)")
    settings = DownstreamSettings(
        texts=TextsSettings.describe(texts),
        prefixes=list(prefixes),
        controls=list(controls),
        invented=list(invented),
        **selection.settings,
        positive=positive or "by name",
        threshold=threshold,
        classifiers=[],
        prompt=prompt.settings if prompt else None,
    )
    return DownstreamDesign(
        texts=texts,
        selection=selection,
        prefixed=PrefixedTexts(texts.texts, columns),
        positive=positive,
        threshold=threshold,
        prompt=prompt,
        language_doubts=doubt_prefix(texts.texts, prefixes[0]),
        settings=settings,
        invented=invented,
    )


def load_distinct_texts(source: Any, *, column: str, label: str | None, limit: int | None) -> Texts:
    texts = load_texts(source, column=column, label=label, limit=limit, sample=SAMPLE)
    return texts.drop_copies(find_first_copies(texts.texts, texts.spans))


def choose_wordings(
    prefix: str | Sequence[str] | None, control: str | Sequence[str] | None
) -> Sequence[tuple[str, str]]:
    """Each prefix with its control: the defaults, or the user's, with "here" in the control if there is none."""
    if not prefix and not control:
        return DEFAULT_WORDINGS
    given = [prefix] if isinstance(prefix, str) else prefix or [default for default, _ in DEFAULT_WORDINGS]
    prefixes = list(dict.fromkeys(map(check_prefix, given)))
    controls: list[str | None] = [control] if isinstance(control, str) else [*(control or (None,))]
    if len(controls) not in (1, len(prefixes)):
        raise InputError(
            f"{len(controls)} controls for {len(prefixes)} prefixes. Give one --control for each --prefix, or one."
        )
    pairs = zip(prefixes, controls * (len(prefixes) if len(controls) == 1 else 1), strict=True)
    return [(each, make_control_prefix(each, its_control)) for each, its_control in pairs]


def choose_places(
    regions: str, cities: int | str | None, continents: str | Sequence[str], countries: str | Sequence[str]
) -> PlaceSelection:
    """The countries or cities to name."""
    if regions not in KINDS:
        raise InputError(f"Unknown --regions {regions!r}. {describe_choices(regions, KINDS)}")
    count = _parse_cities(regions, cities)
    continents, countries = split_list(continents, "--continents"), split_list(countries, "--countries")
    tree = load_world(cities=count, continents=continents, countries=countries, dissolved=False)
    places, without_city = _choose_places(tree, regions)
    settings = {
        "regions": regions,
        "cities": "all" if count is None else count,
        "continents": _list_ids(tree, "continent") if continents else "all",
        "countries": _list_ids(tree, "country") if countries else "all",
        "regions_digest": tree.digest,
    }
    return PlaceSelection(places, without_city, _list_left_out(tree, continents, countries), settings)


def _invent_places(places: Sequence[Place]) -> tuple[str, ...]:
    """As many as there are places, within bounds: enough to see what names do, and no more than that costs."""
    names = [place.in_sentence for place in places]
    return invent_places(names, min(MOST_INVENTED, max(FEWEST_INVENTED, len(names))), avoid=names)


def _list_ids(tree: RegionTree, level: str) -> list[str]:
    """The codes of a level, whichever way the user wrote them."""
    return sorted(region.id for region in tree.regions if region.level == level)


def _list_left_out(tree: RegionTree, continents: Sequence[str], countries: Sequence[str]) -> tuple[str, ...]:
    """The countries that the tree lacks because they no longer exist."""
    codes = set(_list_ids(tree, "country"))
    complete = load_world(cities=0, continents=continents, countries=countries)
    return tuple(r.name for r in complete.regions if r.level == "country" and r.id not in codes)


def _parse_cities(regions: str, cities: int | str | None) -> int | None:
    if regions == "countries":
        if cities is not None:
            raise InputError("--cities needs --regions cities or city-country. Add one of them, or remove --cities.")
        return 0
    return parse_city_count(1 if cities is None else cities, fewest=1)


def _place_country(region: Region) -> Place:
    return Place(region.id, region.name, region.id, region.in_sentence)


def _choose_places(tree: RegionTree, regions: str) -> tuple[tuple[Place, ...], tuple[str, ...]]:
    """The regions, each as the prefix names it; and the countries without a known city."""
    rows = [i for i, region in enumerate(tree.regions) if region.level == "country"]
    if regions == "countries":
        return tuple(_place_country(tree.regions[i]) for i in rows), ()
    places = []
    for i in rows:
        country = tree.regions[i]
        for city in (tree.regions[k] for k in tree.children[i]):
            in_country = regions == "city-country"
            name = f"{city.name}, {country.name}" if in_country else city.name
            in_sentence = f"{city.in_sentence}, {country.in_sentence}" if in_country else city.in_sentence
            places.append(Place(city.id, name, country.id, in_sentence))
    without = tuple(tree.regions[i].name for i in rows if not len(tree.children[i]))
    if not places:
        raise InputError(
            f"geobias knows no city in {', '.join(without)}. Choose other countries, or --regions countries."
        )
    return tuple(places), without
