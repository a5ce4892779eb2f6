"""`geobias gate`: its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from geobias.options import Debug


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
    from json import dumps

    from geobias.audits.gate.audit import gate as judge_runs
    from geobias.audits.gate.terminal import show

    report = judge_runs(runs, rule or (), rules=rules, junit=junit)
    print(dumps(report.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)) if json else show(report.judgements)
    if not report.passed:
        raise typer.Exit(1)
