"""`geobias gate`: its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from geobias.options import INPUT, OUTPUT, Debug, option


def gate(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN [RUN ...]", help="Folders of finished runs.")],
    rule: Annotated[
        list[str] | None,
        option(
            INPUT,
            'Rule to check: "findings.clear.moderate <= 0" or "names.sentiment.delta.worst < 2.0". Repeat for several.',
        ),
    ] = None,
    rules: Annotated[Path | None, option(INPUT, "TOML file of rules.")] = None,
    junit: Annotated[Path | None, option(OUTPUT, "File to write the results to, as JUnit XML.")] = None,
    json: Annotated[bool, option(OUTPUT, "Print only the results, as JSON.", "--json")] = False,
    debug: Debug = False,
) -> None:
    """Check finished runs against rules, for CI. Exit code 0 if all rules hold, 1 if not.

    Each rule is checked at the worse end of the confidence interval. Paths: findings.clear, findings.clear.moderate,
    names.findings.clear, names.CLASSIFIER.delta.worst, regions.REGION.c_w.balanced, downstream.CLASSIFIER.LABEL.worst,
    find.FINDER.recall.lowest and more (docs/gate.md).
    """
    from geobias.audits.gate.audit import gate as judge_runs
    from geobias.audits.gate.terminal import show
    from geobias.report.tables import print_json

    report = judge_runs(runs, rule or (), rules=rules, junit=junit)
    print_json(report.to_dict()) if json else show(report)
    if not report.passed:
        raise typer.Exit(1)
