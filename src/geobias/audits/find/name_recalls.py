"""The recall of every single name: where to look when a country is low."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from geobias.audits.find.answers import FinderAnswers, Outcome
from geobias.audits.find.design import FindDesign
from geobias.audits.find.result import NameRecall

Positions = dict[tuple[int, str, str], list[tuple[int, int]]]


def locate_names(design: FindDesign) -> Positions:
    """By country, kind and name: the mentions that show it, alone or with another name, and in which draws."""
    counterfactuals = design.counterfactuals
    positions: Positions = defaultdict(list)
    for m, each in enumerate(design.mentions):
        kinds = counterfactuals.first_kinds(each.text)[each.person]
        for c in range(len(counterfactuals.countries)):
            for draw, new in enumerate(counterfactuals.new_names(each.text, c)[each.person]):
                if "first" in each.mention.parts:
                    positions[c, kinds[draw] or "", new.first].append((m, draw))
                if "last" in each.mention.parts:
                    positions[c, "last", new.last].append((m, draw))
    return positions


def list_name_recalls(design: FindDesign, positions: Positions, answers: FinderAnswers) -> list[NameRecall]:
    """Every name, from the lowest recall to the highest."""
    gazetteer, codes = design.counterfactuals.gazetteer, design.counterfactuals.countries
    is_hit = answers.renamed == Outcome.RECALL
    recalls = []
    for (c, kind, name), pairs in positions.items():
        mentions, draws = np.array(pairs).T
        hits = is_hit[mentions, c, draws]
        recalls.append(NameRecall(name, gazetteer.country(codes[c]), codes[c], kind, len(hits), float(hits.mean())))
    return sorted(recalls, key=lambda recall: (recall.recall, -recall.mentions))
