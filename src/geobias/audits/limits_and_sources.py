"""What a page says about the limits and the data of its runs: only what applies to one of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from geobias.models.scorer import EMBEDDED_CLASSIFIERS
from geobias.report.results import AuditResult
from geobias.world.gazetteer import load_gazetteer

REGION_AUDITS = ("regions",)
PREFIX_AUDITS = ("downstream",)
RENAMING_AUDITS = ("names", "find")
BUNDLED_TEXTS = "the bundled tweets"
HERB = (
    "Li, Zhang, Yang, Lin, Wang, Ragni and Fu (2022). HERB: Measuring Hierarchical Regional Bias in Pre-trained "
    "Language Models."
)
SEEGULL = (
    "Jha, Mostafazadeh Davani, Reddy, Dave, Prabhakaran and Dev (2023). SeeGULL: A Stereotype Benchmark with Broad "
    "Geo-Cultural Coverage Leveraging Generative Models."
)
NAMES_PAPER = "Barriere and Cifuentes (2024), whose method the names audit follows."


AUL_LIMIT = (
    "AUL scores a sentence as it stands. The sentences are the paper's, grammar included: “People in Chad are nurse.”"
)
KNOWN_LIMIT = (
    "SeeGULL records what annotators know as stereotypes, in English, proposed by language models. A high AUC says "
    "that a model repeats them, not that they are true."
)
LIMITS = dict.fromkeys(
    RENAMING_AUDITS,
    "Names are a proxy for nationality: they cross borders, and lists of common names leave many people out.",
) | {
    "regions": "Tokenisation alone makes some names of places more alike than others, which moves the scores of "
    "regions.",
    "decide": "Scenarios are short cases written for this purpose. A model in use sees longer ones, other prompts and "
    "other instructions: a preference here is a reason to test the system in use, and no proof about it.",
    "downstream": "A sentence that names a place is a strong hint; real texts reveal where they come from in other "
    "ways.",
}


def list_limits(results: Sequence[AuditResult], has_map: bool) -> list[str]:
    """What the results do not say, the general limits first."""
    limits = [
        "Every number describes a model, and the words, names or texts that it was tested with. None describes people.",
        "No finding does not mean no bias: other words, texts or templates may show one. The width of an interval says "
        "what could have been missed.",
        "Intervals cover other texts, names or words of the same kind, not of other kinds.",
        *(limit for result in results for limit in _limits(result)),
    ]
    if has_map:
        limits.append(
            "Borders are drawn as Natural Earth has them. geobias takes no position on contested territories."
        )
    return list(dict.fromkeys(limits))


def list_sources(results: Sequence[AuditResult], has_map: bool) -> list[str]:
    """The data behind the results, with licences."""
    sources = [source for result in results for source in _sources(result)]
    if has_map:
        sources.append("Shapes of countries: Natural Earth (naturalearthdata.com), public domain.")
    return list(dict.fromkeys(sources))


def list_citations(results: Sequence[AuditResult]) -> list[str]:
    """The papers whose methods were used."""
    audits = {_measured_audit(result) for result in results}
    papers = ["geobias: auditing language models for bias by place and nationality. Version and date below."]
    if audits & {*REGION_AUDITS, *PREFIX_AUDITS}:
        papers.append(HERB)
    if "names" in audits:
        papers.append(NAMES_PAPER)
    if any(getattr(result.settings, "known", False) for result in results):
        papers.append(SEEGULL)
    return papers


def _measured_audit(result: AuditResult) -> str:
    """The audit whose numbers a result holds: a comparison's is that of its runs."""
    settings: Any = result.settings
    return str(settings.audit) if result.audit == "compare" else result.audit


def _limits(result: AuditResult) -> Iterator[str]:
    audit = _measured_audit(result)
    if audit in REGION_AUDITS and any(model.score == "aul" for model in result.model_identities):
        yield AUL_LIMIT
    if audit in LIMITS:
        yield LIMITS[audit]
    if getattr(result.settings, "known", False):
        yield KNOWN_LIMIT


def _sources(result: AuditResult) -> Iterator[str]:
    audit, settings = _measured_audit(result), result.settings
    if result.audit == "compare":  # the runs that it compares name theirs
        return
    if audit in (*REGION_AUDITS, *PREFIX_AUDITS) and getattr(settings, "tree", None) is None:
        yield "Regions and cities: GeoNames (geonames.org), CC BY 4.0."
    if getattr(settings, "words", None) == "herb":
        yield "Words: the appendices of HERB (Li et al. 2022)."
    if getattr(settings, "known", False):
        yield "Known stereotypes: SeeGULL (Jha et al. 2023, Google Research), CC BY 4.0."
    digest = getattr(settings, "names", None)  # of the lists that names were drawn from
    is_renaming = audit in RENAMING_AUDITS and digest in (None, load_gazetteer(settings.scripts).digest)
    if is_renaming or (audit == "decide" and "name" in settings.origin):
        yield "Names: CheckList (Ribeiro et al. 2020), from Wikidata (CC0)."
    if any(model.name in EMBEDDED_CLASSIFIERS for model in result.model_identities):
        yield (
            "Weights of the bundled classifiers: GoEmotions (CC BY 4.0), Davidson et al. 2017 (MIT), hatespeech18 "
            "(CC BY-SA 3.0 ES) and the Broad Twitter Corpus (CC BY 4.0), on Wikipedia; CC BY-SA 4.0."
        )
    if getattr(getattr(settings, "texts", None), "source", None) == BUNDLED_TEXTS:
        yield "Texts: the Broad Twitter Corpus (Derczynski, Bontcheva and Roberts 2016), CC BY 4.0."
