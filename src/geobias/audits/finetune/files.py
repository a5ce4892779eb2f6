"""The files of a finetune run: CSV tables. The classifiers and their audits lie in models/, where they were trained."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from geobias.audits.finetune.result import FinetuneResult
from geobias.report.tables import write_csv


def write_files(folder: Path, result: FinetuneResult) -> None:
    write_csv(folder / "tables" / "flips.csv", result.rows())
    epochs = [
        {"model": entry.model.name, **asdict(epoch), "best": epoch.epoch == entry.best_epoch}
        for entry in result.fine_tuned
        for epoch in entry.epochs
    ]
    write_csv(folder / "tables" / "training.csv", epochs)
