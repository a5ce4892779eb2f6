"""Options that several commands have, in groups for `--help`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from geobias.models.fast import use_plain

# The groups of options in `geobias COMMAND --help`.
INPUT, MODEL, TRAINING, STATISTICS = "Input", "Model", "Training", "Statistics"
COMPUTE, OUTPUT = "Compute", "Output"


def _switch_to_plain(plain: bool) -> bool:
    if plain:
        use_plain()
    return plain


Classifiers = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[CLASSIFIER ...]",
        help="Classifiers: Hugging Face ids, folders, .skops files (scikit-learn) or package.module:function. With "
        "--labels also language models: ids, folders or GGUF files (default: the four bundled classifiers).",
    ),
]
TextFiles = Annotated[
    list[str] | None,
    typer.Option(
        help="Texts to use: CSV, TSV, JSON, JSONL, Parquet or one text per line, optionally gzipped; or a "
        "dataset: hf://datasets/OWNER/NAME/FILE, datasets:NAME:SPLIT. For several languages: --texts en=a.csv --texts "
        "eu=b.csv (default: bundled tweets).",
        metavar="[LANGUAGE=]FILE",
        rich_help_panel=INPUT,
    ),
]
Column = Annotated[str, typer.Option(help="Column of --texts that holds the text.", rich_help_panel=INPUT)]
Continents = Annotated[
    str | None,
    typer.Option(help="Use only these continents, by code or name: EU,Africa (default: all).", rich_help_panel=INPUT),
]
Countries = Annotated[
    str | None,
    typer.Option(
        help="Use only these countries, by code or name: FR,DEU,Nigeria (default: all).", rich_help_panel=INPUT
    ),
]
Threshold = Annotated[
    float | None,
    typer.Option(
        help="Predict a class if its probability is at least this (default: predict the most probable class).",
        rich_help_panel=STATISTICS,
    ),
]
Labels = Annotated[
    str | None,
    typer.Option(
        help="Labels that a language model or a function chooses from: negative,positive. To show the model other "
        "words: negative=bad,positive=good.",
        rich_help_panel=MODEL,
    ),
]
PromptText = Annotated[
    str | None,
    typer.Option(
        help="Prompt for language models, with {text} once; or a file that holds it (default: built from --labels).",
        rich_help_panel=MODEL,
    ),
]
Calibrate = Annotated[
    bool,
    typer.Option(
        "--calibrate",
        help="Subtract a language model's label bias, measured on an empty text.",
        rich_help_panel=MODEL,
    ),
]
EndpointUrl = Annotated[
    str | None,
    typer.Option(
        "--endpoint",
        metavar="URL",
        help="Audit a model on an OpenAI-compatible server: http://localhost:8000/v1. Needs --model.",
        rich_help_panel=MODEL,
    ),
]
EndpointModel = Annotated[
    str | None, typer.Option("--model", help="Name of the model on the server.", rich_help_panel=MODEL)
]
Begin = Annotated[
    str | None,
    typer.Option(
        help="Token to send before every text, such as <s>; it is not scored.",
        rich_help_panel=MODEL,
    ),
]
Yes = Annotated[
    bool,
    typer.Option("--yes", help="Send texts to the endpoint without confirmation.", rich_help_panel=COMPUTE),
]
MaxCalls = Annotated[
    int | None,
    typer.Option(
        help="Stop after this many calls to the endpoint (default: no limit). The same command resumes.",
        rich_help_panel=COMPUTE,
    ),
]
Rate = Annotated[
    float | None,
    typer.Option(help="Limit calls to the endpoint per second (default: no limit).", rich_help_panel=COMPUTE),
]
Concurrency = Annotated[
    int | None,
    typer.Option(help="Number of concurrent calls to the endpoint (default: 8).", rich_help_panel=COMPUTE),
]
RegionsRun = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a finished `geobias regions` run.")]
Plan = Annotated[
    bool,
    typer.Option(
        "--plan",
        help="Show the number of texts, the time and the smallest detectable effect, then stop.",
        rich_help_panel=COMPUTE,
    ),
]
Device = Annotated[str, typer.Option(help="Device: auto, cpu, cuda, cuda:1, ...", rich_help_panel=COMPUTE)]
Dtype = Annotated[
    str, typer.Option(help="Precision of the weights: auto, float32, bfloat16 or float16.", rich_help_panel=COMPUTE)
]
Plain = Annotated[
    bool,
    typer.Option(
        "--plain",
        callback=_switch_to_plain,
        help="Disable the fast path and use plain transformers code (same as GEOBIAS_FAST=0).",
        rich_help_panel=COMPUTE,
    ),
]
Ray = Annotated[
    str | None,
    typer.Option(
        metavar="auto|local|ADDRESS",
        help="Run on Ray: the running cluster (auto), a new one on this machine (local), or the one at ADDRESS.",
        rich_help_panel=COMPUTE,
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(help="Folder to write the results to (default: a new one in runs/).", rich_help_panel=OUTPUT),
]
Json = Annotated[
    bool,
    typer.Option("--json", help="Print only the results, as JSON. Files are still written.", rich_help_panel=OUTPUT),
]
Full = Annotated[
    bool, typer.Option("--full", help="Print every table and note below the findings.", rich_help_panel=OUTPUT)
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print only the findings.", rich_help_panel=OUTPUT)]
Debug = Annotated[bool, typer.Option("--debug", help="Show the full traceback on failure.", rich_help_panel=OUTPUT)]
