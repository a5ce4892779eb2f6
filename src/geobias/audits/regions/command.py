"""`geobias regions`: its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from geobias import options
from geobias.options import INPUT, MODEL, OUTPUT, STATISTICS, option


def regions(
    models: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[MODEL ...]",
            help="Language models: Hugging Face ids, folders, GGUF files, package.module:function or a server's model "
            "as http://localhost:8000/v1#my-model (default: the bundled model).",
        ),
    ] = None,
    cities: options.Cities = "5",
    countries: options.Countries = None,
    continents: options.Continents = None,
    words: Annotated[
        Path | None,
        option(INPUT, "Your own words: one per line, or CSV with word, topic, substitute (default: 112 words)."),
    ] = None,
    template: options.Templates = None,
    tree: Annotated[
        Path | None, option(INPUT, "Your own regions: CSV with id, name, parent (default: the world).")
    ] = None,
    score: Annotated[
        list[str] | None,
        option(
            MODEL,
            "Sentence scores, comma-separated (default: conditional). Masked LM: also aul (HERB's), aula, pll, "
            "pll-word; causal: mean, sum; encoder-decoder: aul, mean, sum.",
        ),
    ] = None,
    placebo: Annotated[
        bool,
        option(
            STATISTICS,
            "Also score 60 invented and 60 known places, to compare countries with (default: yes).",
            "--placebo/--no-placebo",
            show_default=False,
        ),
    ] = True,
    paraphrases: Annotated[
        int, option(STATISTICS, "Paraphrases of the sentence, for associations of words; 0 for none, at most 14.")
    ] = 4,
    subject: Annotated[
        str, option(INPUT, "Whom paraphrases are about: region (people in Kenya), demonym (Kenyans) or both.")
    ] = "region",
    known: Annotated[
        bool,
        option(
            STATISTICS,
            "Also compare the model's associations with all stereotypes that people know (SeeGULL): about 150,000 "
            "more sentences.",
            "--known",
        ),
    ] = False,
    plan: options.Plan = False,
    device: options.Device = "auto",
    dtype: options.Dtype = "auto",
    ray: options.Ray = None,
    server: options.Server = None,
    yes: options.Yes = False,
    out: options.Out = None,
    full: options.Full = False,
    show_offensive: Annotated[
        bool,
        option(
            OUTPUT,
            "With --known: name the offensive attributes that the model associates most, on the page and with --full.",
            "--show-offensive",
        ),
    ] = False,
    quiet: options.Quiet = False,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Measure how differently a language model describes people by region (HERB).

    Scores every sentence "People in REGION are WORD." A region's bias score is how much its sub-regions differ. The
    result describes the model, not people.
    """
    from geobias.audits.regions.audit import audit_regions
    from geobias.audits.regions.study import list_studies, plan_studies, run_studies, show_runs
    from geobias.audits.served_models import find_served
    from geobias.audits.show_results import View
    from geobias.audits.study import RunOptions, output_folder, prepare
    from geobias.models.scorer import EMBEDDED_LM

    served = find_served(models, server, yes)
    given = {"continents": continents, "countries": countries, "templates": template}
    design = prepare(
        audit_regions,
        cities=cities,
        tree=tree,
        words=words,
        placebo=placebo,
        paraphrases=paraphrases,
        subject=subject,
        known=known,
        show_offensive=show_offensive,
        **{name: value for name, value in given.items() if value},
    ).design
    audited = served or list(dict.fromkeys(models or [EMBEDDED_LM]))
    scores = [name.strip() for text in score or [] for name in text.split(",")]
    studies = list_studies(design, audited, scores, RunOptions(device, dtype, ray))
    if plan:
        plan_studies(studies).show()
        return
    folder = output_folder(out, "regions", [study.names()[0] for study in studies.values()])
    show_runs(run_studies(studies, folder), folder, View(full, quiet, json))
