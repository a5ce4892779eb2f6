"""`geobias regions`: its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from geobias.options import (
    Begin,
    Concurrency,
    Continents,
    Countries,
    Debug,
    Device,
    Dtype,
    EndpointModel,
    EndpointUrl,
    Json,
    MaxCalls,
    Out,
    Plain,
    Plan,
    Rate,
    Ray,
    Yes,
)
from geobias.texts.defaults import DEFAULT_TEMPLATE


def regions(
    models: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[MODEL ...]",
            help="Language models: Hugging Face ids, folders, GGUF files, or functions as package.module:function; "
            "none: the embedded.",
        ),
    ] = None,
    score: Annotated[
        list[str] | None,
        typer.Option(
            help="Masked LMs: aul (default), aula, pll, pll-word, conditional; causal ones: mean (default), sum, "
            "conditional; encoder-decoders: aul (default), mean, sum, conditional. Several: aul,conditional. A "
            "function has its own."
        ),
    ] = None,
    cities: Annotated[str, typer.Option(help="Each country's N largest cities; 0 for none, or 'all'.")] = "5",
    continents: Continents = None,
    countries: Countries = None,
    tree: Annotated[Path | None, typer.Option(help="Your own regions: CSV with id, name, parent.")] = None,
    words: Annotated[
        Path | None, typer.Option(help="Your own words: one a line, or CSV with word, topic, substitute.")
    ] = None,
    ablate: Annotated[
        list[str] | None,
        typer.Option(help="Also the score without each topic, or without each word: topics, words, or topics,words."),
    ] = None,
    substitute: Annotated[
        str | None,
        typer.Option(help="Also the score with each topic's words replaced: by their substitutes (topics) or nearest."),
    ] = None,
    vectors: Annotated[
        Path | None, typer.Option(help="Word vectors for --substitute nearest: word2vec's or GloVe's text form.")
    ] = None,
    template: Annotated[
        list[str] | None,
        typer.Option(help=f"Default: {DEFAULT_TEMPLATE} Several: give it several times; the score is then the mean."),
    ] = None,
    placebo: Annotated[
        bool, typer.Option("--placebo", help="Also ask about 60 invented places: how far apart do names alone lie?")
    ] = False,
    endpoint: EndpointUrl = None,
    model: EndpointModel = None,
    begin: Begin = None,
    yes: Yes = False,
    max_calls: MaxCalls = None,
    rate: Rate = None,
    concurrency: Concurrency = None,
    plan: Plan = False,
    device: Device = "auto",
    dtype: Dtype = "auto",
    ray: Ray = None,
    out: Out = None,
    json: Json = False,
    plain: Plain = False,
    debug: Debug = False,
) -> None:
    """How differently a language model speaks of the people of the world's regions (HERB).

    Every sentence "People in REGION are WORD." is put to the model; how much its answers differ between the
    sub-regions of a region is that region's score. It says something of the model, nothing of the people.
    """
    from geobias.audits.regions.design import design_regions
    from geobias.audits.regions.several_models import list_studies, plan_studies, print_runs, run_studies
    from geobias.audits.regions.terminal import show_runs
    from geobias.audits.served_models import served_by
    from geobias.audits.study import RunOptions, output_folder
    from geobias.models.scorer import EMBEDDED_LM

    served = served_by(
        endpoint, model, models, begin=begin, yes=yes, max_calls=max_calls, rate=rate, concurrency=concurrency
    )
    options: dict[str, Any] = {
        "cities": cities,
        "continents": () if continents is None else continents,
        "countries": () if countries is None else countries,
        "tree": tree,
        "words": words,
        "templates": template or DEFAULT_TEMPLATE,
        "ablate": ablate or (),
        "substitute": substitute,
        "vectors": vectors,
        "placebo": placebo,
    }
    audited = served or list(dict.fromkeys(models or [EMBEDDED_LM]))
    scores = [name.strip() for text in score or [] for name in text.split(",")]
    studies = list_studies(design_regions(**options), audited, scores, RunOptions(device, dtype, ray))
    if plan:
        plan_studies(studies).show()
        return
    folder = output_folder(out, "regions", [study.names()[0] for study in studies.values()])
    runs = run_studies(studies, folder)
    print_runs(runs) if json else show_runs(runs.results, runs.agreement, folder)
