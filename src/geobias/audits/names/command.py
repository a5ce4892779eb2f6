"""`geobias names`: its options."""

from __future__ import annotations

from typing import Annotated

from geobias import options
from geobias.options import INPUT, MODEL, OUTPUT, STATISTICS, option


def names(
    classifiers: options.Classifiers = None,
    texts: options.TextFiles = None,
    column: options.Column = "text",
    limit: Annotated[
        int | None, option(INPUT, "Use only the first N texts of each file (default: all; bundled tweets: 100).")
    ] = None,
    countries: options.NameCountries = None,
    label: Annotated[str | None, option(INPUT, "Column of true labels, for error rates.")] = None,
    spans: options.NameSpans = None,
    finder: options.NameFinder = None,
    positive: Annotated[
        str | None, option(INPUT, "Labels that count as positive in Δ: joy,optimism (default: by name).")
    ] = None,
    negative: Annotated[
        str | None, option(INPUT, "Labels that count as negative in Δ: anger,sadness (default: by name).")
    ] = None,
    subset: Annotated[list[str] | None, option(INPUT, "Repeat the tables for each value of this column.")] = None,
    gazetteer: options.GazetteerFile = None,
    draws: options.NameDraws = 50,
    seed: options.NameSeed = 0,
    names_are: Annotated[
        str, option(STATISTICS, "Treat names as a random sample or as fixed: random or fixed.", "--names")
    ] = "random",
    threshold: options.Threshold = None,
    labels: options.Labels = None,
    prompt: options.PromptText = None,
    calibrate: options.Calibrate = False,
    perplexity: Annotated[
        str | None,
        option(
            MODEL,
            "Language model for perplexities: id, folder or package.module:function. Slow (default: no perplexities).",
        ),
    ] = None,
    plan: options.Plan = False,
    allow: options.Allow = None,
    device: options.Device = "auto",
    dtype: options.Dtype = "auto",
    ray: options.Ray = None,
    server: options.Server = None,
    yes: options.Yes = False,
    out: options.Out = None,
    preview: Annotated[int | None, option(OUTPUT, "Show N texts with their renamed versions, then stop.")] = None,
    full: options.Full = False,
    quiet: options.Quiet = False,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Measure how a classifier's predictions depend on the origin of people's names.

    Replaces the people in your texts with common names of each country, and compares the predictions between countries.
    The result describes the classifier, not people.
    """
    from geobias.audits.inputs import parse_text_files
    from geobias.audits.names.audit import audit_names
    from geobias.audits.names.design import NamesOptions, design_names
    from geobias.audits.names.study import NamesStudy
    from geobias.audits.names.terminal import show_preview
    from geobias.audits.served_models import find_served
    from geobias.audits.show_results import View, show_result
    from geobias.audits.study import RunOptions, choose_classifiers, output_folder, parse_options

    served = find_served(classifiers, server, yes)
    audited = choose_classifiers(classifiers, served)
    names_options = parse_options(
        NamesOptions, locals(), texts=parse_text_files(texts), subsets=subset, names=names_are
    )
    if preview is not None:
        show_preview(design_names(names_options, device), preview)
        return
    if plan:
        NamesStudy(
            design_names(names_options, device), audited, RunOptions(device, dtype, allow=allow or ())
        ).plan().show()
        return
    folder = output_folder(out, "names", audited)
    result = audit_names(
        audited, **vars(names_options), allow=allow or (), device=device, dtype=dtype, ray=ray, out=folder
    )
    show_result(result, folder, View(full, quiet, json))
