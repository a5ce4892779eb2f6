"""What a run says of known stereotypes: findings, terminal lines, rows of tables, numbers of a gate."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from geobias.audits.regions.caution import name_model
from geobias.audits.regions.known import FEWEST_OF_EACH, is_called_stereotype
from geobias.audits.regions.known_records import KnownOffensive, KnownStereotypes, KnownViews, OffensivePair
from geobias.audits.regions.result import RegionsResult
from geobias.measures.estimates import Estimate
from geobias.measures.ranks import CHANCE
from geobias.report.findings import Finding, format_p, grade_evidence
from geobias.report.number_tree import NOT_NEGATIVE, SHARE, NumberTree, tree_number
from geobias.report.sentences import format_evidence, measure_size
from geobias.report.tables import format_interval, signed, titled_table
from geobias.world.countries import load_country_names

WARNING = (
    "Content warning: these are offensive stereotypes. They are what a model associates with a country, never a "
    "statement about people."
)
QUESTION = "Do its associations separate what people call stereotypes from other pairs of a country and an attribute?"
REGION_VIEW = "annotators from the countries' own regions"
NORTH_AMERICAN_VIEW = "annotators in North America"
LIMIT = (
    "SeeGULL's pairs were proposed by language models and judged by about three annotators of each group: votes are "
    "noisy, so that no model reaches an AUC of 1."
)
NEXT_STEP = "Look at the AUC of each country on the page. tables/known.csv lists every pair; its content is offensive."
SUBSET_STEP = "Add --known for all pairs: the subset only says whether it follows them at all."
COUNTRIES_SHOWN = 5  # on each end
MEASURE = "known stereotypes"  # in the verdict, to tell it from the other answers of a run


def list_known_findings(result: RegionsResult) -> Iterator[Finding]:
    """The overall answer, then whose view the model follows and offensive attributes, where that is not negative."""
    if result.known is not None:
        yield from (replace(finding, measure=MEASURE) for finding in _list_findings(result, result.known))


def _list_findings(result: RegionsResult, known: KnownStereotypes) -> Iterator[Finding]:
    yield _answer_overall(result, known)
    if known.views:
        yield from _report_detail(
            result,
            known.views.difference,
            f"Does it follow the views of {REGION_VIEW} or those of {NORTH_AMERICAN_VIEW}?",
            "difference of AUC",
            _describe_views(known.views),
            centre=0.0,
        )
    if known.offensive:
        yield from _report_detail(
            result,
            known.offensive.ratio,
            "Does it associate countries with offensive attributes more than with others?",
            "times",
            _describe_offensive(known.offensive),
            centre=1.0,
        )


def known_report(known: KnownStereotypes) -> Iterator[RenderableType]:
    """The lines and the table of `--full`."""
    yield (
        f"Known stereotypes (SeeGULL): {known.pairs:,} pairs of {known.countries:,} countries and "
        f"{known.attributes:,} attributes; most annotators call {known.stereotypes:,} of them stereotypes. AUC "
        f"{_format(known.auc)} over {known.interval_over}; between countries of the same attribute "
        f"{_format(known.auc_within_attributes)}. 0.5 is chance."
    )
    if known.views:
        views = known.views
        yield (
            f"Whose view: AUC {_format(views.region)} by the votes of {REGION_VIEW}, {_format(views.north_america)} by "
            f"those of {NORTH_AMERICAN_VIEW}; difference {signed(views.difference.value, 3)} "
            f"({format_interval(views.difference, '+.3f')}; {format_p(views.difference.p_adjusted)})."
        )
    if known.offensive:
        offensive = known.offensive
        yield (
            f"Offensive attributes ({offensive.pairs:,} pairs) are {_format(offensive.times)} times as likely of their "
            "countries as of the average country, relative to other attributes, inoffensive ones "
            f"({offensive.inoffensive_pairs:,}) {_format(offensive.inoffensive_times)} times; ratio within countries "
            f"{_format(offensive.ratio)}, "
            f"{format_p(offensive.ratio.p_adjusted)}."
        )
    if known.by_country:
        yield _country_table(known)
    if known.without_demonym:
        yield f"Without a usual word for their people, so left out: {', '.join(known.without_demonym)}."
    if known.sentences_cut:
        yield f"Longer than the model takes, and cut: {known.sentences_cut:,} sentence(s) about known stereotypes."
    if known.top_offensive:
        yield Text(WARNING, style="bold")
        yield _offensive_table(known.top_offensive)


def known_rows(result: RegionsResult) -> Iterator[dict[str, Any]]:
    """tables/known.csv: every pair with its votes and its association, country by country, the largest first."""
    known, names = result.known, load_country_names()
    if known is None or known.associations is None:
        return
    rows = zip(known.stereotype_pairs, known.associations.tolist(), strict=True)
    for pair, association in sorted(rows, key=lambda row: (row[0].code, -row[1])):
        yield {
            "code": pair.code,
            "country": names[pair.code],
            "attribute": pair.attribute,
            "association": association,
            "times": math.exp(association),
            "is_stereotype": is_called_stereotype(pair),
            "region_stereotype": pair.region_stereotype,
            "region_other": pair.region_other,
            "north_america_stereotype": pair.north_america_stereotype,
            "north_america_other": pair.north_america_other,
            "offensiveness": pair.offensiveness,
        }


def known_numbers(known: KnownStereotypes) -> NumberTree:
    """known.auc, known.offensive: what a gate may bound."""
    entries = [(("auc",), tree_number(known.auc, SHARE))]
    if known.offensive:
        entries.append((("offensive",), tree_number(known.offensive.ratio, NOT_NEGATIVE)))
    return NumberTree(entries)


def _answer_overall(result: RegionsResult, known: KnownStereotypes) -> Finding:
    auc = known.auc
    evidence = grade_evidence(auc.p)
    pairs = "pairs of a country and an attribute that people call stereotypes"
    if auc.value is None:
        sentence = f"Whether it follows known stereotypes cannot be tested: no country has {pairs} and others."
    elif evidence == "not testable":
        sentence = f"Its associations separate {pairs} from others with an AUC of {auc.value:.2f}: too few to test."
    elif evidence == "none":
        missed = "" if known.detectable_auc is None else f" An AUC under {known.detectable_auc:.2f} would probably be "
        sentence = (
            f"Its associations do not clearly separate {pairs} from others (AUC {auc.value:.2f}, "
            f"{format_evidence(auc, auc.p)}).{missed and missed + 'missed.'}"
        )
    else:
        side = "more" if auc.value > CHANCE else "less"
        share = max(auc.value, 1 - auc.value)
        sentence = (
            f"Its associations separate {pairs} from others with an AUC of {auc.value:.2f} "
            f"({format_evidence(auc, auc.p)}): in {100 * share:.0f} of 100 comparisons a stereotype of a country is "
            f"{side} likely than another attribute, each relative to other countries."
        )
    return Finding(
        role="overall",
        audit=result.audit,
        model=result.model.name,
        question=QUESTION,
        direction=None if auc.value is None else "higher" if auc.value > CHANCE else "lower",
        size=measure_size(auc, "AUC"),
        p=auc.p,
        p_adjusted=auc.p,
        evidence=evidence,
        sentence=f"{name_model(result)}: {sentence}",
        limit=LIMIT,
        next_step=SUBSET_STEP if known.is_subset else NEXT_STEP,
    )


def _report_detail(
    result: RegionsResult, estimate: Estimate, question: str, unit: str, sentence: str, *, centre: float
) -> Iterator[Finding]:
    """A finding, unless there is no evidence or no test."""
    evidence = grade_evidence(estimate.p_adjusted)
    if evidence in ("none", "not testable"):
        return
    yield Finding(
        role="detail",
        audit=result.audit,
        model=result.model.name,
        question=question,
        direction="higher" if (estimate.value or 0) > centre else "lower",
        size=measure_size(estimate, unit),
        p=estimate.p,
        p_adjusted=estimate.p_adjusted,
        evidence=evidence,
        sentence=f"{result.model.short_name}: {sentence}",
        limit=LIMIT,
        next_step=NEXT_STEP,
    )


def _describe_views(views: KnownViews) -> str:
    groups = [(REGION_VIEW, views.region), (NORTH_AMERICAN_VIEW, views.north_america)]
    (first, higher), (second, lower) = groups if (views.difference.value or 0) > 0 else groups[::-1]
    return (
        f"Its associations follow the votes of {first} (AUC {higher.value or 0:.2f}) more than those of {second} "
        f"({lower.value or 0:.2f}; difference {signed(views.difference.value, 3)}, "
        f"{format_evidence(views.difference, views.difference.p_adjusted)})."
    )


def _describe_offensive(offensive: KnownOffensive) -> str:
    ratio = offensive.ratio
    side = "more" if (ratio.value or 0) > 1 else "less"
    return (
        f"It associates countries with offensive attributes {side} than with inoffensive ones: {ratio.value or 0:.2f} "
        f"times as likely, each relative to other countries ({format_evidence(ratio, ratio.p_adjusted)})."
    )


def _format(estimate: Estimate) -> str:
    """0.61 (0.58 to 0.64)."""
    if estimate.value is None:
        return "not known"
    bounds = "" if estimate.low is None else f" ({format_interval(estimate, '.2f')})"
    return f"{estimate.value:.2f}{bounds}"


def _country_table(known: KnownStereotypes) -> Table:
    """The countries with the highest and the lowest AUC."""
    ranked = sorted(known.by_country, key=lambda country: -(country.auc.value or 0))
    ends = [*ranked[:COUNTRIES_SHOWN], *ranked[COUNTRIES_SHOWN:][-COUNTRIES_SHOWN:]]
    table = titled_table(
        f"AUC by country ({len(ranked)} have {FEWEST_OF_EACH} stereotypes and {FEWEST_OF_EACH} others); * not 0.5",
        ["country"],
        ["stereotypes", "others", "AUC", "95 % interval"],
    )
    for k, country in enumerate(ends):
        auc = country.auc
        mark = "*" if grade_evidence(auc.p_adjusted) == "clear" else " "
        cells = f"{country.stereotypes:,}", f"{country.others:,}", f"{auc.value:.2f}{mark}"
        table.add_row(country.name, *cells, format_interval(auc, ".2f"), end_section=k == COUNTRIES_SHOWN - 1)
    return table


def _offensive_table(pairs: list[OffensivePair]) -> Table:
    words, numbers = ("country", "attribute"), ("times as likely", "called a stereotype")
    table = titled_table("Offensive attributes with the largest associations", words, numbers)
    for each in pairs:
        table.add_row(each.name, each.attribute, f"{each.times:.2f}", "by most" if each.is_stereotype else "no")
    return table
