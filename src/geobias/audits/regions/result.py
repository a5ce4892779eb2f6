"""What a regions audit measures: for every region, how differently the model describes its sub-regions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np

from geobias.audits.regions.answers import RegionsAnswers, RegionsCounts
from geobias.audits.regions.association_records import Association
from geobias.audits.regions.known_records import KnownStereotypes
from geobias.audits.regions.records import (
    InferenceSummary,
    Placebo,
    RegionScores,
    TemplateAgreement,
    Tokenisation,
)
from geobias.audits.regions.views import list_tidy_rows, summarise
from geobias.checks import describe_choices
from geobias.errors import InputError
from geobias.measures.association_signal import FEWEST_PARAPHRASES
from geobias.measures.grouping import GroupingTest
from geobias.models.scorer import ModelIdentity
from geobias.report.results import NOT_SAVED, AuditResult
from geobias.world.regions import Region, RegionTree
from geobias.world.words import Word, herb_words

BALANCED = "c_w.balanced"  # the main score
HERB_WORDS = "herb"  # in the settings, for the words of the paper


@dataclass(frozen=True)
class RegionsSettings:
    """What makes two runs the same."""

    words: str | list[list[str]]
    """"herb" for the 112 words of the paper, or pairs of word and topic."""
    templates: list[str]
    regions_digest: str
    """Tells other trees of regions apart."""
    model: str
    score: str
    cities: int | str | None = None
    """Cities per country, or "all"; null, like the next two, for a tree of the user's."""
    continents: list[str] | None = None
    countries: list[str] | str | None = None
    """Codes, or "all"."""
    tree: str | None = None
    """The file of the user's regions."""
    placebo: int | None = None
    """How many invented places were scored."""
    paraphrases: int | None = None
    """Paraphrases of the sentence, for associations; null without them."""
    subject: str | None = None
    """Whom the paraphrases are about: region, demonym or both."""
    known: bool = False
    """Whether known stereotypes were scored."""
    show_offensive: bool = False
    """Whether the results name offensive attributes."""


