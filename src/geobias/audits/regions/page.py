"""The regions audit on the page: the world map, the continents, what the words do, and what names alone do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from geobias.audits.country_map.values import model_name, words_of
from geobias.audits.country_space.page import space_charts
from geobias.audits.regions.page_map import regions_map
from geobias.audits.regions.wording import REPLACED, WITHOUT_TOPIC
from geobias.measures.estimates import SIGNIFICANT
from geobias.report.page.parts import Block, Chart, Choice, Number, Row, Section, Table
from geobias.report.page.theme import dots
from geobias.report.tables import interval, signed

PAPER = "as the paper has it"
LEAD = (
    "If the model spoke of all places alike, its answers would be the same for all. How far they lie apart within a "
    "region is its score, gathered up the tree to the whole Earth (HERB, Li et al. 2022)."
)
FORM_READING = {
    "balanced": "Dot: balanced C_w, a mean distance between what the model says of the sub-regions; line: 95 % "
    "interval "
    "over words. Filled: sparser or denser than as many random regions of its level.",
    PAPER: "The paper's form divides by the number of pairs once more, so it falls with the square of how many "
    "sub-regions a region has: it mostly tells that number, and regions cannot be compared by it.",
}


def regions_section(folder: Path, results: Mapping[str, Any], name: str) -> Section:
    top = top_regions(results)
    blocks: list[Block] = [*regions_map(folder, results, name)]
    if top:
        blocks.append(_forms(name, top))
    blocks += _wording(name, results)
    blocks += _names_alone(name, results)
    blocks += space_charts(folder, name)
    return Section(
        id=name,
        title=f"Regions: how {model_name(results)} speaks of the world",
        lead=LEAD,
        blocks=blocks,
        numbers=list(_numbers(results, top)),
        notes=list(_notes(results)),
    )


def top_regions(results: Mapping[str, Any]) -> list[Row]:
    """The highest region that has sub-regions to compare, and those directly below it that have some too."""
    scored = [entry for entry in results["regions"] if entry["pairs"]]
    return [
        entry for entry in scored if entry is scored[0] or entry["parent"] in (scored[0]["id"], scored[0]["parent"])
    ]


def asked(results: Mapping[str, Any]) -> str:
    """What was asked of the model, in a sentence."""
    counts, model = results["counts"], results["model"]
    templates = results["settings"]["templates"]
    more = f" (and {len(templates) - 1} other templates)" if len(templates) > 1 else ""
    return (
        f"{model_name(results)} was asked how likely “{templates[0]}”{more} is, for {counts['regions'] - 1:,} "
        f"regions and {len(words_of(results))} words: {counts['sentences']:,} sentences, scored by {model['score']}."
    )


def _numbers(results: Mapping[str, Any], top: Sequence[Row]) -> Iterator[Number]:
    if top:
        whole, score = top[0], results["model"]["score"]
        yield Number(
            f"How differently {model_name(results)} speaks of the parts of {whole['name']}",
            _three(whole["c_w"]["balanced"]),
            _interval(whole["inference"]["c_w"]["balanced"]),
            f"Balanced C_w by {score}: 0 if all were spoken of alike. {_against_null(whole)}",
        )
    if len(top) > 1:
        below = top[1:]
        most = max(below, key=lambda entry: entry["c_w"]["balanced"])
        rank = most.get("rank")
        sure = (
            f" On other words it would rank {rank['low']} to {rank['high']}."
            if rank and rank["low"] != rank["high"]
            else ""
        )
        yield Number(
            f"Most differently: {most['name']}",
            _three(most["c_w"]["balanced"]),
            _interval(most["inference"]["c_w"]["balanced"]),
            f"Balanced C_w, the highest of {len(below)}.{sure} {_against_null(most)}",
        )
    ratio = ((results.get("placebo") or {}).get("sparseness") or {}).get("ratio")
    if ratio:
        yield Number(
            "Invented places, against real ones",
            f"{_three(ratio['value'])} times",
            _interval(ratio),
            "How far apart names that exist nowhere lie, in shares of real countries: what names alone do.",
        )


def _notes(results: Mapping[str, Any]) -> Iterator[str]:
    counts = results["counts"]
    said = {
        "sentences_cut": "sentences longer than the model takes, and cut",
        "names_with_unknown_tokens": "names with characters that the model does not know",
        "regions_with_one_sub_region": "regions with a single sub-region, so without a score",
    }
    yield from (f"{counts[key]:,} {what}." for key, what in said.items() if counts[key])
    yield from results["inference"]["left_out"]


def _against_null(entry: Row) -> str:
    """Beside what random regions give, and how sure that is: a high score may be what so many regions give anyhow."""
    null = entry.get("null")
    if not null or null["ratio"] is None:
        return ""
    adjusted = null["p_adjusted"]
    sure = "not tested" if adjusted is None else f"adjusted p = {adjusted:.2g}"
    return f"{null['ratio']:.3f} times what as many at random, from all of their level, give ({sure})."


def _forms(name: str, shown: Sequence[Row]) -> Choice:
    """Balanced first; the paper's form one click away, with the reason."""
    options = {}
    for form, key in (("balanced", "balanced"), (PAPER, "paper")):
        rows = [form_row(entry, key) for entry in shown]
        ranked = sorted(rows[1:], key=lambda row: -row["value"])
        options[form] = Chart(
            f"{name}-continents-{key}",
            f"{shown[0]['name']} and its parts, {form}",
            FORM_READING[form],
            "Dots with intervals, from high to low: "
            + ", ".join(f"{row['region']} {_three(row['value'])}" for row in ranked[:7])
            + ".",
            dots(
                rows,
                label="region",
                title="C_w, " + form,
                order=[rows[0]["region"], *(row["region"] for row in ranked)],
            ),
            rows,
        )
    return Choice(f"{name}-form", "Form", options)


