"""`geobias.audit_finetune`: the audit as a Python function, and how the models are trained and asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from geobias.audits.downstream.audit import DownstreamStudy
from geobias.audits.finetune.design import FinetuneDesign, design_finetune
from geobias.audits.finetune.measure import measure_finetune
from geobias.audits.finetune.result import FinetuneResult, FinetuneSettings, TrainedModel, TrainingEpoch
from geobias.audits.regions.audit import RegionsStudy
from geobias.audits.regions.result import RegionsResult
from geobias.audits.study import RunOptions, TrainingStudy
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

HERB_SCORE = "aul"


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
    """Fine-tune language models as classifiers, and count the labels that flip by country (HERB, Table 5).

    `models` is a Hugging Face id, a folder, or a list of them; their own files are only read. `texts` and `test` are
    whatever `audit_names` takes, with a column `label`; without `test` a fifth of the texts is held out for it.
    `without` names countries that are left out, one at a time. `out` holds the classifiers, their downstream audits and
    the regions audits of the models; called again after a kill it resumes. The options are those of `geobias finetune`.
    """
    design = design_finetune(
        texts=texts,
        label=label,
        column=column,
        test=test,
        epochs=epochs,
        batch=batch,
        rate=rate,
        max_length=max_length,
        seed=seed,
        prefix=prefix,
        continents=continents,
        countries=countries,
        without=without,
    )
    return FinetuneStudy(design, models, RunOptions(device=device, out=out, progress=progress)).run()


class FinetuneStudy(TrainingStudy[Classifier, list[TrainedModel], FinetuneResult]):
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
            raise InputError("Two of the models would share a folder: give them names that differ in their last parts.")

    def settings(self) -> FinetuneSettings:
        return self.design.settings_for(self.models)

    def load(self, device: str, dtype: str) -> list[Classifier]:
        """Nothing yet: each model is trained when its turn comes, since all of them may not fit into memory."""
        return []

    def ask(self, scorers: Sequence[Classifier]) -> list[TrainedModel]:
        return [self._train(model, folder) for model, folder in zip(self.models, self.folders, strict=True)]

    def measure(self, answers: list[TrainedModel]) -> FinetuneResult:
        return measure_finetune(self.design, answers)

    def _train(self, name: str, folder: Path) -> TrainedModel:
        """Train one model, then run the downstream audit of its classifier and the regions audit of itself."""
        design, options = self.design, self.options
        epochs = train_classifier(
            name,
            locate_weights(name),
            design.train,
            design.labels,
            design.hyperparameters,
            folder,
            evaluate=design.evaluate,
            device=options.device,
            progress=options.progress,
        )
        classifier = HuggingFaceClassifier.from_pretrained(
            f"{name} (fine-tuned)", str(folder / "model"), device=options.device, dtype="float32"
        )
        downstream = DownstreamStudy(design.downstream, classifier, replace(options, out=folder / "downstream")).run()
        regions, without_score = self._audit_regions(name, folder / "regions")
        return TrainedModel(
            model=replace(classifier.identity(), name=name),
            epochs=[from_json(TrainingEpoch, epoch) for epoch in epochs],
            best_epoch=best_epoch(epochs) + 1,
            downstream=downstream,
            regions=regions,
            without_score=without_score,
        )

    def _audit_regions(self, name: str, folder: Path) -> tuple[RegionsResult | None, str | None]:
        """The HERB score of a language model; for a model without one the reason."""
        try:
            scorer = load_scorer(name, HERB_SCORE, device=self.options.device, dtype="float32")
        except InputError as error:
            return None, str(error)
        return RegionsStudy(self.design.regions, scorer, None, replace(self.options, out=folder)).run(), None
