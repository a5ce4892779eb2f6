"""`geobias map`: one number of a finished regions run for each country, on the world's map (HERB's Figure 1)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from geobias.audits.country_map.values import (
    VARIANTS,
    Mapped,
    countries_of,
    map_rows,
    mapped_score,
    mapped_topic,
    mapped_word,
)
from geobias.errors import InputError
from geobias.report import runs
from geobias.report.charts import save_chart, unmapped, without_data, world_map
from geobias.report.run_folder import add_to_run
from geobias.report.tables import console, digits, save_csv
from geobias.world.shapes import load_countries

EXTREMES_SHOWN = 5


def run_map(run: Path, *, word: str | None, topic: str | None, variant: str | None) -> None:
    if sum(asked is not None for asked in (word, topic, variant)) > 1:
        raise InputError("A map shows one thing: give --word, --topic or --variant, or none of them for the score.")
    results = runs.read_run(run, "regions")
    names = countries_of(results)
    if word is not None:
        mapped = mapped_word(run, results, word)
    elif topic is not None:
        mapped = mapped_topic(run, results, topic)
    else:
        mapped = mapped_score(results, variant or VARIANTS[0])
    if not mapped.values:
        raise InputError("No country of this run has a number for that, so there is nothing to draw.")
    chart = world_map(
        mapped.values, names, title=mapped.title, subtitle=mapped.subtitle, legend=mapped.legend, own=mapped.own
    )
    with add_to_run(run) as staging:
        files = save_chart(chart, staging / "figures" / mapped.stem)
        table = staging / "tables" / f"{mapped.stem}.csv"
        save_csv(table, map_rows(mapped.values, names))
    _show(mapped, names, [run / file.relative_to(staging) for file in (*files, table)])


def _show(mapped: Mapped, names: Mapping[str, str], files: list[Path]) -> None:
    out = console()
    out.print(mapped.title, style="bold")
    out.print(mapped.subtitle, style="dim")
    ranked = sorted(mapped.values, key=lambda code: -mapped.values[code])
    for which, some in (
        ("Highest", ranked[:EXTREMES_SHOWN]),
        ("Lowest", ranked[EXTREMES_SHOWN:][: -EXTREMES_SHOWN - 1 : -1]),
    ):
        if some:
            out.print(f"{which}: {', '.join(f'{names[code]} {digits(mapped.values[code])}' for code in some)}.")
    shapeless = [names[code] for code in mapped.values if not load_countries()[code].has_shape]
    absent = [names[country.code] for country in unmapped(mapped.values)]
    out.print(
        f"{len(mapped.values)} of the run's {len(names)} countries have a number; {len(without_data(mapped.values))} "
        "places of the map have none and are hatched, or empty circles."
    )
    if shapeless:
        more = f", but for {len(absent)} without a place on the map ({', '.join(absent)})" if absent else ""
        out.print(f"Without a shape: {len(shapeless)}, drawn as circles{more}.")
    for file in files:
        out.print(str(runs.shown(file)), soft_wrap=True)
