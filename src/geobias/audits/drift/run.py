"""`geobias drift`: a model trained on, and what it says of the world after every epoch; saved, and shown."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from geobias.api import audit_drift
from geobias.audits.drift.terminal import notes, tables
from geobias.models.scorer import EMBEDDED_LM
from geobias.report import runs
from geobias.report.tables import show

MEANING = (
    "Balanced C_w is a weighted mean distance between what the model says of the sub-regions. That it moves says that "
    "this training moves this measure of this model. It does not say that the texts are true or the places different, "
    "nor by itself that a model with a higher score does more harm; one training with one seed is one training."
)


def run_drift(model: str | None, options: Mapping[str, Any], *, out: Path | None, as_json: bool) -> None:
    folder = runs.place_for(out or runs.new_folder(f"drift-{runs.slug(model or EMBEDDED_LM)}"))
    result = audit_drift(model, out=folder, **options)
    if as_json:
        print(json.dumps(result.to_dict(), indent=1, ensure_ascii=False, allow_nan=False))
        return
    files = "Every epoch: tables/drift.csv and figures/drift.svg; the trained model: model/."
    show(tables(result), notes(result), [MEANING], f"{files}\nResults: {runs.shown(folder)}")
