"""`geobias.audit_names`: the audit as a Python function, whose signature and docstring are the options."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the command is made from this function, so that help imports nothing heavy
    from geobias.audits.names.result import NamesResult
    from geobias.models.language_model import LanguageModel
    from geobias.models.saved_wrappers import Allowed
    from geobias.models.scorer import Scorer


def audit_names(
    classifier: Any = "embedded/sentiment",
    texts: Any = None,
    *,
    column: str = "text",
    spans: str | None = None,
    label: str | None = None,
    subsets: str | Sequence[str] = (),
    limit: int | None = None,
    finder: str | None = None,
    doubtful: str = "drop",
    countries: str | Sequence[str] | None = None,
    draws: int = 50,
    seed: int = 0,
    scripts: str = "latin",
    gazetteer: str | Path | None = None,
    names: str = "random",
    positive: str | Sequence[str] = (),
    negative: str | Sequence[str] = (),
    threshold: float | None = None,
    labels: str | None = None,
    prompt: str | None = None,
    calibrate: bool = False,
    perplexity: str | Path | Callable[[list[str]], Any] | Scorer | LanguageModel | None = None,
    perplexity_draws: int = 5,
    allow: Allowed = (),
    device: str = "auto",
    dtype: str = "auto",
    ray: str | None = None,
    out: str | Path | None = None,
    progress: bool | None = None,
) -> NamesResult:
    """Measure how a classifier treats people by the country that their names come from.

    The people in each text get common names of one country after another. The classifier scores the original and the
    renamed texts, and the result compares the countries. The method follows Barriere and Cifuentes (2024).

    Parameters
    ----------
    classifier : str, Path, callable, object or list of them
        Classifiers to audit: names of bundled models, Hugging Face ids, folders, .skops files or
        package.module:function; with `labels` also language models. One of these, or a list of them:

        - the name of a bundled model ("embedded/sentiment", "embedded/emotion", "embedded/hate",
          "embedded/offensive"), a Hugging Face id, or a folder with a saved model;
        - a function from a list of texts to probabilities or labels, or its name as "package.module:function";
        - a fitted scikit-learn pipeline, or a .skops file of one;
        - a text-classification pipeline of transformers;
        - a classifier from `load_classifier`, or a `ServedClassifier`;
        - with `labels`, a language model: an id, a folder, a GGUF file, or a `ServedLM`.

        Default: "embedded/sentiment".
    texts : str, Path, list, frame, dataset or dict, optional
        Texts that name people: a file of CSV, TSV, JSON, JSON lines, Parquet or plain lines, also packed with gzip, or
        hf://datasets/OWNER/NAME/FILE. In Python also:

        - a list of texts or of dicts, a pandas or polars frame or column, or a Hugging Face dataset;
        - a dict ``{language: any of these}``, such as ``{"en": "a.csv", "eu": "b.csv"}``.

        Default: 100 bundled tweets.
    column : str, default "text"
        Column that contains the texts.
    spans : str, optional
        Column with the positions of the names in characters, as ``[[start, end], ...]``; the end is exclusive.
        Default: `finder` finds the names.
    label : str, optional
        Column of true labels, for error rates by country.
    subsets : str or list of str, optional
        Columns whose values split the texts. Measures by country are repeated for each value. Default: none.
    limit : int, optional
        Number of texts to use from the start of each file. Default: all; 100 of the bundled tweets.
    finder : str, optional
        Model that finds the names: a spaCy pipeline, a Hugging Face token classifier, or a function as
        "package.module:function". Default: the bundled finder, for English.
    doubtful : {"drop", "keep"}, default "drop"
        Whether to leave doubtful spans of the finder (probably not people) unchanged, or to rename them too.
    countries : str or list of str, optional
        Countries whose names to use, by code ("FR", "FRA") or name; "all" for every country with enough names.
        Default: the 17 countries of the paper.
    draws : int, default 50
        Renamed versions of each text for each country, from 1 to 10,000.
    seed : int, default 0
        Seed for the draw of names.
    scripts : {"latin", "all"}, default "latin"
        Scripts of the names. With "all" the result measures the script too.
    gazetteer : str or Path, optional
        CSV file of names to use instead of the bundled ones, with the columns country, kind (male, female or last) and
        name.
    names : {"random", "fixed"}, default "random"
        Whether intervals and tests treat the names as a sample of more names, or as the only names of interest.
    positive : str or list of str, optional
        Labels that count as positive in Δ. Needs `negative`. Default: labels with a known positive name, such as "joy".
    negative : str or list of str, optional
        Labels that count as negative in Δ. Needs `positive`. Default: labels with a known negative name, such as
        "hate".
    threshold : float, optional
        Probability from which a class is predicted, above 0 and below 1. Default: the most probable class is predicted;
        0.5 for multi-label classifiers.
    labels : str, optional
        Labels, separated by commas. A language model chooses from them; a function answers with them. Example:
        "negative,positive", or "negative=bad,positive=good" to show the model other words. Default: the labels of the
        classifier.
    prompt : str, optional
        Prompt for a language model, with "{text}" once, or a file that contains it. Needs `labels`. Default: a prompt
        that names the labels and asks for one.
    calibrate : bool, default False
        Whether to subtract the log-probability that a language model gives to each label for an empty text. Needs
        `labels`.
    perplexity : str, Path, callable or object, optional
        Language model for perplexities, as `audit_regions` takes it, which is slow. Default: no perplexities.
    perplexity_draws : int, default 5
        Number of draws to compute perplexities for.
    allow : str, callable or list of them, optional
        Functions, Hugging Face ids and spaCy pipelines that the file of a "mitigated:FOLDER" may use: by the name that
        the file has, or functions themselves. Default: none is imported or downloaded.
    device : str, default "auto"
        Where to run models: "auto" (a GPU if there is one), "cpu", "cuda", "cuda:1", ...
    dtype : str, default "auto"
        Precision of the weights: "auto" (bfloat16 on a GPU that supports it, else float32), "float32", "bfloat16" or
        "float16".
    ray : str, optional
        Ray cluster to run on: "auto" (the cluster of this machine), "local" (a new cluster of its GPUs or cores) or an
        address. Default: this process only.
    out : str or Path, optional
        Folder for the run: results, tables, answers and the page. It must be new, empty, or hold the same run. Default:
        nothing is saved.
    progress : bool, optional
        Whether to show a progress bar. Default: on terminals and in notebooks.

    Returns
    -------
    NamesResult
        `findings` has the conclusions, `to_frame()` a row for each country and measure, and `open()` opens the page of
        a saved run.

    Raises
    ------
    InputError
        If an option, a text or an answer of the classifier cannot be used. The message says what to do.
    GeobiasError
        If a model, a server or a cluster fails while the audit runs.

    See Also
    --------
    audit_finders : Check first whose names the finder misses.

    Examples
    --------
    Any function can be the classifier:

    >>> import geobias
    >>> def judge(texts):
    ...     return [{"negative": 0.2, "positive": 0.8} for text in texts]
    >>> texts = ["Mary was late again.", "Thanks, John!", "Emma called.", "Peter left.", "Where is Anna?"]
    >>> result = geobias.audit_names(judge, texts, countries=["FR", "MA"], draws=2)
    >>> result.to_frame()[["country", "measure", "value"]].head(2)
       country measure  value
    0   France   delta    0.0
    1  Morocco   delta    0.0

    Your own texts and a model from the Hugging Face hub:

    >>> result = geobias.audit_names(
    ...     "cardiffnlp/twitter-roberta-base-hate", "reviews.csv", column="body", out="runs/names"
    ... )  # doctest: +SKIP
    >>> result.open()  # doctest: +SKIP
    """
    from geobias.audits.names.design import design_names
    from geobias.audits.names.study import NamesStudy
    from geobias.audits.study import RunOptions, execute
    from geobias.models.answers import read_prompt_options

    design = design_names(
        texts,
        column=column,
        spans=spans,
        label=label,
        subsets=subsets,
        limit=limit,
        finder=finder,
        doubtful=doubtful,
        countries=countries,
        draws=draws,
        seed=seed,
        scripts=scripts,
        gazetteer=gazetteer,
        names=names,
        positive=positive,
        negative=negative,
        threshold=threshold,
        prompt=read_prompt_options(labels, prompt, calibrate),
        perplexity=perplexity,
        perplexity_draws=perplexity_draws,
        device=device,
    )
    options = RunOptions(allow=allow, device=device, dtype=dtype, ray=ray, out=out, progress=progress)
    return execute(NamesStudy(design, classifier, options))
