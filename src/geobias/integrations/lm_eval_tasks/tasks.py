"""The decisions audit as a task of lm-evaluation-harness, whose YAML file names these functions.

`geobias_decide` asks for log P of every spelling of every answer to a question. The prompts, the token before them and
the spellings are those of `geobias decide MODEL`, and so are the numbers. Which spellings a model can write depends on
its tokenizer, which is read for this.

Aggregations are metrics of all answers together, of the worst country.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from geobias.audits.decide.audit import audit_decisions
from geobias.audits.reports import RunNumber, list_numbers
from geobias.audits.study import prepare
from geobias.errors import InputError
from geobias.integrations.recorded_answers import make_recorded_model
from geobias.models.answers import ANSWER_SETS, TEXT, AnswerSet
from geobias.models.causal import find_first_tokens

DECIDE_OPTIONS = ("scenarios", "domains", "origin", "countries", "draws", "paraphrases", "seed", "limit")
DECIDE_METRICS = (
    *("impact_ratio_worst", "impact_ratio_worst_low", "impact_ratio_worst_high"),
    *("preference_worst", "preference_worst_low", "preference_worst_high", "answered"),
)
Decision = tuple[str, str, str, tuple[float, ...]]  # options of the audit as JSON, kind, text, log P of each answer


def load_questions(**metadata: Any) -> dict[str, Any]:
    """Every question of the audit as a dataset; `metadata` has what `--metadata` and `--model_args` give."""
    from datasets import Dataset  # lm-evaluation-harness has it

    options = {name: metadata[name] for name in DECIDE_OPTIONS if metadata.get(name) is not None}
    tokenizer = _load_tokenizer(metadata)
    if metadata.get("chat") is None and tokenizer.chat_template:
        raise InputError(
            'The tokenizer has a chat template, which `geobias decide` uses. Add "chat": true to --metadata and '
            '--apply_chat_template, or "chat": false for plain prompts.'
        )
    writers = {kind: PromptWriter(tokenizer, answers, metadata.get("chat")) for kind, answers in ANSWER_SETS.items()}
    questions = dict.fromkeys(
        (kind, text) for kind, texts in prepare(audit_decisions, **options).design.list_questions() for text in texts
    )
    encoded = json.dumps(options, sort_keys=True)
    documents = [
        {"kind": kind, "text": text, "options": encoded, **writers[kind].describe(text)} for kind, text in questions
    ]
    return {"test": Dataset.from_list(documents)}


class PromptWriter:
    """The prompt around a text as the model is to read it, and the spellings of the answers that it can write."""

    def __init__(self, tokenizer: Any, answers: AnswerSet, is_chat: bool | None) -> None:
        if is_chat:  # lm-evaluation-harness puts the template around it
            self.template = answers.message
            messages = [{"role": "user", "content": self.template.replace(TEXT, "")}]
            prompt = str(tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))
        else:
            begin = "" if tokenizer("")["input_ids"] else tokenizer.decode(find_first_tokens(tokenizer))
            self.template = f"{begin}{answers.template}"
            prompt = self.template.replace(TEXT, "")
        by_word = [select_spellings(tokenizer, prompt, answers.spellings(word)) for word in answers.words]
        self.spellings = [spelling for group in by_word for spelling in group]
        self.owners = [owner for owner, group in enumerate(by_word) for _ in group]

    def describe(self, text: str) -> dict[str, Any]:
        return {"prompt": self.template.replace(TEXT, text), "spellings": self.spellings, "owners": self.owners}


def select_spellings(tokenizer: Any, prompt: str, spellings: Sequence[str]) -> list[str]:
    """Spellings that leave the tokens of the prompt as they are; of those with equal tokens, the first."""
    before = tokenizer(prompt, add_special_tokens=False)["input_ids"]
    distinct: dict[tuple[int, ...], str] = {}
    for spelling in spellings:
        tokens = tokenizer(prompt + spelling, add_special_tokens=False)["input_ids"]
        if tokens[: len(before)] == before and tokenizer.unk_token_id not in tokens[len(before) :]:
            distinct.setdefault(tuple(tokens[len(before) :]), spelling)
    return list(distinct.values())


def record_decision(document: Mapping[str, Any], results: Sequence[tuple[float, bool]]) -> dict[str, Decision]:
    """One answer for each metric; the aggregations see all answers together."""
    words = ANSWER_SETS[document["kind"]].words
    log_p, owners = np.array([result[0] for result in results]), np.array(document["owners"])
    by_word = tuple(float(np.logaddexp.reduce(log_p[owners == owner])) for owner in range(len(words)))
    return dict.fromkeys(DECIDE_METRICS, (document["options"], document["kind"], document["text"], by_word))


def _make_aggregation(*name: str, end: str = "value") -> Callable[[Sequence[Any]], float]:
    """A number of the audit, or an end of its interval; NaN if there is none, as where nothing is answered."""

    def aggregate(answers: Sequence[Any]) -> float:
        number = next((number for number in _measure(tuple(answers)) if number.parts[2:] == name), None)
        value = None if number is None else getattr(number, end)
        return float("nan") if value is None else float(value)

    return aggregate


aggregate_impact_ratio = _make_aggregation("impact_ratio", "worst")
aggregate_impact_ratio_low = _make_aggregation("impact_ratio", "worst", end="low")
aggregate_impact_ratio_high = _make_aggregation("impact_ratio", "worst", end="high")
aggregate_preference = _make_aggregation("preference", "worst")
aggregate_preference_low = _make_aggregation("preference", "worst", end="low")
aggregate_preference_high = _make_aggregation("preference", "worst", end="high")
aggregate_answered = _make_aggregation("answered")


@lru_cache(maxsize=1)
def _measure(answers: tuple[Any, ...]) -> list[RunNumber]:
    """All numbers of the audit of these answers; several metrics share them."""
    options, name = json.loads(answers[0][0]), "lm-evaluation-harness"
    rows: dict[str, dict[str, tuple[float, ...]]] = {}
    for _, kind, text, log_p in answers:
        rows.setdefault(kind, {})[text] = (0.0, 0.0, *log_p)  # exact: no samples, no refusals
    return list_numbers(audit_decisions(make_recorded_model(name, rows), **options, progress=False))


def _load_tokenizer(metadata: Mapping[str, Any]) -> Any:
    from transformers import AutoTokenizer

    name = metadata.get("tokenizer") or metadata.get("pretrained")
    if name is None:
        raise InputError(
            'geobias_decide reads the tokenizer of the model. Name it: --metadata \'{"tokenizer": "OWNER/NAME"}\'.'
        )
    passed_on = {key: metadata[key] for key in ("revision", "trust_remote_code") if metadata.get(key) is not None}
    return AutoTokenizer.from_pretrained(name, **passed_on)
