"""What a Python user calls: the audits, with the options of the command line by keyword."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from geobias.audits.identity import model_identity
from geobias.audits.regions import DEFAULT_CITIES, RegionsResult, answer, question
from geobias.models.scorer import Scorer, scorer_for
from geobias.prompts.templates import DEFAULT_TEMPLATE
from geobias.report.regions import write_files
from geobias.report.runs import place_for, refuse_foreign, save_run
from geobias.world.regions import RegionTree
from geobias.world.words import Word

if TYPE_CHECKING:
    from geobias.models.masked import MaskedLM


def audit_regions(
    model: str | Path | Scorer | MaskedLM | None = None,
    *,
    score: str | None = None,
    cities: int | str = DEFAULT_CITIES,
    continents: str | Sequence[str] = (),
    countries: str | Sequence[str] = (),
    tree: str | Path | RegionTree | None = None,
    words: str | Path | Sequence[str | Word] | None = None,
    templates: str | Sequence[str] = DEFAULT_TEMPLATE,
    device: str = "auto",
    dtype: str = "auto",
    out: str | Path | None = None,
    progress: bool | None = None,
) -> RegionsResult:
    """How differently a language model speaks of the people of the world's regions (HERB, Eq. 1 to 10).

    `model` is a Hugging Face id, a folder, a loaded model, or any scorer of log-likelihoods; by default the embedded
    model. `score` is aul (the default), aula, pll, pll-word or conditional; a scorer of your own has its own.
    The options are those of `geobias regions`; with `out` the same folder is left.
    """
    asked = question(
        cities=cities, continents=continents, countries=countries, tree=tree, words=words, templates=templates
    )
    scorer = scorer_for(model, score, device=device, dtype=dtype)
    folder = None if out is None else place_for(out)
    if folder is not None:
        about = model_identity(scorer)
        refuse_foreign(folder, asked.settings_for(about["name"], about["score"]), [scorer.fingerprint])
    began = time.perf_counter()
    result = answer(asked, scorer, progress=progress)
    if folder is not None:
        save_run(folder, result, write_files, seconds=round(time.perf_counter() - began, 1))
    return result
