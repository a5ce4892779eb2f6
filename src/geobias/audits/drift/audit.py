"""`geobias.audit_drift`: the audit as a Python function, and how the model is trained and asked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from geobias.audits.drift.corpus import build_corpus
from geobias.audits.drift.design import DriftDesign, design_drift
from geobias.audits.drift.measure import DriftAnswers, measure_drift, measure_scores
from geobias.audits.drift.result import DriftResult, DriftSettings, EpochScores
from geobias.audits.pages import read_run
from geobias.audits.regions.audit import ask_regions
from geobias.audits.study import RunOptions, TrainingStudy
from geobias.errors import InputError
from geobias.models.language.language_scorer import LanguageScorer
from geobias.models.language.masked import MaskedLM
from geobias.models.load import load_masked
from geobias.models.scorer import EMBEDDED_LM
from geobias.models.training.epochs import Checkpoint, train_epoch
from geobias.models.training.masking import refuse_untrainable
from geobias.report.results import from_json, to_json
from geobias.report.run_folder import RUN, TRAINING, RunFolder
from geobias.texts.defaults import DEFAULT_TEMPLATE
from geobias.world.words import Word


def audit_drift(
    model: str | Path | None = None,
    *,
    out: str | Path,
    texts: Any = None,
    column: str = "text",
    levels: str | Sequence[str] | None = None,
    top: int | None = None,
    epochs: int = 20,
    rate: float = 5e-5,
    batch: int = 32,
    seed: int = 0,
    score: str = "aul",
    cities: int | str = 0,
    continents: str | Sequence[str] = (),
    countries: str | Sequence[str] = (),
    words: str | Path | Sequence[str | Word] | None = None,
    templates: str | Sequence[str] = DEFAULT_TEMPLATE,
    device: str = "auto",
    progress: bool | None = None,
) -> DriftResult:
    """How a masked language model's regional bias moves while it is trained further (HERB, Figure 5).

    `texts` is whatever `audit_names` takes; without any the model reads the sentences that it finds likeliest itself.
    The model's own folder is only read. `out` holds the training while it lasts, then the run and the trained model;
    called again after a kill it resumes. The options are those of `geobias drift`.
    """
    design = design_drift(
        texts=texts,
        column=column,
        levels=levels,
        top=top,
        epochs=epochs,
        rate=rate,
        batch=batch,
        seed=seed,
        score=score,
        cities=cities,
        continents=continents,
        countries=countries,
        words=words,
        templates=templates,
    )
    # Small steps vanish in the rounding of shorter numbers than float32.
    return DriftStudy(design, model, RunOptions(device=device, dtype="float32", out=out, progress=progress)).run()


class DriftStudy(TrainingStudy[LanguageScorer, DriftAnswers, DriftResult]):
    """A model that is trained, and asked about regions before and after every epoch."""

    audit = "drift"
    subfolder = TRAINING

    def __init__(self, design: DriftDesign, model: str | Path | None, options: RunOptions) -> None:
        super().__init__(options)
        self.design = design
        self.model = str(model or EMBEDDED_LM)

    def run(self) -> DriftResult:
        """Train and measure; a run that is finished already is read back instead."""
        folder = RunFolder(self.path, to_json(self.settings()))
        folder.check()
        if not (folder.path / RUN).is_file():
            return super().run()
        (scorer,) = self.load(self.options.device, self.options.dtype)
        folder.check([scorer.fingerprint])
        folder.tidy()
        result: DriftResult = read_run(folder.path, [self.audit]).result
        return result

    def settings(self) -> DriftSettings:
        return self.design.settings_for(self.model)

    def load(self, device: str, dtype: str) -> list[LanguageScorer]:
        lm = load_masked(self.model, device=device, dtype=dtype)
        refuse_untrainable(lm)
        return [lm.scorer(self.design.score)]

    def ask(self, scorers: Sequence[LanguageScorer]) -> DriftAnswers:
        """Train the model, and ask it after every epoch; checkpoints allow a stopped run to resume."""
        (scorer,), lm = scorers, scorers[0].lm
        assert isinstance(lm, MaskedLM)
        design, progress = self.design, self.options.progress
        checkpoint = Checkpoint(self.path / TRAINING, to_json(self.settings()) | {"fingerprint": scorer.fingerprint})
        before = ask_regions(design.regions, scorer, progress=progress)
        corpus = build_corpus(design, before, lm)
        # Plain SGD: no momentum, no decay, a constant rate.
        optimiser = torch.optim.SGD(lm.model.parameters(), lr=design.rate)
        checkpoint.restore(lm.model, optimiser)
        lm.trained_on = True
        epochs_before, sentences_scored, after = len(checkpoint.epochs), before.work["sentences_scored"], None
        for epoch in range(epochs_before + 1, design.epochs + 1):
            batches = corpus.batches(epoch, size=design.batch, seed=design.seed)
            loss = train_epoch(
                lm.model, batches, optimiser, epoch=epoch, seed=design.seed, clip=None, label=lm.name, progress=progress
            )
            try:
                after = ask_regions(design.regions, scorer, progress=progress)
            except InputError as error:  # it could answer before
                raise InputError(f"After epoch {epoch} {lm.name} gives no numbers any more: lower --rate.") from error
            sentences_scored += after.work["sentences_scored"]
            scores = EpochScores(epoch, loss, measure_scores(design, after))
            checkpoint.save(lm.model, optimiser, to_json(scores))
        if after is None:  # stopped after the last epoch, before the run was saved
            after = ask_regions(design.regions, scorer, progress=progress)
        return DriftAnswers(
            before=before,
            after=after,
            epochs=[from_json(EpochScores, epoch) for epoch in checkpoint.epochs],
            corpus=corpus,
            trained_model=lm,
            work={"sentences_scored": sentences_scored, "epochs_trained": design.epochs - epochs_before},
        )

    def measure(self, answers: DriftAnswers) -> DriftResult:
        return measure_drift(self.design, answers)
