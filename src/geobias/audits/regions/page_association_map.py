"""Associations on the world map: its measures, and every word of every country for its colours and its panel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from geobias.audits.regions.association_findings import name_controls
from geobias.audits.regions.association_records import Association, RegionAssociation, WordAssociation, list_compared
from geobias.audits.regions.files import read_associations
from geobias.audits.regions.result import RegionsResult
from geobias.measures.estimates import Estimate, Estimates
from geobias.report.colours import NEUTRAL_SCHEME
from geobias.report.page.blocks import MapMeasure, Row
from geobias.report.page.world_map import list_numbers
from geobias.report.runs import FinishedRun
from geobias.texts.paraphrases import paraphrase_templates
from geobias.world.places import name_people
from geobias.world.words import Word

INVENTED = "invented places"
PRECISION = 1000  # cells are whole thousandths of a nat: half the size of ratios with four digits


def country_association(result: RegionsResult) -> Association | None:
    """The associations of countries; None where other regions were compared, or none."""
    association = result.association
    return association if association and association.level == "country" else None


def association_measures(association: Association) -> Iterator[MapMeasure]:
    """How favourably countries are described, and how much what is said of them differs from the average."""
    regions = list_compared(association)
    valences = {region.id: region.valence for region in regions if region.valence is not None}
    if valences:
        yield MapMeasure(
            "Favourable words",
            "times as likely",
            "How many times as likely favourable words are, relative to unfavourable ones, as of the average country. "
            "Blue is more favourable, orange less.",
            valences,
            baseline=name_controls(association),
            centre=1,
            tone=1,
            is_ratio=True,
        )
    distinctness = {region.id: region.distinctness for region in regions if region.distinctness is not None}
    yield MapMeasure(
        "Strength of associations",
        "times" if not distinctness else "times that of invented places",
        "How far a typical word (root mean square) is from the average country, relative to other words: 1.5 is 1.5 "
        "times as likely, or as unlikely. It says how much, not what."
        if not distinctness
        else "How much what is said depends on the country (root mean square over words), divided by the same for "
        "invented places: 1 is no more than a name without meaning. It says how much, not what.",
        distinctness
        or {region.id: Estimate(float(np.exp(region.strength)), None, None, None, None) for region in regions},
        baseline=INVENTED,
        is_ratio=True,
    )


def association_words(run: FinishedRun[RegionsResult], association: Association) -> Row:
    """What the page's script needs of every word and topic (`words.js`)."""
    regions, words = list_compared(association), association.words
    subject = "demonym" if association.subject == "demonym" else "region"
    frames = [
        paraphrase_templates(Word(word.word, word.topic, part_of_speech=word.part_of_speech), subject)[0]
        for word in words
    ]
    distinct_frames, estimates = list(dict.fromkeys(frames)), read_associations(run)
    topics: dict[str, list[int]] = {}
    for position, word in enumerate(words):
        topics.setdefault(word.topic, []).append(position)
    positions_of_words = {word.word: position for position, word in reversed(list(enumerate(words)))}

    def find_positions(typical: Sequence[WordAssociation]) -> list[int]:
        return list(dict.fromkeys(positions_of_words[each.word] for each in typical))

    has_several = len(topics) > 1  # the mean over the words of a single topic is 0
    return {
        "reading": "Times as likely as of the average country, relative to other words: green is more often, purple "
        f"less. 95 % intervals are of each country alone, over {association.paraphrases} paraphrases, what a name "
        "alone may do and, for a topic, its words.",
        "baseline": name_controls(association),
        "scheme": NEUTRAL_SCHEME,
        "names": [word.word for word in words],
        "frames": distinct_frames,
        "frame": [distinct_frames.index(frame) for frame in frames],
        "people": _name_people(regions) if subject == "demonym" else {},
        "topics": [
            {
                "topic": topic,
                "words": positions,
                "countries": {
                    region.id: list_numbers(region.topics[topic])
                    for region in regions
                    if has_several and topic in region.topics
                },
            }
            for topic, positions in topics.items()
        ],
        "cells": {region.id: _list_cells(estimates.part(row)) for row, region in enumerate(regions)},
        "salient": {
            region.id: {"more": find_positions(region.more), "less": find_positions(region.less)} for region in regions
        },
    }


def _name_people(regions: Sequence[RegionAssociation]) -> dict[str, str]:
    """What the people of each country are called, which sentences about demonyms name instead of it."""
    return {region.id: name_people(region.level, region.id) or region.name for region in regions}


def _list_cells(estimates: Estimates) -> list[float | None]:
    """Value, bounds and adjusted p-value of every word of a country, one after the other."""
    nats = [np.round(PRECISION * numbers) for numbers in (estimates.value, estimates.low, estimates.high)]
    numbers = np.column_stack([*nats, estimates.p_adjusted]).ravel().tolist()
    return [None if not np.isfinite(each) else int(each) if each % 1 == 0 else float(f"{each:.2g}") for each in numbers]
