"""Options that several commands have, in groups for `--help`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer

# The groups of options in `geobias COMMAND --help`.
INPUT, MODEL, TRAINING, STATISTICS = "Input", "Model", "Training", "Statistics"
COMPUTE, OUTPUT = "Compute", "Output"


def option(group: str, help: str, *flags: str, **settings: Any) -> Any:
    """An option of a command, in one of the groups of `--help`; its flag is the name of the argument."""
    return typer.Option(*flags, help=keep_brackets(help), rich_help_panel=group, **settings)


def keep_brackets(text: str) -> str:
    """Help as Typer needs it, which takes words in brackets, as in geobias[papers], for markup and leaves them out."""
    return re.sub(r"\[(?=[a-z#/@])", r"\\[", text)


Classifiers = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[CLASSIFIER ...]",
        help="Classifiers: Hugging Face ids, folders, .skops files (scikit-learn) or package.module:function. With "
        "--labels also language models: ids, folders, GGUF files or a server's model as "
        "http://localhost:8000/v1#my-model (default: the four bundled classifiers).",
    ),
]
TextFiles = Annotated[
    list[str] | None,
    option(
        INPUT,
        "Texts to use: CSV, TSV, JSON, JSONL, Parquet or one text per line, optionally gzipped; or a "
        "dataset: hf://datasets/OWNER/NAME/FILE, datasets:NAME:SPLIT. For several languages: --texts "
        "en=a.csv --texts eu=b.csv (default: bundled tweets).",
        metavar="[LANGUAGE=]FILE",
    ),
]
Column = Annotated[str, option(INPUT, "Column of --texts that holds the text.")]
Countries = Annotated[
    str | None, option(INPUT, "Use only these countries, by code or name: FR,DEU,Nigeria (default: all).")
]
Threshold = Annotated[
    float | None,
    option(
        STATISTICS, "Predict a class if its probability is at least this (default: predict the most probable class)."
    ),
]
Allow = Annotated[
    list[str] | None,
    option(
        MODEL,
        "Use this function, Hugging Face id or spaCy pipeline where a file of mitigated:FOLDER names it; repeat the "
        "option for several.",
        "--allow",
        metavar="NAME",
    ),
]
Labels = Annotated[
    str | None,
    option(
        MODEL,
        "Labels that a language model or a function chooses from: negative,positive. To show the model "
        "other words: negative=bad,positive=good.",
    ),
]
PromptText = Annotated[
    str | None,
    option(
        MODEL, "Prompt for language models, with {text} once; or a file that holds it (default: built from --labels)."
    ),
]
Calibrate = Annotated[
    bool, option(MODEL, "Subtract a language model's label bias, measured on an empty text.", "--calibrate")
]
Prefix = Annotated[str, option(INPUT, "Sentence to put before every text, with {region}.")]
NameSpans = Annotated[
    str | None, option(INPUT, "Column of name offsets: [[0, 5], ...] (default: --finder finds the names).")
]
NameFinder = Annotated[
    str | None,
    option(
        INPUT,
        "Model that finds names: spaCy pipeline, token classifier or package.module:function (default: the "
        "bundled one).",
    ),
]
Epochs = Annotated[int, option(TRAINING, "Number of training epochs.")]
Server = Annotated[
    str | None,
    option(
        COMPUTE,
        "For a model behind a server: calls=N stops after N calls (the same command resumes), rate=R calls per second, "
        "at-once=8 concurrent calls, begin=<s> the token to send before every text.",
        metavar="KEY=VALUE,...",
    ),
]
Yes = Annotated[bool, option(COMPUTE, "Send texts to the server without confirmation.", "--yes")]
Plan = Annotated[
    bool, option(COMPUTE, "Show the number of texts, the time and the smallest detectable effect, then stop.", "--plan")
]
Device = Annotated[str, option(COMPUTE, "Device: auto, cpu, cuda, cuda:1, ...")]
Dtype = Annotated[str, option(COMPUTE, "Precision of the weights: auto, float32, bfloat16 or float16.")]
Ray = Annotated[
    str | None,
    option(
        COMPUTE,
        "Run on Ray: the running cluster (auto), a new one on this machine (local), or the one at ADDRESS.",
        metavar="auto|local|ADDRESS",
    ),
]
Out = Annotated[Path | None, option(OUTPUT, "Folder to write the results to (default: a new one in runs/).")]
Json = Annotated[bool, option(OUTPUT, "Print only the results, as JSON. Files are still written.", "--json")]
Full = Annotated[bool, option(OUTPUT, "Print every table and note below the findings.", "--full")]
Quiet = Annotated[bool, option(OUTPUT, "Print only the findings.", "--quiet")]
Debug = Annotated[bool, option(OUTPUT, "Show the full traceback on failure.", "--debug")]
