"""Erased regions leave no linear trace in what the layer computes, and the result is an ordinary model folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import geobias
from geobias.errors import InputError
from geobias.models.load import load_weights
from geobias.models.training.region_erasure import erase_regions, find_state_layer
from geobias.models.training.word_scores import make_batch, tokenise_sentences

REGIONS = ["France", "Nigeria", "Papua New Guinea", "Curaçao", "Åland", "São Tomé"]
GROUPS = ["EU", "AF", "OC", "NA", "EU", "AF"]
OTHERS = ["Poland", "Ghana", "Fiji", "Mexico", "Italy", "Togo"]  # of the same groups, in this order
WORDS = ["kind", "lazy", "loyal", "honest"]
TEMPLATES = [
    "People in {region} are {description}.",
    "The people of {region} are {description}.",
    "{region}: {description}",
]


def erase(model: Path, out: Path, groups: list[str] = GROUPS) -> Path:
    return erase_regions(
        model,
        regions=REGIONS,
        groups=groups,
        words=WORDS,
        templates=TEMPLATES,
        out=out,
        device="cpu",
        progress=False,
    )


def group_means(folder: Path, regions: list[str] = REGIONS) -> np.ndarray:
    """What the layer behind the hidden states computes at the masks: the mean of each group."""
    lm = load_weights(folder, device="cpu", dtype="float32")
    outputs: list[torch.Tensor] = []
    find_state_layer(lm).register_forward_hook(lambda module, inputs, output: outputs.append(output))
    batch = make_batch(lm.tokenizer, tokenise_sentences(lm, TEMPLATES, regions, WORDS))
    with torch.no_grad():
        lm.model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"])
    places = torch.unique(torch.stack([batch["sentence_ids"], batch["rows"], batch["positions"]]), dim=1)
    states = outputs[0][places[1], places[2]].double().numpy()
    groups = np.array(GROUPS)[places[0].numpy() % len(regions)]
    return np.stack([states[groups == group].mean(axis=0) for group in sorted(set(GROUPS))])


@pytest.mark.parametrize("kind", ["bert", "roberta"])
def test_no_linear_trace_of_the_groups_is_left(small_models: dict[str, Path], tmp_path: Path, kind: str) -> None:
    folder = erase(small_models[kind], tmp_path / "out")
    before, after = (group_means(model).std(axis=0).max() for model in (small_models[kind], folder))
    assert after < 1e-4 * before
    scorer = geobias.load(folder, device="cpu").scorer("conditional")
    assert np.isfinite(scorer.score(["People in France are \x02kind\x03."])[0, 0])
    assert erase(small_models[kind], folder) == folder  # finished: nothing is done again


def test_a_trace_of_other_regions_is_left(small_models: dict[str, Path], tmp_path: Path) -> None:
    """The reason for which erased models are audited with regions that the eraser was not fitted to."""
    folder = erase(small_models["bert"], tmp_path / "out")
    before, after = (group_means(model, OTHERS).std(axis=0).max() for model in (small_models["bert"], folder))
    assert after > 0.05 * before


def test_what_cannot_be_erased_is_refused(small_models: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no linear layer with a bias"):
        erase(small_models["gpt2"], tmp_path / "gpt2")
    with pytest.raises(InputError, match="at least two groups"):
        erase(small_models["bert"], tmp_path / "bert", groups=["EU"] * len(REGIONS))
    assert not any(tmp_path.iterdir())
