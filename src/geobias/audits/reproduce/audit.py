"""`geobias.reproduce`: the tables of a paper, measured again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from geobias.audits.reproduce.design import ReproduceOptions, design_herb, design_names_tables
from geobias.audits.reproduce.herb_tables import HerbStudy
from geobias.audits.reproduce.names_tables import NamesTablesStudy
from geobias.audits.reproduce.published import choose_tables
from geobias.audits.reproduce.result import ReproduceResult
from geobias.audits.study import RunOptions, collect_options


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
    """Measure the tables of a paper again, with its own models and settings, next to the published numbers.

    Parameters
    ----------
    paper : {"herb", "names"}
        The paper: HERB (Li et al. 2022), or Barriere and Cifuentes (2024).
    table : str or list of str, optional
        Numbers of the tables: "1" to "6" and "4-overall" of HERB; "1", "2", "4" and "5" of the names paper. Default:
        all.
    model : dict or list of str, optional
        Other models for published ones: ``{"bert-base-cased": "models/bert"}`` or "bert-base-cased=models/bert".
        Default: the published models, from the Hugging Face hub or its cache. The result names those that are missing.
    cities : int or str, optional
        HERB: number of the largest cities of each country, or "all". Default: "all", as in the paper.
    hatespeech18 : str or Path, optional
        HERB, Table 4: file of labelled texts with the columns text, label and split (train or test).
    imdb : str or Path, optional
        HERB, Table 4: the same for the IMDB reviews.
    classifier : dict or list of str, optional
        HERB, Table 4: a classifier for each dataset, as ``{"imdb": "my/model"}`` or "imdb=my/model".
    texts : str, Path, list, frame, dataset or dict, optional
        Names paper: texts, or ``{language: texts}``, in any form that `audit_names` takes. Default: bundled tweets.
    column : str, optional
        Names paper: column that contains the texts. Default: "text".
    finder : str, optional
        Names paper: model that finds people. The paper used "xx_ent_wiki_sm". Default: the bundled finder.
    draws : int, optional
        Names paper: renamed versions of each text for each country. Default: 50.
    perplexity_draws : int, optional
        Names paper, Table 5: number of draws to compute perplexities for. Default: all.
    limit : int, optional
        Number of texts to use from the start of each file. Default: all; 100 of the bundled tweets.
    device : str, default "auto"
        Where to run models: "auto" (a GPU if there is one), "cpu", "cuda", "cuda:1", ...
    dtype : str, default "float32"
        Precision of the weights: "float32" (as in the papers), "bfloat16", "float16" or "auto".
    out : str or Path, optional
        Folder for the run: results, tables, answers and the page. It must be new, empty, or hold the same run. Default:
        nothing is saved.
    progress : bool, optional
        Whether to show a progress bar. Default: on terminals and in notebooks.

    Returns
    -------
    ReproduceResult
        `tables` has each table, published and measured, and `to_frame()` a row for each number.

    Raises
    ------
    InputError
        If an option does not belong to the paper, or a table, a file or a model cannot be used.

    Examples
    --------
    >>> import geobias
    >>> result = geobias.reproduce("herb", table="1", out="runs/herb")  # doctest: +SKIP
    >>> result.to_frame()[["column", "published", "measured"]]  # doctest: +SKIP
    """
    options = collect_options(ReproduceOptions, locals())
    run_options = RunOptions(device=device, dtype=dtype, out=out, progress=progress)
    tables = choose_tables(paper, [table] if isinstance(table, str) else table)
    if paper == "herb":
        return HerbStudy(design_herb(tables, options, dtype), run_options).run()
    return NamesTablesStudy(design_names_tables(tables, options, device, dtype), run_options).run()
