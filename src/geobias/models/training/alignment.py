"""Align a language model: fine-tune it so that it describes the people of all regions alike.

For each sentence about a region, softmax over the words of their scores is a distribution over descriptions. The loss
is its KL divergence from the mean of the original model's distributions over all regions,

    ALIGN_WEIGHT * KL(mean over regions of p_original(word | region) || p(word | region))

plus, so that the model does not forget, the KL divergence from the original model's predictions of plain text (masked
tokens by BERT's rule for masked models, every token for causal ones). The mean differs between words as before:
aligned regions are described alike, words are not.

The result lies between the original and the trained weights (Wortsman et al. 2022, WiSE-FT): original + strength *
(trained - original). On the bundled model this keeps more knowledge of places for the same gain than other weights of
the loss, which hardly matter: Adam rescales the gradient.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch.nn.functional import kl_div

from geobias.checks import HIGHEST_SEED, LARGEST_BATCH, MOST_EPOCHS, check_number
from geobias.errors import InputError
from geobias.models.language_model import LanguageModel
from geobias.models.load import load_weights
from geobias.models.masked import MaskedLM
from geobias.models.training.epochs import (
    IGNORED,
    Batch,
    Checkpoint,
    mask_randomly,
    pad_batch,
    shuffle_batches,
    split_texts,
    train_epoch,
)
from geobias.models.training.finetuning import build_optimiser, rate_factor
from geobias.models.training.mitigated_folder import MitigatedFolder, digest_lists
from geobias.models.training.word_scores import (
    SentenceTokens,
    logits_at,
    make_batch,
    move_batch,
    refuse_untrainable_model,
    score_words,
    tokenise_sentences,
)
from geobias.texts.templates import check_template, refuse_region_after_description

ALIGN_WEIGHT = 0.3  # of the loss of descriptions against that of plain text
FEWEST_REGIONS, FEWEST_WORDS = 2, 2
REPLAY_PARTS = 2  # of plain text for each sentence about a region
REPLAY = "replay_"  # before the names of a batch's tensors of plain text

PlainPart = tuple[np.ndarray, np.ndarray]  # token ids, and the positions of those that are not special


@dataclass(frozen=True)
class AlignmentSettings:
    """How a language model is aligned."""

    strength: float = 0.5
    """The share of the change of the weights that is kept: above 0, at most 1."""
    epochs: int = 1
    """Passes over all sentences about regions."""
    batch: int = 16
    """Sentences about regions in each step; parts of plain text are twice as many."""
    rate: float = 5e-5
    """The highest learning rate: linear warm-up, then linear decay."""
    seed: int = 0

    def __post_init__(self) -> None:
        check_number("--epochs", self.epochs, 1, MOST_EPOCHS)
        check_number("--batch", self.batch, 1, LARGEST_BATCH)
        check_number("--seed", self.seed, 0, HIGHEST_SEED)
        if not 0 < self.strength <= 1:
            raise InputError(f"The strength of align must be above 0 and at most 1, not {self.strength:g}.")
        if not 0 < self.rate < 1:
            raise InputError(f"--rate must be between 0 and 1, not {self.rate}.")


def align_language_model(
    model: str | Path,
    settings: AlignmentSettings,
    *,
    regions: Sequence[str],
    words: Sequence[str],
    templates: Sequence[str],
    replay_texts: Sequence[str],
    out: Path,
    device: str = "auto",
    progress: bool | None = None,
) -> Path:
    """Fine-tune a masked or causal language model, and save it as an ordinary model folder with a card.

    Audit other regions, words and templates than those given here (`split_for_alignment`). The replay texts are plain
    texts like those that the model was trained on; texts that mention places keep what it knows about them. A training
    that was stopped resumes after its last finished epoch.
    """
    for template in templates:
        check_template(template)
    _check_sizes(regions, words, templates, replay_texts)
    lm = load_weights(model, device=device, dtype="float32")  # small steps vanish in shorter numbers
    refuse_untrainable_model(lm)
    if not isinstance(lm, MaskedLM):
        for template in templates:
            refuse_region_after_description(template)
    record = {"method": "align", **asdict(settings), "model": lm.fingerprint}
    record["data"] = digest_lists(regions, words, templates, replay_texts)
    folder = MitigatedFolder(out, record)
    if folder.is_finished:
        return folder.path
    checkpoint = Checkpoint(folder.training, record)
    sentences = tokenise_sentences(lm, templates, regions, words)
    plain_parts = _split_plain_texts(lm, replay_texts)
    folder.prepare()
    _train(lm, checkpoint, settings, sentences, len(templates), plain_parts, progress)
    facts = {"method": "align", "model": lm.name, **asdict(settings)}
    facts |= {"regions": len(regions), "words": len(words), "templates": list(templates)}
    facts |= {"replay_texts": len(replay_texts)}
    facts |= {f"{part}_by_epoch": [epoch[part] for epoch in checkpoint.epochs] for part in ("align", "replay")}
    folder.publish(lm.model, lm.tokenizer, lm.name, lm.name, facts, lm.kind)
    return folder.path


def _train(
    lm: LanguageModel,
    checkpoint: Checkpoint,
    settings: AlignmentSettings,
    sentences: Sequence[SentenceTokens],
    template_count: int,
    plain_parts: Sequence[PlainPart],
    progress: bool | None,
) -> None:
    """Train, or resume after the last finished epoch."""
    tokenizer, seed = lm.tokenizer, settings.seed
    objective = AlignmentObjective(lm.model)
    optimiser = build_optimiser(lm.model, settings.rate)
    groups = [sentences[start : start + settings.batch] for start in range(0, len(sentences), settings.batch)]
    original_scores = torch.cat([objective.score_original(make_batch(tokenizer, group)) for group in groups]).cpu()
    region_count = len(sentences) // template_count
    mean_p = original_scores.softmax(-1).reshape(template_count, region_count, -1).mean(1)
    checkpoint.restore(lm.model, optimiser)
    lm.trained_on = True
    steps = settings.epochs * len(groups)
    for epoch in range(len(checkpoint.epochs) + 1, settings.epochs + 1):
        rng = np.random.default_rng([seed, epoch, 1])  # a separate generator for the order of the batches
        batches = []
        for positions in shuffle_batches(len(sentences), settings.batch, seed=seed, epoch=epoch):
            replay_ids = rng.integers(len(plain_parts), size=REPLAY_PARTS * settings.batch)
            replay = _replay_batch(lm, [plain_parts[k] for k in replay_ids], rng)
            aligned = make_batch(tokenizer, [sentences[k] for k in positions])
            batches.append(aligned | {"mean_p": mean_p[positions // region_count]} | replay)
        loss = train_epoch(
            objective,
            batches,
            optimiser,
            epoch=epoch,
            seed=seed,
            rate=lambda step: rate_factor(step, steps),
            label=lm.name,
            progress=progress,
        )
        checkpoint.save(lm.model, optimiser, {"loss": loss, **objective.read_means()})
    objective.keep_share(settings.strength)


class AlignmentObjective(torch.nn.Module):
    """The loss of a batch; the frozen original model gives its targets."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model
        self._original = [copy.deepcopy(model).eval().requires_grad_(False)]  # in a list: not a part of this module
        self._losses: list[tuple[float, float]] = []

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    def train(self, mode: bool = True) -> AlignmentObjective:
        """Stay without dropout: it would blur the distributions that are compared."""
        return super().train(False)

    def forward(self, **batch: torch.Tensor) -> Any:
        """The loss of a batch of `make_batch` and of plain text."""
        p, scores = batch["mean_p"], score_words(self.model, batch).log_softmax(-1)
        align = kl_div(scores, p, reduction="batchmean")
        plain = {name.removeprefix(REPLAY): each for name, each in batch.items() if name.startswith(REPLAY)}
        replay = self._replay_loss(plain)
        self._losses.append((float(align.detach()), float(replay.detach())))
        return SimpleNamespace(loss=ALIGN_WEIGHT * align + replay)

    @torch.no_grad()
    def score_original(self, batch: Batch) -> torch.Tensor:
        """The original model's scores: sentences x words."""
        return score_words(self._original[0], move_batch(batch, self.device))

    def _replay_loss(self, batch: Batch) -> torch.Tensor:
        """KL(original || model) at the tokens of plain text that are predicted."""
        rows, positions = torch.nonzero(batch.pop("labels") != IGNORED, as_tuple=True)
        with torch.no_grad():
            expected = logits_at(self._original[0], batch, rows, positions).log_softmax(-1)
        actual = logits_at(self.model, batch, rows, positions).log_softmax(-1)
        return kl_div(actual, expected, reduction="batchmean", log_target=True)

    @torch.no_grad()
    def keep_share(self, share: float) -> None:
        """Move the weights back towards the original ones."""
        for parameter, original in zip(self.model.parameters(), self._original[0].parameters(), strict=True):
            parameter.copy_(original + share * (parameter - original))

    def read_means(self) -> dict[str, float]:
        """The mean of both parts of the loss since the last call."""
        align, replay = np.mean(self._losses, axis=0)
        self._losses.clear()
        return {"align": float(align), "replay": float(replay)}


