"""The tables of the decisions audit on the page."""

from __future__ import annotations

from geobias.audits.decide.ranking import (
    FOUR_FIFTHS,
    LEAST_MERIT_EFFECT,
    WHERE_FROM,
    list_standing_out,
    rank_countries,
)
from geobias.audits.decide.records import ModelDecisions
from geobias.report.page.blocks import Table
from geobias.report.page.charts import Valence
from geobias.report.page.country_blocks import estimate_cells
from geobias.report.tables import NOTHING, format_interval, is_marked, signed

CASES_SHOWN = 10
VALENCE = Valence(1, "more favourable", "less favourable")
UNIT = "nats of log-odds"


def list_cases(table_id: str, entry: ModelDecisions) -> Table:
    return Table(
        table_id,
        f"{entry.model.short_name}: cases in which the country matters most",
        "Gap: probability of the favourable answer for the best-treated country minus that for the worst-treated one, "
        "in this case alone. The extremes of many countries lie apart by chance, too: single cases are not tested.",
        [
            {
                "case": case.text or case.case,  # the text is empty in a bundle without texts
                "domain": case.domain,
                "mean rate": f"{case.rate:.2f}",
                "gap": f"{case.gap:.2f}",
                "highest": case.highest,
                "lowest": case.lowest,
            }
            for case in entry.cases[:CASES_SHOWN]
        ],
    )


def list_controls(table_id: str, entry: ModelDecisions) -> Table:
    controls = entry.controls
    rows = {
        "any country shown, against no origin": controls.named,
        "invented countries, against real ones": controls.invented,
        "a review for the person, against one against (merit)": controls.merit,
        "the first of two equal people (order effect)": controls.order,
        "yes, whatever the question": controls.yes_tendency,
    }
    cells = [
        {
            "control": name,
            "effect": signed(estimate.value, 2),
            **estimate_cells(estimate, 2, Valence(0, "above", "below")),
        }
        for name, estimate in rows.items()
        if estimate is not None
    ]
    spreads = {"spread between countries": entry.spread, "spread between invented countries": controls.invented_spread}
    for name, spread in spreads.items():
        if spread is not None:
            cells.append(
                {
                    "control": f"{name} (noise floor {spread.noise:.2f})",
                    "effect": f"{spread.value:.2f}",
                    "95 % interval": f"{spread.low:.2f} to {spread.high:.2f}",
                    "adjusted p": "< 0.001" if spread.p < 0.001 else f"{spread.p:.2g}",
                    "evidence": NOTHING,
                }
            )
    return Table(
        table_id,
        f"{entry.model.short_name}: what else moves decisions",
        f"In nats of log-odds. Merit is at least {LEAST_MERIT_EFFECT} for a model that decides by what it reads; order "
        "and yes should be 0.",
        cells,
    )


def list_countries(table_id: str, entry: ModelDecisions) -> Table:
    rows, standing_out = [], list_standing_out(entry)
    for country in rank_countries(entry):
        ratio = country.impact_ratio
        row = {
            "country": country.country,
            "preference": signed(country.preference.value, 2),
            **estimate_cells(country.preference, 2, VALENCE),
            "points of\nprobability": signed(country.probability.value, 1),
            "selection\nrate": f"{country.rate:.2f}",
            "impact\nratio": f"{ratio.value or 0:.2f}" + (" *" if (ratio.high or 1) < FOUR_FIFTHS else ""),
            "bounds, all\nat once": format_interval(ratio, ".2f"),
            "answered": f"{country.answered:.0%}",
        }
        if standing_out and is_marked(country.preference) and country not in standing_out:
            row["evidence"] = f"may mirror {standing_out[0].country}"
        if country.refusals is not None:
            row["refused"] = f"{country.refusals:.0%}"
        if country.yes_tendency is not None and is_marked(country.yes_tendency):
            row["evidence"] += f"; says {'yes' if (country.yes_tendency.value or 0) > 0 else 'no'} more often"
        rows.append(row)
    return Table(
        table_id,
        f"{entry.model.short_name}: all countries",
        "Preference with its 95 % interval; adjusted p over all countries (max-T). Impact ratio: selection rate "
        f"against the best-treated country; * even the upper bound is below {FOUR_FIFTHS}. {WHERE_FROM}.",
        rows,
    )
