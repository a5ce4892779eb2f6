"""`geobias.mitigate`: mitigation and its audit as a Python function."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from geobias.audits.mitigate.design import MitigateOptions, design_mitigation
from geobias.audits.mitigate.methods import DEFAULT_METHODS, check_trainable, parse_methods
from geobias.audits.mitigate.result import MitigateResult
from geobias.audits.mitigate.study import MitigateStudy
from geobias.audits.study import RunOptions, collect_options
from geobias.models.saved_wrappers import Allowed
from geobias.models.scorer import EMBEDDED_CLASSIFIERS


def mitigate(
    model: Any = EMBEDDED_CLASSIFIERS[0],
    *,
    method: str | Sequence[str] = DEFAULT_METHODS,
    texts: Any = None,
    column: str = "text",
    spans: str | None = None,
    label: str | None = None,
    train: Any = None,
    limit: int | None = None,
    finder: Any = None,
    countries: str | Sequence[str] | None = None,
    draws: int = 10,
    seed: int = 0,
    positive: str | Sequence[str] = (),
    negative: str | Sequence[str] = (),
    epochs: int = 2,
    allow: Allowed = (),
    device: str = "auto",
    dtype: str = "auto",
    out: str | Path | None = None,
    progress: bool | None = None,
) -> MitigateResult:
    """Mitigate the bias of a classifier or a language model, and measure what each method changes and costs.

    Every method gives a new classifier. It is compared with the original one on the same texts, with names that no
    method has used: the spread between countries, labels that flip with the name, accuracy, macro-F1 and time. A
    language model is compared by HERB's balanced score on words, regions and templates that no method has used, by
    perplexity and by the capitals that it knows.

    Parameters
    ----------
    model : str, Path, callable or object, default "embedded/sentiment"
        The classifier, in any form that `load_classifier` takes; for "align" a language model's id or folder.
    method : str or list of str, default "blind,average:8"
        Methods to compare:

        - "blind": one placeholder replaces people's names before the model reads a text;
        - "average:K": the mean over K names of K countries, balanced over countries and gender;
        - "augment", "augment:N": training on texts with N other names each, for Hugging Face classifiers;
        - "pair:WEIGHT": training with a penalty where logits differ between names;
        - "align:SHARE": for language models, training so that all regions get the mean distribution over words; the
          share of the change that is kept, at most 1.
    texts : str, Path, list, frame, dataset or dict, optional
        Texts to test with, in any form that `audit_names` takes; for a language model plain texts, of which the first
        100 at most are for the perplexity and the others for the replay in training. Default: bundled tweets.
    column : str, default "text"
        Column that contains the texts.
    spans : str, optional
        Column with the positions of the people, as ``[[start, end], ...]``. Default: `finder` finds them.
    label : str, optional
        Column of true labels. With it the result has accuracy and macro-F1; "augment" and "pair" need it.
    train : str, Path, list, frame, dataset or dict, optional
        Labelled texts to train on. Default: half of `texts`, which is then not tested.
    limit : int, optional
        Number of texts to use from the start of each file. Default: all.
    finder : str, callable or spacy.Language, optional
        What finds people: a spaCy pipeline, a token classifier or a function. Default: the bundled finder.
    countries : str or list of str, optional
        Countries to test names of, by code or name, or "all". Default: 17 countries.
    draws : int, default 10
        Held-out names per text and country.
    seed : int, default 0
        Seed for drawing names, splitting texts and training.
    positive, negative : str or list of str, optional
        Labels that count as positive and negative. Default: known by their names.
    epochs : int, default 2
        Passes over the training texts.
    allow : str, callable or list of them, optional
        Functions, Hugging Face ids and spaCy pipelines that the file of a "mitigated:FOLDER" may use: by the name that
        the file has, or functions themselves. Default: none is imported or downloaded.
    device : str, default "auto"
        Where to run models: "auto" (a GPU if there is one), "cpu", "cuda", "cuda:1", ...
    dtype : str, default "auto"
        Precision of the weights: "auto", "float32", "bfloat16" or "float16".
    out : str or Path, optional
        Folder for the run and its models. Required to train. Default: nothing is saved.
    progress : bool, optional
        Whether to show a progress bar. Default: on terminals and in notebooks.

    Returns
    -------
    MitigateResult
        `recommended` is the method to take, `methods` has the numbers of each, `to_frame()` a row for each method and
        country.

    Raises
    ------
    InputError
        If an option, a text or a model cannot be used. The message says what to do.

    See Also
    --------
    BlindClassifier, AveragingClassifier : The wrappers, for use in a program.

    Examples
    --------
    >>> import geobias
    >>> def judge(texts):
    ...     return [{"negative": 0.8, "positive": 0.2} if "Jean" in text else
    ...             {"negative": 0.2, "positive": 0.8} for text in texts]
    >>> texts = ["Mary was late again.", "Thanks, John Smith!", "Emma called.", "Peter left.", "Where is Anna?"]
    >>> result = geobias.mitigate(judge, texts=texts, method="blind", countries=["FR", "MA"], draws=2)
    >>> result.methods[0].method
    'blind'

    Your own texts and model, with training:

    >>> result = geobias.mitigate(
    ...     "cardiffnlp/twitter-roberta-base-hate", texts="reviews.csv", label="hate",
    ...     method="blind,average:8,augment,pair:1", out="runs/mitigate",
    ... )  # doctest: +SKIP
    """
    options = collect_options(MitigateOptions, locals())
    run_options = RunOptions(allow=allow, device=device, dtype=dtype, out=out, progress=progress)
    methods = parse_methods(method)
    check_trainable(model, methods)
    if any(each.name == "align" for each in methods):
        from geobias.audits.mitigate import language_study  # imports torch

        if language_study.is_for_language_model(model, methods):
            language_design = language_study.design_language_mitigation(options, methods)
            return language_study.LanguageStudy(language_design, str(model), run_options).run()
    return MitigateStudy(design_mitigation(options, device), model, run_options).run()
