"""How the names audit puts renamed texts to classifiers and to language models, and how long that takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from geobias.audits.doubts import count_other_languages
from geobias.audits.labels import find_label_tones
from geobias.audits.names.answers import ClassifierAnswers, score_perplexities
from geobias.audits.names.design import explain_missing_data
from geobias.audits.names.measure import measure_names
from geobias.audits.names.names_alike import count_name_tokens
from geobias.audits.names.phrases import describe_spans
from geobias.audits.names.result import NamesResult
from geobias.audits.plan import PILOT_DRAWS, PILOT_TEXTS, Step, timed
from geobias.audits.study import ClassifierStudy
from geobias.checks import check_number
from geobias.engine.ask import Answers, ask, ask_in_blocks
from geobias.errors import InputError
from geobias.measures.crossed_variance import CrossedVariance, LinearMeasure, NameUnits
from geobias.measures.uncertainty import ROUNDING
from geobias.models.load import load_perplexity_scorer
from geobias.models.scorer import UNREADABLE, Classifier, Scorer
from geobias.report.tables import console, titled_table
from geobias.texts.counterfactuals import Counterfactuals

WARNING = "These are real texts. Some may be offensive; they are shown to check the renaming, nothing else."
COUNTRIES_PREVIEWED, MOST_PREVIEWED = 3, 10_000


class NamesStudy(ClassifierStudy[ClassifierAnswers, NamesResult]):
    """The same renamed texts, put to every classifier, and to a language model for their perplexities."""

    audit = "names"
    perplexity_scorer: Scorer | None = None  # before `load`, and where none is asked for

    def texts_to_classify(self) -> list[Sequence[str]]:
        return [self.design.texts.texts, self.design.counterfactuals]

    def load(self, device: str, dtype: str) -> list[Classifier]:
        classifiers, lm = super().load(device, dtype), self.design.perplexity
        if lm is not None:
            self.perplexity_scorer = load_perplexity_scorer(lm, None, device=device, dtype=dtype)
        return classifiers

    def fast_parts(self, scorers: Sequence[Classifier]) -> dict[str, list[str]]:
        """Also those of the language model that gives perplexities."""
        parts, lm = super().fast_parts(scorers), self.perplexity_scorer
        return parts if lm is None else parts | {f"{lm.identity().name} {lm.identity().score}": list(lm.fast_parts)}

    def ask(self, scorers: Sequence[Classifier]) -> tuple[ClassifierAnswers, ...]:
        names = [classifier.name for classifier in scorers]
        if not names or len(set(names)) < len(names):
            raise InputError(
                f"Pass at least one classifier, each with a different name, not: {', '.join(names) or 'none'}."
            )
        answers = super().ask(scorers)
        if self.perplexity_scorer is None:
            return answers
        perplexities = score_perplexities(self.design, self.perplexity_scorer, self.options.progress)
        return tuple(replace(each, perplexities=perplexities) for each in answers)

    def measure(self, answers: tuple[ClassifierAnswers, ...]) -> NamesResult:
        return measure_names(self.design, answers)

    def read_labels(self, classifier: Classifier) -> dict[str, Any]:
        reading, design = super().read_labels(classifier), self.design
        tones = find_label_tones(classifier.name, classifier.labels, design.positive, design.negative)
        return reading | dict(zip(("positive", "negative"), tones, strict=True))

    def ask_classifier(self, classifier: Classifier, reading: dict[str, Any]) -> ClassifierAnswers:
        design, progress, labels = self.design, self.options.progress, len(classifier.labels)
        originals = ask(classifier, design.texts.texts, label=classifier.name, progress=progress)
        renamed = ask_in_blocks(classifier, design.counterfactuals, label=classifier.name, progress=progress)
        names = [name for _, name in design.counterfactuals.name_index[2]]
        tokenizer = classifier.tokenizer
        return ClassifierAnswers(
            **reading | {"notes": reading["notes"] + count_unreadable(originals, design.texts.texts)},
            model=classifier.identity(),
            original=originals.scores[:, :labels],
            renamed=renamed.scores.reshape(*design.counterfactuals.shape, -1)[..., :labels],
            counts={
                "texts_cut": originals.cut,
                "renamed_texts": len(renamed.scores),
                "distinct_renamed_texts": renamed.distinct,
                "renamed_texts_cut": renamed.cut,
            },
            work={"texts_scored": originals.scored, "renamed_texts_scored": renamed.scored},
            name_tokens=None if tokenizer is None else count_name_tokens(tokenizer, names),
        )

    def describe_size(self) -> str:
        texts, countries, draws = self.design.counterfactuals.shape
        return f"{texts:,} of {len(self.design.texts):,} texts name somebody; {countries} countries x {draws} draws."

    def time_other_models(self) -> list[Step]:
        scorer, renamed = self.perplexity_scorer, self.design.counterfactuals
        if scorer is None:
            return []
        scored = renamed.part(range(len(renamed.texts)), self.design.perplexity_draws)
        return [timed(f"perplexity by {scorer.identity().name}", scorer, scored)]

    def find_smallest_effect(self, classifier: Classifier) -> str:
        """From a pilot of a few texts and draws, whose variance components are applied to the whole design."""
        design, renamed = self.design, self.design.counterfactuals
        rows = np.unique(np.linspace(0, len(renamed.texts) - 1, PILOT_TEXTS).astype(int))
        positive, negative = find_label_tones(classifier.name, classifier.labels, design.positive, design.negative)
        pilot = self._make_variance(renamed.part(rows, PILOT_DRAWS))
        missing = explain_missing_data(*renamed.shape, names_fixed=design.names_are == "fixed")
        if not positive or not negative:
            return f"{classifier.name}: no Δ, and so no smallest effect to plan with."
        if missing is not None:
            return f"{classifier.name}: no effect could be found: {missing.reason}. {missing.remedy}: {missing.options}"
        p = classifier.score(list(renamed.part(rows, PILOT_DRAWS)))[:, : len(classifier.labels)]
        p = p.reshape(*pilot.shape, -1)
        delta = 100 * (p[..., positive].sum(axis=-1) - p[..., negative].sum(axis=-1))
        effect = self._make_variance(renamed).smallest_effect(pilot.variance_components(delta))
        contrasts = np.eye(pilot.countries) - 1 / pilot.countries
        if effect < ROUNDING or not pilot.reacts_enough(LinearMeasure(delta, contrasts)):
            return f"{classifier.name}: names change its answers to too few texts to plan an effect. Use more texts."
        return (
            f"{classifier.name}: a country whose Δ differs from the mean of countries by about {effect:.1f} points "
            "is detected with 80 % power (adjusted for all countries)."
        )

    def _make_variance(self, renamed: Counterfactuals) -> CrossedVariance:
        counted = np.ones((len(renamed.texts), renamed.draws), dtype=bool)
        names = NameUnits(*renamed.name_units())
        return CrossedVariance(names, renamed.shape, counted, names_fixed=self.design.names_are == "fixed")

    def preview(self, count: int) -> None:
        """Show texts with their renamed versions, of other countries each, so that all are seen, then doubtful spans"""
        check_number("--preview", count, 1, MOST_PREVIEWED)
        design, renamed, out = self.design, self.design.counterfactuals, console()
        texts, countries, _ = renamed.shape
        table = titled_table(f"{texts:,} of {len(design.texts):,} texts name somebody; the first draw of some")
        table.add_column("original", overflow="fold", ratio=1)
        table.add_column("country", no_wrap=True)
        table.add_column("renamed", overflow="fold", ratio=1)
        for i in range(min(count, texts)):
            positions = dict.fromkeys((i * COUNTRIES_PREVIEWED + k) % countries for k in range(COUNTRIES_PREVIEWED))
            for k, c in enumerate(positions):
                original = renamed.texts[i] if k == 0 else ""
                table.add_row(original, renamed.gazetteer.country(renamed.countries[c]), renamed.at(i, c, 0))
            table.add_section()
        out.print(WARNING, style="bold")
        out.print(table)
        if design.finder_spans is None:
            return
        treatment = "not renamed" if design.doubtful == "drop" else "renamed too"
        doubtful = titled_table(f"Doubtful spans, {treatment}", ("span", "why", "text"))
        pairs = zip(design.texts.texts, design.finder_spans.doubtful, strict=True)
        spans = [(text, span) for text, each in pairs for span in each]
        for text, span in spans[:count]:
            doubtful.add_row(text[span.start : span.end], span.reason, text)
        if spans:
            out.print(doubtful)
        out.print(describe_spans(design.finder_spans.summarise(design.texts.texts), design.finder, design.doubtful))


def count_unreadable(answers: Answers, texts: Sequence[str]) -> tuple[str, ...]:
    """A note on texts whose language a mitigated classifier's finder does not read; none for other classifiers."""
    column = answers.column(UNREADABLE)
    count = 0 if column is None or not column.any() else count_other_languages(texts)
    if not count:
        return ()
    return (
        f"{count:,} of {len(texts):,} texts seem to be in a language that its finder does not read: names may remain.",
    )
