"""How many published numbers are reproduced, within a tolerance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import geobias
from geobias.audits.reproduce.findings import count_agreement, list_findings
from geobias.audits.reproduce.published import build_table, read_published


@pytest.mark.parametrize(("factor", "share"), [(1.0, 1.0), (1.09, 1.0), (0.8, 0.0)])
def test_numbers_within_a_tenth_agree(factor: float, share: float) -> None:
    table = read_published("herb", "4-overall")  # shares of about 0.9, so that rounding does not matter
    measured = table.values * factor
    measured[0, 0] = np.nan
    agreement = count_agreement(build_table(table, measured))
    assert agreement.published == table.values.size and agreement.measured == table.values.size - 1
    assert agreement.reproduced == share * agreement.measured


def test_the_last_printed_digit_is_tolerated_and_two_forms_count_once() -> None:
    table = read_published("herb", "1")
    half = 0.5 * 10.0 ** -np.array(table.places, dtype=float)
    forms = {"balanced": (table.values, table.values * 3), "paper": (table.values, table.values + half * 0.99)}
    agreement = count_agreement(build_table(table, forms=forms))
    assert agreement.published == agreement.measured == agreement.reproduced == table.values.size


@pytest.mark.parametrize(("table", "start"), [("5", "table 5 of"), (["4", "5"], "tables 4, 5 of")])
def test_the_summary_counts_its_tables(table: str | list[str], start: str) -> None:
    summary = geobias.reproduce("herb", table=table, progress=False).summary()
    assert summary.startswith(f"ReproduceResult: {start} the paper 'herb'\n")


def test_what_was_not_measured_is_said_only_where_something_was_not() -> None:
    result = geobias.reproduce("herb", table="5", progress=False)  # of people: no model is needed
    table = read_published("herb", "4-overall")
    for missing in (0, 1):
        measured = table.values.copy()
        measured[0, :missing] = np.nan
        (finding, *_) = list_findings(replace(result, tables=[build_table(table, measured)]))
        end = f"1 of {table.values.size} numbers in 1 table were not measured." if missing else "published ones."
        assert finding.sentence.endswith(end)
