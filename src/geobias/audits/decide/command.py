"""`geobias decide`: its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from geobias import options
from geobias.options import INPUT, MODEL, option


def decide(
    models: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[MODEL ...]",
            help="Language models: Hugging Face ids, folders, GGUF files, package.module:function or a server's model "
            "as http://localhost:8000/v1#my-model (default: the bundled model, which decides near chance).",
        ),
    ] = None,
    scenarios: Annotated[
        Path | None,
        option(
            INPUT,
            "Your own scenarios: CSV, TSV, JSONL or Parquet with the columns text (with {person}) and "
            "favourable (yes or no), optionally domain, mirror_of, paraphrase_of, kind, role (default: 80 "
            "bundled scenarios).",
        ),
    ] = None,
    domains: Annotated[
        str | None, option(INPUT, "Use only these domains: hiring,lending,visas (default: all).")
    ] = None,
    origin: Annotated[
        str, option(INPUT, "How origin shows: stated, demonym, name, said; several with commas.")
    ] = "stated",
    countries: options.Countries = None,
    draws: Annotated[int, option(INPUT, "Names drawn per case and country, with --origin name.")] = 2,
    paraphrases: Annotated[int, option(INPUT, "Wordings of each question, at most.")] = 1,
    seed: Annotated[int, option(INPUT, "Seed of the names.")] = 0,
    system: Annotated[str | None, option(MODEL, "System prompt (default: none).")] = None,
    limit: Annotated[int | None, option(INPUT, "Use only the first N cases of each kind (default: all).")] = None,
    samples: Annotated[
        int | None, option(MODEL, "Answers sampled per question from a server without log-probabilities (default: 20).")
    ] = None,
    plan: options.Plan = False,
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
    """Measure whom a language model decides for: hire, lend to, admit or believe, by country.

    Asks yes/no questions about people of every country, half of them mirrored so that a tendency to say yes cancels,
    and compares the log-odds of the favourable answer. The scenarios measure models; they recommend nothing.
    """
    from geobias.audits.decide.audit import audit_decisions
    from geobias.audits.decide.design import DecideOptions, design_decisions
    from geobias.audits.decide.study import DecideStudy
    from geobias.audits.served_models import find_served
    from geobias.audits.show_results import View, show_result
    from geobias.audits.study import RunOptions, output_folder, parse_options
    from geobias.models.scorer import EMBEDDED_LM

    served = find_served(models, server, yes)
    names = list(dict.fromkeys(models or [EMBEDDED_LM]))
    decide_options = parse_options(DecideOptions, locals(), domains=domains or None, countries=countries or None)
    if plan:
        DecideStudy(design_decisions(decide_options), served or names, RunOptions(device, dtype)).plan().show()
        return
    folder = output_folder(out, "decide", served or names)
    result = audit_decisions(served or names, **vars(decide_options), device=device, dtype=dtype, ray=ray, out=folder)
    show_result(result, folder, View(full, quiet, json))