def _split_plain_texts(lm: LanguageModel, texts: Sequence[str]) -> list[PlainPart]:
    """Plain texts in parts as long as the model reads: token ids, and the positions of those that can be predicted."""
    parts = [(ids, positions) for ids, positions in split_texts(lm, texts) if len(ids) > 1]
    if not parts:
        raise InputError(f"{lm.name} has no tokens for the replay texts. Use other texts.")
    return parts


def _replay_batch(lm: LanguageModel, parts: Sequence[PlainPart], rng: np.random.Generator) -> Batch:
    """Parts of plain text; labels say which tokens are predicted: masked ones, or every token but the last."""
    if isinstance(lm, MaskedLM):
        ids, labels = zip(
            *(mask_randomly(lm.tokenizer, tokens, positions, rng) for tokens, positions in parts), strict=True
        )
    else:
        ids = tuple(part[0] for part in parts)
        labels = tuple(np.append(tokens[1:], IGNORED) for tokens in ids)
    return {REPLAY + name: tensor for name, tensor in pad_batch(lm.tokenizer, ids, labels).items()}


def _check_sizes(
    regions: Sequence[str], words: Sequence[str], templates: Sequence[str], replay_texts: Sequence[str]
) -> None:
    if len(set(regions)) < FEWEST_REGIONS or len(set(words)) < FEWEST_WORDS:
        raise InputError(f"Alignment needs at least {FEWEST_REGIONS} regions and {FEWEST_WORDS} words to train on.")
    if not templates:
        raise InputError("Alignment needs a template to train on.")
    if not any(text.strip() for text in replay_texts):
        raise InputError("Alignment needs plain texts for the replay, or the model forgets. Pass some hundred texts.")
