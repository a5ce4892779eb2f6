"""Fine-tuning: resumed or not the same weights, the best epoch kept, the starting model untouched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file

from geobias.errors import InputError
from geobias.models.huggingface import HuggingFaceClassifier
from geobias.models.training import finetuning
from geobias.models.training.epochs import pad_batch, rate_factor, shuffle_batches, train_epoch
from geobias.models.training.finetuning import Hyperparameters, LabelledTexts, best_epoch, train_classifier

TRAIN = LabelledTexts(
    [f"a {word} day {k}" for k in range(6) for word in ("good", "bad")], np.tile([0, 1], 6), digest="these texts"
)
HYPERPARAMETERS = Hyperparameters(epochs=2, batch=4, rate=1e-3)


def evaluate(classifier: HuggingFaceClassifier) -> dict[str, float]:
    p = classifier.score(list(TRAIN.texts))[:, :2]
    right = float((p.argmax(axis=1) == TRAIN.classes).mean())
    return {"accuracy": right, "macro_f1": right}


def train(
    model: Path, folder: Path, hyperparameters: Hyperparameters = HYPERPARAMETERS, texts: LabelledTexts = TRAIN
) -> list[dict[str, Any]]:
    return train_classifier(
        str(model), str(model), texts, ["yes", "no"], hyperparameters, folder, evaluate=evaluate, device="cpu"
    )


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "model" / "model.safetensors")


def test_stopped_after_an_epoch_it_goes_on_and_gives_the_same(
    small_models: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = {path.name: path.read_bytes() for path in small_models["bert"].iterdir()}
    whole = train(small_models["bert"], tmp_path / "whole")
    real = train_epoch

    def stopped(*arguments: Any, epoch: int, **options: Any) -> float:
        if epoch == 2:
            raise KeyboardInterrupt
        return real(*arguments, epoch=epoch, **options)

    monkeypatch.setattr(finetuning, "train_epoch", stopped)
    with pytest.raises(KeyboardInterrupt):
        train(small_models["bert"], tmp_path / "parts")
    assert not (tmp_path / "parts" / "model").exists()
    assert len(list((tmp_path / "parts" / "training").glob("*.optimiser"))) == 1
    monkeypatch.setattr(finetuning, "train_epoch", real)
    assert train(small_models["bert"], tmp_path / "parts") == whole
    for name, tensor in weights(tmp_path / "whole").items():
        torch.testing.assert_close(weights(tmp_path / "parts")[name], tensor, rtol=0, atol=0)
    assert {path.name: path.read_bytes() for path in small_models["bert"].iterdir()} == start
    assert train(small_models["bert"], tmp_path / "parts") == whole  # nothing is left to do
    assert not list((tmp_path / "parts" / "training").glob("*.optimiser"))
    again = HuggingFaceClassifier.from_pretrained("it", str(tmp_path / "whole" / "model"), device="cpu")
    assert again.labels == ("yes", "no") and not again.multi_label


def test_a_training_of_other_settings_is_refused(small_models: dict[str, Path], tmp_path: Path) -> None:
    train(small_models["bert"], tmp_path, Hyperparameters(epochs=1, batch=8))
    with pytest.raises(InputError, match="other settings"):
        train(small_models["bert"], tmp_path, Hyperparameters(epochs=1, batch=4))
    (tmp_path / "training" / "state.json").write_text("{")
    with pytest.raises(InputError, match="damaged"):
        train(small_models["bert"], tmp_path, Hyperparameters(epochs=1, batch=8))


def test_a_place_that_cannot_be_written_is_found_before_training(
    small_models: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(finetuning, "train_epoch", lambda *_, **__: pytest.fail("trained"))
    with pytest.raises(InputError, match="Cannot write"):
        train(small_models["bert"], tmp_path / "file" / "here")


def test_the_first_of_the_best_epochs_is_kept() -> None:
    assert best_epoch([{"macro_f1": 0.2}, {"macro_f1": 0.6}, {"macro_f1": 0.6}, {"macro_f1": 0.5}]) == 1


def test_rates_rise_and_fall() -> None:
    rates = [rate_factor(step, 100) for step in range(100)]
    assert rates[0] == 0.1 and rates[9] == 1.0 and rates[10] == 1.0 and rates[99] == pytest.approx(1 / 90)
    assert max(rates) == 1.0


@pytest.mark.parametrize(("wrong", "said"), [({"epochs": 0}, "--epochs"), ({"rate": 0.0}, "--rate")])
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Hyperparameters(**wrong)


def test_a_loss_that_is_no_number_is_said(small_models: dict[str, Path], tmp_path: Path) -> None:
    model = transformers.AutoModelForMaskedLM.from_pretrained(small_models["bert"])
    with torch.no_grad():
        next(model.parameters()).fill_(float("nan"))
    model.save_pretrained(tmp_path / "broken")
    transformers.AutoTokenizer.from_pretrained(small_models["bert"]).save_pretrained(tmp_path / "broken")
    with pytest.raises(InputError, match="Lower --rate"):
        train(tmp_path / "broken", tmp_path)


def test_batches_hold_every_text_once_in_an_order_of_their_own() -> None:
    orders = [np.concatenate(list(shuffle_batches(10, 4, seed=1, epoch=epoch))) for epoch in (1, 2, 1)]
    assert sorted(orders[0]) == list(range(10))
    assert (orders[0] == orders[2]).all() and (orders[0] != orders[1]).any()


def test_padding_is_masked_and_its_labels_ignored() -> None:
    class Tokenizer:
        pad_token_id = 9

    batch = pad_batch(Tokenizer(), [[1, 2, 3], [4]], [[-100, 5, -100], [6]])
    assert batch["input_ids"].tolist() == [[1, 2, 3], [4, 9, 9]]
    assert batch["attention_mask"].tolist() == [[1, 1, 1], [1, 0, 0]]
    assert batch["labels"].tolist() == [[-100, 5, -100], [6, -100, -100]]
