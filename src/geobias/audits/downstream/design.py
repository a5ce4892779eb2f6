"""What reaches the applications: put "I am from REGION." before real texts, and see how classifiers change their mind.

HERB's section 4.5 (Table 4, Figure 4). Any sentence before a text changes it; so one that names no region, the
control, is put there too, and every region is told against it. What follows from the answers is in
`downstream_result`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from geobias.audits.downstream.result import DownstreamResult, Judgement, Place
from geobias.audits.inputs import city_count, given_texts, listed
from geobias.audits.labels import main_label, true_labels
from geobias.audits.model_identity import model_identity
from geobias.checks import check_probability, check_size
from geobias.engine.ask import ask
from geobias.errors import InputError
from geobias.models.classifiers.prompted import Prompt, refuse_unused_prompt
from geobias.models.scorer import Classifier
from geobias.texts.defaults import DEFAULT_PREFIX
from geobias.texts.prefixes import PrefixedTexts, checked_prefix, control_for
from geobias.texts.templates import REGION
from geobias.texts.user_texts import Texts
from geobias.world.regions import RegionTree, world

KINDS = ("countries", "cities", "city-country")
SAMPLE = 30  # of the tweets inside: 247 countries and four classifiers are then a few minutes on two cores


@dataclass(frozen=True)
class DownstreamQuestion:
    """What is asked of every classifier alike."""

    texts: Texts = field(repr=False)
    places: tuple[Place, ...] = field(repr=False)
    prefixed: PrefixedTexts = field(repr=False)  # the control's prefix is the first
    without_city: tuple[str, ...]  # countries of which no city is known
    positive: str | None
    threshold: float | None
    settings: dict[str, Any] = field(repr=False)
    prompt: Prompt | None = None  # how language models among the classifiers are asked for a label

    def settings_for(self, classifiers: Sequence[str]) -> dict[str, Any]:
        """What tells a run from another: this question, put to these classifiers."""
        return {**self.settings, "classifiers": list(classifiers)}


def question(
    *,
    texts: Any = None,
    column: str = "text",
    label: str | None = None,
    limit: int | None = None,
    prefix: str = DEFAULT_PREFIX,
    control: str | None = None,
    regions: str = "countries",
    cities: int | str | None = None,
    continents: str | Sequence[str] = (),
    countries: str | Sequence[str] = (),
    positive: str | None = None,
    threshold: float | None = None,
    prompt: Prompt | None = None,
) -> DownstreamQuestion:
    """Resolve the options into texts and regions; what is wrong with them is found here, before any work."""
    if regions not in KINDS:
        raise InputError(f"--regions is {', '.join(KINDS[:-1])} or {KINDS[-1]}, not {regions!r}.")
    check_probability("--threshold", threshold)
    prefix = checked_prefix(prefix)
    control = control_for(prefix, control)
    count = _cities(regions, cities)
    narrowed = listed(continents, "--continents"), listed(countries, "--countries")
    tree = world(cities=count, continents=narrowed[0], countries=narrowed[1])
    places, without_city = _places(tree, regions)
    given = given_texts(texts, column=column, label=label, limit=limit, sample=SAMPLE)
    check_size(len(given) * (len(places) + 1), "texts with a prefix", "use fewer regions or texts (--limit)")
    prefixes = [control, *(prefix.replace(REGION, place.name) for place in places)]
    settings = {
        "texts": {"source": given.source, "count": len(given), "digest": given.digest},
        "prefix": prefix,
        "control": control,
        "regions": regions,
        "cities": "all" if count is None else count,
        "continents": sorted(narrowed[0]) or "all",
        "countries": sorted(narrowed[1]) or "all",
        "regions_digest": tree.digest,
        "positive": positive or "by name",
        "threshold": threshold,
    } | ({"prompt": prompt.settings} if prompt else {})
    return DownstreamQuestion(
        given, places, PrefixedTexts(given.texts, prefixes), without_city, positive, threshold, settings, prompt
    )


def _cities(regions: str, cities: int | str | None) -> int | None:
    if regions == "countries":
        if cities is not None:
            raise InputError("--cities is for --regions cities or city-country: leave it out, or ask for one of them.")
        return 0
    return city_count(1 if cities is None else cities, fewest=1)


def _places(tree: RegionTree, regions: str) -> tuple[tuple[Place, ...], tuple[str, ...]]:
    """The regions that are asked about, each as the text will name it; and the countries of which no city is known."""
    at = [i for i, region in enumerate(tree.regions) if region.level == "country"]
    if regions == "countries":
        return tuple(Place(tree.regions[i].id, tree.regions[i].name, tree.regions[i].id) for i in at), ()
    places = []
    for i in at:
        country = tree.regions[i]
        for city in (tree.regions[k] for k in tree.children[i]):
            name = f"{city.name}, {country.name}" if regions == "city-country" else city.name
            places.append(Place(city.id, name, country.id))
    without = tuple(tree.regions[i].name for i in at if not len(tree.children[i]))
    if not places:
        raise InputError(
            f"No city is known in {', '.join(without)}: name other countries, or ask for --regions countries."
        )
    return tuple(places), without


def answer(
    asked: DownstreamQuestion, classifiers: Sequence[Classifier], *, progress: bool | None = None
) -> DownstreamResult:
    """Put the question to every classifier."""
    refuse_unused_prompt(asked.prompt, classifiers)
    # Before the first is asked: a label that the last does not have must not cost an hour.
    shown = [main_label(one.name, one.labels, asked.positive) for one in classifiers]
    truths = [
        true_labels(asked.texts, one.name, one.labels, several_fit=one.multi_label or asked.threshold is not None)
        for one in classifiers
    ]
    return DownstreamResult(
        texts=asked.texts,
        places=asked.places,
        control=asked.prefixed.prefixes[0],
        without_city=asked.without_city,
        settings=asked.settings_for([one.name for one in classifiers]),
        judgements=tuple(
            _judged(asked, one, label, truth, notes, progress)
            for one, label, (truth, notes) in zip(classifiers, shown, truths, strict=True)
        ),
    )


def _judged(
    asked: DownstreamQuestion,
    classifier: Classifier,
    shown: int,
    truth: np.ndarray | None,
    notes: tuple[str, ...],
    progress: bool | None,
) -> Judgement:
    labels = tuple(classifier.labels)
    originals = ask(classifier, asked.texts.texts, label=classifier.name, progress=progress)
    prefixed = ask(classifier, asked.prefixed, label=classifier.name, progress=progress)
    # Half the memory: there may be a thousand texts before each of 34,000 cities, and rounding is below `ROUNDING`.
    before = originals.scores[:, : len(labels)].astype(np.float32)
    after = prefixed.scores[:, : len(labels)].astype(np.float32).reshape(*asked.prefixed.shape[:2], len(labels))
    return Judgement(
        model=model_identity(classifier),
        labels=labels,
        multi_label=classifier.multi_label,
        shown=shown,
        threshold=asked.threshold if asked.threshold is not None else 0.5 if classifier.multi_label else None,
        original=before,
        prefixed=after,
        truth=truth,
        counts={
            "texts_cut": originals.cut,
            "prefixed_texts": len(prefixed.scores),
            "distinct_prefixed_texts": prefixed.distinct,
            "prefixed_texts_cut": prefixed.cut,
        },
        work={"texts_scored": originals.scored, "prefixed_texts_scored": prefixed.scored},
        notes=notes,
    )
