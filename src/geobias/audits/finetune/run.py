"""`geobias finetune`: train classifiers from language models, and look how much of their bias came along (Table 5)."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from geobias.audits.downstream import design as downstream
from geobias.audits.downstream.terminal import write_files as write_downstream
from geobias.audits.finetune.design import FineTuned, FinetuneQuestion, FinetuneResult, question
from geobias.audits.finetune.terminal import notes, table, write_files
from geobias.audits.model_identity import model_identity
from geobias.audits.regions import design as regions
from geobias.audits.regions.terminal import write_files as write_regions
from geobias.errors import InputError
from geobias.models.load import load
from geobias.models.sources import locate_weights
from geobias.report import runs
from geobias.report.run_folder import MODELS, RunFolder
from geobias.report.tables import show

HERB_SCORE = "aul"
MEANING = (
    "Flips: per cent of test texts x countries whose predicted label changes when the prefix names the country, with a "
    "95 % interval over texts. C_w: how differently the language model itself speaks of the world's countries. The "
    "paper found both in a similar order; a handful of models cannot show more. It speaks of models, not of people."
)


def run_finetune(
    models: Sequence[str], options: Mapping[str, Any], *, device: str, out: Path | None, as_json: bool
) -> None:
    asked = question(**options)
    names = list(dict.fromkeys(models))
    folder = runs.place_for(out or runs.new_folder("finetune"))
    settings = asked.settings_for(names)
    run = RunFolder(folder, settings)
    run.check()
    began = time.perf_counter()
    slugs = [runs.slug(name) for name in names]
    if len(set(slugs)) < len(slugs):
        raise InputError("Two of the models would share a folder: give them names that differ in their last parts.")
    with run.hold(MODELS):
        classifiers = tuple(
            _fine_tuned(asked, name, folder / MODELS / slug, device) for name, slug in zip(names, slugs, strict=True)
        )
        result = FinetuneResult(asked, classifiers, settings)
        runs.save_run(run, result, write_files, seconds=round(time.perf_counter() - began, 1))
    if as_json:
        print(json.dumps(result.to_dict(), indent=1, ensure_ascii=False, allow_nan=False))
        return
    files = f"Every direction: tables/flips.csv; the classifiers and their audits: {MODELS}/."
    show([table(result)], notes(result), [MEANING], f"{files}\nResults: {runs.shown(folder)}")


def _fine_tuned(asked: FinetuneQuestion, name: str, folder: Path, device: str) -> FineTuned:
    """One model: trained, its classifier's downstream audit, and its own regions audit; each left in its folder."""
    from geobias.models.classifiers.huggingface import HuggingFaceClassifier
    from geobias.models.training.finetuning import find_best_epoch, finetune

    epochs = finetune(
        name, locate_weights(name), asked.train, asked.labels, asked.how, folder, measure=asked.measure, device=device
    )
    classifier = HuggingFaceClassifier.from_pretrained(
        f"{name} (fine-tuned)", str(folder / "model"), device=device, dtype="float32"
    )
    began = time.perf_counter()
    judged = downstream.answer(asked.downstream, [classifier])
    run = RunFolder(folder / "downstream", judged.to_dict()["settings"])
    runs.save_run(run, judged, write_downstream, seconds=round(time.perf_counter() - began, 1))
    own, why_none = _regions(asked, name, folder / "regions", device)
    return FineTuned(
        model_identity(classifier) | {"name": name}, epochs, find_best_epoch(epochs) + 1, judged, own, why_none
    )


def _regions(
    asked: FinetuneQuestion, name: str, folder: Path, device: str
) -> tuple[regions.RegionsResult | None, str | None]:
    """The language model's own score; a model that is none has none, and the reason is kept."""
    try:
        scorer = load(name, device=device, dtype="float32").scorer(HERB_SCORE)
    except InputError as error:
        return None, str(error)
    began = time.perf_counter()
    result = regions.answer(asked.regions, scorer)
    run = RunFolder(folder, result.settings)
    runs.save_run(run, result, write_regions, seconds=round(time.perf_counter() - began, 1))
    return result, None
