"""`geobias.audit_downstream`: the audit as a Python function, and how the classifiers are scored."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from geobias.audits.downstream.answers import Predictions
from geobias.audits.downstream.design import DownstreamDesign, DownstreamOptions, design_downstream
from geobias.audits.downstream.measure import measure_downstream
from geobias.audits.downstream.result import DownstreamResult, DownstreamSettings
from geobias.audits.labels import find_main_label, read_true_labels
from geobias.audits.plan import PILOT_REGIONS, PILOT_TEXTS, POWER, Plan, timed
from geobias.audits.study import ClassifierStudy, RunOptions, collect_options
from geobias.engine.ask import ask
from geobias.models.answers import refuse_unused_prompt
from geobias.models.pretrained import count_added_tokens
from geobias.models.saved_wrappers import Allowed
from geobias.models.scorer import EMBEDDED_CLASSIFIERS, Classifier


def audit_downstream(
    classifier: Any = EMBEDDED_CLASSIFIERS[0],
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
    """Measure how naming a region before a text changes the answers of a classifier.

    "I am from REGION." is put before every text, for each region, in three wordings by turns. The result compares the
    probabilities with those after invented places and after controls that name no region, and with the mean of all
    regions. The method follows HERB (Li et al. 2022, Table 4 and Figure 4).

    Parameters
    ----------
    classifier : str, Path, callable, object or list of them
        What to audit. One of these, or a list of them:

        - the name of a bundled model ("embedded/sentiment", "embedded/emotion", "embedded/hate",
          "embedded/offensive"), a Hugging Face id, or a folder with a saved model;
        - a function from a list of texts to probabilities or labels, or its name as "package.module:function";
        - a fitted scikit-learn pipeline, or a .skops file of one;
        - a text-classification pipeline of transformers;
        - a classifier from `load_classifier`, or a `ServedClassifier`;
        - with `labels`, a language model: an id, a folder, a GGUF file, or a `ServedLM`.

        Default: "embedded/sentiment".
    texts : str, Path, list, frame, dataset or dict, optional
        Texts to classify:

        - a file: CSV, TSV, JSON, JSON lines, Parquet or plain lines, also packed with gzip;
        - a list of texts or of dicts, a pandas or polars frame or column, or a Hugging Face dataset;
        - a dict ``{language: any of these}``, such as ``{"en": "a.csv", "eu": "b.csv"}``.

        Default: 30 bundled tweets.
    column : str, default "text"
        Column that contains the texts.
    label : str, optional
        Column of true labels. With it the result has accuracy and macro-F1.
    limit : int, optional
        Number of texts to use from the start of each file. Default: all; 30 of the bundled tweets.
    prefix : str or list of str, optional
        Sentences to put before every text, each with "{region}"; each text has one of them for each region. With a
        single one findings are at most suggestive. Default: three wordings, such as "I am from {region}.".
    control : str or list of str, optional
        Prefixes that name no region, one for each prefix or one for all. Default: three, or your prefixes with "here"
        for the region.
    regions : {"countries", "cities", "city-country"}, default "countries"
        Which regions to name: countries, cities, or cities with their country ("Lyon, France").
    cities : int or str, optional
        Number of the largest cities of each country, or "all". Only for cities. Default: 1.
    continents : str or list of str, optional
        Keep only these continents, by code ("EU") or name ("Africa"). Default: all six.
    countries : str or list of str, optional
        Keep only these countries, by code ("FR", "FRA") or name. Default: all.
    positive : str, optional
        Class that the terminal, the map and the findings show; tables have all. Default: the only negative class (such
        as "hate"), else the only positive class, else the last.
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
    design = design_downstream(collect_options(DownstreamOptions, locals()))
    options = RunOptions(allow=allow, device=device, dtype=dtype, ray=ray, out=out, progress=progress)
    return DownstreamStudy(design, classifier, options).run()


