"""`geobias.audit_downstream`: the audit as a Python function."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from geobias.audits.downstream.result import DownstreamResult
    from geobias.models.saved_wrappers import Allowed


def audit_downstream(
    classifier: Any = "embedded/sentiment",
    texts: Any = None,
    *,
    column: str = "text",
    label: str | None = None,
    limit: int | None = None,
    prefix: str | Sequence[str] | None = None,
    control: str | Sequence[str] | None = None,
    regions: str = "countries",
    cities: int | str | None = None,
    continents: str | Sequence[str] = (),
    countries: str | Sequence[str] = (),
    positive: str | None = None,
    threshold: float | None = None,
    labels: str | None = None,
    prompt: str | None = None,
    calibrate: bool = False,
    allow: Allowed = (),
    device: str = "auto",
    dtype: str = "auto",
    ray: str | None = None,
    out: str | Path | None = None,
    progress: bool | None = None,
) -> DownstreamResult:
    """Measure how naming a country before a text changes a classifier's predictions (HERB).

    Puts "I am from REGION." before every text, in three wordings by turns, and compares the predictions with those
    after invented places and after controls that name no region, and between regions. The result describes the
    classifier, not people.

    Parameters
    ----------
    classifier : str, Path, callable, object or list of them, default "embedded/sentiment"
        Classifiers: bundled ones ("embedded/sentiment", "embedded/emotion", "embedded/hate", "embedded/offensive"),
        Hugging Face ids, folders, .skops files (scikit-learn) or package.module:function; with `labels` also language
        models: ids, folders or GGUF files. In Python also a function from a list of texts to probabilities or labels,
        a fitted scikit-learn pipeline, a text-classification pipeline of transformers, a classifier from
        `load_classifier`, a `ServedClassifier`, and with `labels` a `ServedLM`.
    texts : str, Path, list, frame, dataset or dict, optional
        Texts to use: CSV, TSV, JSON, JSONL, Parquet or one text per line, also packed with gzip; or a dataset:
        hf://datasets/OWNER/NAME/FILE, datasets:NAME:SPLIT. In Python also a list of texts or of dicts, a pandas or
        polars frame or column, a Hugging Face dataset, or a dict ``{language: any of these}``, such as
        ``{"en": "a.csv", "eu": "b.csv"}``. Default: 30 bundled tweets.
    column : str, default "text"
        Column of `texts` that holds the text.
    label : str, optional
        Column of true labels, for accuracy and macro-F1.
    limit : int, optional
        Use only the first N texts of each file. Default: all; bundled tweets: 30.
    prefix : str or list of str, optional
        Sentence to put before texts, with {region}; several: one for each text by turns. With a single one findings
        are at most suggestive. Default: three wordings, such as "I am from {region}.".
    control : str or list of str, optional
        Control that names no region, for each `prefix` or for all. Default: three, or your prefixes with "here".
    regions : {"countries", "cities", "city-country"}, default "countries"
        Regions to name: countries, cities, or cities with their country ("Lyon, France").
    cities : int or str, optional
        Each country's N largest cities, or "all"; only with `regions` of cities. Default: 1.
    continents : str or list of str, optional
        Use only these continents, by code or name: EU,Africa. Default: all six.
    countries : str or list of str, optional
        Use only these countries, by code or name: FR,DEU,Nigeria. Default: all.
    positive : str, optional
        Class that the terminal, the map and the findings show; files hold all classes. Default: by name, such as hate.
    threshold : float, optional
        Predict a class if its probability is at least this, above 0 and below 1. Default: the most probable class; 0.5
        for multi-label classifiers.
    labels : str, optional
        Labels that a language model or a function chooses from: negative,positive; to show the model other words:
        negative=bad,positive=good. Default: the labels of the classifier.
    prompt : str, optional
        Prompt for language models, with {text} once; or a file that holds it. Needs `labels`. Default: built from
        `labels`.
    calibrate : bool, default False
        Whether to subtract a language model's label bias, measured on an empty text. Needs `labels`.
    allow : str, callable or list of them, optional
        Function, Hugging Face id or spaCy pipeline that a file of mitigated:FOLDER may use, by the name that it has
        there. In Python also functions themselves. Default: none is imported or downloaded.
    device : str, default "auto"
        Device: auto (a GPU if there is one), cpu, cuda or cuda:1.
    dtype : str, default "auto"
        Precision of the weights: auto (bfloat16 on a GPU that supports it, else float32), float32, bfloat16 or float16.
    ray : str, optional
        Run on Ray: the running cluster (auto), a new one on this machine (local), or the one at ADDRESS. Default: this
        process only.
    out : str or Path, optional
        Folder to write the results to: results, tables, answers and the page. It must be new, empty, or hold the same
        run. Default: nothing is saved.
    progress : bool, optional
        Whether to show a progress bar. Default: on terminals and in notebooks.

    Returns
    -------
    DownstreamResult
        `findings` has the conclusions, `to_frame()` a row for each region, class and reference, and `open()` opens the
        page of a saved run.

    Raises
    ------
    InputError
        If an option, a text or an answer of the classifier cannot be used. The message says what to do.
    GeobiasError
        If a model, a server or a cluster fails while the audit runs.

    Examples
    --------
    >>> import geobias
    >>> def judge(texts):
    ...     return [{"negative": 0.2, "positive": 0.8} for text in texts]
    >>> texts = ["The food was cold.", "Lovely!", "Never again.", "It was fine.", "We will be back."]
    >>> result = geobias.audit_downstream(judge, texts, countries=["IE", "MX"])
    >>> result.to_frame()[["place", "label", "against", "value"]].head(2)
         place     label  against  value
    0  Ireland  negative  control    0.0
    1   Mexico  negative  control    0.0

    >>> result = geobias.audit_downstream("embedded/hate", "reviews.csv", out="runs/downstream")  # doctest: +SKIP
    """
    from geobias.audits.downstream.design import choose_places, choose_wordings, design_downstream, load_distinct_texts
    from geobias.audits.downstream.study import DownstreamStudy
    from geobias.audits.study import RunOptions, execute
    from geobias.checks import check_probability
    from geobias.models.answers import read_prompt_options

    check_probability("threshold", threshold)
    wordings = choose_wordings(prefix, control)
    selection = choose_places(regions, cities, continents, countries)
    prompted = read_prompt_options(labels, prompt, calibrate)
    distinct = load_distinct_texts(texts, column=column, label=label, limit=limit)
    design = design_downstream(distinct, selection, wordings, positive=positive, threshold=threshold, prompt=prompted)
    options = RunOptions(device, dtype, ray, out, progress, allow)
    return execute(DownstreamStudy(design, classifier, options))
