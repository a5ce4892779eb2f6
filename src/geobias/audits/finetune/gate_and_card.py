"""The finetune audit in other tools: rows of a model card, numbers of a gate."""

from __future__ import annotations

from collections.abc import Iterator

from geobias.audits.finetune.result import ALL, ANY, FinetunedModel, FinetuneResult
from geobias.report.number_tree import PER_CENT, NumberTree, model_names, tree_number
from geobias.report.tables import NOTHING, digits, format_interval


def card_rows(result: FinetuneResult) -> Iterator[dict[str, str]]:
    for entry in result.fine_tuned:
        flips, control = entry.flips[ALL][ANY], entry.control[ANY]
        yield {
            "Fine-tuned from": entry.model.name,
            "Labels that flip with a country's name, %": f"{flips.value:.2f}",
            "95 % interval": format_interval(flips, ".2f"),
            "With a prefix that names none, %": f"{control.value:.2f}",
            "Balanced C_w of the language model": NOTHING if entry.herb is None else digits(entry.herb.c_w.balanced),
        }


def gate_numbers(result: FinetuneResult) -> NumberTree:
    """finetune.MODEL.flips.any, finetune.MODEL.flips."kind to rude": per cent of texts x countries."""
    return NumberTree((model_names(entry.model.name), _model_numbers(entry)) for entry in result.fine_tuned)


def _model_numbers(entry: FinetunedModel) -> NumberTree:
    flips = NumberTree(
        ((direction,), tree_number(interval, PER_CENT)) for direction, interval in entry.flips[ALL].items()
    )
    return NumberTree([(("flips",), flips)])
