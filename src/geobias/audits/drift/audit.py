"""`geobias.audit_drift`: the audit as a Python function, and how the model is trained and scored."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from geobias.audits.drift.corpus import build_text_corpus, build_toxic_corpus
from geobias.audits.drift.design import DriftDesign, DriftOptions, design_drift
from geobias.audits.drift.measure import DriftAnswers, measure_drift, measure_scores
from geobias.audits.drift.result import DriftResult, DriftSettings, EpochScores
from geobias.audits.pages import read_run
from geobias.audits.regions.audit import ask_regions
from geobias.audits.study import RunOptions, TrainingStudy, collect_options
from geobias.errors import InputError
from geobias.models.language.language_model import LanguageScorer
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
    """Measure how the regional bias of a masked language model changes while it is trained further.

    The model is trained on the sentences about regions that it finds most likely itself, or on your texts. After every
    epoch C_w is measured again. The method follows HERB (Li et al. 2022, Figure 5). A stopped run resumes if you call
    it again with the same `out`.

    Parameters
    ----------
    model : str or Path, optional
        Masked language model: a Hugging Face id or a folder. Its files are only read. Default: "embedded/lm".
    out : str or Path
        Folder for the run: checkpoints while it lasts, then the results and the trained model.
    texts : str, Path, list, frame, dataset or dict, optional
        Texts to train on, in any form that `audit_names` takes. Default: the most likely sentences of the model itself.
    column : str, default "text"
        Column that contains the texts.
    levels : str or list of str, optional
        Levels of the regions whose sentences to train on: "continent", "country" or "city". Not with `texts`. Default:
        "country".
    top : int, optional
        Number of the most likely sentences for each word. Not with `texts`. Default: 20.
    epochs : int, default 20
        Passes over the sentences.
    rate : float, default 5e-5
        Learning rate of SGD, constant.
    batch : int, default 32
        Sentences per training step.
    seed : int, default 0
        Seed for the order of the sentences, dropout and masking.
    score : {"aul", "aula", "pll", "pll-word", "conditional"}, default "aul"
        Score of a sentence.
    cities : int or str, default 0
        Number of the largest cities of each country to include; 0 for none, "all" for all.
    continents : str or list of str, optional
        Keep only these continents, by code ("EU") or name ("Africa"). Default: all six.
    countries : str or list of str, optional
        Keep only these countries, by code ("FR", "FRA") or name. Default: all.
    words : str, Path or list of str, optional
        Your own words: a file with one word per line, a CSV file with the columns word and topic, or a list. Default:
        the 112 words of HERB.
    templates : str or list of str, default "People in {region} are {description}."
        Sentences with "{region}" and "{description}". With several, scores are the mean over them.
    device : str, default "auto"
        Where to train: "auto" (a GPU if there is one), "cpu", "cuda", "cuda:1", ...
    progress : bool, optional
        Whether to show a progress bar. Default: on terminals and in notebooks.

    Returns
    -------
    DriftResult
        `epochs` has the scores after every epoch, and `to_frame()` the change of each region since epoch 0.

    Raises
    ------
    InputError
        If an option, a text or the model cannot be used, or if the training diverges. The message says what to do.

    Examples
    --------
    >>> import geobias
    >>> result = geobias.audit_drift("bert-base-cased", out="runs/drift", epochs=5)  # doctest: +SKIP
    >>> result.plot()  # doctest: +SKIP
    """
    design = design_drift(collect_options(DriftOptions, locals()))
    # Small steps vanish in the rounding of shorter numbers than float32.
    return DriftStudy(design, model, RunOptions(device=device, dtype="float32", out=out, progress=progress)).run()


class DriftStudy(TrainingStudy[LanguageScorer, DriftAnswers, DriftResult]):
    """A model that is trained, and scored on regions before and after every epoch."""

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
        return [lm.scorer(self.design.settings.score)]

    def ask(self, scorers: Sequence[LanguageScorer]) -> DriftAnswers:
        """Train the model, and ask it after every epoch; checkpoints allow a stopped run to resume."""
        (scorer,), lm = scorers, scorers[0].lm
        assert isinstance(lm, MaskedLM)
        design, settings, progress = self.design, self.design.settings, self.options.progress
        seed = settings.seed
        checkpoint = Checkpoint(self.path / TRAINING, to_json(self.settings()) | {"fingerprint": scorer.fingerprint})
        before = ask_regions(design.regions, scorer, progress=progress)
        if design.texts is None:
            corpus = build_toxic_corpus(design.regions, before, lm, levels=design.levels, top=design.top)
        else:
            corpus = build_text_corpus(design.texts, lm)
        # Plain SGD: no momentum, no decay, a constant rate.
        optimiser = torch.optim.SGD(lm.model.parameters(), lr=settings.rate)
        checkpoint.restore(lm.model, optimiser)
        lm.trained_on = True
        epochs_before, sentences_scored, after = len(checkpoint.epochs), before.work["sentences_scored"], None
        for epoch in range(epochs_before + 1, settings.epochs + 1):
            batches = corpus.batches(epoch, size=settings.batch, seed=seed)
            loss = train_epoch(
                lm.model, batches, optimiser, epoch=epoch, seed=seed, clip=None, label=lm.name, progress=progress
            )
            try:
                after = ask_regions(design.regions, scorer, progress=progress)
            except InputError as error:  # it could answer before
                raise InputError(
                    f"After epoch {epoch} the scores of {lm.name} are not finite. Lower --rate."
                ) from error
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
            work={"sentences_scored": sentences_scored, "epochs_trained": settings.epochs - epochs_before},
        )

    def measure(self, answers: DriftAnswers) -> DriftResult:
        return measure_drift(self.design, answers)
