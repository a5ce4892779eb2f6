"""`geobias.mitigate`: mitigation and its audit as a Python function."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from geobias.audits.mitigate.result import MitigateResult
    from geobias.models.saved_wrappers import Allowed


def mitigate(
    model: Any = "embedded/sentiment",
    *,
    method: str | Sequence[str] = "blind,average:8",
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
    """Mitigate the bias of a model, and measure what each method changes and costs.

    Every method gives a new model. A classifier is compared with the original one on the same texts, with names that no
    method has used: the spread between countries, labels that flip with the name, accuracy, macro-F1 and the texts that
    the model reads. A language model is compared by HERB's balanced score on words, regions and templates that no
    method has used, by perplexity and by the capitals that it knows. The models are saved in the folder of the run: use
    one as "mitigated:FOLDER".

    Parameters
    ----------
    model : str, Path, callable or object, default "embedded/sentiment"
        Classifier: bundled model, Hugging Face id, folder, .skops file or package.module:function; for "align" a
        language model's id or folder. In Python also any classifier that `load_classifier` takes.
    method : str or list of str, default "blind,average:8"
        Methods to compare: blind, average:K, augment:N, pair:WEIGHT; for language models align:SHARE.

        - "blind": one placeholder replaces people's names before the model reads a text;
        - "average:K": the mean over K names of K countries, balanced over countries and gender;
        - "augment", "augment:N": training on texts with N other names each, for Hugging Face classifiers;
        - "pair", "pair:WEIGHT": training with a penalty where logits differ between names;
        - "align", "align:SHARE": for language models, training so that all regions get the mean distribution over
          words; the share of the change that is kept, at most 1.
    texts : str, Path, list, frame, dataset or dict, optional
        Texts to test with: CSV, TSV, JSON, JSONL, Parquet or one text per line, also packed with gzip; or a dataset:
        hf://datasets/OWNER/NAME/FILE, datasets:NAME:SPLIT. In Python any form that `audit_names` takes. For a language
        model plain texts, of which the first 100 at most are for the perplexity and the others for the replay in
        training. Default: bundled tweets.
    column : str, default "text"
        Column of `texts` that holds the text.
    spans : str, optional
        Column of the people's offsets in characters, as [[0, 5], ...]. Default: `finder` finds them.
    label : str, optional
        Column of true labels, for accuracy, macro-F1 and training; "augment" and "pair" need it.
    train : str, Path, list, frame or dataset, optional
        Labelled texts to train on. Default: half of `texts`, which is then not tested.
    limit : int, optional
        Use only the first N texts of each file. Default: all; 100 of the bundled tweets.
    finder : str, callable or spacy.Language, optional
        Model that finds people: spaCy pipeline, token classifier or package.module:function. Default: the bundled
        finder.
    countries : str or list of str, optional
        Countries to test names of, by code or name: FR,DEU,Nigeria; or "all". Default: 17 countries.
    draws : int, default 10
        Held-out names per text and country.
    seed : int, default 0
        Random seed for names, splits of texts and training.
    positive : str or list of str, optional
        Labels that count as positive: joy,optimism. Default: known by their names.
    negative : str or list of str, optional
        Labels that count as negative: anger,sadness. Default: known by their names.
    epochs : int, default 2
        Passes over the training texts.
    allow : str, callable or list of them, optional
        Use this function, Hugging Face id or spaCy pipeline where the file of a "mitigated:FOLDER" names it. In Python
        also functions themselves. Default: none is imported or downloaded.
    device : str, default "auto"
        Device: auto (a GPU if there is one), cpu, cuda or cuda:1.
    dtype : str, default "auto"
        Precision of the weights: auto, float32, bfloat16 or float16.
    out : str or Path, optional
        Folder for the run and its models. It must be new, empty, or hold the same run. Required to train. Default:
        nothing is saved.
    progress : bool, optional
        Whether to show a progress bar. Default: on terminals and in notebooks.

    Returns
    -------
    MitigateResult
        `recommended` is the method to take, `methods` has the numbers of the original model and of each method,
        `to_frame()` a row for each method and country.

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
    >>> [row.method for row in result.methods]
    ['original', 'blind']

    Your own texts and model, with training:

    >>> result = geobias.mitigate(
    ...     "cardiffnlp/twitter-roberta-base-hate", texts="reviews.csv", label="hate",
    ...     method="blind,average:8,augment,pair:1", out="runs/mitigate",
    ... )  # doctest: +SKIP
    """
    from geobias.audits.inputs import check_draws
    from geobias.audits.mitigate.design import (
        design_alignment,
        design_mitigation,
        load_tested_and_training_texts,
        parse_methods,
    )
    from geobias.audits.mitigate.study import (
        LanguageStudy,
        MitigateStudy,
        check_language_model,
        check_methods,
        require_folder,
    )
    from geobias.audits.study import RunOptions, execute
    from geobias.checks import MOST_EPOCHS, check_number

    options = RunOptions(allow=allow, device=device, dtype=dtype, out=out, progress=progress)
    methods = parse_methods(method)
    check_draws(draws, seed)
    check_number("--epochs", epochs, 1, MOST_EPOCHS)
    if any(each.name == "align" for each in methods):
        check_language_model(model, methods)
        require_folder(methods, out)
        alignment = design_alignment(methods, texts, train, column=column, limit=limit, seed=seed, epochs=epochs)
        return execute(LanguageStudy(alignment, str(model), options))
    check_methods(methods, model, label=label, has_train=train is not None)
    require_folder(methods, out)
    tested, training = load_tested_and_training_texts(
        texts, train, methods, seed=seed, column=column, spans=spans, label=label, limit=limit
    )
    design = design_mitigation(
        methods,
        tested,
        training,
        finder,
        countries=countries,
        draws=draws,
        seed=seed,
        epochs=epochs,
        positive=positive,
        negative=negative,
        device=device,
    )
    return execute(MitigateStudy(design, model, options))
