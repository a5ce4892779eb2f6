"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from geobias.models.fast import use_plain


def _switch_to_plain(plain: bool) -> bool:
    if plain:
        use_plain()
    return plain


Classifiers = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[CLASSIFIER ...]",
        help="Classifiers or, with --labels, language models: Hugging Face ids, folders, GGUF files, scikit-learn "
        "pipelines as .skops files, or functions as package.module:function; none: the four embedded ones.",
    ),
]
TextFiles = Annotated[
    list[str] | None,
    typer.Option(
        help="CSV, TSV, JSONL, Parquet or lines, also .gz; several with a language each: en=a.csv eu=b.csv. "
        "None: tweets that ship inside.",
        metavar="[LANGUAGE=]FILE",
    ),
]
Column = Annotated[str, typer.Option(help="The column that holds the texts.")]
Continents = Annotated[str | None, typer.Option(help="Only these, by code or name, such as EU,AF.")]
Countries = Annotated[str | None, typer.Option(help="Only these, by code or name, such as FR,DE,Nigeria.")]
Threshold = Annotated[
    float | None, typer.Option(help="A class is predicted from this probability on (default: the likeliest one).")
]
Labels = Annotated[
    str | None,
    typer.Option(
        help="For language models: what they choose from, negative,neutral,positive; or with words: neg=bad,…"
    ),
]
PromptText = Annotated[
    str | None, typer.Option(help="For language models: how they are asked, with {text} once; or a file that says it.")
]
Calibrate = Annotated[
    bool, typer.Option("--calibrate", help="For language models: take off what they favour when the text is empty.")
]
EndpointUrl = Annotated[
    str | None,
    typer.Option(
        "--endpoint", metavar="URL", help="A server that speaks OpenAI's protocol: http://localhost:8000/v1 (--model)."
    ),
]
EndpointModel = Annotated[str | None, typer.Option("--model", help="The server's name for the model.")]
Begin = Annotated[
    str | None, typer.Option(help="Sent before every text, not counted: the token that begins texts, such as <s>.")
]
Yes = Annotated[bool, typer.Option("--yes", help="Texts may leave this machine for the endpoint: do not ask.")]
MaxCalls = Annotated[int | None, typer.Option(help="Stop after N calls to the endpoint; the same command goes on.")]
Rate = Annotated[float | None, typer.Option(help="Calls to the endpoint a second, at most.")]
Concurrency = Annotated[int | None, typer.Option(help="Calls to the endpoint at the same time (default: 8).")]
RegionsRun = Annotated[Path, typer.Argument(metavar="RUN", help="A folder that `geobias regions` left.")]
Plan = Annotated[
    bool, typer.Option("--plan", help="Say how much would be asked, how long it takes, what could be found; and stop.")
]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1, ...")]
Dtype = Annotated[str, typer.Option(help="auto, float32, bfloat16 or float16.")]
Plain = Annotated[
    bool,
    typer.Option(
        "--plain",
        callback=_switch_to_plain,
        help="Run models through plain transformers code, without the fast path (as GEOBIAS_FAST=0 does).",
    ),
]
Ray = Annotated[
    str | None,
    typer.Option(
        metavar="auto|local|ADDRESS",
        help="Compute on a Ray cluster: the one of this machine, a new one of its GPUs or cores, or the one there.",
    ),
]
Out = Annotated[Path | None, typer.Option(help="Folder for the results (default: a new one under runs/).")]
Json = Annotated[
    bool, typer.Option("--json", help="Print the results as JSON and nothing else (the folder is written too).")
]
Debug = Annotated[bool, typer.Option("--debug", help="On failure show the full traceback.")]
