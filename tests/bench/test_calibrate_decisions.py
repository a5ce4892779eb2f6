"""One cell of the calibration of the decisions audit: its numbers are inside of their bands."""

from __future__ import annotations

from bench.calibrate_decisions import WORLDS, Size, calibrate_cell, is_outside, write_table

REPETITIONS = 60


def test_one_cell_is_inside_of_its_bands() -> None:
    size = Size(15, 5, 2)
    rates = calibrate_cell(WORLDS[0], size, REPETITIONS, None)
    for key in ("coverage", "false_alarm", "ratio_coverage", "spread_alarm"):
        assert not is_outside(key, rates[key], REPETITIONS), (key, rates[key])
    assert is_outside("coverage", 0.7, REPETITIONS) and is_outside("false_alarm", 0.3, REPETITIONS)
    assert "| 15 | 5 | 2 | 1 | no difference |" in write_table({(size, WORLDS[0].name): rates}, REPETITIONS)
