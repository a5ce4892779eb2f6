"""The downstream audit on the page: what a place put before a text does to the verdict, beyond what any prefix does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from geobias.report.page.parts import Block, Chart, Choice, Number, Row, Section, Table, WorldMap
from geobias.report.page.theme import dots
from geobias.report.page.world import map_spec
from geobias.report.tables import NOTHING, interval, is_marked, listed, signed
from geobias.world.shapes import load_countries

SHOWN_EACH_WAY = 12


def downstream_section(folder: Path, results: Mapping[str, Any], name: str) -> Section:
    entries = results["classifiers"]
    is_mapped = results["settings"]["regions"] == "countries"
    blocks: list[Block] = [_map(name, results)] if is_mapped else []
    charts = {entry["model"]["name"]: _moved(f"{name}-moved-{n}", entry, is_mapped) for n, entry in enumerate(entries)}
    blocks.append(Choice(f"{name}-moved", "Classifier", charts) if len(charts) > 1 else next(iter(charts.values())))
    blocks.append(_verdicts(name, entries))
    return Section(
        id=name,
        title="Downstream: the same texts, said to come from elsewhere",
        lead="Any sentence before a text moves a classifier: what naming a place does is told "
        f"against “{entries[0]['control']['name']}”, which names none.",
        blocks=blocks,
        numbers=list(_numbers(entries)),
        notes=list(_notes(results)),
    )


def asked(results: Mapping[str, Any]) -> str:
    counts, settings = results["counts"], results["settings"]
    judges = listed([entry["model"]["name"] for entry in results["classifiers"]])
    return (
        f"“{settings['prefix']}” was put before {counts['texts']:,} texts ({settings['texts']['source']}) for "
        f"{counts['regions']:,} {'countries' if settings['regions'] == 'countries' else 'cities'}, and {judges} judged "
        "every version."
    )


def region_name(region: Mapping[str, Any], is_mapped: bool) -> str:
    """Cities of one name are told apart by their countries."""
    return str(region["name"]) if is_mapped else f"{region['name']} ({region['country']})"


def _notes(results: Mapping[str, Any]) -> Iterator[str]:
    counts = results["counts"]
    if counts["rows_without_text"]:
        yield f"{counts['rows_without_text']:,} rows without a text."
    if counts["countries_without_city"]:
        yield f"Countries of which no city is known, left out: {', '.join(counts['countries_without_city'])}."
    for entry in results["classifiers"]:
        classifier, cut = entry["model"]["name"], entry["counts"]["prefixed_texts_cut"]
        yield from (f"{classifier}: {note}" for note in entry["notes"])
        if cut:
            yield f"{classifier}: {cut:,} texts were, with their prefix, longer than the model takes, and cut."


def _numbers(entries: Sequence[Row]) -> Iterator[Number]:
    most = max(entries, key=lambda entry: entry["worst"][entry["shown"]]["value"])
    label, worst = most["shown"], most["worst"][most["shown"]]
    region = next(region for region in most["regions"] if region["id"] == worst["region"])
    yield Number(
        f"The place that moves {most['model']['name']} most",
        f"{worst['value']:.3f}",
        "" if worst["low"] is None else f"{worst['low']:.3f} to {worst['high']:.3f} (95 %, all places at once)",
        f"{region['name']}: how far it moves p({label}) beyond the control, either way; p goes from 0 to 1.",
    )
    tests = [
        found["inference"]["against_control"]
        for entry in entries
        for region in entry["regions"]
        for found in region["classes"].values()
        if found["inference"]["against_control"]["p_adjusted"] is not None
    ]
    if tests:
        yield Number(
            "Places and classes that stand out",
            f"{sum(map(is_marked, tests)):,} of {len(tests):,}",
            "",
            "A class likelier or less likely than after the control, beyond what other texts explain (adjusted p below "
            "0.05).",
        )
    alone = max(entries, key=lambda entry: abs(_control(entry)["mean_difference"]))
    found = _control(alone)
    yield Number(
        f"What a prefix that names no place does to {alone['model']['name']}",
        signed(found["mean_difference"], 3),
        f"{interval(found['inference']['mean_difference'], 3)} (95 %)"
        if found["inference"]["mean_difference"]["low"] is not None
        else "",
        f"Mean change of p({alone['shown']}): so much is the sentence's doing, and no place's.",
    )


def _control(entry: Row) -> Row:
    found: Row = entry["control"]["classes"][entry["shown"]]
    return found


def _map(name: str, results: Mapping[str, Any]) -> WorldMap:
    entries, known = results["classifiers"], load_countries()
    about = {
        region["id"]: {
            "name": region["name"],
            "continent": known[region["id"]].continent_name,
            "facts": [_fact(entry, entry["regions"][row]) for entry in entries],
        }
        for row, region in enumerate(entries[0]["regions"])
    }
    measures = [
        {
            "title": f"{entry['model']['name']}: p({entry['shown']}) against the control",
            "legend": "mean difference",
            "reading": f"What naming the country adds to p({entry['shown']}), the mean over texts; orange is more.",
            "centre": 0,
            "values": {
                region["id"]: round(region["classes"][entry["shown"]]["against_control"], 5)
                for region in entry["regions"]
            },
        }
        for entry in entries
    ]
    return WorldMap(
        f"{name}-map",
        "The world, as the verdicts move with it",
        "Choose a classifier; click a country, or choose it, to see how sure it is and how many verdicts flip.",
        "A world map whose countries are coloured by how much naming them moves the chosen classifier; the list of "
        "countries beside it opens the same details.",
        map_spec(),
        {"measures": measures, "countries": about},
    )


def _fact(entry: Row, region: Row) -> str:
    label = entry["shown"]
    found = region["classes"][label]
    sure = found["inference"]["against_control"]
    interval_said = "no interval" if sure["low"] is None else f"95 % interval {interval(sure, 4)}"
    chance = "" if sure["p_adjusted"] is None else f", adjusted p {sure['p_adjusted']:.2g}"
    flips = f"{found['gained']:,} texts became {label}, {found['lost']:,} no longer are"
    return f"{entry['model']['name']}: {interval_said}{chance}; {flips}"


def _moved(key: str, entry: Row, is_mapped: bool) -> Chart:
    """The regions that moved the shown class most, each way."""
    label = entry["shown"]
    ranked = sorted(entry["regions"], key=lambda region: -region["classes"][label]["against_control"])
    ends = ranked
    if len(ranked) > 2 * SHOWN_EACH_WAY:
        ends = [*ranked[:SHOWN_EACH_WAY], *ranked[-SHOWN_EACH_WAY:]]
    rows = [_row(region["classes"][label], region_name(region, is_mapped)) for region in ends]
    cut = "" if ends is ranked else f" The {SHOWN_EACH_WAY} highest and the {SHOWN_EACH_WAY} lowest of {len(ranked):,}."
    return Chart(
        key,
        f"{entry['model']['name']}: where p({label}) rises and falls most",
        "Dot: mean difference against the control; line: 95 % interval over texts; filled: adjusted p below 0.05. "
        f"Right of 0: naming the place makes {label} likelier.{cut}",
        f"From {rows[0]['region']} {signed(rows[0]['value'], 3)} to {rows[-1]['region']} "
        f"{signed(rows[-1]['value'], 3)}; {sum(row['marked'] for row in rows)} of {len(rows)} are marked.",
        dots(
            rows,
            label="region",
            title=f"mean difference of p({label}) against the control",
            order=[row["region"] for row in rows],
        ),
        rows,
    )


def _row(found: Row, region: str) -> Row:
    return {
        "region": region,
        "value": found["against_control"],
        **{part: found["inference"]["against_control"][part] for part in ("low", "high", "p", "p_adjusted")},
        "marked": is_marked(found["inference"]["against_control"]),
        "mean_difference": found["mean_difference"],
        "gained": found["gained"],
        "lost": found["lost"],
    }


def _verdicts(name: str, entries: Sequence[Row]) -> Table:
    """Verdicts that flip, and, where the true ones are known, how good they are."""
    rows = []
    for entry in entries:
        label, regions = entry["shown"], entry["regions"]
        found = [region["classes"][label] for region in regions]
        flips = [one["gained"] + one["lost"] for one in found]
        most = flips.index(max(flips))
        control = _control(entry)
        row = {
            "classifier": entry["model"]["name"],
            "class": label,
            "flips to/from it,\nthe control": f"{control['gained']:,}/{control['lost']:,}",
            "the mean\nof places": f"{_mean(found, 'gained'):.1f}/{_mean(found, 'lost'):.1f}",
            "the place\nwith most": f"{regions[most]['name']} {found[most]['gained']:,}/{found[most]['lost']:,}"
            if flips[most]
            else NOTHING,
        }
        for measure, called in (("accuracy", "accuracy"), ("macro_f1", "macro-F1")):
            if "performance" in entry:
                values = (entry["performance"][texts][measure] for texts in ("original", "control", "regions"))
                row[f"{called}: as they were,\ncontrol, places"] = ", ".join(
                    NOTHING if value is None else f"{value:.3f}" for value in values
                )
        rows.append(row)
    return Table(
        f"{name}-verdicts",
        "How many verdicts flip" + (", and how good they are" if "performance" in entries[0] else ""),
        "Texts that are predicted as the class with the prefix only, and those that are so without it only.",
        rows,
    )


def _mean(found: Sequence[Row], key: str) -> float:
    return float(sum(one[key] for one in found)) / len(found)
