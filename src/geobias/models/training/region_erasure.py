"""Erase the region from a language model's last hidden states (LEACE), where descriptions are predicted.

The eraser is fitted to the states at the masked descriptions of sentences about regions, and folded into the linear
layer that reads the last hidden states (BERT's `transform.dense`). What this layer computes has no linear trace of the
region any more. The activation behind it is not linear, so the predictions can still depend on the region: audit the
result.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from geobias.errors import InputError
from geobias.models.language.language_model import LanguageModel
from geobias.models.load import load_weights
from geobias.models.scorer import PROBE
from geobias.models.training.erasure import fit_leace, fold_eraser
from geobias.models.training.mitigated_folder import MitigatedFolder, digest_lists
from geobias.models.training.word_scores import (
    SentenceTokens,
    make_batch,
    move_batch,
    refuse_untrainable_model,
    tokenise_sentences,
)
from geobias.progress import progress_bar
from geobias.texts.templates import check_template

BATCH = 32  # sentences at a time


def erase_regions(
    model: str | Path,
    *,
    regions: Sequence[str],
    groups: Sequence[str],
    words: Sequence[str],
    templates: Sequence[str],
    out: Path,
    device: str = "auto",
    progress: bool | None = None,
) -> Path:
    """Erase the group of regions from the hidden states that a language model predicts descriptions from.

    `groups` has the group of each region, such as its continent, or the regions themselves to erase each of them. Audit
    other regions (`split_for_alignment`). The result is an ordinary model folder. Models without a linear layer with a
    bias behind their last hidden states (GPT-2 and most causal models) are refused.
    """
    names = sorted(set(groups))
    if len(groups) != len(regions) or len(names) < 2:
        raise InputError("Erasing regions needs a group for each region, and at least two groups.")
    for template in templates:
        check_template(template)
    lm = load_weights(model, device=device, dtype="float32")
    refuse_untrainable_model(lm)
    data = digest_lists(regions, groups, words, templates)
    folder = MitigatedFolder(out, {"method": "erase", "model": lm.fingerprint, "data": data})
    if folder.is_finished:
        return folder.path
    layer = find_state_layer(lm)
    sentences = tokenise_sentences(lm, templates, regions, words)
    states, owners = _read_states(lm, layer, sentences, progress)
    classes = np.array([names.index(group) for group in groups])[owners % len(regions)]
    eraser = fit_leace(states, classes)
    if not eraser.leaves_any:
        raise InputError(
            f"Erasing {len(names)} groups would leave nothing of the {eraser.rank} directions in which the hidden "
            f"states of {lm.name} vary. Use fewer groups, such as continents, or more templates."
        )
    facts = {
        "method": "erase",
        "model": lm.name,
        "regions": len(regions),
        "groups": len(names),
        "templates": list(templates),
        **eraser.describe(states),
    }
    fold_eraser(eraser, layer)
    folder.prepare()
    folder.publish(lm.model, lm.tokenizer, lm.name, lm.name, facts, lm.kind)
    return folder.path


@torch.no_grad()
def find_state_layer(lm: LanguageModel) -> torch.nn.Linear:
    """The linear layer with a bias that reads the model's last hidden states, and shares its weights with no other."""
    inputs: list[tuple[torch.nn.Linear, torch.Tensor]] = []
    layers = [module for module in lm.model.modules() if isinstance(module, torch.nn.Linear)]
    handles = [
        layer.register_forward_pre_hook(lambda module, arguments: inputs.append((module, arguments[0])))
        for layer in layers
    ]
    ids = torch.tensor([lm.tokenizer(PROBE)["input_ids"]], device=lm.device)
    try:
        states = lm.model(input_ids=ids, output_hidden_states=True).hidden_states[-1]
    finally:
        for handle in handles:
            handle.remove()
    embeddings = lm.model.get_input_embeddings().weight
    for layer, read in inputs:
        is_own = layer.weight is not embeddings and layer.bias is not None
        if is_own and read.shape == states.shape and torch.equal(read, states):
            return layer
    raise InputError(
        f"{lm.name} ({lm.architecture}) has no linear layer with a bias behind its last hidden states, so it cannot be "
        "erased. Use align."
    )


@torch.no_grad()
def _read_states(
    lm: LanguageModel, layer: torch.nn.Linear, sentences: Sequence[SentenceTokens], progress: bool | None
) -> tuple[np.ndarray, np.ndarray]:
    """The states at all places where a token of a word is predicted, and the sentence of each."""
    states, owners = [], []
    inputs: list[torch.Tensor] = []
    handle = layer.register_forward_pre_hook(lambda module, arguments: inputs.append(arguments[0]))
    try:
        with progress_bar(lm.name, len(sentences), progress) as advance:
            for start in range(0, len(sentences), BATCH):
                part = sentences[start : start + BATCH]
                batch: Any = move_batch(make_batch(lm.tokenizer, part), lm.device)
                lm.model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"])
                places = torch.stack([batch["sentence_ids"], batch["rows"], batch["positions"]])
                sentence_ids, rows, positions = torch.unique(places, dim=1)
                states.append(inputs.pop()[rows, positions].double().cpu().numpy())
                owners.append(sentence_ids.cpu().numpy() + start)
                advance(len(part))
    finally:
        handle.remove()
    return np.concatenate(states), np.concatenate(owners)
