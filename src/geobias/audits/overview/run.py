"""`geobias audit`: both audits on the models that ship inside, cut to what two cores do in three minutes.

How much is asked is fixed, not fitted to the machine: the same command gives the same numbers everywhere.
"""

from __future__ import annotations

from pathlib import Path

from geobias.audits.names import run as names
from geobias.audits.names.design import Asked
from geobias.audits.names.design import question as names_question
from geobias.audits.regions import run as regions
from geobias.models.scorer import EMBEDDED_CLASSIFIERS, EMBEDDED_LM
from geobias.report import runs
from geobias.report.tables import console

TEXTS, DRAWS = 36, 8
PERPLEXITY = Asked(perplexity_draws=3, perplexity_texts=8)
REGIONS = {"cities": 0}
CHOSEN = (
    "A first look at the models inside, in less than three minutes on two cores. Chosen so that it fits: countries "
    f"without their cities, by the score aul; {TEXTS} tweets, {DRAWS} draws of names for each of 17 countries, and of "
    f"{PERPLEXITY.perplexity_texts} of them the perplexity of {PERPLEXITY.perplexity_draws} draws. "
    "`geobias regions` and `geobias names` ask for more, of any model."
)


def run_audit(out: Path | None) -> None:
    top = runs.place_for(out or runs.new_folder("audit"))
    run = runs.index_folder(top, ["regions", "names"])
    run.check()
    shown = console()
    shown.print(CHOSEN)
    shown.print()
    with run.hold():
        regions.run_regions(
            [EMBEDDED_LM], ["aul"], REGIONS, device="auto", dtype="auto", out=top / "regions", as_json=False
        )
        shown.print()
        design = names_question(limit=TEXTS, draws=DRAWS)
        result = names.audit_into(top / "names", design, EMBEDDED_CLASSIFIERS, PERPLEXITY, device="auto", dtype="auto")
        names.show(result, top / "names")
        runs.save_index(run, {"schema_version": 1, "runs": [{"path": "regions"}, {"path": "names"}]})
