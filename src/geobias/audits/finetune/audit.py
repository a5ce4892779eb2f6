"""`geobias.audit_finetune`: the audit as a Python function, and how the models are trained and scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from geobias.audits.downstream.audit import DownstreamStudy
from geobias.audits.finetune.design import FinetuneDesign, FinetuneOptions, design_finetune
from geobias.audits.finetune.measure import (
    measure_finetune,
    measure_flips,
    measure_flips_against_control,
    measure_flips_by_regions,
)
from geobias.audits.finetune.result import FinetunedModel, FinetuneResult, FinetuneSettings, HerbScore, TrainingEpoch
from geobias.audits.regions.audit import RegionsStudy
from geobias.audits.study import RunOptions, TrainingStudy, collect_options
from geobias.errors import InputError
from geobias.models.classifiers.huggingface import HuggingFaceClassifier
from geobias.models.load import load_scorer
from geobias.models.scorer import Classifier
from geobias.models.sources import locate_weights
from geobias.models.training.finetuning import best_epoch, train_classifier
from geobias.report.results import from_json
from geobias.report.run_folder import MODELS
from geobias.report.runs import slug
from geobias.texts.defaults import DEFAULT_PREFIX


def audit_finetune(
    models: str | Path | Sequence[str | Path],
    texts: Any,
    *,
    label: str,
    out: str | Path,
    column: str = "text",
    test: Any = None,
    epochs: int = 3,
    batch: int = 32,
    rate: float = 2e-5,
    max_length: int = 128,
    seed: int = 0,
    prefix: str = DEFAULT_PREFIX,
    continents: str | Sequence[str] = (),
    countries: str | Sequence[str] = (),
    without: str | Sequence[str] | None = None,
    device: str = "auto",
    progress: bool | None = None,
) -> FinetuneResult:
    """Fine-tune language models as classifiers, and count the labels that flip when a country is named.

    Each model is trained on the same labelled texts. The result shows the share of test texts whose label changes after
    "I am from COUNTRY.", next to the C_w score of the language model itself. The method follows HERB (Li et al. 2022,
    Table 5). A stopped run resumes if you call it again with the same `out`.

    Parameters
    ----------
    models : str, Path or list of them
        Language models to fine-tune: Hugging Face ids or folders. Their files are only read.
    texts : str, Path, list, frame, dataset or dict
        Labelled texts to train on, in any form that `audit_names` takes. A tenth is held out for validation.
    label : str
        Column that contains the labels.
    out : str or Path
        Folder for the run: the classifiers, their downstream audits, the regions audits of the models, and the results.
    column : str, default "text"
        Column that contains the texts.
    test : str, Path, list, frame, dataset or dict, optional
        Labelled texts to test on. Default: a fifth of `texts`, which is not trained on.
    epochs : int, default 3
        Passes over the training texts. The epoch with the highest macro-F1 on the validation texts is kept.
    batch : int, default 32
        Texts per training step.
    rate : float, default 2e-5
        Highest learning rate, between 0 and 1; linear warm-up, then linear decay.
    max_length : int, default 128
        Tokens of a text that are read in training, at least 8.
    seed : int, default 0
        Seed for the order of the texts, the new classification head, and the texts that are held out.
    prefix : str, default "I am from {region}."
        Sentence to put before every test text, with "{region}".
    continents : str or list of str, optional
        Keep only these continents, by code ("EU") or name ("Africa"). Default: all six.
    countries : str or list of str, optional
        Keep only these countries, by code ("FR", "FRA") or name. Default: all.
    without : str or list of str, optional
        Countries to leave out one at a time, by code or name. Default: Ireland and Mexico, as in the paper, if they are
        among the countries.
    device : str, default "auto"
        Where to train: "auto" (a GPU if there is one), "cpu", "cuda", "cuda:1", ...
    progress : bool, optional
        Whether to show a progress bar. Default: on terminals and in notebooks.

    Returns
    -------
    FinetuneResult
        `fine_tuned` has the measures of each model, and `to_frame()` a row for each model, set of countries and
        direction.

    Raises
    ------
    InputError
        If an option, a text or a model cannot be used. The message says what to do.

    Examples
    --------
    >>> import geobias
    >>> result = geobias.audit_finetune(
    ...     ["bert-base-cased", "roberta-base"], "reviews.csv", label="stars", out="runs/finetune"
    ... )  # doctest: +SKIP
    >>> result.fine_tuned[0].flips["all"]["any"].value  # per cent  # doctest: +SKIP
    """
    design = design_finetune(collect_options(FinetuneOptions, locals()))
    return FinetuneStudy(design, models, RunOptions(device=device, out=out, progress=progress)).run()


class FinetuneStudy(TrainingStudy[Classifier, list[FinetunedModel], FinetuneResult]):
    """The same training and the same test texts for every model. The classifiers are kept in the folder of the run."""

    audit = "finetune"
    subfolder = MODELS

    def __init__(self, design: FinetuneDesign, models: str | Path | Sequence[str | Path], options: RunOptions) -> None:
        super().__init__(options)
        self.design = design
        several = [models] if isinstance(models, str | Path) else models
        self.models = list(dict.fromkeys(map(str, several)))
        self.folders = [self.path / MODELS / slug(model) for model in self.models]
        if len(set(self.folders)) < len(self.folders):
            raise InputError("Two models have the same last part in their names. Rename the folder of one of them.")

    def settings(self) -> FinetuneSettings:
        return self.design.settings_for(self.models)

    def ask(self, scorers: Sequence[Classifier]) -> list[FinetunedModel]:
        return [self._train(model, folder) for model, folder in zip(self.models, self.folders, strict=True)]

    def measure(self, answers: list[FinetunedModel]) -> FinetuneResult:
        return measure_finetune(self.design, answers)

    def _train(self, name: str, folder: Path) -> FinetunedModel:
        """Train one model, then run the downstream audit of its classifier and the regions audit of itself."""
        design, options = self.design, self.options
        epochs = train_classifier(
            name,
            locate_weights(name),
            design.train,
            design.settings.labels,
            design.settings.training,
            folder,
            evaluate=design.evaluate,
            device=options.device,
            progress=options.progress,
        )
        classifier = HuggingFaceClassifier.from_pretrained(
            f"{name} (fine-tuned)", str(folder / "model"), device=options.device, dtype="float32"
        )
        self.used_parts[classifier.name] = list(classifier.fast_parts)
        downstream = DownstreamStudy(design.downstream, classifier, replace(options, out=folder / "downstream")).run()
        (predictions,), performance = downstream.predictions, downstream.classifiers[0].performance
        assert performance is not None  # the test texts are labelled
        herb, without_score = self._audit_regions(name, folder / "regions")
        return FinetunedModel(
            model=replace(classifier.identity(), name=name),
            herb=herb,
            without_score=without_score,
            performance=performance,
            epochs=[from_json(TrainingEpoch, epoch) for epoch in epochs],
            best_epoch=best_epoch(epochs) + 1,
            flips=measure_flips_by_regions(design, predictions),
            control=measure_flips(predictions.original, predictions.prefixed[:, :1], predictions.labels),
            against_control=measure_flips_against_control(predictions.original, predictions.prefixed),
        )

    def _audit_regions(self, name: str, folder: Path) -> tuple[HerbScore | None, str | None]:
        """The HERB score of a language model; for a model without one the reason."""
        try:
            scorer = load_scorer(name, "aul", device=self.options.device, dtype="float32")
        except InputError as error:
            return None, str(error)
        result = RegionsStudy(self.design.regions, scorer, None, replace(self.options, out=folder)).run()
        region = next(region for region in result.regions if region.pairs)
        assert region.inference is not None  # every region with a pair has it
        return HerbScore(region.name, region.c_w, region.inference.c_w), None
