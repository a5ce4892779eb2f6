"""The files of a drift run: CSV tables, the figure, and the trained model."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from geobias.audits.drift.page import form_charts
from geobias.audits.drift.result import DriftResult
from geobias.audits.drift.terminal import describe_corpus
from geobias.models.language.masked import MaskedLM
from geobias.models.model_files import quiet_transformers
from geobias.report.page.build import save_figure
from geobias.report.run_folder import MODEL
from geobias.report.tables import write_csv

CARD = """\
---
base_model: {base}
---
The model {name} after {epochs} epochs of training on {corpus}, made by `geobias drift` to measure what that
does to it. It is an object of study, not a model to use.
"""


def write_files(folder: Path, result: DriftResult) -> None:
    write_csv(folder / "tables" / "drift.csv", result.rows())
    if result.corpus:
        write_csv(folder / "tables" / "corpus.csv", map(asdict, result.corpus))
    balanced, _ = form_charts("drift", result).values()
    save_figure(folder / "figures" / "drift", balanced)
    lm: MaskedLM = result.trained_model
    with quiet_transformers():
        lm.model.save_pretrained(folder / MODEL)
        lm.tokenizer.save_pretrained(folder / MODEL)
    card = CARD.format(
        base=json.dumps(lm.name), name=lm.name, epochs=result.settings.epochs, corpus=describe_corpus(result)
    )
    (folder / MODEL / "README.md").write_text(card, encoding="utf-8")
