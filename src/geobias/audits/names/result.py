"""What a names audit found: every measure of every classifier, for all texts, and again for each part of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from geobias.audits.model_identity import versions
from geobias.audits.names.certainty import certainty
from geobias.audits.names.correlations import sure_correlations
from geobias.audits.names.perplexity import Perplexity
from geobias.audits.numbers import by_label, number
from geobias.measures.change import change_by_country, confusion, error_rates
from geobias.measures.names_bootstrap import NamesBootstrap, NameUnits
from geobias.texts.counterfactuals import GENDERS, Counterfactuals
from geobias.texts.user_texts import Texts

if TYPE_CHECKING:
    import pandas as pd

SCHEMA_VERSION = 1
ALL_TEXTS = ""


@dataclass(frozen=True)
class Judgement:
    """What one classifier said of every text, as it was and with its people renamed."""

    model: dict[str, Any]
    labels: tuple[str, ...]
    multi_label: bool
    positive: list[int]
    negative: list[int]
    threshold: float | None
    original: np.ndarray = field(repr=False)  # all texts x labels
    renamed: np.ndarray = field(repr=False)  # texts with names x countries x draws x labels
    truth: np.ndarray | None = field(repr=False)  # all texts x labels
    counts: dict[str, int]
    work: dict[str, int]
    perplexity: Perplexity | None = None
    notes: tuple[str, ...] = ()  # how something was read or chosen that was not said


@dataclass(frozen=True)
class NamesResult:
    """How classifiers treat people by the country that their names come from."""

    texts: Texts = field(repr=False)
    named: np.ndarray = field(repr=False)  # positions of the texts that name somebody
    renamed: Counterfactuals = field(repr=False)
    left_out: tuple[str, ...]
    settings: dict[str, Any] = field(repr=False)
    judgements: tuple[Judgement, ...] = field(repr=False)
    names_fixed: bool = False

    @cached_property
    def countries(self) -> list[dict[str, Any]]:
        """For every country, how many names it had (left in the scripts asked for, of all) and how many were used."""
        listed = self.renamed.gazetteer
        return [
            {
                "country": listed.country(code),
                "code": code,
                "names": {
                    kind: {"left": len(listed.names(code, kind)), "of": listed.total(code, kind), "used": used}
                    for kind, used in self.renamed.count_names(c).items()
                },
            }
            for c, code in enumerate(self.renamed.countries)
        ]

    @cached_property
    def counts(self) -> dict[str, Any]:
        """Nothing silent: how much was asked, and what was left out."""
        people = self.renamed.people
        genders = [person.gender or "unknown" for persons in people for person in persons if person.has("first")]
        return {
            "texts": len(self.texts),
            "rows_without_text": self.texts.left_out,
            "texts_with_names": len(self.named),
            "people": sum(map(len, people)),
            "mentions": sum(len(person.mentions) for persons in people for person in persons),
            "people_by_gender": {gender: genders.count(gender) for gender in (*GENDERS, "unknown")},
            "draws": self.renamed.draws,
            "countries": len(self.renamed.countries),
            "countries_left_out": [self.renamed.gazetteer.country(code) for code in self.left_out],
        }

    @cached_property
    def classifiers(self) -> list[dict[str, Any]]:
        """For every classifier what results.json says of it."""
        return [self._entry(judgement) for judgement in self.judgements]

    @property
    def frame(self) -> pd.DataFrame:
        """A row for each classifier and country."""
        import pandas as pd

        rows = [
            {"classifier": entry["model"]["name"], **country}
            for entry in self.classifiers
            for country in entry["countries"]
        ]
        return pd.json_normalize(rows, sep="_")

    def to_dict(self) -> dict[str, Any]:
        """The content of results.json: the same for the same question and models (scored anew, to within 1e-5)."""
        return {
            "schema_version": SCHEMA_VERSION,
            "audit": "names",
            "settings": self.settings,
            "models": self.models,
            "versions": versions(),
            "counts": self.counts,
            "countries": self.countries,
            "classifiers": self.classifiers,
        }

    @property
    def models(self) -> list[dict[str, Any]]:
        """Every model that was asked, once."""
        asked = [judgement.model for judgement in self.judgements]
        asked += [judgement.perplexity.model for judgement in self.judgements if judgement.perplexity]
        return [model for i, model in enumerate(asked) if model not in asked[:i]]

    @property
    def work(self) -> dict[str, int]:
        """What this run had to compute; the rest was known."""
        taken = {id(j.perplexity): j.perplexity.work["perplexities_taken"] for j in self.judgements if j.perplexity}
        total = {name: sum(j.work[name] for j in self.judgements) for name in ("texts_scored", "renamed_texts_scored")}
        return total | {"perplexities_taken": sum(taken.values())}

    def parts(self) -> Iterator[tuple[str, str, np.ndarray]]:
        """All texts, then those of each value of each subset column (and of each language, where there are several)."""
        yield ALL_TEXTS, ALL_TEXTS, np.ones(len(self.texts), dtype=bool)
        groups = dict(self.texts.groups)
        if len(set(self.texts.languages)) > 1:
            groups = {"language": self.texts.languages, **groups}
        for column, values in groups.items():
            for value in sorted(set(values)):
                yield column, value, np.array(values) == value

    def _entry(self, judged: Judgement) -> dict[str, Any]:
        named = judged.original[self.named]
        entry: dict[str, Any] = {
            "model": judged.model,
            "labels": list(judged.labels),
            "multi_label": judged.multi_label,
            "threshold": judged.threshold,
            "positive": [judged.labels[k] for k in judged.positive],
            "negative": [judged.labels[k] for k in judged.negative],
            "counts": judged.counts,
            "notes": list(judged.notes),
        }
        sections = [(column, value, self._section(judged, some)) for column, value, some in self.parts()]
        entry |= sections[0][2]
        if judged.threshold is None:
            everyone = np.ones(self.renamed.shape[::2], dtype=bool)
            tables = confusion(named, judged.renamed, counted=everyone)
            entry["confusion"] = {
                country["code"]: table.astype(int).tolist()
                for country, table in zip(self.countries, tables, strict=True)
            }
        entry["subsets"] = [{"column": column, "value": value, **found} for column, value, found in sections[1:]]
        return entry

    def _section(self, judged: Judgement, some: np.ndarray) -> dict[str, Any]:
        """Every table of one classifier, for some of the texts."""
        taking_part = some[self.named]
        everyone = np.repeat(taking_part[:, None], self.renamed.draws, axis=1)
        countries, overall = self._changes(judged, everyone)
        section: dict[str, Any] = {
            "texts": int(some.sum()),
            "texts_with_names": int(taking_part.sum()),
            "countries": countries,
            **overall,
            "by_gender": [
                {"gender": gender, **row}
                for gender in GENDERS
                for row in self._changes(judged, everyone & (self._shown_genders == gender))[0]
            ],
        }
        if judged.truth is not None:
            section["original_errors"] = self._errors(judged, some)
        if judged.perplexity is not None:
            section["correlations"] = sure_correlations(self, judged, judged.perplexity, some)
        return section

    @cached_property
    def _shown_genders(self) -> np.ndarray:
        return self.renamed.shown_genders()

    @cached_property
    def _units(self) -> NameUnits:
        return NameUnits(*self.renamed.name_units())

    def _changes(self, judged: Judgement, counted: np.ndarray) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """A row for each country, and what is said of all of them together."""
        original = judged.original[self.named]
        found = change_by_country(
            original,
            judged.renamed,
            counted=counted,
            positive=judged.positive,
            negative=judged.negative,
            threshold=judged.threshold,
            multi_label=judged.multi_label,
        )
        bootstrap = NamesBootstrap(
            self._units, self.renamed.shape, counted, seed=self.renamed.seed, names_fixed=self.names_fixed
        )
        sure = certainty(judged, original, found, bootstrap, [country["code"] for country in self.countries])
        rows = []
        for c, country in enumerate(self.countries):
            rows.append(
                {
                    "country": country["country"],
                    "code": country["code"],
                    "renamed_texts": int(counted.sum()),
                    "delta": number(found.delta[c]),
                    "change": by_label(judged.labels, found.change[c]),
                    "kl": number(found.kl[c]),
                    "against_mean": {
                        "delta": number(found.delta_from_mean[c]),
                        "change": by_label(judged.labels, found.change_from_mean[c]),
                        "kl": number(found.kl_from_mean[c]),
                    },
                    "inference": sure.country(c, judged.labels),
                    "before": by_label(judged.labels, found.before.astype(int)),
                    "after": by_label(judged.labels, found.after[c].astype(int)),
                }
            )
        if judged.truth is not None:
            rates = error_rates(judged.truth[self.named], judged.renamed, counted=counted, threshold=judged.threshold)
            for c, row in enumerate(rows):
                row["errors"] = {
                    "false_positive": by_label(judged.labels, rates.false_positive[c]),
                    "false_negative": by_label(judged.labels, rates.false_negative[c]),
                }
        return rows, sure.overall(judged.labels)

    def _errors(self, judged: Judgement, some: np.ndarray) -> dict[str, Any]:
        """On the original texts that name somebody."""
        assert judged.truth is not None
        rows = self.named[some[self.named]]
        rates = error_rates(
            judged.truth[rows],
            judged.original[rows][:, None, None],
            counted=np.ones((len(rows), 1), dtype=bool),
            threshold=judged.threshold,
        )
        return {
            "false_positive": by_label(judged.labels, rates.false_positive[0]),
            "false_negative": by_label(judged.labels, rates.false_negative[0]),
        }
