"""The regions audit on the page: the world map, the continents, what the words do, and what names alone do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from geobias.audits.country_space.page import space_charts
from geobias.audits.regions.gate_and_card import top_regions
from geobias.audits.regions.notes import is_marked_region, omission_notes
from geobias.audits.regions.page_map import regions_map
from geobias.audits.regions.result import RegionScores, RegionsResult
from geobias.audits.regions.wording import REPLACED, WITHOUT_TOPIC
from geobias.audits.side_by_side import NamedRun, distinct_names, overlay_chart
from geobias.measures.estimates import Estimate
from geobias.report.page.blocks import Block, Chart, Choice, Number, Row, Section, Table
from geobias.report.page.charts import dots
from geobias.report.runs import FinishedRun
from geobias.report.tables import interval, is_marked, signed

PAPER = "as the paper has it"
LEAD = (
    "If the model spoke of all places alike, its answers would be the same for all. How far they lie apart within a "
    "region is its score, gathered up the tree to the whole Earth (HERB, Li et al. 2022)."
)
FORM_READING = {
    "balanced": "Dot: balanced C_w, a mean distance between what the model says of the sub-regions; line: 95 % "
    "interval over words. Filled: sparser or denser than as many random regions of its level.",
    PAPER: "The paper's form divides by the number of pairs once more, so it falls with the square of how many "
    "sub-regions a region has: it mostly tells that number, and regions cannot be compared by it.",
}
TRAITS = {
    "tokens": "its number of tokens",
    "name_likelihood": "how likely its bare name is",
    "norm": "the norm of its vector",
}
NAMED_IN_ALT = 7  # regions in the description of a chart


def describe(result: RegionsResult) -> str:
    """What was asked, in a sentence."""
    counts, templates = result.counts, result.settings.templates
    more = f" (and {len(templates) - 1} other templates)" if len(templates) > 1 else ""
    return (
        f"{result.model.short_name} was asked how likely “{templates[0]}”{more} is, for {counts.regions - 1:,} "
        f"regions and {len(result.words)} words: {counts.sentences:,} sentences, scored by {result.model.score}."
    )


def section(run: FinishedRun[RegionsResult], name: str) -> Section:
    result = run.result
    top = top_regions(result)
    blocks: list[Block] = [*regions_map(run, name)]
    if top:
        blocks.append(_form_charts(name, top))
    blocks += _wording_charts(name, result)
    blocks += _names_table(name, result)
    blocks += space_charts(run.folder, name)
    return Section(
        id=name,
        title=f"Regions: how {result.model.short_name} speaks of the world",
        lead=LEAD,
        blocks=blocks,
        numbers=list(_numbers(result, top)),
        notes=[*omission_notes(result), *result.inference.left_out],
    )


def overlay_runs(runs: Sequence[NamedRun]) -> Chart | None:
    """Several runs in one chart."""
    names = distinct_names([(f"{run.result.model.short_name}, {run.result.model.score}", run) for run in runs])
    rows = [
        {"run": name, **_form_row(region, "balanced")}
        for name, run in zip(names, runs, strict=True)
        for region in top_regions(run.result)
    ]
    scores = {run.result.model.score for run in runs}
    scale = " Scores have scales of their own: compare the order of regions between them." if len(scores) > 1 else ""
    return overlay_chart(
        "regions",
        "How differently each model speaks of the parts of the world",
        "Dot: balanced C_w; line: 95 % interval over words; filled: sparser or denser than random regions of its "
        f"level.{scale}",
        rows,
        label="region",
        colour="run",
        title="C_w, balanced",
    )


def _numbers(result: RegionsResult, top: Sequence[RegionScores]) -> Iterator[Number]:
    if top:
        yield Number(
            f"How differently {result.model.short_name} speaks of the parts of {top[0].name}",
            _three(top[0].c_w.balanced),
            _score_interval(top[0]),
            f"Balanced C_w by {result.model.score}: 0 if all were spoken of alike. {_against_null(top[0])}",
        )
    if len(top) > 1:
        below = top[1:]
        highest = max(below, key=lambda region: region.c_w.balanced or 0)
        rank = highest.rank
        other_ranks = (
            f" On other words it would rank {rank.low} to {rank.high}." if rank and rank.low != rank.high else ""
        )
        yield Number(
            f"Most differently: {highest.name}",
            _three(highest.c_w.balanced),
            _score_interval(highest),
            f"Balanced C_w, the highest of {len(below)}.{other_ranks} {_against_null(highest)}",
        )
    ratio = result.placebo.sparseness.ratio if result.placebo else None
    if ratio:
        yield Number(
            "Invented places, against real ones",
            f"{_three(ratio.value)} times",
            _interval(ratio),
            "How far apart names that exist nowhere lie, in shares of real countries: what names alone do.",
        )


def _against_null(region: RegionScores) -> str:
    """Beside random regions: a high score may be what so many regions give anyhow."""
    null = region.null
    if null is None or null.ratio is None:
        return ""
    test = "not tested" if null.p_adjusted is None else f"adjusted p = {null.p_adjusted:.2g}"
    return f"{null.ratio:.3f} times what as many at random, from all of their level, give ({test})."


def _form_charts(name: str, regions: Sequence[RegionScores]) -> Choice:
    """Balanced first; the paper's form one click away, with the reason."""
    options = {}
    for title, form in (("balanced", "balanced"), (PAPER, "paper")):
        rows = [_form_row(region, form) for region in regions]
        ranked = sorted(rows[1:], key=lambda row: -row["value"])
        described = ", ".join(f"{row['region']} {_three(row['value'])}" for row in ranked[:NAMED_IN_ALT])
        options[title] = Chart(
            f"{name}-continents-{form}",
            f"{regions[0].name} and its parts, {title}",
            FORM_READING[title],
            f"Dots with intervals, from high to low: {described}.",
            dots(
                rows,
                label="region",
                title=f"C_w, {title}",
                order=[rows[0]["region"], *(row["region"] for row in ranked)],
            ),
            rows,
        )
    return Choice(f"{name}-form", "Form", options)


