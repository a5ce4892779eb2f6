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
import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

import numpy as np
import torch
from scipy.sparse.csgraph import connected_components
from torch.nn.functional import kl_div

from geobias.models.language_model import LanguageModel
from geobias.models.load import load_weights
from geobias.models.masked import MaskedLM
from geobias.models.training.epochs import (
    IGNORED,
    Batch,
    Checkpoint,
    build_optimiser,
    mask_randomly,
    pad_batch,
    refuse_untrainable,
    shuffle_batches,
    split_texts,
    train_epoch,
)
from geobias.models.training.mitigation import MitigatedFolder, digest_data
from geobias.models.training.word_scores import (
    SentenceTokens,
    logits_at,
    make_batch,
    move_batch,
    score_words,
    tokenise_sentences,
)
from geobias.texts import DEFAULT_TEMPLATE
from geobias.texts.templates import refuse_region_after_description
from geobias.world.regions import Region
from geobias.world.words import Word

ALIGN_WEIGHT = 0.3  # of the loss of descriptions against that of plain text
STEM_LETTERS = 5  # words that begin alike ("inquiring", "inquisitive") mostly share tokens and meaning
REPLAY_PARTS = 2  # of plain text for each sentence about a region
REPLAY = "replay_"  # before the names of a batch's tensors of plain text

Item = TypeVar("Item")
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
    lm = load_weights(model, device=device, dtype="float32")  # small steps vanish in shorter numbers
    refuse_untrainable(lm)
    if not isinstance(lm, MaskedLM):
        for template in templates:
            refuse_region_after_description(template)
    record = {"method": "align", **asdict(settings), "model": lm.fingerprint}
    record["data"] = digest_data(*map(list, (regions, words, templates, replay_texts)))[:16]
    folder = MitigatedFolder(out, record)
    if folder.is_finished:
        return folder.path
    checkpoint = Checkpoint(folder.training, record)
    sentences = tokenise_sentences(lm, templates, regions, words)
    plain_parts = [part for part in split_texts(lm, replay_texts) if len(part[0]) > 1]
    folder.prepare()
    _train(lm, checkpoint, settings, sentences, len(templates), plain_parts, progress)
    facts = {"method": "align", "model": lm.name, **asdict(settings)}
    facts |= {"regions": len(regions), "words": len(words), "templates": list(templates)}
    facts |= {"replay_texts": len(replay_texts)}
    facts |= {f"{part}_by_epoch": [epoch[part] for epoch in checkpoint.epochs] for part in ("align", "replay")}
    folder.publish(lm.model, lm.tokenizer, facts, lm.kind)
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
            epochs=settings.epochs,
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


@dataclass(frozen=True)
class AlignmentPart:
    """Regions, words and templates of one side."""

    regions: tuple[Region, ...] = field(repr=False)
    words: tuple[Word, ...] = field(repr=False)
    templates: tuple[str, ...] = field(repr=False)


@dataclass(frozen=True)
class AlignmentSplit:
    """What is trained on, and what is audited."""

    train: AlignmentPart
    held_out: AlignmentPart


def split_for_alignment(
    regions: Sequence[Region], words: Sequence[Word], templates: Sequence[str], *, seed: int = 0
) -> AlignmentSplit:
    """Split regions, words and templates at random into halves to train on and to audit.

    Regions are balanced over their parents (continents), words over their topics. What could leak stays together:
    regions whose name is part of another's (Guinea, Papua New Guinea), and words that are equal, begin alike or are
    each other's substitute. The audit's own template is always held out.
    """
    rng = np.random.default_rng(seed)
    train_regions, other_regions = _halve(regions, _share_name, lambda region: region.parent, rng)
    train_words, other_words = _halve(words, _share_stem, lambda word: word.topic, rng)
    free = [template for template in templates if template != DEFAULT_TEMPLATE]
    to_train = {free[k] for k in rng.permutation(len(free))[: max(1, len(templates) // 2)]}
    train_templates = tuple(template for template in free if template in to_train)
    other_templates = (DEFAULT_TEMPLATE, *(template for template in free if template not in to_train))
    return AlignmentSplit(
        AlignmentPart(train_regions, train_words, train_templates),
        AlignmentPart(other_regions, other_words, other_templates),
    )


def _halve(
    items: Sequence[Item],
    depend: Callable[[Item, Item], bool],
    stratum: Callable[[Item], Hashable],
    rng: np.random.Generator,
) -> tuple[tuple[Item, ...], tuple[Item, ...]]:
    """Two halves, balanced over strata; items that depend on each other are in the same."""
    count, group_of = connected_components(np.array([[depend(first, second) for second in items] for first in items]))
    groups = [np.flatnonzero(group_of == group).tolist() for group in range(count)]
    sides: tuple[list[int], list[int]] = ([], [])
    for number in rng.permutation(len(groups)):
        members = groups[number]
        kind = stratum(items[members[0]])
        sizes = [(sum(stratum(items[k]) == kind for k in side), len(side)) for side in sides]
        sides[0 if sizes[0] <= sizes[1] else 1].extend(members)
    first_half, second_half = (tuple(items[k] for k in sorted(side)) for side in sides)
    return first_half, second_half


def _share_name(first: Region, second: Region) -> bool:
    shorter, longer = sorted((first.name, second.name), key=len)
    return re.search(rf"\b{re.escape(shorter)}\b", longer) is not None


def _share_stem(first: Word, second: Word) -> bool:
    pairs = [(first.word, second.word), (first.substitute, second.word), (first.word, second.substitute)]
    lower_pairs = [(one.lower(), other.lower()) for one, other in pairs if one and other]
    return any(
        one == other or (one[:STEM_LETTERS] == other[:STEM_LETTERS] and min(len(one), len(other)) >= STEM_LETTERS)
        for one, other in lower_pairs
    )
