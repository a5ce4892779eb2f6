"""`geobias compare` and `geobias gate`: what finished runs say together, and whether they are good enough."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from geobias.cli.options import Debug, Json, Out


def compare(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN RUN [RUN ...]", help="Folders of finished runs; each is compared with the first."),
    ],
    out: Out = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Do two models differ? Finished runs of one audit on the same texts and names, or on the same regions and words.

    Differences with intervals and adjusted p-values. What is not comparable is refused, with the reason.
    """
    from geobias.commands.compare import run_compare

    run_compare(runs, out=out, as_json=json)


def gate(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN [RUN ...]", help="Folders of finished runs.")],
    rule: Annotated[
        list[str] | None, typer.Option(help='Such as "names.sentiment.delta.worst < 2.0"; several are all judged.')
    ] = None,
    rules: Annotated[Path | None, typer.Option(help="A TOML file of rules.")] = None,
    junit: Annotated[Path | None, typer.Option(help="Write the judgements as JUnit XML.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the judgements as JSON and nothing else.")] = False,
    debug: Debug = False,
) -> None:
    """Do finished runs keep to rules? Judged on the worse end of each interval. Exit code 0 if all hold, 1 if not.

    Paths: names.CLASSIFIER.delta.worst, regions.REGION.c_w.balanced, downstream.CLASSIFIER.LABEL.worst and more
    (docs/gate.md).
    """
    from geobias.commands.gate import run_gate

    if not run_gate(runs, rule or (), rules, junit_file=junit, as_json=json):
        raise typer.Exit(1)
