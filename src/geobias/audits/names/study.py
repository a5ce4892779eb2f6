"""How the names audit puts renamed texts to classifiers and to language models, and how long that takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from geobias.audits.doubts import count_other_languages
from geobias.audits.labels import find_label_tones, read_true_labels
from geobias.audits.names.answers import ClassifierAnswers, RenamedTextCounts, score_perplexities
from geobias.audits.names.design import NamesDesign, explain_missing_data
from geobias.audits.names.measure import measure_names
from geobias.audits.names.names_alike import count_name_tokens
from geobias.audits.names.report import describe_spans
from geobias.audits.names.result import NamesResult, NamesSettings
from geobias.audits.plan import PILOT_DRAWS, PILOT_TEXTS, Plan, timed
from geobias.audits.study import ClassifierStudy, RunOptions
from geobias.checks import check_number
from geobias.engine.ask import Answers, ask, ask_in_blocks
from geobias.errors import InputError
from geobias.measures.crossed_variance import CrossedVariance, LinearMeasure, NameUnits
from geobias.measures.uncertainty import ROUNDING
from geobias.models.answers import refuse_unused_prompt
from geobias.models.load import load_perplexity_scorer
from geobias.models.scorer import UNREADABLE, Classifier, Scorer
from geobias.report.tables import console, titled_table
from geobias.texts.counterfactuals import Counterfactuals

WARNING = "These are real texts. Some may be offensive; they are shown to check the renaming, nothing else."
COUNTRIES_PREVIEWED, MOST_PREVIEWED = 3, 10_000


class NamesStudy(ClassifierStudy[tuple[ClassifierAnswers, ...], NamesResult]):
    """The same renamed texts, put to every classifier, and to a language model for their perplexities."""

    audit = "names"

    def __init__(self, design: NamesDesign, classifiers: Any, options: RunOptions) -> None:
        super().__init__(classifiers, design.prompt, options)
        self.design = design
        self.perplexity_scorer: Scorer | None = None  # before `load`, and where none is asked for

    def texts_to_classify(self) -> list[Sequence[str]]:
        own = self.design.own_scripts
        return [self.design.texts.texts, self.design.counterfactuals, *([own] if own else [])]

    def settings(self) -> NamesSettings:
        return self.design.settings_for(self.classifier_names)

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
        refuse_unused_prompt(self.prompt, scorers)
        # Before the first is scored: a label that the last does not have must not cost an hour.
        readings = [self._read_labels(classifier) for classifier in scorers]
        answers = tuple(
            self._ask_classifier(classifier, *reading) for classifier, reading in zip(scorers, readings, strict=True)
        )
        if self.perplexity_scorer is None:
            return answers
        perplexities = score_perplexities(self.design, self.perplexity_scorer, self.options.progress)
        return tuple(replace(each, perplexities=perplexities) for each in answers)

    def measure(self, answers: tuple[ClassifierAnswers, ...]) -> NamesResult:
        return measure_names(self.design, answers)

    def plan(self) -> Plan:
        """How long the study takes, and how small an effect it can find; for a served model, what would be sent."""
        if self.served:
            return Plan.of_served(self.workload(self.served))
        design, renamed = self.design, self.design.counterfactuals
        classifiers = self.load(self.options.device, self.options.dtype)
        texts, countries, draws = renamed.shape
        steps = [timed(classifier.name, classifier, renamed) for classifier in classifiers]
        own, more = design.own_scripts, ""
        if own:
            scripts = ", ".join(own.gazetteer.country(code) for code in own.countries)
            more = f", and {own.draws} draws of names in their own script for {scripts}"
            steps += [timed(f"{each.name}: names in their own script", each, own) for each in classifiers]
        if self.perplexity_scorer is not None:
            scored = renamed.part(range(texts), design.perplexity_draws)
            steps.append(
                timed(f"perplexity by {self.perplexity_scorer.identity().name}", self.perplexity_scorer, scored)
            )
        return Plan(
            f"{texts:,} of {len(design.texts):,} texts name somebody; {countries} countries x {draws} draws{more}.",
            steps,
            [self._smallest_effect(classifier) for classifier in classifiers],
        )

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

    def _read_labels(self, classifier: Classifier) -> tuple[list[int], list[int], np.ndarray | None, tuple[str, ...]]:
        """Positions of the positive and the negative labels, the true labels of the texts, and how they were read."""
        design, name, labels = self.design, classifier.name, classifier.labels
        several_fit = classifier.multi_label or design.threshold is not None
        truth, notes = read_true_labels(design.texts, name, labels, several_fit=several_fit)
        tones = find_label_tones(name, labels, design.positive, design.negative)
        return *tones, truth, classifier.notes + notes

    def _ask_classifier(
        self,
        classifier: Classifier,
        positive: list[int],
        negative: list[int],
        truth: np.ndarray | None,
        notes: tuple[str, ...],
    ) -> ClassifierAnswers:
        design, progress, labels = self.design, self.options.progress, tuple(classifier.labels)
        originals = ask(classifier, design.texts.texts, label=classifier.name, progress=progress)
        renamed = ask_in_blocks(classifier, design.counterfactuals, label=classifier.name, progress=progress)
        own = design.own_scripts
        in_own_script = own and ask_in_blocks(classifier, own, label=f"{classifier.name} (scripts)", progress=progress)
        notes += count_unreadable(originals, design.texts.texts)
        default_threshold = 0.5 if classifier.multi_label else None
        return ClassifierAnswers(
            model=classifier.identity(),
            labels=labels,
            multi_label=classifier.multi_label,
            positive=positive,
            negative=negative,
            threshold=default_threshold if design.threshold is None else design.threshold,
            original=originals.scores[:, : len(labels)],
            renamed=renamed.scores.reshape(*design.counterfactuals.shape, -1)[..., : len(labels)],
            truth=truth,
            counts=RenamedTextCounts(
                texts_cut=originals.cut,
                renamed_texts=len(renamed.scores),
                distinct_renamed_texts=renamed.distinct,
                renamed_texts_cut=renamed.cut,
            ),
            work={
                "texts_scored": originals.scored,
                "renamed_texts_scored": renamed.scored + (in_own_script.scored if in_own_script else 0),
            },
            notes=notes,
            own_scripts=in_own_script.scores.reshape(*own.shape, -1)[..., : len(labels)]
            if own and in_own_script
            else None,
            name_tokens=None
            if classifier.tokenizer is None
            else count_name_tokens(classifier.tokenizer, [name for _, name in design.counterfactuals.name_index[2]]),
        )

    def _smallest_effect(self, classifier: Classifier) -> str:
        """From a pilot of a few texts and draws, whose variance components are applied to the whole design."""
        design, renamed = self.design, self.design.counterfactuals
        rows = np.unique(np.linspace(0, len(renamed.texts) - 1, PILOT_TEXTS).astype(int))
        positive, negative = find_label_tones(classifier.name, classifier.labels, design.positive, design.negative)
        pilot = _crossed_variance(renamed.part(rows, PILOT_DRAWS), design)
        missing = explain_missing_data(*renamed.shape, names_fixed=design.names_are == "fixed")
        if not positive or not negative:
            return f"{classifier.name}: no Δ, and so no smallest effect to plan with."
        if missing is not None:
            return f"{classifier.name}: no effect could be found: {missing.reason}. {missing.remedy}: {missing.options}"
        p = classifier.score(list(renamed.part(rows, PILOT_DRAWS)))[:, : len(classifier.labels)]
        p = p.reshape(*pilot.shape, -1)
        delta = 100 * (p[..., positive].sum(axis=-1) - p[..., negative].sum(axis=-1))
        effect = _crossed_variance(renamed, design).smallest_effect(pilot.variance_components(delta))
        contrasts = np.eye(pilot.countries) - 1 / pilot.countries
        if effect < ROUNDING or not pilot.reacts_enough(LinearMeasure(delta, contrasts)):
            return f"{classifier.name}: names change its answers to too few texts to plan an effect. Use more texts."
        return (
            f"{classifier.name}: a country whose Δ differs from the mean of countries by about {effect:.1f} points "
            "is detected with 80 % power (adjusted for all countries)."
        )


def count_unreadable(answers: Answers, texts: Sequence[str]) -> tuple[str, ...]:
    """A note on texts whose language a mitigated classifier's finder does not read; none for other classifiers."""
    column = answers.column(UNREADABLE)
    count = 0 if column is None or not column.any() else count_other_languages(texts)
    if not count:
        return ()
    return (
        f"{count:,} of {len(texts):,} texts seem to be in a language that its finder does not read: names may remain.",
    )


def _crossed_variance(renamed: Counterfactuals, design: NamesDesign) -> CrossedVariance:
    counted = np.ones((len(renamed.texts), renamed.draws), dtype=bool)
    names = NameUnits(*renamed.name_units())
    return CrossedVariance(names, renamed.shape, counted, names_fixed=design.names_are == "fixed")
