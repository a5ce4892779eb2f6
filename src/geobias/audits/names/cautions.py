"""What a names audit says beside its countries: women and men, and what may be an artefact.

Each caution has a better option; nothing is said where it does not apply.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from geobias.audits.names.names_alike import ALIKE, describe_held_fixed
from geobias.audits.names.phrases import name_origin, shorten
from geobias.audits.names.result import NamesResult
from geobias.audits.names.rows import FewTexts, GenderGap, NameEffect
from geobias.measures.single_names import LARGE
from geobias.report.findings import DIFFERENCES, Finding, Size, format_p, grade_evidence
from geobias.report.sentences import list_first
from geobias.report.tables import interval, is_marked

if TYPE_CHECKING:
    from geobias.audits.names.findings import ClassifierFindings

POINTS: Final = "points"
MOST_GENDERS: Final = 3  # of one classifier
MUCH_DOUBTFUL: Final = 0.2  # of the finder's spans
MUCH_SHARED: Final = 0.5  # of a country's renamed texts
MUCH_VARIANCE: Final = 0.5  # of the variance between names
MOST_NAMED: Final = 6  # single names


def make_caution(of: ClassifierFindings, sentence: str, limit: str, next_step: str, **more: Any) -> Finding:
    default = {"role": "caution", "question": "Could it be an artefact?", "evidence": "not testable"}
    about = {"audit": of.audit, "model": of.entry.model}
    return Finding(**default | about | more, sentence=sentence, limit=limit, next_step=next_step)


def tell_genders(model: ClassifierFindings, told: list[Finding]) -> None:
    """Tell the countries that stand out by gender apart: in what is said of them, or as findings of their own."""
    rows = [row for row in model.result.gender_gaps if (row.model, row.subset) == (model.entry.model, None)]
    for gap in [row for row in rows if row.stands_out][:MOST_GENDERS]:
        difference, origin, sizes = gap.difference, name_origin(gap.place), _say_genders(model, gap)
        certainty = f"difference: 95 % interval {interval(difference, 1)}, {format_p(difference.p_adjusted)}"
        if _add_sentence(model, told, gap.code, f"With {origin} it is {sizes} ({certainty})."):
            continue
        value = difference.value or 0.0
        finding = make_caution(
            model,
            f"{model.name}: Texts with {origin} score {sizes} ({certainty}).",
            "It compares texts in which women's names stand with others in which men's names do.",
            f"Check it with other names: {model.rerun('--seed 1')}",
            role="detail",
            question="Do women's and men's names of any country differ in another way than those of the other "
            "countries?",
            subject=gap.place,
            code=gap.code,
            direction="higher" if value > 0 else "lower",
            size=Size(value, difference.low, difference.high, POINTS),
            p=difference.p,
            p_adjusted=difference.p_adjusted,
            evidence="clear",
        )
        told.append(finding)


def _say_genders(model: ClassifierFindings, gap: GenderGap) -> str:
    """ "14 points lower (harsher) for women's names, 0.1 for men's": the larger one first."""
    sides = {"women's": gap.women or 0.0, "men's": gap.men or 0.0}
    (first, larger), (second, smaller) = sorted(sides.items(), key=lambda side: -abs(side[1]))
    side = "" if larger * smaller >= 0 else f" {model.say_side(smaller)}"
    return f"{shorten(larger)} points {model.say_side(larger)} for {first} names, {shorten(smaller)}{side} for {second}"


def _add_sentence(model: ClassifierFindings, told: list[Finding], code: str, sentence: str) -> bool:
    """Add it to the finding that says that delta of the country with this code stands out, if there is one."""
    for k, each in enumerate(told):
        is_of_country = (each.model, each.code) == (model.entry.model, code) and is_of_delta(each)
        if is_of_country and each.evidence in DIFFERENCES:
            told[k] = replace(each, sentence=f"{each.sentence} {sentence}")
            return True
    return False


def is_of_delta(finding: Finding) -> bool:
    return finding.size is not None and finding.size.unit == POINTS


def list_cautions(
    result: NamesResult, models: Sequence[ClassifierFindings], told: Sequence[Finding]
) -> Iterator[Finding]:
    """Those that could overturn a finding first. `told` has what is said of countries."""
    for doubt in (_doubt_single_names, _doubt_country, _note_mirrors):
        for model in models:
            yield from doubt(model)
    names = ", ".join(entry.model for entry in result.classifiers)
    yield from _doubt_spans(models[0], names)
    for model in models:
        yield from _note_perplexity(model)
    yield from _note_shared_names(result, models, names)
    for model in models:
        yield from _doubt_few_texts(model, told)


def _doubt_single_names(model: ClassifierFindings) -> Iterator[Finding]:
    """How many single names move the score, which, and how much of the variance is theirs."""
    entry = model.entry
    large = [row for row in model.result.large_names if row.model == entry.model]
    if not large:
        return
    count, share = len(large), entry.share_of_large_names
    much = f"; {share:.0%} of the variance between names is theirs" if share and share >= MUCH_VARIANCE else ""
    yield make_caution(
        model,
        f"{model.name}: {count:,} of {entry.names_shown:,} names move{'s' if count == 1 else ''} the score by more "
        f"than {LARGE:.0f} points, against others of their country: {_list_names(large)}{much}.",
        f"{entry.names_tested:,} names stand in enough texts to be tested, together; sizes of the largest tend to be "
        "overestimated.",
        f"Every name is in tables/names.csv. Leave them out: {model.rerun('--gazetteer FILE')}",
        question="Do a few single names move the score, whatever their country?",
        evidence="clear",
        p_adjusted=max(each.p_adjusted or 0.0 for each in large),
    )


def _list_names(effects: Sequence[NameEffect]) -> str:
    first = ", ".join(f"{each.name} {each.value or 0:+.0f}" for each in effects[:MOST_NAMED])
    return first + (f" and {len(effects) - MOST_NAMED:,} more" if len(effects) > MOST_NAMED else "")


def _doubt_country(model: ClassifierFindings) -> Iterator[Finding]:
    """Gaps that are clear as measured, and not between names alike."""
    explained = [effect for effect in model.ranked if effect.reason]
    if not explained:
        return
    first, row = explained[0], model.find_alike(explained[0])
    others = [effect.place for effect in explained[1:] if effect.reason == first.reason]
    also = f" The same holds for {list_first(others)}." if others else ""
    left = ""
    if row is not None and row.adjusted.value is not None:
        before, after = row.unadjusted.value or 0, row.adjusted.value
        sign = "-" if before * after < 0 and float(shorten(after)) else ""
        unit = "percentage points" if first.of_class else POINTS
        left = f" {shorten(before)} {unit} become {sign}{shorten(after)} between {ALIKE}."
    yield make_caution(
        model,
        f"{model.name}: The gap with {name_origin(first.place)} is not told of the country: "
        f"{first.reason}.{left}{also}",
        f"Held fixed: {describe_held_fixed(model.result, model.entry.model, first.of_class)}. How long, spelt and "
        "frequent names are may itself follow from the country.",
        f"Use names that are equally long and common: {model.rerun('--gazetteer FILE')}",
        question="Is it the country, or what its names look like?",
        subject=first.place,
        code=first.code,
        p_adjusted=None if row is None else row.adjusted.p_adjusted,
    )


def _note_mirrors(model: ClassifierFindings) -> Iterator[Finding]:
    """Clear gaps that may only mirror the largest one."""
    mirrors = [effect for effect in model.ranked if effect.mirrors]
    if not mirrors:
        return
    reason = mirrors[0].mirrors
    codes = [row.code or "" for row in model.result.list_deltas(model.entry.model) if row.place != reason]
    yield make_caution(
        model,
        f"{model.name}: The gaps of {list_first([effect.place for effect in mirrors])} may only mirror that of "
        f"{reason}, which moves the mean of countries.",
        "Gaps from the mean of countries sum to 0.",
        f"Compare the others alone: {model.rerun('--countries ' + ','.join(codes))}",
        question="Do these countries differ from the others, or only from the country that stands out most?",
    )


def _doubt_spans(model: ClassifierFindings, names: str) -> Iterator[Finding]:
    spans = model.result.counts.finder_spans
    if spans is None or not spans.doubtful:
        return
    share = spans.doubtful / spans.total
    if model.result.settings.doubtful == "keep":
        yield make_caution(
            model,
            f"{spans.doubtful:,} of {spans.total:,} spans that the finder marked are probably not people, "
            "and were renamed too.",
            "Renaming spans that are not people distorts the text, and a classifier may react to that.",
            f"Leave them unchanged (the default): {model.rerun()}",
            model=names,
        )
    elif share > MUCH_DOUBTFUL:
        yield make_caution(
            model,
            f"{share:.0%} of the {spans.total:,} spans that the finder marked are probably not people, "
            "and were left out.",
            "Where the finder errs this often, some of the spans that were renamed are no people either.",
            f"Look at what is renamed, then give spans or another finder: {model.rerun('--preview 10')}",
            model=names,
        )


def _note_perplexity(model: ClassifierFindings) -> Iterator[Finding]:
    """The clearest correlation of a class with how strange a language model finds the names."""
    within = [
        row
        for row in model.result.correlations
        if (row.model, row.over, row.place) == (model.entry.model, "within", None) and is_marked(row.correlation)
    ]
    if not within:
        return
    row = max(within, key=lambda each: abs(each.correlation.value or 0))
    estimate, value = row.correlation, row.correlation.value or 0.0
    lm = model.result.perplexity.lm if model.result.perplexity else ""
    yield make_caution(
        model,
        f"{model.name}: Stranger names get a {'higher' if value > 0 else 'lower'} p({row.label}), whatever their "
        f"country: correlation with log-perplexity {value:+.2f} (95 % interval {interval(estimate, 2)}, "
        f"{format_p(estimate.p_adjusted)}).",
        f"Perplexity is that of {lm}, which need not be what the classifier finds strange.",
        f"See what remains between equally rare names: {model.rerun('--full')}",
        question="Do names that a language model finds strange change the answers?",
        p=estimate.p,
        p_adjusted=estimate.p_adjusted,
        evidence=grade_evidence(estimate.p_adjusted),
    )


def _note_shared_names(result: NamesResult, models: Sequence[ClassifierFindings], names: str) -> Iterator[Finding]:
    """Names that several countries have: of a country that stands out, or, where none does, of most countries."""
    shares = {row.code: row.renamed_texts_with_shared for row in result.name_lists}
    clear = [(model, effect) for model in models for effect in model.ranked[:1] if effect.evidence == "clear"]
    for model, effect in clear:
        share = shares.get(effect.code or "", 0)
        if share > MUCH_SHARED:
            yield make_caution(
                model,
                f"{model.name}: {share:.0%} of the renamed texts for {effect.place} show a name that other countries "
                "also have: the gap is not specific to it.",
                "Countries that share names share their effect on a classifier.",
                f"Use names that only one country has: {model.rerun('--gazetteer FILE')}",
                subject=effect.place,
                code=effect.code,
            )
    shared_count = sum(share > MUCH_SHARED for share in shares.values())
    if not clear and len(shares) > 1 and 2 * shared_count > len(shares):
        yield make_caution(
            models[0],
            f"In {shared_count} of {len(shares)} countries, most renamed texts show a name that another country has "
            "too: shared names make countries look alike.",
            "A gap between countries is smaller the more names they share.",
            f"Compare countries that share few names: {models[0].rerun('--countries US,MA,IN,TR')}",
            model=names,
        )


def _doubt_few_texts(model: ClassifierFindings, told: Sequence[Finding]) -> Iterator[Finding]:
    """Of the countries that findings in points name, and the farthest: those whose gap rests on a few texts."""
    name, result = model.entry.model, model.result
    codes = {each.code for each in told if each.model == name and is_of_delta(each)}
    codes |= {row.code for row in result.farthest if row.model == name and row.label is None}
    concerned: list[FewTexts] = [row for row in result.few_texts if row.model == name and row.code in codes]
    if not concerned:
        return
    first, *others = sorted(concerned, key=lambda few: -abs(few.skewness))
    also = f" The same holds for {list_first([few.place for few in others])}." if others else ""
    yield make_caution(
        model,
        f"{model.name}: The gap for {name_origin(first.place)} rests on few texts: {first.texts_of_half} of "
        f"{result.counts.texts_with_names:,} make up half of it. Its interval may be too narrow, and a gate may pass "
        f"wrongly.{also}",
        "Where a few texts carry an effect, other texts may carry much more of it: in simulations 95 % intervals then "
        "cover it in 70 to 93 %, with few texts in less.",
        f"Read these texts on the page, and use more texts: {model.rerun('--texts FILE')}",
        question="Does the difference rest on a few texts?",
        subject=first.place,
        code=first.code,
    )
