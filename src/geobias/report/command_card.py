"""`geobias card`: a finished run as a section for a model card."""

from __future__ import annotations

from pathlib import Path

from geobias.files import check_replaceable, write_whole, writing
from geobias.report import runs
from geobias.report.card import ROWS, card, is_card
from geobias.report.page.build import read
from geobias.report.tables import console


def run_card(folder: Path, out: Path | None) -> None:
    text = card(read(folder, ROWS))
    if out is None:
        print(text, end="")
        return
    check_replaceable(out, is_card)
    with writing(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        write_whole(out, text.encode())
    console().print(f"Card: {runs.shown(out.resolve())}", soft_wrap=True)
