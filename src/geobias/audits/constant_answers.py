"""Models that give the same answer to every text: no difference between countries can be seen in them.

Such a model would pass every test of differences. Every audit measures whether the answers to the original and to the
changed texts vary; `judge_constant_answers` puts it into the findings, where gates read it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from geobias.report.findings import ConstantAnswers, Finding, with_role
from geobias.report.results import AuditResult

SMALLEST_CHANGE = 1e-6  # of a probability, or of a log-likelihood: less is rounding
REASON = "It gives the same answer to every text, so nothing can be tested."
QUESTION = "Do its answers depend on the texts at all?"


def list_constant_answers(answers: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> dict[str, ConstantAnswers]:
    """The models whose answers to all texts, or to the original ones, do not vary.

    `answers` has those of each model to the original and to the changed texts: texts x ... x labels.
    """
    return {
        model: "original texts" if varies(changed) else "all texts"
        for model, (original, changed) in answers.items()
        if not varies(original)
    }


def varies(values: np.ndarray) -> bool:
    """Whether any label's values differ between two texts; NaN is no answer."""
    first = np.full(values.shape[-1], np.nan)
    for text in values:  # may be on disk, and most models vary within the first few
        rows = np.reshape(text, (-1, values.shape[-1]))
        for k in range(len(first)):
            known = rows[~np.isnan(rows[:, k]), k]
            if np.isnan(first[k]) and len(known):
                first[k] = known[0]
            if (np.abs(known - first[k]) > SMALLEST_CHANGE).any():
                return True
    return False


def judge_constant_answers(result: AuditResult, findings: Sequence[Finding]) -> Iterator[Finding]:
    """The findings; a null of a model of constant answers is not testable, and constant originals get a caution."""
    for finding in findings:
        is_constant = result.constant_answers.get(finding.model) == "all texts"
        if not is_constant or finding.evidence in ("clear", "not testable"):
            yield finding
        elif finding.role != "detail":
            yield _refuse(finding) if finding.role == "overall" else finding
    for answer in {answer.model: answer for answer in with_role(findings, "overall")}.values():
        if result.constant_answers.get(answer.model) == "original texts":
            yield _caution(answer)


def _refuse(finding: Finding) -> Finding:
    return replace(
        _without_numbers(finding),
        sentence=f"{finding.short_model}: {REASON}",
        limit="A model that does not read its texts shows no difference between countries.",
        next_step="Check that the model and its labels are read as intended, with texts that it should tell apart.",
    )


def _caution(answer: Finding) -> Finding:
    return replace(
        _without_numbers(answer),
        role="caution",
        question=QUESTION,
        sentence=f"{answer.short_model}: All original texts get the same answer; only changed texts get others.",
        limit="How far a country moves answers may differ in texts that the model tells apart.",
        next_step="Repeat it with texts that the model tells apart.",
    )


def _without_numbers(finding: Finding) -> Finding:
    """The same finding as one that is not testable."""
    nothing = dict.fromkeys(("subject", "code", "direction", "valence", "size", "p", "p_adjusted"))
    return replace(finding, **nothing, evidence="not testable", examples=[])  # type: ignore[arg-type]
