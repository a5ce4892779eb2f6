"""`geobias export`'s Markdown: numbers as they are, and text that cannot become markup."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from geobias.audits.regions.result import RegionsResult
from geobias.integrations.hugging_face import NULL_LIMIT, is_card, render_card
from geobias.report.findings import ExampleText
from geobias.report.runs import FinishedRun, RunDescription
from geobias.report.sentences import to_markdown
from tests.audits.gate.results import make_finding, region_scores, regions_result


def regions_run(command: str | None, *, has_interval: bool = True) -> FinishedRun[RegionsResult]:
    """A world of one region with sub-regions, and one without."""
    result, name = regions_result(), "my_org/m*del"
    regions = (("w", "World", "earth", None), ("a", "A|B <b>", "continent", 0), ("c", "Empty", "city", 0))
    result = replace(
        result,
        settings=replace(result.settings, templates=["{region} | {description}."], model=name),
        model=replace(result.model, name=name),
        versions={"geobias": "1.2.3"},
        regions=[
            region_scores(key, name, level, parent, 0.2, has_interval=has_interval)
            for key, name, level, parent in regions
        ],
    )
    description = RunDescription(finished="2026-01-02T03:04:05Z", seconds=1.0, work={}, fast={}, command=command)
    return FinishedRun(Path("here"), result, description)


def test_numbers_date_version_and_command() -> None:
    text = render_card([regions_run("geobias regions my_org/m --out '/home/me/a run' --cities 0")])
    assert text.startswith("## Bias by place and nationality\n\n") and text.count("## ") == 1
    assert "of World (0: all sub-regions described alike) | 0.2 | 0.18 to 0.22 |" in text and "Empty" not in text
    assert "geobias 1.2.3 on 2026-01-02" in text
    assert "```\ngeobias regions my_org/m --cities 0\n```" in text and "/home/me" not in text
    assert "not the people of a place" in text and text.endswith("\n")


def test_markup_in_names_is_plain_text() -> None:
    text = render_card([regions_run(None, has_interval=False)])
    assert (
        r"of A\|B \<b\> (0: all sub-regions described alike) | 0.2 | – |" in text
        and r"my\_org/m\*del" in text
        and r"{region} \| {description}" in text
    )
    assert "run.json" in text
    assert to_markdown("a\n# b `c` [d](e) \\ &amp; $x$") == r"a \# b \`c\` \[d\](e) \\ \&amp; \$x\$"


def test_a_command_cannot_end_its_block() -> None:
    assert "````\ngeobias names '```'\n````" in render_card([regions_run("geobias names '```'")])


def test_findings_come_before_the_table_and_their_texts_stay_out() -> None:
    example = ExampleText(text_id="1", original="Private text.", changed="Other text.", label="x", before=0, after=1)
    answer = make_finding("clear", "A|B differs *clearly*.", examples=[example])
    caution = replace(answer, role="caution", evidence="not testable", sentence="Names may be rare.")
    run = regions_run(None)
    text = render_card([replace(run, result=replace(run.result, findings=[answer, caution]))])
    verdict, listed, table = (
        text.index(part)
        for part in (
            "**A\\|B differs \\*clearly\\*.**",
            "- *clear*: A\\|B differs \\*clearly\\*.\n- *caution*: Names",
            "of World (0",
        )
    )
    assert verdict < listed < table and "Limits:\n\n- Small sample.\n\nThese results" in text
    assert "Private" not in text and NULL_LIMIT not in text
    null = render_card([replace(run, result=replace(run.result, findings=[replace(answer, evidence="none")]))])
    assert "*no evidence*" in null and f"- {NULL_LIMIT}" in null and is_card(null)
    assert not is_card(f"# My model\n\n{null}") and not is_card(f"{null}\nMore of mine.")


def test_several_runs_share_heading_and_limits() -> None:
    text = render_card([regions_run(None), regions_run(None)])
    assert text.count("## ") == 1 and text.count("of World (0") == 2 and text.count("not the people of a place") == 1
