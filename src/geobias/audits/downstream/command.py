"""`geobias downstream`: its options."""

from __future__ import annotations

from typing import Annotated

from geobias import options
from geobias.options import INPUT, option


def downstream(
    classifiers: options.Classifiers = None,
    texts: options.TextFiles = None,
    column: options.Column = "text",
    limit: Annotated[
        int | None, option(INPUT, "Use only the first N texts of each file (default: all; bundled tweets: 30).")
    ] = None,
    label: Annotated[str | None, option(INPUT, "Column of true labels, for accuracy and macro-F1.")] = None,
    countries: options.Countries = None,
    continents: options.Continents = None,
    regions: Annotated[
        str, option(INPUT, "Regions to name: countries, cities or city-country ('Lyon, France').")
    ] = "countries",
    cities: Annotated[
        str | None, option(INPUT, "With --regions cities: each country's N largest cities, or 'all' (default: 1).")
    ] = None,
    prefix: Annotated[
        list[str] | None,
        option(INPUT, "Sentence to put before texts, with {region}; several: one for each text by turns (default: 3)."),
    ] = None,
    control: Annotated[
        list[str] | None,
        option(INPUT, "Control that names no region, for each --prefix or for all (default: 3; --prefix with 'here')."),
    ] = None,
    positive: Annotated[
        str | None,
        option(INPUT, "Class to show in the tables; files hold all classes (default: by name, such as hate)."),
    ] = None,
    threshold: options.Threshold = None,
    labels: options.Labels = None,
    prompt: options.PromptText = None,
    calibrate: options.Calibrate = False,
    plan: options.Plan = False,
    allow: options.Allow = None,
    device: options.Device = "auto",
    dtype: options.Dtype = "auto",
    ray: options.Ray = None,
    server: options.Server = None,
    yes: options.Yes = False,
    out: options.Out = None,
    full: options.Full = False,
    quiet: options.Quiet = False,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Measure how naming a country before a text changes a classifier's predictions (HERB).

    Puts "I am from REGION." before every text, in three wordings, and compares the predictions with those of invented
    places and of controls that name no region, and between regions. The result describes the classifier, not people.
    """
    from geobias.audits.downstream.audit import DownstreamStudy, audit_downstream
    from geobias.audits.downstream.design import DownstreamOptions, design_downstream
    from geobias.audits.inputs import parse_text_files
    from geobias.audits.served_models import find_served
    from geobias.audits.show_results import View, show_result
    from geobias.audits.study import RunOptions, choose_classifiers, output_folder, parse_options

    served = find_served(classifiers, server, yes)
    audited = choose_classifiers(classifiers, served)
    downstream_options = parse_options(
        DownstreamOptions,
        locals(),
        texts=parse_text_files(texts),
        continents=continents or None,
        countries=countries or None,
        prefix=prefix or None,
        control=control or None,
    )
    if plan:
        DownstreamStudy(
            design_downstream(downstream_options), audited, RunOptions(device, dtype, allow=allow or ())
        ).plan().show()
        return
    folder = output_folder(out, "downstream", audited)
    result = audit_downstream(
        audited, **vars(downstream_options), allow=allow or (), device=device, dtype=dtype, ray=ray, out=folder
    )
    show_result(result, folder, View(full, quiet, json))
