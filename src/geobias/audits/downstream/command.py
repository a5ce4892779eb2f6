"""`geobias downstream`: its options."""

from __future__ import annotations

from typing import Annotated

import typer

from geobias import options
from geobias.texts.defaults import DEFAULT_PREFIX


def downstream(
    classifiers: options.Classifiers = None,
    texts: options.TextFiles = None,
    column: options.Column = "text",
    limit: Annotated[
        int | None,
        typer.Option(
            help="Use only the first N texts of each file (default: all; bundled tweets: 30).",
            rich_help_panel=options.INPUT,
        ),
    ] = None,
    label: Annotated[
        str | None,
        typer.Option(help="Column of true labels, for accuracy and macro-F1.", rich_help_panel=options.INPUT),
    ] = None,
    countries: options.Countries = None,
    continents: options.Continents = None,
    regions: Annotated[
        str,
        typer.Option(
            help="Regions to name: countries, cities or city-country ('Lyon, France').", rich_help_panel=options.INPUT
        ),
    ] = "countries",
    cities: Annotated[
        str | None,
        typer.Option(
            help="With --regions cities: each country's N largest cities, or 'all' (default: 1).",
            rich_help_panel=options.INPUT,
        ),
    ] = None,
    prefix: Annotated[
        str, typer.Option(help="Sentence to put before every text, with {region}.", rich_help_panel=options.INPUT)
    ] = DEFAULT_PREFIX,
    control: Annotated[
        str | None,
        typer.Option(
            help="Control prefix that names no region (default: --prefix with 'here').", rich_help_panel=options.INPUT
        ),
    ] = None,
    positive: Annotated[
        str | None,
        typer.Option(
            help="Class to show in the tables; files hold all classes (default: by name, such as hate).",
            rich_help_panel=options.INPUT,
        ),
    ] = None,
    threshold: options.Threshold = None,
    labels: options.Labels = None,
    prompt: options.PromptText = None,
    calibrate: options.Calibrate = False,
    endpoint: options.EndpointUrl = None,
    model: options.EndpointModel = None,
    begin: options.Begin = None,
    plan: options.Plan = False,
    device: options.Device = "auto",
    dtype: options.Dtype = "auto",
    ray: options.Ray = None,
    plain: options.Plain = False,
    yes: options.Yes = False,
    max_calls: options.MaxCalls = None,
    rate: options.Rate = None,
    concurrency: options.Concurrency = None,
    out: options.Out = None,
    full: options.Full = False,
    quiet: options.Quiet = False,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Measure how naming a country before a text changes a classifier's predictions (HERB).

    Puts "I am from REGION." before every text and compares the predictions with those of a control prefix that names
    no region, and between regions. The result describes the classifier, not people.
    """
    from geobias.audits.downstream.audit import DownstreamStudy, audit_downstream
    from geobias.audits.downstream.design import DownstreamOptions, design_downstream
    from geobias.audits.inputs import parse_text_files
    from geobias.audits.served_models import served_by
    from geobias.audits.show_results import View, show_result
    from geobias.audits.study import RunOptions, choose_classifiers, collect_options, output_folder

    served = served_by(
        endpoint, model, classifiers, begin=begin, yes=yes, max_calls=max_calls, rate=rate, concurrency=concurrency
    )
    audited = choose_classifiers(classifiers, served)
    downstream_options = collect_options(DownstreamOptions, locals(), texts=parse_text_files(texts))
    if plan:
        DownstreamStudy(design_downstream(downstream_options), audited, RunOptions(device, dtype)).plan().show()
        return
    folder = output_folder(out, "downstream", audited)
    result = audit_downstream(audited, **vars(downstream_options), device=device, dtype=dtype, ray=ray, out=folder)
    show_result(result, folder, View(full, quiet, json))
