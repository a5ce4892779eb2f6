"""Mitigation by training: the planted gap shrinks on held-out names, training resumes, folders are whole or absent."""

from __future__ import annotations

import string
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

import geobias
from geobias.errors import InputError
from geobias.models.training import mitigation
from geobias.models.training.epochs import train_epoch
from geobias.models.training.finetuning import Hyperparameters
from geobias.models.training.mitigation import (
    CounterfactualBatches,
    PairedLoss,
    match_labels,
    train_mitigated,
)
from geobias.texts.counterfactuals import Counterfactuals
from geobias.texts.people import find_people
from geobias.world.gazetteer import KINDS, Gazetteer

COUNTRIES = {"FR": "Zo", "DE": "Ke", "IT": "Mi", "MA": "Xu"}  # with the beginning of their made-up names
WORDS = "good bad day game talk was a the with today".split()
LABELS = ["down", "up"]
RATE = 2e-3


def build_gazetteer(letters: str) -> Gazetteer:
    """Names of a country begin alike; the letters after that tell one half of the names from the other."""
    lists = {
        (code, kind): tuple(f"{begin}{a}{b}" for a in letters for b in letters[:5])
        for code, begin in COUNTRIES.items()
        for kind in KINDS
    }
    return Gazetteer("latin", {code: code for code in COUNTRIES}, lists)


TRAINING_NAMES = build_gazetteer(string.ascii_lowercase[:13])
HELD_OUT_NAMES = build_gazetteer(string.ascii_lowercase[13:])


def write_texts() -> tuple[list[str], np.ndarray]:
    """Texts with a person, whose label is in the words, and a few without a person."""
    texts = [
        f"{name} was {word} with the {thing} today"
        for name in ("Zoab", "Kebc", "Mica", "Xuda", "Zobb", "Kecc")
        for thing in ("day", "game", "talk", "good talk", "bad game")
        for word in ("good", "bad")
    ]
    texts += ["a good day", "a bad day", "the game was good", "the talk was bad"]
    return texts, np.array([int(" was good " in text or text.endswith("good") or "a good" in text) for text in texts])


TEXTS, CLASSES = write_texts()


def rename(texts: Sequence[str], gazetteer: Gazetteer, draws: int = 6) -> Counterfactuals:
    named = [text for text in texts if text[:2] in COUNTRIES.values()]
    people = [find_people(text, [(0, text.index(" "))], gazetteer) for text in named]
    return Counterfactuals(named, people, gazetteer, list(COUNTRIES), draws=draws, seed=3)


