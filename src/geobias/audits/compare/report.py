"""What people read of a comparison besides its findings: a chart of each measure, and tables of differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import NamedTuple

from geobias.audits.compare.findings import list_clear, main_rows, select_places
from geobias.audits.compare.result import WORDS, CompareResult, Difference, ModelPair, list_pairs
from geobias.measures.paired_differences import FEWEST_WITH_CLASS
from geobias.report.declarations import CARD, FULL, PAGE, TERMINAL, ByModel, Column, Report, ReportBlock, Table
from geobias.report.findings import Finding
from geobias.report.headlines import name_model
from geobias.report.page.blocks import CardText, Chart, Row
from geobias.report.page.charts import dots
from geobias.report.sentences import format_number
from geobias.report.tables import interval, listed, signed

MOST_ROWS = 24  # of more, those with the smallest p-values are shown; the files have all
SUMMARY_ROWS = 3
DIGITS = {"delta": 2, "change": 1}  # after the decimal point; else 4
MEANING = (
    "Each difference is the second run minus the first, on the same texts and names or the same words, with a 95 % "
    "interval. p-values are adjusted for multiple comparisons within one measure, over places and classes: by max-T "
    "for names, else by Benjamini and Hochberg. * stands out: the adjusted p-value is below 0.05, and it is not only "
    f"the mirror of the largest. Of more than {MOST_ROWS} rows those with the smallest p-values are shown. It "
    "describes models, not people."
)


class Group(NamedTuple):
    """The differences of one pair of models in one measure."""

    pair: ModelPair
    measure: str
    rows: list[Difference]

    @property
    def known(self) -> list[Difference]:
        return [row for row in self.rows if row.is_known]


def make_report(result: CompareResult) -> Report:
    pairs = list_pairs(result)
    groups = [Group(pair, measure, rows) for pair in pairs for measure, rows in pair.rows.items()]
    drawn = [group for group in groups if group.known]
    charts = {f"{group.pair.title}: {WORDS[group.measure].title}": group for group in drawn}
    blocks: list[ReportBlock] = []
    if charts:
        blocks.append(ByModel({title: _draw(n, title, group) for n, (title, group) in enumerate(charts.items())}))
    blocks += [_list_certain(pairs), *(_list_group(n, group) for n, group in enumerate(groups)), _count_clear(groups)]
    unknown = sum(len(group.rows) - len(group.known) for group in groups)
    reason = f"a run predicts the class in fewer than {FEWEST_WITH_CLASS} texts, or answers too few questions"
    first, *others = result.settings.runs
    return Report(
        description=f"{len(others) + 1} runs of the {result.settings.audit} audit were compared: {listed(others)} "
        f"{'' if len(others) == 1 else 'each '}with {first}. Every difference is the second minus the first.",
        title="Comparison: do the models treat places differently?",
        lead="Both models had the same texts or cases and names, or words, so their difference may be more certain "
        "than either number. A smaller number is not a fairer model by itself.",
        blocks=blocks,
        summary="certain",
        model_noun="Measure",
        notes=[f"{unknown:,} without a difference, since {reason}."] if unknown else [],
        meaning=MEANING,
        cards={"": CardText("Do the two models treat places differently?")},
    )


def select_most_certain(rows: Sequence[Difference]) -> list[Difference]:
    """All of them, or, where they are many, those with the smallest p-values."""
    if len(rows) <= MOST_ROWS:
        return list(rows)
    return sorted((row for row in rows if row.is_known), key=lambda row: row.certainty)[:MOST_ROWS]


def _draw(number: int, title: str, group: Group) -> Chart:
    known = [row for row in select_most_certain(group.rows) if row.is_known]
    clear = list_clear(group.rows)
    rows: list[Row] = [
        {
            "place": row.title,
            **asdict(row.difference),
            "first": row.first,
            "second": row.second,
            "marked": row in clear,
        }
        for row in sorted(known, key=lambda row: -(row.difference.value or 0))
    ]
    cut = f" The {len(rows)} most certain of {len(group.rows):,}." if len(rows) < len(group.rows) else ""
    ends = " to ".join(f"{row['place']} {_format_change(row['value'])}" for row in (rows[0], rows[-1]))
    axis = f"difference: {WORDS[group.measure].title}"
    return Chart(
        f"differences-{number}",
        title,
        "Dot: the second model minus the first; line: 95 % interval; filled: stands out (adjusted p below 0.05, and "
        f"not only the mirror of the largest). Right of 0: the second is higher.{cut}",
        f"From {ends}; {sum(row['marked'] for row in rows)} of {len(rows)} stand out.",
        dots(rows, label="place", title=axis, order=[row["place"] for row in rows]),
        rows,
    )


def _format_change(value: float | None) -> str:
    """As many digits as its size asks for."""
    return f"{value:+.3g}" if value else "0"


def _list_certain(pairs: Sequence[ModelPair]) -> Table:
    """The most certain differences of the main measure, over all pairs of models."""
    seconds = {row: pair.second for pair in pairs for row in select_places(main_rows(pair))}
    rows = sorted(seconds, key=lambda row: row.certainty)[:SUMMARY_ROWS]
    clear = [row for pair in pairs for row in list_clear(main_rows(pair))]
    model = Column("model", seconds.__getitem__, is_text=True)
    title = f"Most certain: {pairs[0].title}" if len(pairs) == 1 else "Most certain differences"
    return Table("certain", title, "", rows, [*([model] if len(pairs) > 1 else []), *_columns(clear)], on={TERMINAL})


def _list_group(number: int, group: Group) -> Table:
    title = f"{group.pair.title}: {group.measure} against {group.rows[0].against}"
    rows = select_most_certain(group.rows)
    columns = _columns(list_clear(group.rows))
    return Table(f"rows-{number}", title, "", rows, columns, most={FULL: MOST_ROWS}, on={FULL})


def _columns(clear: Sequence[Difference]) -> list[Column]:
    def show(row: Difference, value: float | None) -> str:
        return signed(value, DIGITS.get(row.measure, 4))

    return [
        Column("place", "title", is_text=True),
        Column("first", lambda row: show(row, row.first), keep=2),
        Column("second", lambda row: show(row, row.second), keep=2),
        Column("difference", lambda row: show(row, row.difference.value) + ("*" if row in clear else " ")),
        Column("95 % interval", lambda row: interval(row.difference, DIGITS.get(row.measure, 4))),
    ]


def _count_clear(groups: Sequence[Group]) -> Table:
    return Table(
        "marked",
        "How much stands out",
        "Differences with an adjusted p-value below 0.05, without those that may only mirror the largest one.",
        groups,
        [
            Column("second minus first", "pair.title", is_text=True),
            Column("measure", lambda group: WORDS[group.measure].title, is_text=True),
            Column("stand out", lambda group: len(list_clear(group.rows)), ","),
            Column("compared", lambda group: len(group.known), ","),
            Column("not comparable:\nclass too rare", lambda group: len(group.rows) - len(group.known), ",", keep=2),
        ],
        on={FULL, PAGE, CARD},
    )


def say_headline(result: CompareResult, answer: Finding, details: Sequence[Finding]) -> str:
    pair = next(pair for pair in list_pairs(result) if pair.model == answer.model)
    first, second = name_model(pair.first), name_model(pair.second)
    what = f"{second} and {first} treat places differently"
    rows = main_rows(pair)
    if answer.evidence == "none":
        return f"No sign that {what}: none of {len({row.id for row in rows})} places stands out."
    if answer.evidence == "not testable" or not rows:
        return f"These runs cannot tell whether {what}."
    row = select_places(list_clear(rows) or rows)[0]
    start = "" if answer.evidence == "clear" else "Not certain: "
    second_gap, first_gap = (format_number(abs(value or 0)) for value in (row.second, row.first))
    if row.measure == "delta" and not pair.is_about_emotions:
        side = "kinder" if (row.second or 0) > 0 else "harsher"
        return (
            f"{start}Give people names from {row.name}, and {second} scores texts {second_gap} points {side} than with "
            f"the average country's. For {first} the gap is {first_gap} points."
        )
    unit = " %" if row.measure == "change" else ""
    gaps = [f"{format_number(value or 0)}{unit}" for value in (row.second, row.first)]
    return f"{start}{row.title}: {WORDS[row.measure].title} is {gaps[0]} with {second}, and {gaps[1]} with {first}."
