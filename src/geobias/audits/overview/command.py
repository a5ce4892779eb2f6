"""`geobias audit`: both main audits on the bundled models, cut to what two cores do in three minutes.

How much is asked is fixed, not fitted to the machine: the same command gives the same numbers everywhere.
"""

from __future__ import annotations

from typing import Any

from geobias.options import Debug, Out, Plain

TEXTS, DRAWS, PERPLEXITY_TEXTS, PERPLEXITY_DRAWS = 36, 8, 8, 3
REGIONS: dict[str, Any] = {"score": "aul", "cities": 0}
ABOUT = (
    "A first look at the models inside, in less than three minutes on two cores. Chosen so that it fits: countries "
    f"without their cities, by the score {REGIONS['score']}; {TEXTS} tweets, {DRAWS} draws of names for each of 17 "
    f"countries, and of {PERPLEXITY_TEXTS} of them the perplexity of {PERPLEXITY_DRAWS} draws. "
    "`geobias regions` and `geobias names` ask for more, of any model."
)


def audit(
    out: Out = None,
    plain: Plain = False,
    debug: Debug = False,
) -> None:
    """A first look in three minutes: both audits on the models that ship inside, with as much as fits."""
    from geobias.audits.names.audit import audit_names
    from geobias.audits.names.terminal import show as show_names
    from geobias.audits.regions.audit import audit_regions
    from geobias.audits.regions.terminal import show as show_regions
    from geobias.audits.study import IndexEntry, RunIndex, save_index
    from geobias.models.scorer import EMBEDDED_CLASSIFIERS, EMBEDDED_LM
    from geobias.report.runs import index_folder, new_folder, place_for
    from geobias.report.tables import console

    folder = place_for(out or new_folder("audit"))
    index = index_folder(folder, ["regions", "names"])
    index.check()
    console().print(ABOUT, end="\n\n")
    with index.hold():
        regions = audit_regions(EMBEDDED_LM, **REGIONS, out=folder / "regions")
        show_regions(regions, folder / "regions")
        console().print()
        names = audit_names(
            list(EMBEDDED_CLASSIFIERS),
            limit=TEXTS,
            draws=DRAWS,
            perplexity_texts=PERPLEXITY_TEXTS,
            perplexity_draws=PERPLEXITY_DRAWS,
            out=folder / "names",
        )
        show_names(names, folder / "names")
        save_index(index, RunIndex([IndexEntry("regions"), IndexEntry("names")]))
