"""The content of results.json of a decisions audit; `records.py` has the numbers of one model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from geobias.audits.decide.answers import ModelAnswers
from geobias.audits.decide.records import ModelDecisions
from geobias.audits.inputs import describe_copies
from geobias.models.scorer import ModelIdentity
from geobias.report.results import NOT_SAVED, AuditResult
from geobias.report.tables import listed
from geobias.report.tidy import tidy_row

MEAN = "mean of countries"


@dataclass(frozen=True)
class ScenariosSettings:
    """Which scenarios were used."""

    source: str
    """The file, or "the bundled scenarios"."""
    count: int
    digest: str
    """Tells other scenarios apart, wherever they come from."""


@dataclass(frozen=True)
class DecideSettings:
    """Settings that identify a run."""

    scenarios: ScenariosSettings
    domains: list[str] | str
    """Or "all"."""
    origin: list[str]
    """How origin shows."""
    countries: list[str] | str
    """Codes, or "all"."""
    countries_digest: str
    """Tells other lists of countries and names apart."""
    draws: int
    """Names drawn for each case and country, where names show the origin."""
    paraphrases: int
    """Wordings of each question, at most."""
    seed: int
    system: str | None
    """System prompt."""
    samples: int | None
    """Answers sampled per question from a server without log-probabilities; null for 20."""
    models: list[str]


@dataclass(frozen=True)
class DecideCounts:
    """Numbers of scenarios and countries, and what was left out."""

    scenarios: int
    cases: int
    """A scenario and its mirror are one case."""
    yes_helps: int
    """Yes/no scenarios in which yes helps the person."""
    yes_harms: int
    numbers: int
    """Scenarios that ask for a number."""
    choices: int
    """Scenarios that ask to choose between two people."""
    countries: int
    countries_left_out: list[str]
    """Those whose origin cannot be shown in every way that was asked for."""
    copies: int = 0
    """Cases left out because they repeat another one but for names, numbers and case."""


@dataclass(frozen=True, kw_only=True, repr=False)
class DecideResult(AuditResult):
    """Whom a language model decides for, by country.

    Attributes
    ----------
    schema_version : int
        Version of the format of results.json.
    audit : str
        Name of the audit.
    settings : object
        Everything that identifies the run.
    findings : list of Finding
        The conclusions: the overall answer for each model, then details, then cautions.
    nondeterministic_models : list of NondeterministicModel
        Models that gave other answers to the same texts when they were asked twice.
    versions : dict of str
        Versions of Python and of the packages that can change a number.
    work : dict of int
        How much was computed rather than read from the store. Not saved.
    folder : Path or None
        Where the run is saved.
    models : list of ModelIdentity
        The models.
    counts : DecideCounts
        Numbers of scenarios and countries, and what was left out.
    decisions : list of ModelDecisions
        For each model: `countries` (preference, selection rate, impact ratio), `worst`, `spread`, `controls`,
        `by_domain`, `by_origin`, `by_gender`, `cases`, `numbers`, `choices` and `rare_names`.
    answers : tuple of ModelAnswers
        Log-odds of every decision. Not saved.

    Notes
    -----
    Returned by `audit_decisions`. Printing it shows the findings.

    Examples
    --------
    >>> result = geobias.audit_decisions("my-org/model", out="runs/decide")  # doctest: +SKIP
    >>> result.plot("preference")  # doctest: +SKIP
    """

    audit: Literal["decide"] = "decide"
    settings: DecideSettings
    models: list[ModelIdentity]
    counts: DecideCounts
    decisions: list[ModelDecisions]
    answers: Annotated[tuple[ModelAnswers, ...], *NOT_SAVED] = field(default=(), repr=False, compare=False)

    @property
    def model_identities(self) -> list[ModelIdentity]:
        return self.models

    def summarise(self) -> Iterator[str]:
        counts, names = self.counts, [entry.model.short_name for entry in self.decisions]
        yield (
            f"{listed(names)} in {counts.scenarios:,} scenarios"
            f"{describe_copies(counts.cases, counts.copies, 'case')} about people of {counts.countries:,} countries "
            f"({', '.join(self.settings.origin)})"
        )

    def list_tidy_rows(self) -> Iterator[dict[str, Any]]:
        """Preferences first; by domain, origin and gender with these as labels."""
        for measure in ("preference", "probability", "impact_ratio", "yes_tendency"):
            for entry in self.decisions:
                for country in entry.countries:
                    number = getattr(country, measure)
                    if number is not None:
                        against = "best country" if measure == "impact_ratio" else MEAN
                        yield tidy_row(_about(entry, country), measure, number, against=against)
        for entry in self.decisions:
            for country in entry.countries:
                yield tidy_row(_about(entry, country), "answered", country.answered_interval)
            groups = [
                *(("by_domain", part.domain, part.countries) for part in entry.by_domain),
                *(("by_origin", part.origin, part.countries) for part in entry.by_origin),
                *(("by_gender", part.gender, part.countries) for part in entry.by_gender),
                ("number", None, entry.numbers),
                ("choice", None, entry.choices),
            ]
            for measure, label, countries in groups:
                for each in countries:
                    yield tidy_row(_about(entry, each), measure, each.estimate, label=label, against=MEAN)


def _about(entry: ModelDecisions, country: Any) -> dict[str, Any]:
    return {"model": entry.model.name, "country": country.country, "code": country.code}
