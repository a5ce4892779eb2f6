"""The regions audit as a task of lm-evaluation-harness: log P of every sentence, then the measures of geobias.

lm-evaluation-harness returns totals without numbers of tokens, so the score is `sum`, and the numbers are those of
`geobias regions MODEL --score sum --no-placebo --paraphrases 0`. `geobias_regions.yaml` names the functions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from geobias.audits.regions.audit import audit_regions
from geobias.audits.regions.design import SCORE_ONLY, RegionsDesign, RegionsOptions, design_regions
from geobias.audits.run_numbers import RunNumber, list_numbers
from geobias.integrations.recorded_answers import RecordedScorer

OPTIONS = ("cities", "continents", "countries", "tree", "words", "templates")  # of `geobias regions`
Answer = tuple[str, str, float]  # the options of the audit as JSON, a text, and its log-likelihood


def load_documents(**metadata: Any) -> dict[str, Any]:
    """Every sentence and every bare name of the audit as a dataset; the options are those of `--metadata`."""
    from datasets import Dataset  # lm-evaluation-harness has it

    options = {name: metadata[name] for name in OPTIONS if metadata.get(name) is not None}
    encoded = json.dumps(options, sort_keys=True)
    design = design_regions(RegionsOptions(**_with_defaults(options)))
    return {"test": Dataset.from_list([{"text": text, "options": encoded} for text in _list_texts(design)])}


def record_answer(document: Mapping[str, str], results: Sequence[tuple[float, bool]]) -> dict[str, Answer]:
    """One answer for each metric; the aggregations see all answers together."""
    answer = (document["options"], document["text"], float(results[0][0]))
    return dict.fromkeys(("c_w_balanced", "c_w_balanced_low", "c_w_balanced_high", "c_w_paper"), answer)


def aggregate_balanced(answers: Sequence[Answer]) -> float:
    """Balanced C_w of the whole world (or of the root of the tree)."""
    return _find_root_number(answers, "balanced").value


def aggregate_balanced_low(answers: Sequence[Answer]) -> float:
    """Lower end of its 95 % interval over words; NaN if there is none."""
    return _value_or_nan(_find_root_number(answers, "balanced").low)


def aggregate_balanced_high(answers: Sequence[Answer]) -> float:
    """Upper end of its 95 % interval over words; NaN if there is none."""
    return _value_or_nan(_find_root_number(answers, "balanced").high)


def aggregate_paper(answers: Sequence[Answer]) -> float:
    """C_w of the whole world as HERB's equations define it."""
    return _find_root_number(answers, "paper").value


def _find_root_number(answers: Sequence[Answer], form: str) -> RunNumber:
    return next(number for number in _measure(tuple(answers)) if number.parts[2:] == ("c_w", form))


@lru_cache(maxsize=1)
def _measure(answers: tuple[Answer, ...]) -> list[RunNumber]:
    """All numbers of the audit of these answers; several metrics share them."""
    options = json.loads(answers[0][0])
    scorer = RecordedScorer("lm-evaluation-harness", {text: value for _, text, value in answers})
    return list_numbers(audit_regions(scorer, **_with_defaults(options), progress=False))


def _with_defaults(options: Mapping[str, Any]) -> dict[str, Any]:
    """Countries without cities, unless asked for; HERB's score alone."""
    return {**({} if "tree" in options else {"cities": 0}), **options, **SCORE_ONLY}


def _list_texts(design: RegionsDesign) -> list[str]:
    return list(dict.fromkeys([*design.sentences(marked=False), *design.region_names]))


def _value_or_nan(value: float | None) -> float:
    return float("nan") if value is None else value
