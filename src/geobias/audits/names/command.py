"""`geobias names`: its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from geobias import options


def names(
    classifiers: options.Classifiers = None,
    texts: options.TextFiles = None,
    column: options.Column = "text",
    limit: Annotated[
        int | None,
        typer.Option(
            help="Use only the first N texts of each file (default: all; bundled tweets: 100).",
            rich_help_panel=options.INPUT,
        ),
    ] = None,
    countries: Annotated[
        str | None,
        typer.Option(
            help="Countries to take names from, by code or name: FR,Nigeria; or 'all' (default: 17 countries).",
            rich_help_panel=options.INPUT,
        ),
    ] = None,
    label: Annotated[
        str | None, typer.Option(help="Column of true labels, for error rates.", rich_help_panel=options.INPUT)
    ] = None,
    spans: Annotated[
        str | None,
        typer.Option(
            help="Column of name offsets: [[0, 5], ...] (default: --finder finds the names).",
            rich_help_panel=options.INPUT,
        ),
    ] = None,
    finder: Annotated[
        str | None,
        typer.Option(
            help="Model that finds names: spaCy pipeline, token classifier or package.module:function (default: the "
            "bundled one).",
            rich_help_panel=options.INPUT,
        ),
    ] = None,
    doubtful: Annotated[
        str,
        typer.Option(
            help="What to do with spans that are probably not people: drop or keep.", rich_help_panel=options.INPUT
        ),
    ] = "drop",
    entity: Annotated[
        str,
        typer.Option(
            help="What to replace: person, or place (with cities of each country).", rich_help_panel=options.INPUT
        ),
    ] = "person",
    positive: Annotated[
        str | None,
        typer.Option(
            help="Labels that count as positive in Δ: joy,optimism (default: by name).", rich_help_panel=options.INPUT
        ),
    ] = None,
    negative: Annotated[
        str | None,
        typer.Option(
            help="Labels that count as negative in Δ: anger,sadness (default: by name).", rich_help_panel=options.INPUT
        ),
    ] = None,
    subset: Annotated[
        list[str] | None,
        typer.Option(help="Repeat the tables for each value of this column.", rich_help_panel=options.INPUT),
    ] = None,
    scripts: Annotated[
        str, typer.Option(help="Scripts of the names: latin or all.", rich_help_panel=options.INPUT)
    ] = "latin",
    gazetteer: Annotated[
        Path | None,
        typer.Option(
            help="CSV of your own names: country, kind (male, female, last), name.", rich_help_panel=options.INPUT
        ),
    ] = None,
    draws: Annotated[
        int, typer.Option(help="Names drawn per text and country.", rich_help_panel=options.STATISTICS)
    ] = 50,
    seed: Annotated[int, typer.Option(help="Random seed for drawing names.", rich_help_panel=options.STATISTICS)] = 0,
    names_are: Annotated[
        str,
        typer.Option(
            "--names",
            help="Treat names as a random sample or as fixed: random or fixed.",
            rich_help_panel=options.STATISTICS,
        ),
    ] = "random",
    threshold: options.Threshold = None,
    labels: options.Labels = None,
    prompt: options.PromptText = None,
    calibrate: options.Calibrate = False,
    lm: Annotated[
        str | None,
        typer.Option(
            help="Language model for perplexity: id, folder or package.module:function (default: the classifier's "
            "base model, else the bundled one).",
            rich_help_panel=options.MODEL,
        ),
    ] = None,
    perplexity: Annotated[
        str | None,
        typer.Option(
            help="Perplexity of masked LMs: pll, or pll-word for names of several tokens (default: pll).",
            rich_help_panel=options.MODEL,
        ),
    ] = None,
    perplexity_form: Annotated[
        str,
        typer.Option(help="Combine the tokens of a text by their mean or sum.", rich_help_panel=options.MODEL),
    ] = "mean",
    perplexity_draws: Annotated[
        int,
        typer.Option(
            help="Names per text and country whose perplexity is computed; 0 for none. Slow.",
            rich_help_panel=options.STATISTICS,
        ),
    ] = 5,
    perplexity_texts: Annotated[
        int | None,
        typer.Option(
            help="Number of randomly chosen texts whose perplexity is computed (default: all).",
            rich_help_panel=options.STATISTICS,
        ),
    ] = None,
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
    preview: Annotated[
        int | None,
        typer.Option(help="Show N texts with their renamed versions, then stop.", rich_help_panel=options.OUTPUT),
    ] = None,
    full: options.Full = False,
    quiet: options.Quiet = False,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Measure how a classifier's predictions depend on the origin of people's names.

    Replaces the people in your texts with common names of each country, and compares the predictions between countries
    and with a language model's perplexity. The result describes the classifier, not people.
    """
    from geobias.audits.inputs import parse_text_files
    from geobias.audits.names.audit import audit_names
    from geobias.audits.names.design import NamesOptions, design_names
    from geobias.audits.names.preview import show_preview
    from geobias.audits.names.study import NamesStudy
    from geobias.audits.served_models import served_by
    from geobias.audits.show_results import View, show_result
    from geobias.audits.study import RunOptions, choose_classifiers, collect_options, output_folder

    served = served_by(
        endpoint, model, classifiers, begin=begin, yes=yes, max_calls=max_calls, rate=rate, concurrency=concurrency
    )
    audited = choose_classifiers(classifiers, served)
    names_options = collect_options(
        NamesOptions, locals(), texts=parse_text_files(texts), subsets=subset, names=names_are
    )
    if preview is not None:
        show_preview(design_names(names_options, device), preview)
        return
    if plan:
        NamesStudy(design_names(names_options, device), audited, RunOptions(device, dtype)).plan().show()
        return
    folder = output_folder(out, "names", audited)
    result = audit_names(audited, **vars(names_options), device=device, dtype=dtype, ray=ray, out=folder)
    show_result(result, folder, View(full, quiet, json))
