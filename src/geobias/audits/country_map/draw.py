"""`geobias map`: one number of a finished regions run for each country, on the world's map (HERB's Figure 1)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from geobias.audits.country_map.values import (
    VARIANTS,
    CountryValues,
    country_names,
    map_rows,
    score_values,
    topic_values,
    word_values,
)
from geobias.audits.pages import read_run
from geobias.errors import InputError
from geobias.report.figures import save_chart, unmapped, without_data, world_map
from geobias.report.run_folder import add_to_run
from geobias.report.runs import shown
from geobias.report.tables import console, digits, save_csv
from geobias.world.shapes import load_countries

EXTREMES_SHOWN = 5


@dataclass(frozen=True)
class DrawnMap:
    """What a map shows, the names of the run's countries by code, and the files that were written."""

    values: CountryValues
    names: dict[str, str]
    files: list[Path]


def draw_map(
    folder: Path, *, word: str | None = None, topic: str | None = None, variant: str | None = None
) -> DrawnMap:
    """Add a map of a word, of a topic or of the score to a finished regions run."""
    if sum(option is not None for option in (word, topic, variant)) > 1:
        raise InputError("A map shows one thing: give --word, --topic or --variant, or none of them for the score.")
    run = read_run(folder, ["regions"])
    names = country_names(run.result)
    if word is not None:
        values = word_values(run, word)
    elif topic is not None:
        values = topic_values(run, topic)
    else:
        values = score_values(run.result, variant or VARIANTS[0])
    if not values.countries:
        raise InputError("No country of this run has a number for that, so there is nothing to draw.")
    chart = world_map(
        values.countries,
        names,
        title=values.title,
        subtitle=values.subtitle,
        legend=values.legend,
        own_values=values.continents,
    )
    with add_to_run(folder) as staging:
        table = staging / "tables" / f"{values.file_name}.csv"
        files = [*save_chart(chart, staging / "figures" / values.file_name), table]
        save_csv(table, map_rows(values.countries, names))
    return DrawnMap(values, names, [folder / file.relative_to(staging) for file in files])


def show(drawn: DrawnMap) -> None:
    out = console()
    values, names = drawn.values.countries, drawn.names
    out.print(drawn.values.title, style="bold")
    out.print(drawn.values.subtitle, style="dim")
    ranked = sorted(values, key=lambda code: -values[code])
    highest, lowest = ranked[:EXTREMES_SHOWN], ranked[EXTREMES_SHOWN:][: -EXTREMES_SHOWN - 1 : -1]
    for label, codes in (("Highest", highest), ("Lowest", lowest)):
        if codes:
            out.print(f"{label}: {', '.join(f'{names[code]} {digits(values[code])}' for code in codes)}.")
    out.print(
        f"{len(values)} of the run's {len(names)} countries have a number; {len(without_data(values))} "
        "places of the map have none and are hatched, or empty circles."
    )
    without_shape = [code for code in values if not load_countries()[code].has_shape]
    if without_shape:
        absent = [names[country.code] for country in unmapped(values)]
        more = f", but for {len(absent)} without a place on the map ({', '.join(absent)})" if absent else ""
        out.print(f"Without a shape: {len(without_shape)}, drawn as circles{more}.")
    for file in drawn.files:
        out.print(str(shown(file)), soft_wrap=True)
