"""HERB, Figure 1: where in the world a model expects one description (section 1).

The likelihood f (Eq. 1) of "People in {region} are bald." for every country, as a world map and by continent, with the
likelihood of the sentence about the continent itself marked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from geobias.checks import split_list
from geobias.engine.ask import ask
from geobias.papers.herb.table_1 import load_scorer
from geobias.papers.tables import Reproduction
from geobias.texts import DEFAULT_TEMPLATE
from geobias.texts.templates import Sentences
from geobias.world.countries import DISSOLVED
from geobias.world.regions import load_world

TITLE = "the likelihood of one description by country"
EXTREMES = 5


def measure(
    model: str = "roberta-base",
    *,
    word: str = "bald",
    countries: str | Sequence[str] = (),
    device: str = "auto",
    progress: bool | None = None,
) -> Reproduction:
    """f of one word for every country and continent."""
    names = split_list(countries, "--countries") if countries else []
    regions = load_world(cities=0, countries=names).regions[1:]
    scorer = load_scorer(model, device)
    sentences = Sentences([DEFAULT_TEMPLATE], [region.name for region in regions], [word], marked=scorer.needs_mark)
    scores = ask(scorer, sentences, label=model, progress=progress).scores[:, 0]
    rows = [
        {"code": region.id, "name": region.name, "level": region.level, "f": float(f)}
        for region, f in zip(regions, scores, strict=True)
    ]
    identity = scorer.identity()
    return Reproduction(
        title=f"{TITLE}: {word}",
        models=[identity],
        numbers=rows,
        chart=draw(rows, word, identity.short_name, identity.score),
        notes=list_extremes(rows, bool(names)),
    )


def list_extremes(rows: Sequence[dict[str, Any]], named: bool) -> list[str]:
    """The countries on both ends; one that no longer exists is ranked only where the user named it."""
    countries = [row for row in rows if row["level"] == "country" and (named or row["code"] not in DISSOLVED)]
    ranked = sorted(countries, key=lambda row: (-row["f"], row["code"]))
    ends = {"Highest": ranked[:EXTREMES], "Lowest": ranked[EXTREMES:][: -EXTREMES - 1 : -1]}
    lines = [
        f"{end}: {', '.join('{name} {f:.3f}'.format(**row) for row in part)}." for end, part in ends.items() if part
    ]
    return [*lines, "f is a mean log-probability: higher is likelier to the model. It describes the model, not people."]


def draw(rows: list[dict[str, Any]], word: str, model: str, score: str) -> str:
    from geobias.papers.figures import ValueMap, draw_figure  # only where a map is drawn

    levels = {level: [row for row in rows if row["level"] == level] for level in ("country", "continent")}
    values = {level: {row["code"]: row["f"] for row in part} for level, part in levels.items()}
    sentence = Sentences([DEFAULT_TEMPLATE], ["…"], [word]).at(0, 0, 0)
    names = {row["code"]: row["name"] for row in levels["country"]}
    picture = ValueMap(values["country"], names, f"f of “{word}”", own_values=values["continent"])
    caveat = f"f by {score}, a mean log-probability: higher is likelier to the model."
    return draw_figure(f"How likely {model} finds “{sentence}”", picture, [caveat, picture.describe()], rows, model)
