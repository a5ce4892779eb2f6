"""`geobias.reproduce`: the tables of a paper, measured again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from geobias.audits.reproduce.design import HerbDesign, design_reproduction
from geobias.audits.reproduce.herb_tables import HerbStudy
from geobias.audits.reproduce.names_tables import NamesTablesStudy
from geobias.audits.reproduce.result import ReproduceResult
from geobias.audits.study import RunOptions


def reproduce(
    paper: str,
    *,
    table: str | Sequence[str] = (),
    model: Mapping[str, str] | Sequence[str] = (),
    cities: int | str | None = None,
    hatespeech18: str | Path | None = None,
    imdb: str | Path | None = None,
    classifier: Mapping[str, str] | Sequence[str] = (),
    texts: Any = None,
    column: str | None = None,
    finder: str | None = None,
    draws: int | None = None,
    perplexity_draws: int | None = None,
    limit: int | None = None,
    device: str = "auto",
    dtype: str = "float32",
    out: str | Path | None = None,
    progress: bool | None = None,
) -> ReproduceResult:
    """The tables of a paper, measured with its own models and settings, beside the published numbers.

    `paper` is "herb" (Li et al. 2022) or "names" (Barriere and Cifuentes 2024), `table` the numbers of its tables (all
    by default). `model` puts local models in the place of published ones: {"bert-base-cased": "models/bert"}, or
    "bert-base-cased=models/bert". Models come from the Hugging Face hub or cache; the result names those that are not
    available.

    For HERB: `cities` of each country ("all", as in the paper), `hatespeech18` and `imdb`, files of labelled texts
    (columns text, label, split), and `classifier`, {"imdb": model}, for Table 4.
    For the names paper: `texts` or {language: texts} as `audit_names` takes them, with their `column`; `finder`;
    `draws` (50), and `perplexity_draws`, how many of them Table 5 uses (all).
    The options are those of `geobias reproduce`; with `out` the same folder is written.
    """
    design = design_reproduction(
        paper,
        table=table,
        model=model,
        cities=cities,
        hatespeech18=hatespeech18,
        imdb=imdb,
        classifier=classifier,
        texts=texts,
        column=column,
        finder=finder,
        draws=draws,
        perplexity_draws=perplexity_draws,
        limit=limit,
        device=device,
        dtype=dtype,
    )
    options = RunOptions(device=device, dtype=dtype, out=out, progress=progress)
    if isinstance(design, HerbDesign):
        return HerbStudy(design, options).run()
    return NamesTablesStudy(design, options).run()