@dataclass(frozen=True, kw_only=True, repr=False)
class RegionsResult(AuditResult):
    """How differently one model, by one score, describes the regions of the world.

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
    model : ModelIdentity
        The language model.
    counts : RegionsCounts
        Numbers of regions and sentences, and what was cut.
    regions : list of RegionScores
        For each region: `c_w` and `c_z` (each `balanced` and `paper`), `flat`, `sparseness`, `inference`, `null`,
        `rank`.
    inference : InferenceSummary
        How much was resampled, and what was left out.
    tokenisation : list of Tokenisation
        Correlations of the distances with the tokens and the likelihood of the names.
    grouping : GroupingTest or None
        Whether regions of one parent lie closer together than random ones.
    caps : list of str
        Why the answer about associations cannot be clear, whatever the model does: there are fewer than three wordings.
    association : Association or None
        Which words the model uses more, and less, of each region than of others.
    known : KnownStereotypes or None
        How well the associations separate what people call stereotypes from other pairs.
    placebo : Placebo or None
        The same measures for invented places.
    kendall_w : list of TemplateAgreement or None
        Agreement of the templates; None with a single template.
    answers : RegionsAnswers or None
        The log-likelihoods. Not saved.
    by_template : dict of numpy.ndarray
        Every measure for each template. Not saved.
    tree : RegionTree
        The regions as a tree.
    words : list of Word
        The words.
    likelihoods : numpy.ndarray
        Log-likelihoods: templates x regions x words; NaN for the root.
    name_likelihoods : numpy.ndarray
        Log-likelihood of the bare name of each region.

    Notes
    -----
    Returned by `audit_regions`. Printing it shows the findings.

    Examples
    --------
    >>> result = geobias.audit_regions(cities=0, out="runs/regions")  # doctest: +SKIP
    >>> result.region("Africa").c_w.balanced  # doctest: +SKIP
    >>> result.differing_words(0, count=5)  # doctest: +SKIP
    """

    audit: Literal["regions"] = "regions"
    settings: RegionsSettings
    model: ModelIdentity
    counts: RegionsCounts
    regions: list[RegionScores] = field(repr=False)
    inference: InferenceSummary = field(repr=False)
    tokenisation: list[Tokenisation] = field(repr=False)
    grouping: GroupingTest | None = field(default=None, repr=False)
    """Whether regions of one parent lie closer together than random ones, at the highest level that has two parents."""
    association: Association | None = field(default=None, repr=False)
    known: KnownStereotypes | None = field(default=None, repr=False)
    placebo: Placebo | None = field(default=None, repr=False)
    kendall_w: list[TemplateAgreement] | None = field(default=None, repr=False)
    answers: Annotated[RegionsAnswers | None, *NOT_SAVED] = field(default=None, repr=False, compare=False)
    by_template: Annotated[dict[str, np.ndarray], *NOT_SAVED] = field(default_factory=dict, repr=False, compare=False)

    @property
    def model_identities(self) -> list[ModelIdentity]:
        return [self.model]

    @property
    def tree(self) -> RegionTree:
        """The regions as a tree."""
        return RegionTree(
            tuple(
                Region(each.id, each.name, each.level, each.parent_index, each.in_sentence or "")
                for each in self.regions
            )
        )

    @property
    def words(self) -> list[Word]:
        if isinstance(self.settings.words, str):
            return list(herb_words())
        return [Word(word, topic) for word, topic in self.settings.words]

    @property
    def likelihoods(self) -> np.ndarray:
        """templates x regions x words; the root's row is NaN."""
        return self._require_answers().likelihoods

    @property
    def name_likelihoods(self) -> np.ndarray:
        """The log-likelihood of each region's bare name."""
        return self._require_answers().name_likelihoods

    def measure(self, name: str) -> np.ndarray:
        """Return a measure of every region, averaged over templates. Not for results that were read from a folder.

        Parameters
        ----------
        name : str
            Such as "c_w.balanced", "c_w.paper", "c_z.balanced", "flat", "sparseness" or "words".

        Returns
        -------
        numpy.ndarray
            In the order of `regions`; NaN where a region has no value.

        Raises
        ------
        InputError
            If the result was read from a folder.
        """
        self._require_answers()
        return np.asarray(self.by_template[name].mean(axis=0))

    def differing_words(self, region: int, count: int) -> list[str]:
        """Return the words in which the sub-regions of a region differ most.

        Parameters
        ----------
        region : int
            Position of the region in `regions`.
        count : int
            Number of words.

        Returns
        -------
        list of str
            Without repeats; empty if the region has no pair of sub-regions.
        """
        differences = self.measure("words")[region]
        if np.isnan(differences).any():
            return []
        words = self.words
        ordered = [words[k].word for k in np.argsort(-differences, kind="stable")]
        return list(dict.fromkeys(ordered))[:count]

    def region(self, name: str) -> RegionScores:
        """Return one region by id or name; of several at different levels, the highest.

        Parameters
        ----------
        name : str
            Such as "Africa", "AF" or "France".

        Returns
        -------
        RegionScores
            Its scores.

        Raises
        ------
        InputError
            If there is no such region, or several at one level.
        """
        matches = [region for region in self.regions if name in (region.id, region.name)]
        if not matches:
            choices = describe_choices(name, [region.name for region in self.regions])
            raise InputError(f"This result has no region {name!r}. {choices}")
        same_level = [region for region in matches if region.level == matches[0].level]
        if len(same_level) > 1:
            ids = ", ".join(f"{region.id} (in {region.parent})" for region in same_level)
            raise InputError(f"{len(same_level)} regions have the name {name!r}. Use one of the ids: {ids}.")
        return matches[0]

    @property
    def caps(self) -> list[str]:
        count = FEWEST_PARAPHRASES if self.association is None else self.association.paraphrases
        if count >= FEWEST_PARAPHRASES:
            return []
        wordings = "one wording" if count == 1 else f"{count} wordings"
        return [f"{wordings}: associations are at most suggestive. Use --paraphrases {FEWEST_PARAPHRASES} or more."]

    def summarise(self) -> Iterator[str]:
        return summarise(self)

    def list_tidy_rows(self) -> Iterator[dict[str, Any]]:
        return list_tidy_rows(self)

    def _require_answers(self) -> RegionsAnswers:
        if self.answers is None:
            raise InputError("A result read from a folder has no likelihoods. Read likelihoods.parquet in that folder.")
        return self.answers
