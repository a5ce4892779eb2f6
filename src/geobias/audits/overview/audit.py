"""`geobias.audit`: every audit that fits the models, as a Python function."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from geobias.audits.overview.result import Overview
    from geobias.models.saved_wrappers import Allowed


def audit(
    models: Any = None,
    texts: Any = None,
    *,
    column: str = "text",
    labels: str | None = None,
    allow: Allowed = (),
    device: str = "auto",
    dtype: str = "auto",
    ray: str | None = None,
    out: str | Path | None = None,
    progress: bool | None = None,
) -> Overview:
    """Start here: run every audit that fits your models, or the bundled ones.

    Language models get `audit_regions`; classifiers get `audit_names` and `audit_downstream`. All findings are on one
    page. Sample sizes are fixed and small, a first look that takes minutes: run a single audit to change them.

    Parameters
    ----------
    models : str, Path, callable, object or list of them, optional
        Language models or classifiers: Hugging Face ids, folders, GGUF or .skops files, or package.module:function. In
        Python also whatever else `audit_regions` or `audit_names` takes. The kind of each model is detected. Default:
        the bundled models.
    texts : str, Path, list, frame or dataset, optional
        Texts for classifiers: CSV, TSV, JSON, JSONL, Parquet or one text per line. In Python also any form that
        `audit_names` takes. Default: bundled tweets.
    column : str, default "text"
        Column of `texts` that holds the text.
    labels : str, optional
        Labels that a language model or a function chooses from: negative,positive. With them a language model that
        generates text is also audited as a classifier. Default: the labels of the classifier.
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
        Folder to write the runs and their common page to. It must be new, empty, or hold the same runs. Default:
        nothing is saved.
    progress : bool, optional
        Whether to show progress. Default: bars on terminals and in notebooks, lines in the logs of long runs.

    Returns
    -------
    Overview
        `findings` has the conclusions of all audits, `results` the result of each audit, and `open()` opens the page.

    Raises
    ------
    InputError
        If the kind of a model is unknown, or a text or an option cannot be used. The message says what to do.
    GeobiasError
        If a model, a server or a cluster fails while the audit runs.

    Examples
    --------
    >>> import geobias
    >>> overview = geobias.audit("my/classifier", "reviews.csv", column="body", out="runs/first")  # doctest: +SKIP
    >>> print(overview.summary())  # doctest: +SKIP
    """
    from geobias.audits.overview.design import OverviewStudy, design_overview
    from geobias.audits.study import RunOptions, execute

    run = {"allow": allow, "device": device, "dtype": dtype, "progress": progress}
    design = design_overview(models, texts, column=column, labels=labels, run=run)
    return execute(OverviewStudy(design, RunOptions(device, dtype, ray, out, progress, allow)))
