"""Words and numbers as the findings and notes of a names audit say them, and the texts that a finding shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Literal

import numpy as np

from geobias.audits.inputs import describe_copies, list_copies
from geobias.audits.names.answers import ClassifierAnswers
from geobias.audits.names.inference import delta_values
from geobias.audits.names.names_alike import ALIKE, describe_held_fixed
from geobias.audits.names.result import ClassifierReading, FinderSpans, NamesResult
from geobias.audits.names.rows import ClassEffect, CountryEffect, SmallestEffect
from geobias.measures.correlation import FEWEST_DRAWS
from geobias.models.finders import EMBEDDED_FINDER
from geobias.report.declarations import say_left_out
from geobias.report.findings import MOST_EXAMPLES, ExampleText, format_p
from geobias.report.sentences import MOST_NAMES
from geobias.texts.counterfactuals import Counterfactuals
from geobias.texts.doubtful_spans import sort_spans
from geobias.world.places import add_article

MORE_TEXTS: Final = 4  # times as many texts find a gap of half the size, if texts are all that differs
MOST_SHORT_LISTS: Final = 8
REASONS_COUNTED: Final = 2  # in the short line on the finder
EMBEDDED_PRECISION: Final = (
    0.81  # on the held-out marked texts, doubtful spans dropped: recipes/entities/evaluate_spans.py
)


def name_origin(country: str) -> str:
    """ "names common in the United States"."""
    return f"names common in {add_article(country)}"


def shorten(value: float) -> str:
    """The size of a number with two digits or so."""
    size = abs(value)
    if size >= 10:
        return f"{size:.0f}"
    return f"{size:.1f}" if size >= 1 else f"{size:.2f}"


def find_direction(effect: CountryEffect) -> Literal["higher", "lower"]:
    return "higher" if effect.value > 0 else "lower"


def name_unit(effect: CountryEffect) -> str:
    """Of how much countries differ."""
    return "percentage points" if effect.of_class else "points"


def say_certainty(effect: CountryEffect) -> str:
    """The interval on the side of the gap, and the adjusted p-value."""
    told, sign = effect.told, 1 if effect.value > 0 else -1
    assert told.low is not None and told.high is not None  # it was tested
    near, far = sorted((sign * told.low, sign * told.high))
    return f"95 % interval {_shorten_signed(near)} to {_shorten_signed(far)}, {format_p(told.p_adjusted)}"


def _shorten_signed(value: float) -> str:
    return f"-{shorten(value)}" if value < 0 and float(shorten(value)) else shorten(value)


def name_rates(leading: Sequence[ClassEffect]) -> str:
    """ "23 of 100 with names common in Poland, 8 of the originals"."""
    rates = [f"{round_rate(effect.rate)} of 100 with {name_origin(effect.place)}" for effect in leading]
    more = [f"{len(rates) - MOST_NAMES} more"] if len(rates) > MOST_NAMES else []
    originals = [f"{round_rate(effect.rate_before)} of the originals" for effect in leading[:1]]
    return ", ".join([*rates[:MOST_NAMES], *more, *originals])


def round_rate(share: float) -> str:
    """A share as a number of 100 texts."""
    rate = 100 * share
    return f"{rate:.0f}" if rate >= 1 or not rate else f"{rate:.1f}"


def say_rate(effect: ClassEffect, rates: Sequence[float]) -> str:
    """ "23 of 100 texts with names common in Poland are called X, 14 in the mean country, 8 of the originals"."""
    words = (
        f"{round_rate(effect.rate)} of 100 texts with {name_origin(effect.place)} are called {effect.label}, "
        f"{round_rate(sum(rates) / len(rates))} in the mean country, {round_rate(effect.rate_before)} of the originals"
    )
    if effect.alike and effect.alike.value is not None:
        words += f"; {shorten(effect.alike.value)} more or less between {ALIKE}"
    return words


def advise_more_data(result: NamesResult, half: SmallestEffect | None, rerun: Callable[[str], str]) -> str:
    """What would find gaps half as large as the run could find, given where its variance comes from."""
    opening = "To find gaps half as large, use"
    if half is None or half.share_of_names is None:
        texts = MORE_TEXTS * result.counts.texts_with_names
        return f"{opening} about {texts:,} texts: {rerun('--texts FILE')}"
    if half.half_texts is not None:
        shortest = min(row.shortest for row in result.name_lists)  # with more draws, names only recur
        draws = f" (or {half.half_draws} draws)" if half.half_draws and half.half_draws <= shortest else ""
        return f"{opening} about {half.half_texts:,} texts{draws}: {rerun('--texts FILE')}"
    remark = f"More texts alone would hardly help, since {half.share_of_names:.0%} of the variance is between names."
    lists, options = f"{MORE_TEXTS} times as many texts and as long lists of names", "--texts FILE --gazetteer FILE"
    if half.half_times_names is not None:
        lists, options = f"{half.half_times_names:.2g} times as long lists of names", "--gazetteer FILE"
    return f"{remark} {opening} about {lists}: {rerun(options)}"


def choose_examples(result: NamesResult, effect: CountryEffect) -> list[ExampleText]:
    """Up to five texts; none for a result read from disk, which has no answers in memory."""
    texts, named, renamed = result.texts, result.named, result.counterfactuals
    answers = next((each for each in result.answers if each.model.name == effect.model), None)
    if texts is None or named is None or renamed is None or answers is None:
        return []
    country = list(renamed.countries).index(effect.code or "")
    sign = 1 if effect.value > 0 else -1
    changes = sign * _list_changes(answers, named, effect)  # texts x countries x draws, above 0 as the finding says
    from_mean = changes[:, country].mean(axis=1) - changes.mean(axis=(1, 2))
    examples: list[ExampleText] = []
    for i in np.argsort(-from_mean, kind="stable"):
        draws = np.flatnonzero(changes[i, country] > 0)
        if from_mean[i] <= 0 or len(examples) == MOST_EXAMPLES:
            break
        if not len(draws) or _is_doubtful(renamed, i):
            continue
        by_change = draws[np.argsort(changes[i, country, draws], kind="stable")]
        draw = int(by_change[len(by_change) // 2])  # the median version: the largest change may be one odd name
        row = int(named[i])
        before, after = answers.original[row], answers.renamed[i, country, draw]
        k = _choose_label(answers, effect, sign * (after - before))
        text = _render(renamed, int(i), country, draw)
        label, numbers = answers.labels[k], (float(before[k]), float(after[k]))
        examples.append(ExampleText(**text, text_id=texts.ids[row], label=label, before=numbers[0], after=numbers[1]))
    return examples


def _list_changes(answers: ClassifierAnswers, named: np.ndarray, effect: CountryEffect) -> np.ndarray:
    """texts x countries x draws: the renamed text minus its original, in delta or in the probability of a class."""
    original = answers.original[named]
    if effect.of_class is None:
        return delta_values(answers, original)
    k = answers.labels.index(effect.of_class)
    return np.asarray(answers.renamed[..., k] - original[:, None, None, k])


def _choose_label(answers: ClassifierAnswers, effect: CountryEffect, changes: np.ndarray) -> int:
    """The class to show: that of the finding; for delta the one with a tone that moved most in its direction."""
    if effect.of_class is not None:
        return answers.labels.index(effect.of_class)
    toned = {k: -changes[k] for k in answers.negative} | {k: changes[k] for k in answers.positive}
    return max(toned, key=lambda k: round(float(toned[k]), 6))  # of two classes that sum to 1 always the same


def _is_doubtful(renamed: Counterfactuals, text: int) -> bool:
    """Whether something was renamed that is probably no person."""
    spans = [(mention.start, mention.end) for person in renamed.people[text] for mention in person.mentions]
    return bool(sort_spans(renamed.texts[text], spans, renamed.gazetteer)[1])


def _render(renamed: Counterfactuals, text: int, country: int, draw: int) -> dict[str, Any]:
    """The original and the renamed text, and the names in both."""
    original = renamed.texts[text]
    changed, spans = renamed.render(text, country, draw)
    mentions = sorted((mention.start, mention.end) for person in renamed.people[text] for mention in person.mentions)
    return {
        "original": original,
        "changed": changed,
        "original_names": [original[start:end] for start, end in mentions],
        "changed_names": [changed[start:end] for start, end in spans],
    }


def list_omissions(result: NamesResult) -> Iterator[str]:
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


def list_full_notes(result: NamesResult) -> Iterator[str]:
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