def _form_row(region: RegionScores, form: str) -> Row:
    estimate: Estimate | None = getattr(region.inference.c_w, form) if region.inference else None
    null, rank = region.null, region.rank
    return {
        "region": region.name,
        "sub_regions": region.children,
        "value": getattr(region.c_w, form),
        "low": estimate and estimate.low,
        "high": estimate and estimate.high,
        "p_adjusted": null and null.p_adjusted,
        "marked": form == "balanced" and is_marked_region(region),
        "ratio_to_random": null and null.ratio,
        "rank": rank and rank.value,
        "rank_low": rank and rank.low,
        "rank_high": rank and rank.high,
    }


def _wording_charts(name: str, result: RegionsResult) -> Iterator[Chart]:
    """What each topic adds to the score of the whole: the score without it, or with its words replaced."""
    if result.wording is None:
        return
    full, *others = result.wording.wordings
    full_score = full.regions[0].c_w_balanced or 0
    for what, action in ((WITHOUT_TOPIC, "left out"), (REPLACED, "replaced")):
        rows: list[Row] = []
        for wording in others:
            if wording.what == what:
                root = wording.regions[0]
                difference = root.difference
                rows.append(
                    {
                        "topic": wording.name,
                        "value": (root.c_w_balanced or 0) - full_score,
                        "low": difference and difference.low,
                        "high": difference and difference.high,
                        "p_adjusted": difference and difference.p_adjusted,
                        "marked": difference is not None and is_marked(difference),
                        "score": root.c_w_balanced,
                    }
                )
        if rows:
            ranked = sorted(rows, key=lambda row: row["value"])
            yield Chart(
                f"{name}-topics-{action.replace(' ', '-')}",
                f"What the score would be with a topic's words {action}",
                "Dot: by how much balanced C_w of the whole changes; line: 95 % interval over words. Left of 0: "
                "the topic makes the model's regions differ. Filled: more than chance explains.",
                f"From {ranked[0]['topic']} {signed(ranked[0]['value'], 3)} to {ranked[-1]['topic']} "
                f"{signed(ranked[-1]['value'], 3)}.",
                dots(rows, label="topic", title="change of balanced C_w", order=[row["topic"] for row in ranked]),
                rows,
            )


def _names_table(name: str, result: RegionsResult) -> Iterator[Table]:
    """Tokenisation: how far distances go with the names themselves."""
    rows = []
    for level in result.tokenisation:
        for trait, label in TRAITS.items():
            estimate: Estimate | None = getattr(level, trait)
            if estimate and estimate.value is not None:
                rows.append(
                    {
                        "level": f"{level.level} ({level.regions})",
                        "a region's distance to its siblings goes with": label,
                        "Spearman": f"{estimate.value:+.2f}{'*' if is_marked(estimate) else ''}",
                        "95 % interval": interval(estimate, 2),
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


def _three(value: float | None) -> str:
    return f"{value:.3g}"


def _score_interval(region: RegionScores) -> str:
    return _interval(region.inference.c_w.balanced) if region.inference else ""


def _interval(estimate: Estimate) -> str:
    return "" if estimate.low is None else f"{_three(estimate.low)} to {_three(estimate.high)} (95 %)"
