"""`geobias names`: its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from geobias.options import (
    Begin,
    Calibrate,
    Classifiers,
    Column,
    Concurrency,
    Debug,
    Device,
    Dtype,
    EndpointModel,
    EndpointUrl,
    Json,
    Labels,
    MaxCalls,
    Out,
    Plain,
    Plan,
    PromptText,
    Rate,
    Ray,
    TextFiles,
    Threshold,
    Yes,
)


def names(
    classifiers: Classifiers = None,
    texts: TextFiles = None,
    column: Column = "text",
    spans: Annotated[str | None, typer.Option(help="A column of offsets of the names: [[0, 5], ...].")] = None,
    label: Annotated[str | None, typer.Option(help="A column of true labels, for error rates.")] = None,
    subset: Annotated[list[str] | None, typer.Option(help="Repeat the tables for each value of this column.")] = None,
    limit: Annotated[
        int | None, typer.Option(help="Only the first N texts of each file (of the tweets inside: 100).")
    ] = None,
    finder: Annotated[
        str | None, typer.Option(help="What finds the names: a spaCy pipeline or a token classifier (id or folder).")
    ] = None,
    entity: Annotated[str, typer.Option(help="person, or place: places become cities of each country.")] = "person",
    countries: Annotated[
        str | None, typer.Option(help="By code or name: FR,Nigeria; or 'all' (default: the paper's seventeen).")
    ] = None,
    draws: Annotated[int, typer.Option(help="Renamed versions of each text for each country.")] = 50,
    seed: Annotated[int, typer.Option(help="Other seeds draw other names.")] = 0,
    scripts: Annotated[str, typer.Option(help="Names in latin letters, or all.")] = "latin",
    gazetteer: Annotated[Path | None, typer.Option(help="Your own names: CSV with country, kind, name.")] = None,
    names_are: Annotated[
        str,
        typer.Option("--names", help="In intervals and tests: names are a random sample of more, or fixed."),
    ] = "random",
    positive: Annotated[str | None, typer.Option(help="Labels that are positive in Δ, such as joy,optimism.")] = None,
    negative: Annotated[str | None, typer.Option(help="Labels that count as negative in Δ.")] = None,
    threshold: Threshold = None,
    labels: Labels = None,
    prompt: PromptText = None,
    calibrate: Calibrate = False,
    lm: Annotated[
        str | None,
        typer.Option(
            help="Language model for perplexity, or package.module:function of log-likelihoods (default: the "
            "classifier's base, else the one inside)."
        ),
    ] = None,
    perplexity: Annotated[
        str | None, typer.Option(help="Of a masked LM: pll (default), or pll-word (kinder to names of many pieces).")
    ] = None,
    perplexity_form: Annotated[str, typer.Option(help="mean over a text's tokens, or sum.")] = "mean",
    perplexity_draws: Annotated[
        int, typer.Option(help="Draws of each text and country whose perplexity is taken; it is slow. 0: none.")
    ] = 5,
    perplexity_texts: Annotated[
        int | None,
        typer.Option(help="Texts whose versions' perplexity is taken, chosen by the seed (default: all)."),
    ] = None,
    preview: Annotated[int | None, typer.Option(help="Show N texts with their renamed versions, and stop.")] = None,
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
    """How a classifier treats people by the country that their names come from.

    The people in real texts get common names of country after country; how the classifier changes its mind, and how
    that goes with what a language model finds strange, is measured. It says something of the models, nothing of people.
    """
    from geobias.audits.inputs import parse_text_files
    from geobias.audits.names.audit import NamesStudy, audit_names
    from geobias.audits.names.design import design_names
    from geobias.audits.names.terminal import show, show_preview
    from geobias.audits.served_models import served_by
    from geobias.audits.study import RunOptions, choose_classifiers, output_folder
    from geobias.report.tables import print_json

    served = served_by(
        endpoint, model, classifiers, begin=begin, yes=yes, max_calls=max_calls, rate=rate, concurrency=concurrency
    )
    audited = choose_classifiers(classifiers, served)
    options: dict[str, Any] = {
        "texts": parse_text_files(texts),
        "column": column,
        "spans": spans,
        "label": label,
        "subsets": subset or (),
        "limit": limit,
        "finder": finder,
        "entity": entity,
        "countries": countries,
        "draws": draws,
        "seed": seed,
        "scripts": scripts,
        "gazetteer": gazetteer,
        "names": names_are,
        "positive": () if positive is None else positive,
        "negative": () if negative is None else negative,
        "threshold": threshold,
        "labels": labels,
        "prompt": prompt,
        "calibrate": calibrate,
        "lm": lm,
        "perplexity": perplexity,
        "perplexity_form": perplexity_form,
        "perplexity_draws": perplexity_draws,
        "perplexity_texts": perplexity_texts,
        "device": device,
    }
    if preview is not None:
        show_preview(design_names(**options), preview)
        return
    if plan:
        NamesStudy(design_names(**options), audited, RunOptions(device, dtype)).plan().show()
        return
    folder = output_folder(out, "names", audited)
    result = audit_names(audited, **options, dtype=dtype, ray=ray, out=folder)
    print_json(result) if json else show(result, folder)
