"""Gates inside a test suite: `assert_gate` of a result or of a run's folder."""

from __future__ import annotations

from pathlib import Path

from geobias.audits.gate.paths import AUDITS
from geobias.audits.gate.rules import judge, parse_rule
from geobias.audits.gate.terminal import gate_text
from geobias.report.runs import Result, read_run


def assert_gate(run: Result | str | Path, *rules: str) -> None:
    """Fail, with the table of all judgements as the message, unless every rule holds (docs/gate.md).

    `run` is what an audit returned or the folder that it left; a rule is such as "names.sentiment.delta.worst < 2.0".
    """
    if isinstance(run, str | Path):
        name, results = str(run), read_run(Path(run), *AUDITS)
    else:
        name, results = "result", run.to_dict()
    judgements = judge({name: results}, [parse_rule(rule) for rule in rules])
    if not all(judged.passed for judged in judgements):
        raise AssertionError("\n" + gate_text(judgements))
