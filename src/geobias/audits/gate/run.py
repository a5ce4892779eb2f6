"""`geobias gate`: do the numbers of finished runs keep to these rules?"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from geobias.audits.gate.paths import AUDITS
from geobias.audits.gate.rules import judge, parse_rule, read_rules
from geobias.audits.gate.terminal import failures, gate_dict, gate_table, is_junit, junit
from geobias.files import check_replaceable, write_whole, writing
from geobias.report import runs
from geobias.report.tables import console

MEANING = (
    "A rule with < is judged on the high end of the interval, one with > on the low end: a run too small to tell does "
    "not pass. Where a number may lie on either side of 0, its size is meant."
)


def run_gate(
    folders: Sequence[Path], rules: Sequence[str], rules_file: Path | None, *, junit_file: Path | None, as_json: bool
) -> bool:
    """Judge every rule, show and write the judgements; whether all of them hold."""
    asked = [parse_rule(rule) for rule in rules] + (read_rules(rules_file) if rules_file else [])
    found = {str(folder): runs.read_run(folder, *AUDITS) for folder in folders}
    if junit_file is not None:
        check_replaceable(junit_file, is_junit)
    judgements = judge(found, asked)
    if junit_file is not None:
        with writing(junit_file):
            write_whole(junit_file, junit(judgements))
    if as_json:
        print(json.dumps(gate_dict(judgements), indent=1, ensure_ascii=False, allow_nan=False))
    else:
        out = console()
        out.print(gate_table(judgements))
        for line in failures(judgements):
            out.print(line)
        out.print(MEANING, style="dim")
    return all(judged.passed for judged in judgements)
