"""`geobias.audit_finders`: the audit as a Python function."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from geobias.audits.find.result import FindResult


def audit_finders(
    finder: Any = "embedded/entities",
    texts: Any = None,
    *,
    column: str = "text",
    spans: str | None = None,
    limit: int | None = None,
    countries: str | Sequence[str] | None = None,
    draws: int = 5,
    seed: int = 0,
    scripts: str = "latin",
    gazetteer: str | Path | None = None,
    device: str = "auto",
    out: str | Path | None = None,
    progress: bool | None = None,
) -> FindResult:
    """Measure which countries' names an entity recogniser misses.

    The people in annotated texts get common names of one country after another, and the recall is compared between
    countries. Do this before masking personal data, and before `audit_names`.

    Parameters
    ----------
    finder : str, Path, callable, spacy.Language or list of them, default "embedded/entities"
        Models that find people: spaCy pipelines, token classifiers (Hugging Face ids or folders) or
        package.module:function. In Python also a loaded spaCy pipeline, or a function that takes a list of texts and
        returns a list of (start, end) or (start, end, label) for each.
    texts : str, Path, list, frame, dataset or dict, optional
        Texts with annotated people: CSV, TSV, JSON, JSONL, Parquet or one text per line, also packed with gzip; or a
        dataset: hf://datasets/OWNER/NAME/FILE, datasets:NAME:SPLIT. In Python also a list of texts or of dicts, a
        pandas or polars frame or column, a Hugging Face dataset, or a dict ``{language: any of these}``. Default: 529
        bundled tweets.
    column : str, default "text"
        Column of `texts` that holds the text.
    spans : str, optional
        Column of the people's offsets in characters, as [[0, 5], ...]; required with `texts`. The end is exclusive.
    limit : int, optional
        Use only the first N texts of each file. Default: all.
    countries : str or list of str, optional
        Countries to take names from, by code or name: FR,DEU,Nigeria; or "all". Default: 17
        countries.
    draws : int, default 5
        Names drawn per text and country.
    seed : int, default 0
        Random seed for drawing names.
    scripts : {"latin", "all"}, default "latin"
        Scripts of the names.
    gazetteer : str or Path, optional
        CSV of your own names: country, kind (male, female, last), name. Default: the bundled names.
    device : str, default "auto"
        Device: auto (a GPU if there is one), cpu, cuda or cuda:1.
    out : str or Path, optional
        Folder to write the results to: results, tables, answers and the page. It must be new, empty, or hold the same
        run. Default: nothing is saved.
    progress : bool, optional
        Whether to show a progress bar. Default: on terminals and in notebooks.

    Returns
    -------
    FindResult
        `findings` has the conclusions, `finders` what sums up each finder, and `to_frame()` a row for each finder,
        country and outcome.

    Raises
    ------
    InputError
        If the texts, their spans, a country or a finder cannot be used. The message says what to do.

    Examples
    --------
    >>> import geobias
    >>> def find_capitals(texts):
    ...     return [[(0, len(text.split()[0]))] if text[:1].isupper() else [] for text in texts]
    >>> texts = [{"text": "Mary was late.", "people": [[0, 4]]}, {"text": "John sings.", "people": [[0, 4]]}]
    >>> result = geobias.audit_finders(find_capitals, texts, spans="people", countries=["FR", "TR"], draws=2)
    >>> [row.place for row in result.effects if row.label == "recall"]
    ['France', 'Turkey']

    >>> result = geobias.audit_finders(["en_core_web_sm", "embedded/entities"], out="runs/find")  # doctest: +SKIP
    """
    from geobias.audits.find.design import (
        FindDesign,
        FindStudy,
        choose_names,
        list_finders,
        load_marked_texts,
        rename_marked,
    )
    from geobias.audits.inputs import check_draws
    from geobias.audits.study import RunOptions, execute

    check_draws(draws, seed)
    finders, held_out = list_finders(finder)
    names, codes, left_out = choose_names(gazetteer, scripts, countries, held_out=held_out)
    marked_texts = load_marked_texts(texts, column=column, spans=spans, limit=limit, held_out=held_out)
    named, counterfactuals = rename_marked(marked_texts, names, codes, draws=draws, seed=seed)
    design = FindDesign(marked_texts, named, counterfactuals, scripts, seed, left_out, held_out)
    return execute(FindStudy(design, finders, RunOptions(device=device, out=out, progress=progress)))