def build_tokenizer() -> transformers.PreTrainedTokenizerFast:
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    pieces = [
        *special,
        *WORDS,
        *map(str.lower, COUNTRIES.values()),
        *(f"##{letter}" for letter in string.ascii_lowercase),
    ]
    pieces += ["quick", "brown", "fox", "."]
    tokenizer = Tokenizer(models.WordPiece({piece: k for k, piece in enumerate(pieces)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token="[UNK]",
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        model_max_length=32,
    )


@pytest.fixture(scope="module")
def biased_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A classifier trained on texts in which people from one country are mostly "down" and from another "up"."""
    tokenizer = build_tokenizer()
    torch.manual_seed(1)
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=32,
        initializer_range=0.15,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        id2label=dict(enumerate(LABELS)),
        label2id={label: k for k, label in enumerate(LABELS)},
    )
    model = transformers.BertForSequenceClassification(config)
    counterfactuals = rename(TEXTS, TRAINING_NAMES)
    classes = CLASSES[: len(counterfactuals.texts)]
    rng = np.random.default_rng(0)
    rows = [(i, c, k) for i in range(len(classes)) for c in range(len(COUNTRIES)) for k in range(3)]
    labels = [  # three of ten texts with a name from FR are labelled "down" whatever they say; from MA "up"
        {0: 0, 3: 1}.get(c, int(classes[i])) if rng.random() < 0.3 else int(classes[i]) for i, c, _ in rows
    ]
    ids = tokenizer([counterfactuals.at(*row) for row in rows], padding=True, return_tensors="pt")
    targets = torch.tensor(labels)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(40):
        for batch in torch.randperm(len(rows)).split(64):
            loss = model(**{name: tensor[batch] for name, tensor in ids.items()}, labels=targets[batch]).loss
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    folder = tmp_path_factory.mktemp("biased")
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def measure(folder: Path) -> tuple[float, float]:
    """The gap of P(up) between MA and FR on held-out names, and the accuracy on texts with names of all countries."""
    counterfactuals = rename(TEXTS, HELD_OUT_NAMES, draws=8)
    classifier = geobias.load_classifier(str(folder), device="cpu")
    assert classifier.labels == tuple(LABELS)
    up = classifier.score(list(counterfactuals))[:, 1].reshape(counterfactuals.shape)
    by_country = up.mean(axis=(0, 2))
    right = (up > 0.5) == (CLASSES[: len(up), None, None] == 1)
    return float(by_country[3] - by_country[0]), float(right.mean())


def train(method: str, model: Path, out: Path, strength: float | None = None, **options: Any) -> Path:
    return train_mitigated(
        method,
        strength,
        model,
        TEXTS,
        CLASSES,
        LABELS,
        rename(TEXTS, TRAINING_NAMES),
        out,
        **{"rate": RATE, "epochs": 2, "device": "cpu", "progress": False, **options},
    )


@pytest.mark.parametrize(("method", "strength", "epochs"), [("augment", 2, 8), ("pair", 2.0, 8)])
def test_a_planted_gap_shrinks_on_held_out_names(
    biased_model: Path, tmp_path: Path, method: str, strength: float, epochs: int
) -> None:
    before, accuracy = measure(biased_model)
    assert before > 0.1
    folder = train(method, biased_model, tmp_path / "out", strength, epochs=epochs)
    after, accuracy_after = measure(folder)
    assert abs(after) < before / 2
    assert accuracy_after > accuracy - 0.02
    assert not (tmp_path / "out.training").exists()
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert f"| method | {method} |" in card and "| strength | " in card


def read_weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "model.safetensors")


@pytest.mark.parametrize("method", ["augment", "pair"])
def test_an_interrupted_training_resumes_and_gives_the_same(
    biased_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    start = {path.name: path.read_bytes() for path in biased_model.iterdir()}
    whole = read_weights(train(method, biased_model, tmp_path / "whole"))

    def stop(*arguments: Any, epoch: int, **options: Any) -> float:
        if epoch == 2:
            raise KeyboardInterrupt
        return train_epoch(*arguments, epoch=epoch, **options)

    out = tmp_path / "parts"
    monkeypatch.setattr(mitigation, "train_epoch", stop)
    with pytest.raises(KeyboardInterrupt):
        train(method, biased_model, out)
    assert not out.exists()
    with pytest.raises(InputError, match="other settings"):
        train(method, biased_model, out, seed=1)
    monkeypatch.setattr(mitigation, "train_epoch", train_epoch)
    resumed = read_weights(train(method, biased_model, out))
    assert whole.keys() == resumed.keys()
    for name, tensor in whole.items():
        torch.testing.assert_close(resumed[name], tensor, rtol=0, atol=0)
    assert {path.name: path.read_bytes() for path in biased_model.iterdir()} == start  # the original is untouched
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".training")] == []
    monkeypatch.setattr(mitigation, "train_epoch", lambda *_, **__: pytest.fail("trained again"))
    assert train(method, biased_model, out) == out  # nothing is left to do
    for other in ({"seed": 1}, {"epochs": 1}, {"strength": 7.0}, {"rate": 1e-4}):
        with pytest.raises(InputError, match=r"parts exists and is not a model of this training"):
            train(method, biased_model, out, **other)


def test_a_failure_while_saving_leaves_no_model(
    biased_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("geobias.models.training.mitigation.write_card", fail)
    with pytest.raises(InputError, match="No space left"):
        train("pair", biased_model, tmp_path / "out", epochs=1)
    assert not (tmp_path / "out").exists()
    monkeypatch.undo()
    assert (train("pair", biased_model, tmp_path / "out", epochs=1) / "config.json").is_file()


def test_a_bundled_classifier_becomes_a_folder_that_needs_no_other(tmp_path: Path) -> None:
    """The bundled classifiers share an encoder and a tokenizer in other folders."""
    folder = train_mitigated(
        "pair",
        None,
        "embedded/sentiment",
        TEXTS[:10],
        CLASSES[:10],
        ["negative", "positive"],
        rename(TEXTS[:10], TRAINING_NAMES),
        tmp_path / "out",
        device="cpu",
    )
    before = geobias.load_classifier("embedded/sentiment", device="cpu")
    after = geobias.load_classifier(str(folder), device="cpu")
    text = "@someone What a LOVELY day, Zoë! https://example.org"
    assert after.labels == before.labels
    assert after.tokenizer(text)["input_ids"] == before.tokenizer(text)["input_ids"]
    assert not {"tokenizer_folder", "../"} & set((folder / "config.json").read_text().split('"'))


def test_other_labels_and_other_folders_are_refused(biased_model: Path, tmp_path: Path) -> None:
    def attempt(names: Sequence[str], out: Path) -> None:
        names_of_people = rename(TEXTS, TRAINING_NAMES)
        train_mitigated("pair", 1, biased_model, TEXTS, CLASSES, names, names_of_people, out, device="cpu")

    with pytest.raises(InputError, match=r"has no label 'good'. Its labels: down, up"):
        attempt(["good", "bad"], tmp_path / "out")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="is not a model of this training"):
        attempt(LABELS, tmp_path / "other")
    assert [path.name for path in tmp_path.iterdir()] == ["other"]


def test_labels_in_another_order_are_those_of_the_model() -> None:
    config = transformers.BertConfig(id2label={0: "no", 1: "yes", 2: "maybe"})
    assert match_labels("it", config, [0, 1, 0], ["maybe", "no"]).tolist() == [2, 0, 2]
    config.problem_type = "multi_label_classification"
    with pytest.raises(InputError, match="Use blind or average:8"):
        match_labels("it", config, [0], ["maybe"])


def test_batches_hold_every_text_with_versions_of_other_countries() -> None:
    tokenizer = build_tokenizer()
    batches = CounterfactualBatches(
        TEXTS,
        CLASSES,
        rename(TEXTS, TRAINING_NAMES),
        versions=3,
        has_labels=False,
        hyperparameters=Hyperparameters(batch=16),
    )
    assert batches.draw_versions(1) == batches.draw_versions(1) != batches.draw_versions(2)
    for text, versions in zip(TEXTS, batches.draw_versions(1), strict=True):
        assert len(versions) == len({version[:2] for version in versions}) == (3 if text[:2] in "ZoKeMiXu" else 0)
        assert all(version.split()[1:] == text.split()[1:] for version in versions)
    seen = 0
    for batch in batches.build(1, tokenizer, 32):
        originals = batch["originals"].tolist()
        for row, original in enumerate(originals):
            assert (batch["labels"][row] == -100) == (row != original)
            if row != original:  # the same sentence after the name, which is three pieces of "[CLS] zo ##a ##b"
                torch.testing.assert_close(batch["input_ids"][row][4:], batch["input_ids"][original][4:])
        seen += sum(row == original for row, original in enumerate(originals))
    assert seen == len(TEXTS)


def test_the_loss_is_cross_entropy_plus_the_mean_difference_of_logits() -> None:
    logits = torch.tensor([[1.0, 0.0], [0.0, 2.0], [4.0, 1.0], [0.5, 0.5]])

    class Fixed(torch.nn.Module):
        def forward(self, **_: torch.Tensor) -> Any:
            return SimpleNamespace(logits=logits)

    labels, originals = torch.tensor([0, 1, -100, -100]), torch.tensor([0, 1, 0, 1])
    entropy = -np.mean([np.log(np.e / (np.e + 1)), np.log(np.e**2 / (1 + np.e**2))])
    # Centred: (0.5, -0.5), (-1, 1), (1.5, -1.5), (0, 0); differences of 1 and of 1 in each label.
    loss = PairedLoss(Fixed(), 3.0)(torch.zeros(4, 1), torch.ones(4, 1), labels, originals).loss
    assert float(loss) == pytest.approx(entropy + 3.0)
    logits += torch.tensor([[0.0], [0.0], [9.0], [7.0]])  # a constant for all labels changes nothing
    assert float(
        PairedLoss(Fixed(), 3.0)(torch.zeros(4, 1), torch.ones(4, 1), labels, originals).loss
    ) == pytest.approx(entropy + 3.0)


def test_pairing_has_no_dropout() -> None:
    assert not PairedLoss(torch.nn.Linear(1, 1), 1.0).train().model.training
    assert PairedLoss(torch.nn.Linear(1, 1), 0.0).train().model.training
