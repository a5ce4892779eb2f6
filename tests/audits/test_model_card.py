"""`geobias card`'s Markdown: numbers as they are, and text that cannot become markup."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from geobias.report.card import card, plain

from geobias.report.page.build import Finished

SURE = {"value": 0.2, "low": 0.1, "high": 0.3, "p": 0.5, "p_adjusted": 0.5}


def regions_run(command: str | None, *, low: float | None = 0.1) -> Finished:
    sure = SURE | {"low": low, "high": None if low is None else 0.3}
    scored: dict[str, Any] = {"pairs": 1, "c_w": {"balanced": 0.2}, "inference": {"c_w": {"balanced": sure}}}
    results = {
        "audit": "regions",
        "settings": {"templates": ["{region} | {description}."], "words": [["kind", "manners"]]},
        "model": {"name": "my_org/m*del", "score": "aul"},
        "versions": {"geobias": "1.2.3"},
        "counts": {"regions": 3, "sentences": 2},
        "regions": [
            {"id": "w", "name": "World", "parent": None, **scored},
            {"id": "a", "name": "A|B <b>", "parent": "w", **scored},
            {"id": "c", "name": "Empty", "parent": "w", "pairs": 0},
        ],
    }
    return Finished(Path("here"), results, {"finished": "2026-01-02T03:04:05Z", "command": command})


def test_numbers_date_version_and_command() -> None:
    text = card([regions_run("geobias regions my_org/m --out '/home/me/a run' --cities 0")])
    assert text.startswith("## Bias by place and nationality\n\n") and text.count("## ") == 1
    assert "| World | 0.2 | 0.1 to 0.3 |" in text and "Empty" not in text
    assert "geobias 1.2.3 on 2026-01-02" in text
    assert "```\ngeobias regions my_org/m --cities 0\n```" in text and "/home/me" not in text
    assert "not of the people of a place" in text and text.endswith("\n")


def test_markup_in_names_is_plain_text() -> None:
    text = card([regions_run(None, low=None)])
    assert r"| A\|B \<b\> | 0.2 | – |" in text and r"my\_org/m\*del" in text and r"{region} \| {description}" in text
    assert "run.json" in text
    assert plain("a\n# b `c` [d](e) \\ &amp; $x$") == r"a \# b \`c\` \[d\](e) \\ \&amp; \$x\$"


def test_a_command_cannot_end_its_block() -> None:
    assert "````\ngeobias names '```'\n````" in card([regions_run("geobias names '```'")])


def test_several_runs_share_heading_and_limits() -> None:
    text = card([regions_run(None), regions_run(None)])
    assert text.count("## ") == 1 and text.count("| World |") == 2 and text.count("No finding") == 1