class DownstreamStudy(ClassifierStudy[tuple[Predictions, ...], DownstreamResult]):
    """The same prefixed texts, put to every classifier."""

    audit = "downstream"

    def __init__(self, design: DownstreamDesign, classifiers: Any, options: RunOptions) -> None:
        super().__init__(classifiers, design.prompt, options)
        self.design = design

    def texts_to_classify(self) -> list[Sequence[str]]:
        return [self.design.texts.texts, self.design.prefixed]

    def settings(self) -> DownstreamSettings:
        return self.design.settings_for(self.classifier_names)

    def ask(self, scorers: Sequence[Classifier]) -> tuple[Predictions, ...]:
        refuse_unused_prompt(self.prompt, scorers)
        # Before the first is scored: a label that the last does not have must not cost an hour.
        readings = [self._read_labels(classifier) for classifier in scorers]
        return tuple(
            self._ask_classifier(classifier, *reading) for classifier, reading in zip(scorers, readings, strict=True)
        )

    def measure(self, answers: tuple[Predictions, ...]) -> DownstreamResult:
        return measure_downstream(self.design, answers)

    def plan(self) -> Plan:
        """How long the study takes, and how small an effect it can find; for a served model, what would be sent."""
        if self.served:
            return Plan.of_served(self.workload(self.served))
        classifiers = self.load(self.options.device, self.options.dtype)
        design = self.design
        return Plan(
            f"{len(design.texts):,} texts x ({len(design.places):,} regions + {len(design.invented)} invented places + "
            f"{design.controls} control{'s' if design.controls > 1 else ''}).",
            [timed(classifier.name, classifier, self.design.prefixed) for classifier in classifiers],
            [self._smallest_effect(classifier) for classifier in classifiers],
        )

    def _read_labels(self, classifier: Classifier) -> tuple[int, np.ndarray | None, tuple[str, ...]]:
        """The position of the class to show, the true labels of the texts, and notes on how they were read."""
        design, name, labels = self.design, classifier.name, classifier.labels
        several_fit = classifier.multi_label or design.threshold is not None
        truth, notes = read_true_labels(design.texts, name, labels, several_fit=several_fit)
        return find_main_label(name, labels, design.positive), truth, classifier.notes + notes

    def _ask_classifier(
        self, classifier: Classifier, shown: int, truth: np.ndarray | None, notes: tuple[str, ...]
    ) -> Predictions:
        design, progress = self.design, self.options.progress
        labels, tokenizer = tuple(classifier.labels), getattr(classifier, "tokenizer", None)
        originals, prefixed = (
            ask(classifier, texts, label=classifier.name, progress=progress) for texts in self.texts_to_classify()
        )
        # Half the memory: a thousand texts may stand before each of 34,000 cities; the rounding is below `ROUNDING`.
        before = originals.scores[:, : len(labels)].astype(np.float32)
        after = prefixed.scores[:, : len(labels)].astype(np.float32)
        first, last = design.controls, design.controls + len(design.places)
        controls, places, invented = np.split(after.reshape(len(before), -1, len(labels)), [first, last], axis=1)
        default_threshold = 0.5 if classifier.multi_label else None
        return Predictions(
            model=classifier.identity(),
            labels=labels,
            multi_label=classifier.multi_label,
            shown=shown,
            threshold=default_threshold if design.threshold is None else design.threshold,
            original=before,
            controls=controls,
            places=places,
            invented=invented,
            rotation=design.rotation,
            truth=truth,
            counts={
                "texts_cut": originals.cut,
                "prefixed_texts": len(prefixed.scores),
                "distinct_prefixed_texts": prefixed.distinct,
                "prefixed_texts_cut": prefixed.cut,
            },
            work={"texts_scored": originals.scored, "prefixed_texts_scored": prefixed.scored},
            notes=notes,
            name_tokens=None if tokenizer is None else count_added_tokens(tokenizer, design.names_in_sentence),
        )

    def _smallest_effect(self, classifier: Classifier) -> str:
        """From a pilot of a few texts and regions: how much a region's effect differs from text to text."""
        texts = len(self.design.texts)
        if texts < 2:
            return f"{classifier.name}: one text cannot say how small an effect could be found."
        rows = np.unique(np.linspace(0, texts - 1, PILOT_TEXTS).astype(int))
        first, last = self.design.controls, self.design.controls + len(self.design.places) - 1
        regions = np.unique(np.linspace(first, last, PILOT_REGIONS).astype(int))
        pilot = [self.design.prefixed.at(i, k, 0) for i in rows for k in (0, *regions)]
        shown = find_main_label(classifier.name, classifier.labels, self.design.positive)
        p = classifier.score(pilot)[:, shown].reshape(len(rows), len(regions) + 1)
        spread = np.median((p[:, 1:] - p[:, :1]).std(axis=0, ddof=1))
        return (
            f"{classifier.name}: the smallest mean difference of p({classifier.labels[shown]}) against the control "
            "that is detected with 80 % power (before adjustment for multiple regions): about "
            f"{POWER * spread / np.sqrt(texts):.4f}."
        )
