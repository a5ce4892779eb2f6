"""Texts in which a finder misses a new name, though it finds the original one; from the outcomes in memory."""

from __future__ import annotations

import numpy as np

from geobias.audits.find.outcomes import Outcome
from geobias.audits.find.result import FinderMeasures, FindResult
from geobias.report.findings import MOST_EXAMPLES, ExampleText

LABEL = "person"  # before and after: 1 where the name is marked as a person with the right ends, else 0


def list_examples(result: FindResult, entry: FinderMeasures, code: str) -> list[ExampleText]:
    """One mention of each text; nothing for a result that was read from a file."""
    answers = next((each for each in result.answers if each.model == entry.model), None)
    if answers is None:
        return []
    design = result.get_design()
    country = list(design.counterfactuals.countries).index(code)
    is_missed = (answers.renamed[:, country] != Outcome.RECALL) & (answers.original == Outcome.RECALL)[:, None]
    examples: dict[int, ExampleText] = {}
    for number, draw in np.argwhere(is_missed):
        mention = design.mentions[number]
        if mention.text in examples:
            continue
        changed, spans = design.counterfactuals.render(mention.text, country, int(draw))
        start, end = spans[number - design.first_mentions[mention.text]]
        row = int(design.named[mention.text])
        original = design.texts.texts[row]
        examples[mention.text] = ExampleText(
            text_id=design.texts.ids[row],
            original=original,
            changed=changed,
            label=LABEL,
            before=1.0,
            after=0.0,
            original_names=[original[slice(*mention.span)]],
            changed_names=[changed[start:end]],
        )
        if len(examples) == MOST_EXAMPLES:
            break
    return list(examples.values())
