"""`geobias card`'s Markdown: numbers as they are, and text that cannot become markup."""

from __future__ import annotations

from pathlib import Path

from geobias.audits.model_card import plain, render_card
from geobias.audits.regions.answers import RegionsCounts
from geobias.audits.regions.result import (
    InferenceSummary,
    RegionInference,
    RegionScores,
    RegionsResult,
    RegionsSettings,
    Score,
    ScoreEstimates,
)
from geobias.measures.estimates import Estimate
from geobias.models.scorer import ModelIdentity
from geobias.report.runs import FinishedRun, RunDescription

SCORE = Score(balanced=0.2, paper=0.2)


def regions_run(command: str | None, *, has_interval: bool = True) -> FinishedRun[RegionsResult]:
    """A world of one region with sub-regions, and one without."""
    low, high = (0.1, 0.3) if has_interval else (None, None)
    estimate = Estimate(value=0.2, low=low, high=high, p=0.5, p_adjusted=0.5)
    both = ScoreEstimates(balanced=estimate, paper=estimate)
    inference = RegionInference(c_w=both, c_z=both, flat=estimate)

    def region(region_id: str, name: str, parent: str | None, *, pairs: int = 1) -> RegionScores:
        return RegionScores(
            id=region_id,
            name=name,
            level="continent" if parent else "earth",
            parent=parent,
            parent_index=0 if parent else None,
            children=2 * pairs,
            pairs=pairs,
            leaf=not pairs,
            c_w=SCORE,
            c_z=SCORE,
            inference=inference if pairs else None,
        )

    result = RegionsResult(
        settings=RegionsSettings(
            words=[["kind", "manners"]],
            templates=["{region} | {description}."],
            regions_digest="digest",
            model="my_org/m*del",
            score="aul",
        ),
        model=ModelIdentity("my_org/m*del", "aul", None),
        versions={"geobias": "1.2.3"},
        counts=RegionsCounts(
            regions=3,
            sentences=2,
            distinct_sentences=2,
            sentences_cut=0,
            names_with_unknown_tokens=0,
            regions_with_one_sub_region=0,
            leaves=1,
        ),
        regions=[region("w", "World", None), region("a", "A|B <b>", "w"), region("c", "Empty", "w", pairs=0)],
        inference=InferenceSummary(words_left_out=0, resamples=0, permutations=0, left_out=[]),
        tokenisation=[],
    )
    description = RunDescription(finished="2026-01-02T03:04:05Z", seconds=1.0, work={}, fast={}, command=command)
    return FinishedRun(Path("here"), result, description)


def test_numbers_date_version_and_command() -> None:
    text = render_card([regions_run("geobias regions my_org/m --out '/home/me/a run' --cities 0")])
    assert text.startswith("## Bias by place and nationality\n\n") and text.count("## ") == 1
    assert "| World | 0.2 | 0.1 to 0.3 |" in text and "Empty" not in text
    assert "geobias 1.2.3 on 2026-01-02" in text
    assert "```\ngeobias regions my_org/m --cities 0\n```" in text and "/home/me" not in text
    assert "not of the people of a place" in text and text.endswith("\n")


def test_markup_in_names_is_plain_text() -> None:
    text = render_card([regions_run(None, has_interval=False)])
    assert r"| A\|B \<b\> | 0.2 | – |" in text and r"my\_org/m\*del" in text and r"{region} \| {description}" in text
    assert "run.json" in text
    assert plain("a\n# b `c` [d](e) \\ &amp; $x$") == r"a \# b \`c\` \[d\](e) \\ \&amp; \$x\$"


def test_a_command_cannot_end_its_block() -> None:
    assert "````\ngeobias names '```'\n````" in render_card([regions_run("geobias names '```'")])


def test_several_runs_share_heading_and_limits() -> None:
    text = render_card([regions_run(None), regions_run(None)])
    assert text.count("## ") == 1 and text.count("| World |") == 2 and text.count("No finding") == 1
