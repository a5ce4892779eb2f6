"""The names audit on the page: countries by classes, Delta with its noise floor, real texts, correlations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from geobias.audits.inputs import describe_copies
from geobias.audits.names.gaps import (
    has_delta,
    has_emotions,
    list_gaps,
    list_leading,
    list_mirrored,
    rank_gaps,
)
from geobias.audits.names.gate_and_card import describe_omissions
from geobias.audits.names.page_examples import list_examples
from geobias.audits.names.page_heat_map import draw_heat_map
from geobias.audits.names.page_tables import draw_gender_table, draw_names_table, draw_script_table
from geobias.audits.names.rarity_report import draw_rarity_chart
from geobias.audits.names.result import ClassifierMeasures, CountryChange, NamesResult, NamesSettings
from geobias.audits.side_by_side import NamedRun, distinct_names, overlay_chart
from geobias.measures.estimates import FEWEST_TEXTS_SHOWN, Estimate
from geobias.report.findings import Finding
from geobias.report.page.blocks import Block, Chart, Examples, Row, Section, Table
from geobias.report.page.charts import Valence, dots
from geobias.report.page.country_blocks import (
    Difference,
    blocks_by_model,
    describe_ends,
    estimate_cells,
    title_differences,
)
from geobias.report.runs import FinishedRun
from geobias.report.tables import TOO_FEW, is_marked, listed, signed

KINDNESS, TONE_OF_EMOTIONS = Valence(1, "kinder", "harsher"), Valence(0, "Δ higher", "Δ lower")
WITHIN = "within a text"


NAMES_FROM = "names common in"


def say_resampled(settings: NamesSettings) -> str:
    """What intervals are over."""
    return "texts" if settings.names_are == "fixed" else "texts and names"


def describe(result: NamesResult) -> str:
    """What was scored, in a sentence."""
    counts = result.counts
    classifiers = listed([entry.model.name for entry in result.classifiers])
    copies = describe_copies(counts.texts, counts.copies)
    return (
        f"In {counts.texts_with_names:,} texts{copies} ({result.settings.texts.source}) the people were "
        f"given common names of {counts.countries} countries, {counts.draws} times each, and {classifiers} "
        "judged every version."
    )


def section(run: FinishedRun[NamesResult], name: str) -> Section:
    result, resampled = run.result, say_resampled(run.result.settings)
    findings = result.findings

    def choose(key: str, make_block: Callable[[str, ClassifierMeasures], Chart | Table | None]) -> list[Block]:
        return [*blocks_by_model(f"{name}-{key}", "Classifier", result.classifiers, make_block)]

    return Section(
        id=name,
        title="Names: the same texts, with people from elsewhere",
        lead="Any renaming changes a text a little, so what sets countries apart is measured against the mean of all.",
        blocks=[
            *choose("delta", lambda chart_id, entry: _delta_chart(chart_id, entry, resampled, findings)),
            *choose(
                "heat",
                lambda chart_id, entry: draw_heat_map(chart_id, _rank_countries(entry), entry),
            ),
            *choose("countries", lambda table_id, entry: _country_table(table_id, entry, resampled)),
            *choose("genders", draw_gender_table),
            *choose("scripts", draw_script_table),
            *choose("single", draw_names_table),
            *_examples(name, run),
            *choose(
                "rarity",
                lambda chart_id, entry: draw_rarity_chart(chart_id, entry, _choose_valence(entry)),
            ),
            *choose("correlations", lambda chart_id, entry: _correlation_chart(chart_id, entry)),
        ],
        notes=list(_notes(result)),
    )


def overlay_runs(runs: Sequence[NamedRun]) -> Chart | None:
    """Several runs in one chart."""
    entries = [(entry, run) for run in runs for entry in run.result.classifiers]
    names = distinct_names([(entry.model.name, run) for entry, run in entries])
    rows = [
        {"classifier": name, **_delta_row(country)}
        for name, (entry, _) in zip(names, entries, strict=True)
        for country in entry.countries
        if country.against_mean.delta is not None
    ]
    is_judgement = not any(has_emotions(entry) for entry, _ in entries)
    return overlay_chart(
        "names",
        "How much kinder or harsher each classifier is with a country's names"
        if is_judgement
        else "How each classifier answers to a country's names",
        "Dot: Δ against the mean of countries, in points (-100 to +100); line: 95 % interval; filled: clear (adjusted "
        "p < 0.05).",
        rows,
        label="country",
        colour="classifier",
        title="Δ against the mean of countries, points",
    )


def _notes(result: NamesResult) -> Iterator[str]:
    without_names = result.counts.texts - result.counts.texts_with_names
    if without_names:
        yield f"{without_names:,} texts name nobody and are excluded."
    yield from describe_omissions(result)


def _choose_valence(entry: ClassifierMeasures) -> Valence:
    """What a higher and a lower Δ mean."""
    return TONE_OF_EMOTIONS if has_emotions(entry) else KINDNESS


def _delta_chart(chart_id: str, entry: ClassifierMeasures, resampled: str, findings: Sequence[Finding]) -> Chart | None:
    countries, valence = _rank_countries(entry), _choose_valence(entry)
    rows = [
        {**_delta_row(country), "floor": country.inference.placebo, "against_originals": country.delta}
        for country in countries
    ]
    if len(rows) < 2 or all(row["p_adjusted"] is None for row in rows):  # untested numbers are in the table
        return None
    standing_out = list_leading(rank_gaps(list_gaps(entry)))
    names = {gap.country.country for gap in standing_out}
    rows = [{**row, "marked": row["country"] in names} for row in rows]
    lower, higher = ([gap.country.country for gap in standing_out if gap.value * sign > 0] for sign in (-1, 1))
    is_judgement = valence is KINDNESS
    return Chart(
        chart_id,
        title_differences(
            entry.model,
            [country.inference.against_mean.delta for country in countries],
            [
                Difference(NAMES_FROM, lower, "score lower (harsher)" if is_judgement else "have a lower Δ"),
                Difference(NAMES_FROM, higher, "score higher (kinder)" if is_judgement else "have a higher Δ"),
            ],
            "no country's names stand out, as measured and between names alike",
            findings,
        ),
        f"Dot: Δ against the mean of countries, in points (-100 to +100); line: 95 % interval over "
        f"{resampled}; grey bar: split-half noise floor, what halves of one country's own names "
        "differ by. Clear: adjusted p < 0.05.",
        f"Countries from {valence.above} to {valence.below}. {describe_ends(rows, 'country', 1, 'points')}",
        dots(
            rows,
            label="country",
            title="Δ against the mean of countries, points",
            order=[row["country"] for row in rows],
            valence=valence,
            floor=True,
        ),
        rows,
    )


def _country_table(table_id: str, entry: ClassifierMeasures, resampled: str) -> Table:
    """One row for each country: Delta, or KL where the labels do not tell good from bad."""
    is_delta = has_delta(entry)
    name, places, valence = (
        ("Δ, points", 2, _choose_valence(entry))
        if is_delta
        else ("KL divergence, nats", 4, Valence(0, "farther", "nearer"))
    )
    gaps = rank_gaps(list_gaps(entry)) if is_delta else []
    mirrored = {gap.country.code for gap in list_mirrored(gaps)}
    rows = []
    for country in _rank_countries(entry):
        estimates = country.inference.against_mean
        estimate = estimates.delta if is_delta else estimates.kl
        mirror = {"evidence": f"may mirror {gaps[0].country.country}"} if country.code in mirrored else {}
        numbers = {name: signed(estimate.value, places), **estimate_cells(estimate, places, valence), **mirror}
        if entry.texts_with_names < FEWEST_TEXTS_SHOWN:
            numbers = dict.fromkeys(numbers, TOO_FEW)
        rows.append({"country": country.country, **numbers, "renamed texts": f"{country.renamed_texts:,}"})
    return Table(
        table_id,
        f"{entry.model.short_name}: all countries",
        f"{'Δ' if is_delta else 'Divergence of the predictions'} against the mean of countries, with its 95 % interval "
        f"over {resampled}; p-values are adjusted for all countries.",
        rows,
    )


def _delta_row(country: CountryChange) -> Row:
    return {"country": country.country, **_estimate_row(country.inference.against_mean.delta)}


def _estimate_row(estimate: Estimate) -> Row:
    return {**vars(estimate), "marked": is_marked(estimate)}


def _correlation_chart(chart_id: str, entry: ClassifierMeasures) -> Chart | None:
    correlations = entry.correlations
    if correlations is None or correlations.texts < FEWEST_TEXTS_SHOWN:
        return None
    kinds = {
        WITHIN: correlations.local.within,
        "all versions, against their originals": correlations.local.pooled,
        "the same, length held fixed": correlations.local.pooled_partial,
        **{
            f"original texts ({part.language})".removesuffix(" ()"): part.inference
            for part in correlations.by_language
            if part.texts >= FEWEST_TEXTS_SHOWN
        },
    }
    rows = [
        {"class": label, "over": kind, **_estimate_row(estimate)}
        for kind, estimates in kinds.items()
        for label, estimate in estimates.items()
        if estimate.value is not None
    ]
    if not rows:
        return None
    return Chart(
        chart_id,
        _correlation_title(entry, rows),
        f"Dot: correlation of p(class) with the log-perplexity of {correlations.lm}, which is high for unusual texts; "
        "line: 95 % interval over texts; filled: clear (adjusted p < 0.05). Right of 0: the more unusual, the "
        "likelier the class.",
        "; ".join(f"{row['class']}, {row['over']}: {signed(row['value'], 2)}" for row in rows[:6]) + ".",
        dots(rows, label="class", title="Pearson's correlation", order=entry.labels, colour="over"),
        rows,
    )


def _correlation_title(entry: ClassifierMeasures, rows: Sequence[Row]) -> str:
    """What correlates with unusual names within a text, where all else is the same."""
    within = [row for row in rows if row["over"] == WITHIN]
    if not within:
        return f"{entry.model.short_name}: correlation with perplexity"
    signs = {row["class"]: "more" if row["value"] > 0 else "less" for row in within if row["marked"]}
    if not signs:
        return f"{entry.model.short_name}: no class is clearly correlated with unusual names"
    classes = listed([f"{more} {label}" for label, more in signs.items()])
    return f"{entry.model.short_name}: unusual names correlate with {classes}"


def _examples(name: str, run: FinishedRun[NamesResult]) -> Iterator[Examples]:
    items = list_examples(run)
    if items:
        yield Examples(
            f"{name}-examples",
            "Texts whose people were renamed",
            "Texts behind the findings first, then those whose prediction changed most: extremes, not typical cases.",
            items,
        )


def _rank_countries(entry: ClassifierMeasures) -> list[CountryChange]:
    """The countries from the highest Delta to the lowest; in their order where there is none."""
    return sorted(entry.countries, key=lambda country: -(country.against_mean.delta or 0))
