"""The design of a downstream audit: which texts, which regions, and the sentence put before each text.

After HERB's section 4.5 (Table 4, Figure 4). Any sentence before a text changes it; so one that names no region, the
control, is put there too, and every region is compared with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from geobias.audits.downstream.result import DownstreamSettings, Place
from geobias.audits.inputs import TextsSettings, load_texts, parse_city_count, split_list
from geobias.audits.languages import doubt_prefix
from geobias.checks import check_probability, check_size, describe_choices
from geobias.errors import InputError
from geobias.models.classifiers.prompted import Prompt, read_prompt_options
from geobias.report.findings import LanguageDoubt
from geobias.texts.copies import find_first_copies
from geobias.texts.defaults import DEFAULT_PREFIX
from geobias.texts.templates import PrefixedTexts, check_prefix, make_control_prefix
from geobias.texts.user_texts import Texts
from geobias.world.place_in_sentence import put_place
from geobias.world.regions import Region, RegionTree, load_world

KINDS = ("countries", "cities", "city-country")
SAMPLE = 30  # of the bundled tweets: 245 countries and four classifiers are then a few minutes on two cores


@dataclass(frozen=True, kw_only=True)
class DownstreamOptions:
    """The options of `audit_downstream`, as the user gives them."""

    texts: Any = None
    column: str = "text"
    label: str | None = None
    limit: int | None = None
    prefix: str = DEFAULT_PREFIX
    control: str | None = None
    regions: str = "countries"
    cities: int | str | None = None
    continents: str | Sequence[str] = ()
    countries: str | Sequence[str] = ()
    positive: str | None = None
    threshold: float | None = None
    labels: str | None = None
    prompt: str | None = None
    calibrate: bool = False


@dataclass(frozen=True)
class DownstreamDesign:
    """What is the same for every classifier."""

    texts: Texts = field(repr=False)
    places: tuple[Place, ...] = field(repr=False)
    prefixed: PrefixedTexts = field(repr=False)  # the control's prefix is the first
    without_city: tuple[str, ...]  # countries without a known city
    dissolved: tuple[str, ...]  # countries that no longer exist, left out
    positive: str | None
    threshold: float | None
    prompt: Prompt | None  # for language models among the classifiers
    language_doubts: list[LanguageDoubt]
    settings: DownstreamSettings = field(repr=False)  # without the classifiers

    @property
    def control(self) -> str:
        return self.prefixed.prefixes[0]

    def settings_for(self, classifiers: Sequence[str]) -> DownstreamSettings:
        return replace(self.settings, classifiers=list(classifiers))


def design_downstream(options: DownstreamOptions) -> DownstreamDesign:
    """Resolve the options into texts and regions; raise InputError for what is wrong with them, before any work."""
    regions = options.regions
    if regions not in KINDS:
        raise InputError(f"Unknown --regions {regions!r}. {describe_choices(regions, KINDS)}")
    check_probability("--threshold", options.threshold)
    prefix = check_prefix(options.prefix)
    control = make_control_prefix(prefix, options.control)
    count = _cities(regions, options.cities)
    continents = split_list(options.continents, "--continents")
    countries = split_list(options.countries, "--countries")
    tree = load_world(cities=count, continents=continents, countries=countries, dissolved=False)
    left_out = _list_left_out(tree, continents, countries)
    places, without_city = _places(tree, regions)
    texts = load_texts(options.texts, column=options.column, label=options.label, limit=options.limit, sample=SAMPLE)
    texts = texts.drop_copies(find_first_copies(texts.texts, texts.spans))
    check_size(len(texts) * (len(places) + 1), "texts with a prefix", "Use fewer regions or texts (--limit)")
    prefixes = [control, *(put_place(prefix, place.in_sentence) for place in places)]
    prompt = read_prompt_options(options.labels, options.prompt, options.calibrate)
    settings = DownstreamSettings(
        texts=TextsSettings.describe(texts),
        prefix=prefix,
        control=control,
        regions=regions,
        cities="all" if count is None else count,
        continents=_list_ids(tree, "continent") if continents else "all",
        countries=_list_ids(tree, "country") if countries else "all",
        regions_digest=tree.digest,
        positive=options.positive or "by name",
        threshold=options.threshold,
        classifiers=[],
        prompt=prompt.settings if prompt else None,
    )
    prefixed = PrefixedTexts(texts.texts, prefixes)
    return DownstreamDesign(
        texts,
        places,
        prefixed,
        without_city,
        left_out,
        options.positive,
        options.threshold,
        prompt,
        doubt_prefix(texts.texts, prefix),
        settings,
    )


def _list_ids(tree: RegionTree, level: str) -> list[str]:
    """The codes of a level, whichever way the user wrote them."""
    return sorted(region.id for region in tree.regions if region.level == level)


def _list_left_out(tree: RegionTree, continents: Sequence[str], countries: Sequence[str]) -> tuple[str, ...]:
    """The countries that the tree lacks because they no longer exist."""
    codes = set(_list_ids(tree, "country"))
    complete = load_world(cities=0, continents=continents, countries=countries)
    return tuple(r.name for r in complete.regions if r.level == "country" and r.id not in codes)


def _cities(regions: str, cities: int | str | None) -> int | None:
    if regions == "countries":
        if cities is not None:
            raise InputError("--cities needs --regions cities or city-country. Add one of them, or remove --cities.")
        return 0
    return parse_city_count(1 if cities is None else cities, fewest=1)


def _place_country(region: Region) -> Place:
    return Place(region.id, region.name, region.id, region.in_sentence)


def _places(tree: RegionTree, regions: str) -> tuple[tuple[Place, ...], tuple[str, ...]]:
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
