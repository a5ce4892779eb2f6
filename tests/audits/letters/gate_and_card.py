"""The letters audit in other tools."""

from __future__ import annotations

from geobias.report.number_tree import NumberTree, TreeNumber
from tests.audits.letters.result import LettersResult


def card_rows(result: LettersResult) -> list[dict[str, str]]:
    return [{"Country": entry.country, "Letters": str(entry.letters)} for entry in result.countries]


def gate_numbers(result: LettersResult) -> NumberTree:
    """letters.COUNTRY"""
    return NumberTree(
        ((entry.country,), TreeNumber(entry.letters, entry.letters, entry.letters)) for entry in result.countries
    )
