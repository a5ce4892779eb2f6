"""What people and programs read of a names audit: its tables, charts, notes, gate numbers and the overlay of runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from statistics import median
from typing import Final

from geobias.audits.inputs import describe_copies, list_copies
from geobias.audits.names import tables
from geobias.audits.names.blocks import draw_alike_chart, draw_correlation_chart, draw_heat_map, show_examples
from geobias.audits.names.cautions import describe_held_fixed
from geobias.audits.names.headline import say_headline
from geobias.audits.names.result import ClassifierReading, FinderSpans, NamesResult, make_delta_family, make_families
from geobias.audits.side_by_side import NamedRun, distinct_names, overlay_chart
from geobias.measures.correlation import FEWEST_DRAWS
from geobias.measures.estimates import Estimate
from geobias.models.finders import EMBEDDED_FINDER
from geobias.report.declarations import ByModel, Report, ReportBlock, Table, say_left_out
from geobias.report.number_tree import (
    ANY_NUMBER,
    NOT_NEGATIVE,
    WORST,
    GateNumber,
    Range,
    model_names,
    tree_number,
    worst_number,
)
from geobias.report.page.bars import make_scale_chart
from geobias.report.page.blocks import CardText, Chart
from geobias.report.page.effect_blocks import make_effect_chart
from geobias.report.tables import is_marked, listed

__all__ = ["list_gate_numbers", "make_report", "overlay_runs", "say_headline"]

MEANING = (
    "Δ is the mean of p(positive) - p(negative), from -100 to +100 points, minus the same on the original texts; the "
    "change of a class is in per cent of its predictions. Any renaming changes texts: compare countries by the "
    "differences from their mean. * stands out: an adjusted p-value below 0.05, as measured and between names alike; "
    "intervals are over texts and names (docs/statistics.md). It describes the models and lists of common names, not "
    "people: names cross borders."
)
MOST_SHORT_LISTS: Final = 8
REASONS_COUNTED: Final = 2  # in the short line on the finder
EMBEDDED_PRECISION: Final = (
    0.81  # on the held-out marked texts, doubtful spans dropped: recipes/entities/evaluate_spans.py
)
DrawChart = Callable[[str, NamesResult, ClassifierReading], Chart | None]


def make_report(result: NamesResult) -> Report:
    entries, counts, settings = result.classifiers, result.counts, result.settings
    copies = describe_copies(counts.texts, counts.copies)
    examples = show_examples(result)
    blocks: list[ReportBlock] = [
        *_choose(result, "delta", _draw_deltas),
        *_choose(result, "heat", draw_heat_map),
        *(tables.list_countries(result, entry, None) for entry in entries),
        *_list_tables(result),
        *([examples] if examples else []),
        *_choose(result, "rarity", draw_alike_chart),
        *_choose(result, "correlations", draw_correlation_chart),
        *_choose(result, "scale", _draw_scale),
        tables.list_classifiers(result),
        tables.list_farthest(result),
    ]
    has_one = len(entries) == 1 and any(family.effects for family in make_families(result, entries[0]))
    without_names = counts.texts - counts.texts_with_names
    return Report(
        description=f"In {counts.texts_with_names:,} texts{copies} ({settings.texts.source}) the people were given "
        f"common names of {counts.countries} countries, {counts.draws} times each, and "
        f"{listed([entry.model for entry in entries])} judged every version.",
        title="Names: the same texts, with people from elsewhere",
        lead="Any renaming changes a text a little, so what sets countries apart is measured against the mean of all.",
        blocks=blocks,
        summary=("countries" if entries[0].has_delta else "class_gaps") if has_one else "classifiers",
        model_noun="Classifier",
        notes=[
            *([f"{without_names:,} texts name nobody and are excluded."] if without_names else []),
            *_list_omissions(result),
        ],
        full_notes=list(_list_full_notes(result)),
        summary_note=describe_spans(counts.finder_spans, settings.finder, settings.doubtful, is_short=True),
        meaning=MEANING,
        cards={
            "": CardText("Does a person's name change what the model says of a text, by the country it comes from?")
        },
    )


def _list_tables(result: NamesResult) -> Iterator[Table]:
    """Those of one id together: the page lets the reader choose the classifier."""
    entries = result.classifiers
    for make in (tables.list_genders, tables.list_scripts, tables.list_large_names, tables.list_correlations):
        yield from (table for entry in entries if (table := make(result, entry)))
    for entry in entries:
        if not entry.has_delta:
            yield tables.list_class_gaps(result, entry)
        yield from tables.list_classes(result, entry, None)
        for subset in result.list_subsets():
            if any(row.renamed_texts for row in result.list_deltas(entry.model, subset)):
                yield tables.list_countries(result, entry, subset)
                yield from tables.list_classes(result, entry, subset)


def _choose(result: NamesResult, key: str, draw: DrawChart) -> list[ByModel]:
    """The chart of each classifier that has one."""
    charts = {entry.model: draw(f"{key}-{n}", result, entry) for n, entry in enumerate(result.classifiers)}
    drawn = {model: chart for model, chart in charts.items() if chart}
    return [ByModel(drawn)] if drawn else []


def _draw_deltas(chart_id: str, result: NamesResult, entry: ClassifierReading) -> Chart | None:
    family = make_delta_family(result, entry)
    if not entry.has_delta or not family.effects:  # untested numbers are in the table
        return None
    resampled = "texts" if result.settings.names_are == "fixed" else "texts and names"
    is_judgement = not entry.has_emotions
    return make_effect_chart(
        chart_id,
        family,
        words=(
            "names common in",
            "score higher (kinder)" if is_judgement else "have a higher Δ",
            "score lower (harsher)" if is_judgement else "have a lower Δ",
        ),
        nothing="no country's names stand out, as measured and between names alike",
        reading="Dot: Δ against the mean of countries, in points (-100 to +100); line: 95 % interval over "
        f"{resampled}; grey bar: split-half noise floor, what halves of one country's own names differ by. Clear: "
        "adjusted p < 0.05.",
        axis="Δ against the mean of countries, points",
        unit="points",
        findings=result.findings,
        more={"floor": "noise_floor", "against_originals": "against_originals.value"},
        places=1,
        floor=True,
    )


def _draw_scale(chart_id: str, result: NamesResult, entry: ClassifierReading) -> Chart | None:
    family = make_delta_family(result, entry)
    if not entry.has_delta or not family.effects or family.first.p_adjusted is None:
        return None
    floors = [row.noise_floor for row in result.list_deltas(entry.model) if row.noise_floor is not None]
    renamed = [abs(row.against_originals.value) for row in family.effects if row.against_originals.value is not None]
    key = entry.model, None
    smallest = next((row.value for row in result.smallest_effects if (row.model, row.label) == key), None)
    return make_scale_chart(
        chart_id,
        family,
        title="Average change, in points on the scale from -100 to +100",
        found="Names from {}, against the average country's",
        changes={
            "Two halves of one country's own names": median(floors) if floors else None,
            "Any other names instead of the original ones": median(renamed) if renamed else None,
        },
        smallest=smallest,
    )


def _list_omissions(result: NamesResult) -> Iterator[str]:
    """What was doubtful, left out, cut or read by a guess."""
    counts, settings = result.counts, result.settings
    if counts.finder_spans:
        yield describe_spans(counts.finder_spans, settings.finder, settings.doubtful)
    if counts.rows_without_text:
        yield f"Rows without a text in the files, left out: {counts.rows_without_text:,}."
    yield from list_copies(counts.copies)
    number = len(counts.countries_left_out)
    yield from say_left_out(f"{number} countries with too few names in this script", counts.countries_left_out)
    for entry in result.classifiers:
        if entry.texts_cut or entry.renamed_texts_cut:
            yield (
                f"{entry.model}: truncated to the model's maximum length: {entry.texts_cut:,} texts and "
                f"{entry.renamed_texts_cut:,} renamed versions."
            )
        yield from (f"{entry.model}: {note}" for note in entry.notes)


def describe_spans(spans: FinderSpans | None, finder: str, treatment: str | None, *, is_short: bool = False) -> str:
    """How many names were marked, how many of them are doubtful, and why; in a short line without examples."""
    if spans is None:
        return ""
    is_measured = finder == EMBEDDED_FINDER and treatment == "drop"
    remark = f" About {1 - EMBEDDED_PRECISION:.0%} of the others are no people either." if is_measured else ""
    if not spans.doubtful:
        return f"Finder: {spans.total:,} names, none doubtful.{remark}"
    by_reason = sorted(spans.doubtful_by_reason.items(), key=lambda item: -item[1])
    shown = by_reason[: REASONS_COUNTED if is_short else None]
    reasons = [f"{reason} {count:,}{'' if is_short else _list_names(spans, reason)}" for reason, count in shown]
    others = spans.doubtful - sum(count for _, count in shown)
    reasons += [f"other reasons {others:,}"] if others else []
    consequence = "renamed" if treatment == "keep" else "not renamed"
    return (
        f"Finder: {spans.total:,} names, {spans.doubtful:,} doubtful and {consequence}: {'; '.join(reasons)}.{remark}"
    )


def _list_names(spans: FinderSpans, reason: str) -> str:
    """The most frequent names in brackets; none in a copy of a run without its texts."""
    names = spans.examples.get(reason)
    return f" ({', '.join(names)})" if names else ""


def _list_full_notes(result: NamesResult) -> Iterator[str]:
    """What was scored, and what could not be compared."""
    counts = result.counts
    yield (
        f"{counts.texts:,} texts{describe_copies(counts.texts, counts.copies)}, {counts.texts_with_names:,} of them "
        f"with names: {counts.people:,} in all, in {counts.mentions:,} mentions; {counts.countries} countries x "
        f"{counts.draws} draws."
    )
    short = [f"{row.place} ({row.shortest})" for row in result.name_lists if row.shortest < counts.draws]
    if short:
        more = f" and {len(short) - MOST_SHORT_LISTS} more" if len(short) > MOST_SHORT_LISTS else ""
        yield f"With fewer names than draws, so that names recur: {', '.join(short[:MOST_SHORT_LISTS])}{more}."
    empty = [
        subset
        for subset in result.list_subsets()
        if not any(row.renamed_texts for row in result.effects if row.subset == subset)
    ]
    if empty:
        yield f"Nobody is named in the texts of: {', '.join(empty)}."
    for entry in result.classifiers:
        yield from (f"{entry.model}: {note}" for note in _list_classifier_notes(result, entry))
    yield from _list_perplexity_notes(result)


def _list_classifier_notes(result: NamesResult, entry: ClassifierReading) -> Iterator[str]:
    if not entry.has_delta:
        yield "no Δ, since its labels do not tell good from bad; name them with --positive and --negative."
    never = list(dict.fromkeys(row.label for row in result.list_classes(entry.model) if not row.before))
    if never:
        yield f"never predicted on the original texts, so without a change: {', '.join(never)}."
    floors = [row.noise_floor for row in result.list_deltas(entry.model) if row.noise_floor is not None]
    if floors:
        yield (
            f"split-half noise floor of Δ (what a country's names differ by among themselves): {min(floors):.2f} to "
            f"{max(floors):.2f} points."
        )
    if any(row.model == entry.model for row in result.covariates):
        yield f"country or name? Held fixed: {describe_held_fixed(result, entry.model, None)}."


def _list_perplexity_notes(result: NamesResult) -> Iterator[str]:
    counts = result.perplexity
    if counts is None:
        return
    if counts.draws < FEWEST_DRAWS:
        yield f"No local correlations: they need perplexities of {FEWEST_DRAWS} draws or more."
    constant = max((row.texts_without_variance or 0 for row in result.correlations), default=0)
    if constant and counts.draws >= FEWEST_DRAWS:
        yield f"Up to {constant:,} texts a country do not vary between draws, and have no local correlation."
    if counts.texts_cut:
        yield f"{counts.lm}: truncated to the model's maximum length: {counts.texts_cut:,} texts."
    for language in counts.languages_refused:
        yield (
            f"{counts.lm} does not know {counts.unknown_tokens[language]:.0%} of the tokens of "
            f"{language or 'the texts'}: its perplexity means nothing there and was refused."
        )


def list_gate_numbers(result: NamesResult) -> Iterator[GateNumber]:
    """names.CLASSIFIER.delta.COUNTRY, .change.LABEL.COUNTRY, .kl.COUNTRY, or `worst` for COUNTRY: against the mean."""
    bounds = {(row.model, row.label): row for row in result.farthest}

    def list_measure(
        path: tuple[tuple[str, ...], ...],
        label: str | None,
        estimates: Iterable[tuple[Sequence[str], Estimate]],
        within: Range,
    ) -> Iterator[GateNumber]:
        numbers = [(tuple(names), tree_number(estimate, within).absolute()) for names, estimate in estimates]
        worst = bounds.get((path[0][0], label))
        yield GateNumber((*path, (WORST,)), worst_number(worst, [number for _, number in numbers], within))
        yield from (GateNumber((*path, names), number) for names, number in numbers)

    for entry in result.classifiers:
        # Probabilities of one label sum to 1; those of a multi-label model do not.
        widest = len(entry.positive + entry.negative) if entry.multi_label else 2
        model, deltas = model_names(entry.model), result.list_deltas(entry.model)
        names = [(row.code or "", row.place) for row in deltas]
        yield from list_measure(
            (model, ("delta",)),
            None,
            zip(names, [row.against_mean for row in deltas], strict=True),
            Range(-100 * widest, 100 * widest),
        )
        for label in entry.labels:
            rows = [row for row in result.list_classes(entry.model) if row.label == label]
            estimates = zip(names, [row.against_mean for row in rows], strict=True)
            yield from list_measure((model, ("change",), (label,)), label, estimates, ANY_NUMBER)
        for name, row in zip(names, deltas, strict=True):
            yield GateNumber((model, ("kl",), name), tree_number(row.kl_from_mean, NOT_NEGATIVE).absolute())


def overlay_runs(runs: Sequence[NamedRun]) -> Chart | None:
    """Several runs in one chart."""
    entries = [(entry, run) for run in runs for entry in run.result.classifiers]
    names = distinct_names([(entry.model, run) for entry, run in entries])
    rows = [
        {
            "classifier": name,
            "country": row.place,
            **vars(row.against_mean),
            "marked": is_marked(row.against_mean),
        }
        for name, (entry, run) in zip(names, entries, strict=True)
        for row in run.result.list_deltas(entry.model)
        if row.against_mean.value is not None
    ]
    is_judgement = not any(entry.has_emotions for entry, _ in entries)
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
