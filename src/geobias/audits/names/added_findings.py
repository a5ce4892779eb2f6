"""What is said beside countries: women and men of a country, its two scripts, and single names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from geobias.audits.names.few_texts import list_few_text_cautions
from geobias.audits.names.gender_gaps import add_gender_findings
from geobias.audits.names.script_findings import add_script_findings
from geobias.audits.names.single_names import list_name_cautions
from geobias.report.findings import Finding, with_role

if TYPE_CHECKING:
    from geobias.audits.names.result import NamesResult


def add_findings(result: NamesResult, findings: Sequence[Finding]) -> list[Finding]:
    """The findings of countries with these: details after details, cautions before other cautions."""
    told, scripts = add_script_findings(result, add_gender_findings(result, findings))
    answers = [finding for finding in told if finding.role != "caution"]
    artefacts = [*scripts, *list_name_cautions(result), *with_role(findings, "caution")]
    return [*answers, *artefacts, *list_few_text_cautions(result, answers)]
