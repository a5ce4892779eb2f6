"""`geobias.audit`: every audit that fits the models, as a Python function."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from geobias.audits.overview.design import OverviewDesign, OverviewOptions, design_overview
from geobias.audits.overview.result import Overview
from geobias.audits.plan import Plan, format_duration, join_plans
from geobias.audits.study import IndexEntry, RunIndex, RunOptions, assign_folders, save_index
from geobias.engine.ask import compute_on
from geobias.models.saved_wrappers import Allowed
from geobias.report.results import AuditResult
from geobias.report.runs import index_folder, place_for

LONG_SECONDS = 600


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
    """Audit models with every audit that fits them: a first look that takes minutes.

    Language models get `audit_regions`, classifiers get `audit_names` and `audit_downstream`. The number of texts,
    countries and draws is fixed and small; `scope` of the returned object states it. Call the audits themselves for
    more.

    Parameters
    ----------
    models : str, Path, callable, object or list of them, optional
        Whatever `audit_regions` or `audit_names` takes. The kind of each model is detected. Default: the bundled
        models.
    texts : str, Path, list, frame, dataset or dict, optional
        Texts for the classifiers, in any form that `audit_names` takes. Default: bundled tweets.
    column : str, default "text"
        Column that contains the texts.
    labels : str, optional
        Labels, separated by commas, such as "negative,positive". With them a language model that generates text is also
        audited as a classifier.
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
        Folder for the runs and their common page. It must be new, empty, or hold the same runs. Default: nothing is
        saved.
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
    run_options = RunOptions(allow=allow, device=device, dtype=dtype, ray=ray, out=out, progress=progress)
    return run_overview(design_overview(OverviewOptions(models, texts, column, labels), run_options), run_options)


def run_overview(design: OverviewDesign, options: RunOptions) -> Overview:
    """Run the studies one after the other; every folder is checked before the first model is loaded."""
    folder = None if options.out is None else place_for(options.out)
    index = None if folder is None else index_folder(folder, list(design.studies))
    if index and folder:
        index.check()
        assign_folders(folder, design.studies)
    results: dict[str, AuditResult] = {}
    with index.hold() if index else nullcontext():
        with compute_on(options.ray, options.device, options.dtype) as (device, dtype):
            for path, study in design.studies.items():
                study.options = replace(study.options, device=device, dtype=dtype, ray=None)
                results[path] = study.run()
        if index:
            save_index(index, RunIndex([IndexEntry(path) for path in results]))
    return Overview(results, design.scope, folder)


def plan_overview(design: OverviewDesign) -> Plan:
    """How long all studies together take, and how small an effect they can find."""
    return join_plans([(study.audit, study.plan()) for study in design.studies.values()], design.scope)


def announce_long_run(design: OverviewDesign) -> None:
    """Say on a terminal that a run takes long, and that it can be interrupted."""
    if not design.may_take_long or not sys.stderr.isatty():
        return
    seconds = plan_overview(design).seconds
    if seconds > LONG_SECONDS:
        print(
            f"This takes up to {format_duration(seconds)} (--plan shows the steps). You can stop it with Ctrl-C and "
            "resume with the same command.",
            file=sys.stderr,
        )