def form_row(entry: Row, form: str) -> Row:
    sure, null = entry["inference"]["c_w"][form], entry.get("null") or {}
    adjusted = null.get("p_adjusted")
    rank = entry.get("rank") or {}
    return {
        "region": entry["name"],
        "sub_regions": entry["children"],
        "value": entry["c_w"][form],
        "low": sure["low"],
        "high": sure["high"],
        "p_adjusted": adjusted,
        "marked": adjusted is not None and adjusted < SIGNIFICANT and form == "balanced",
        "ratio_to_random": null.get("ratio"),
        "rank": rank.get("value"),
        "rank_low": rank.get("low"),
        "rank_high": rank.get("high"),
    }


def _wording(name: str, results: Mapping[str, Any]) -> Iterator[Chart]:
    """What each topic adds to the score of the whole: the score without it, or with its words replaced."""
    found = results.get("wording")
    if not found:
        return
    full = found["wordings"][0]["regions"][0]
    for what, said in ((WITHOUT_TOPIC, "left out"), (REPLACED, "replaced")):
        rows = []
        for wording in found["wordings"][1:]:
            if wording["what"] != what:
                continue
            root = wording["regions"][0]
            sure = root["difference"] or {}
            rows.append(
                {
                    "topic": wording["name"],
                    "value": root["c_w.balanced"] - full["c_w.balanced"],
                    "low": sure.get("low"),
                    "high": sure.get("high"),
                    "p_adjusted": sure.get("p_adjusted"),
                    "marked": bool(sure) and sure["p_adjusted"] is not None and sure["p_adjusted"] < SIGNIFICANT,
                    "score": root["c_w.balanced"],
                }
            )
        if rows:
            ranked = sorted(rows, key=lambda row: row["value"])
            yield Chart(
                f"{name}-topics-{said.replace(' ', '-')}",
                f"What the score would be with a topic's words {said}",
                "Dot: by how much balanced C_w of the whole changes; line: 95 % interval over words. Left of 0: "
                "the topic "
                "makes the model's regions differ. Filled: more than chance explains.",
                f"From {ranked[0]['topic']} {signed(ranked[0]['value'], 3)} to {ranked[-1]['topic']} "
                f"{signed(ranked[-1]['value'], 3)}.",
                dots(rows, label="topic", title="change of balanced C_w", order=[row["topic"] for row in ranked]),
                rows,
            )


def _names_alone(name: str, results: Mapping[str, Any]) -> Iterator[Table]:
    """Tokenisation: how far distances go with the names themselves."""
    rows = []
    for level in results["tokenisation"]:
        for key, said in (
            ("tokens", "its number of tokens"),
            ("name_likelihood", "how likely its bare name is"),
            ("norm", "the norm of its vector"),
        ):
            found = level[key]
            if found and found["value"] is not None:
                sure = found["p_adjusted"] is not None and found["p_adjusted"] < SIGNIFICANT
                rows.append(
                    {
                        "level": f"{level['level']} ({level['regions']})",
                        "a region's distance to its siblings goes with": said,
                        "Spearman": f"{found['value']:+.2f}{'*' if sure else ''}",
                        "95 % interval": interval(found, 2),
                    }
                )
    if rows:
        yield Table(
            f"{name}-names",
            "How much is the names' own doing",
            "Tokenisation alone makes distances: the nearer these are to 1 or -1, the more a score may speak of names "
            "and not of places. * marks an adjusted p-value below 0.05.",
            rows,
        )


def _three(value: float) -> str:
    return f"{value:.3g}"


def _interval(sure: Mapping[str, Any]) -> str:
    return "" if sure["low"] is None else f"{_three(sure['low'])} to {_three(sure['high'])} (95 %)"
