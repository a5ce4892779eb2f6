"""`geobias downstream`: its options."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from geobias.options import (
    Begin,
    Calibrate,
    Classifiers,
    Column,
    Concurrency,
    Continents,
    Countries,
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
from geobias.texts.defaults import DEFAULT_PREFIX


def downstream(
    classifiers: Classifiers = None,
    texts: TextFiles = None,
    column: Column = "text",
    label: Annotated[str | None, typer.Option(help="A column of true labels, for accuracy and macro-F1.")] = None,
    limit: Annotated[int | None, typer.Option(help="Only the first N texts (of the tweets inside: 30).")] = None,
    prefix: Annotated[str, typer.Option(help="What is put before every text.")] = DEFAULT_PREFIX,
    control: Annotated[
        str | None, typer.Option(help="A prefix that names no region (default: the prefix with 'here').")
    ] = None,
    regions: Annotated[str, typer.Option(help="countries, cities, or city-country ('Lyon, France').")] = "countries",
    cities: Annotated[
        str | None,
        typer.Option(help="For cities: each country's N largest, or 'all' (default: 1)."),
    ] = None,
    continents: Continents = None,
    countries: Countries = None,
    positive: Annotated[
        str | None, typer.Option(help="The class to show (default: by name, such as hate); the files have all.")
    ] = None,
    threshold: Threshold = None,
    labels: Labels = None,
    prompt: PromptText = None,
    calibrate: Calibrate = False,
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
    """How a classifier judges the same texts, said to come from region after region (HERB).

    "I am from REGION." is put before every text; how the answers change is told against the original texts and
    against a prefix that names no region. It says something of the classifiers, nothing of people.
    """
    from geobias.audits.downstream.audit import DownstreamStudy, audit_downstream
    from geobias.audits.downstream.design import design_downstream
    from geobias.audits.downstream.terminal import show
    from geobias.audits.inputs import parse_text_files
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
        "label": label,
        "limit": limit,
        "prefix": prefix,
        "control": control,
        "regions": regions,
        "cities": cities,
        "continents": continents or (),
        "countries": countries or (),
        "positive": positive,
        "threshold": threshold,
        "labels": labels,
        "prompt": prompt,
        "calibrate": calibrate,
    }
    if plan:
        DownstreamStudy(design_downstream(**options), audited, RunOptions(device, dtype)).plan().show()
        return
    folder = output_folder(out, "downstream", audited)
    result = audit_downstream(audited, **options, device=device, dtype=dtype, ray=ray, out=folder)
    print_json(result) if json else show(result, folder)
