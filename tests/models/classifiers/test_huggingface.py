"""Probabilities of classifiers against a plain call of transformers, one text at a time."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from tokenizers import processors

from geobias.errors import InputError
from geobias.models.huggingface import HuggingFaceClassifier
from geobias.models.load import load_classifier
from geobias.models.model_files import compute_fingerprint
from geobias.models.scorer import ModelIdentity
from tests.conftest import TOKENIZERS, _byte_bpe, _config, _wordpiece, save_random_model

LABELS = ["bad", "so-so", "good"]
KINDS = ("bert", "roberta", "distilbert", "bart", "gpt2")
TEXTS = [
    "People in France are kind.",
    "People in Papua New Guinea are straightforward.",
    "People in Curaçao are shy.",
    "France",
    "People in Nigeria are loud.",
    "People in France are kind!",
]


def saved(folder: Path, kind: str = "bert", labels: list[str] = LABELS, **settings: Any) -> Path:
    """A random classifier of this architecture; GPT-2 as it comes, without added tokens and without padding."""
    if kind == "gpt2":
        tokenizer = _byte_bpe()
        tokenizer.backend_tokenizer.post_processor = processors.ByteLevel()
        config: Any = transformers.GPT2Config(
            vocab_size=len(tokenizer), n_positions=40, n_embd=16, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=2
        )
    else:
        tokenizer = TOKENIZERS.get(kind, _wordpiece)()
        config = _config(kind, len(tokenizer))
    config.id2label = dict(enumerate(labels))
    config.label2id = {label: i for i, label in enumerate(labels)}
    for name, value in settings.items():
        setattr(config, name, value)
    return save_random_model(transformers.AutoModelForSequenceClassification, config, tokenizer, folder)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {kind: saved(tmp_path_factory.mktemp(kind), kind) for kind in KINDS}


@pytest.fixture(scope="module")
def loaded(folders: dict[str, Path]) -> dict[str, HuggingFaceClassifier]:
    return {kind: classifier(folder) for kind, folder in folders.items()}


def classifier(name: str | Path, **options: Any) -> HuggingFaceClassifier:
    found = load_classifier(name, **options)
    assert isinstance(found, HuggingFaceClassifier)
    return found


def plain_logits(folder: Path, texts: list[str] = TEXTS) -> torch.Tensor:
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.no_grad():
        rows = [model(input_ids=tokenizer(text, return_tensors="pt")["input_ids"]).logits for text in texts]
    return torch.cat(rows)


@pytest.mark.parametrize("kind", KINDS)
def test_probabilities_equal_a_plain_call(
    loaded: dict[str, HuggingFaceClassifier], folders: dict[str, Path], kind: str
) -> None:
    scores = loaded[kind].score(TEXTS)
    np.testing.assert_allclose(scores[:, :-1], plain_logits(folders[kind]).softmax(1), atol=1e-5)
    assert np.ptp(scores[:, :-1], axis=0).min() > 1e-3  # the texts differ, so an exchange of rows would show
    np.testing.assert_allclose(scores[:, :-1].sum(axis=1), 1, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_a_probability_does_not_depend_on_its_batch(loaded: dict[str, HuggingFaceClassifier], kind: str) -> None:
    together = loaded[kind].score(TEXTS)
    alone = np.concatenate([loaded[kind].score([text]) for text in TEXTS])
    backwards = loaded[kind].score(TEXTS[::-1])[::-1]
    np.testing.assert_allclose(together, alone, atol=1e-5)
    np.testing.assert_allclose(together, backwards, atol=1e-5)


def test_texts_of_one_length_go_through_the_model_together(loaded: dict[str, HuggingFaceClassifier]) -> None:
    """Also through one without a padding token, which transformers alone would refuse."""
    twins = [TEXTS[0], TEXTS[-1]]
    assert loaded["gpt2"].tokenizer(TEXTS[0])["input_ids"] != loaded["gpt2"].tokenizer(TEXTS[-1])["input_ids"]
    sizes = [len(some) for some, _ in loaded["gpt2"].batches(twins)]
    assert sizes == [2]


def test_labels_that_can_hold_together_have_each_a_probability(tmp_path: Path) -> None:
    folder = saved(tmp_path, problem_type="multi_label_classification")
    several = classifier(folder)
    assert several.multi_label
    scores = several.score(TEXTS)[:, :-1]
    np.testing.assert_allclose(scores, plain_logits(folder).sigmoid(), atol=1e-5)
    assert np.abs(scores.sum(axis=1) - 1).max() > 0.01


def test_a_single_label_has_a_probability_that_varies(tmp_path: Path) -> None:
    folder = saved(tmp_path, labels=["toxic"])
    single = classifier(folder)
    assert single.multi_label and single.columns == ("p(toxic)", "cut")
    scores = single.score(TEXTS)[:, :-1]
    np.testing.assert_allclose(scores, plain_logits(folder).sigmoid(), atol=1e-5)
    assert np.ptp(scores) > 1e-3


def test_tokens_cut_off_are_counted(loaded: dict[str, HuggingFaceClassifier], folders: dict[str, Path]) -> None:
    bert = loaded["bert"]
    long = "People in " + "France " * 60
    scores = bert.score([long, TEXTS[0]])
    ids = bert.tokenizer(long)["input_ids"]
    assert scores[0, -1] == len(ids) - bert.max_length > 0 and scores[1, -1] == 0
    kept = torch.tensor([[*ids[: bert.max_length - 1], ids[-1]]])
    with torch.no_grad():
        expected = bert.model(input_ids=kept).logits.softmax(1)
    np.testing.assert_allclose(scores[:1, :-1], expected, atol=1e-5)


def test_an_empty_text_is_what_the_tokenizer_makes_of_it(
    loaded: dict[str, HuggingFaceClassifier], folders: dict[str, Path]
) -> None:
    scores = loaded["bert"].score(["", TEXTS[0]])
    np.testing.assert_allclose(scores[0, :-1], plain_logits(folders["bert"], [""]).softmax(1)[0], atol=1e-5)
    with pytest.raises(InputError, match="has no tokens for the text ''"):
        loaded["gpt2"].score([TEXTS[0], ""])


def test_kinds_of_tokens_reach_the_model(tmp_path: Path) -> None:
    """XLNet's tokenizer gives its added tokens a kind of their own."""
    folder = saved(tmp_path)
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    for piece in tokenizer["post_processor"]["single"]:
        next(iter(piece.values()))["type_id"] = 1
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    model = classifier(folder)
    ids = torch.tensor([model.tokenizer(TEXTS[0])["input_ids"]])
    with torch.no_grad():
        expected = model.model(input_ids=ids, token_type_ids=torch.ones_like(ids)).logits.softmax(1)
    np.testing.assert_allclose(model.score(TEXTS[:1])[:, :-1], expected, atol=1e-5)
    assert (plain_logits(folder, TEXTS[:1]).softmax(1) - expected).abs().max() > 1e-3


def test_the_fingerprint_names_output_precision_and_length(folders: dict[str, Path], tmp_path: Path) -> None:
    full, again = classifier(folders["bert"]), classifier(folders["bert"])
    assert full.fingerprint == again.fingerprint and full.fingerprint.endswith(":classifier:softmax:1:float32:40")
    half = classifier(folders["bert"], dtype="bfloat16")
    assert half.fingerprint.endswith(":classifier:softmax:1:bfloat16:40")
    np.testing.assert_allclose(half.score(TEXTS).sum(axis=1), 1, atol=1e-6)
    several = classifier(saved(tmp_path, problem_type="multi_label_classification"))
    assert ":classifier:sigmoid:" in several.fingerprint


def test_padding_that_is_set_for_a_check_is_no_part_of_the_fingerprint(folders: dict[str, Path]) -> None:
    gpt2 = classifier(folders["gpt2"])
    assert gpt2.model.config.pad_token_id == -1
    plain = transformers.AutoModelForSequenceClassification.from_pretrained(folders["gpt2"])
    assert gpt2.fingerprint.split(":")[0] == compute_fingerprint(plain, gpt2.tokenizer)


def test_identity(loaded: dict[str, HuggingFaceClassifier], folders: dict[str, Path]) -> None:
    bert = loaded["bert"]
    assert bert.identity() == ModelIdentity(
        name=str(folders["bert"]),
        score="probabilities",
        fingerprint=bert.fingerprint,
        architecture="BertForSequenceClassification",
        parameters=sum(p.numel() for p in bert.model.parameters()),
        dtype="float32",
        device="cpu",
        max_length=40,
    )


def test_a_scale_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a regression model"):
        load_classifier(saved(tmp_path, labels=["stars"], problem_type="regression"))


def test_equal_labels_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"duplicate labels \(bad, good, bad\)"):
        load_classifier(saved(tmp_path, labels=["bad", "good", "bad"]))


def test_a_language_model_is_refused(small_models: dict[str, Path]) -> None:
    for name in ("embedded/lm", small_models["bert"]):
        with pytest.raises(InputError, match="is a language model, not a classifier"):
            load_classifier(name)


def test_a_folder_with_a_colon_is_a_folder(tmp_path: Path) -> None:
    assert classifier(saved(tmp_path / "a:b")).labels == tuple(LABELS)


def test_the_embedded_classifiers_know_something() -> None:
    texts = ["I love this city, best day ever!", "This is the worst service I have ever had."]
    sentiment = classifier("embedded/sentiment")
    said = [sentiment.labels[i] for i in sentiment.score(texts)[:, :-1].argmax(axis=1)]
    assert said == ["positive", "negative"]
    handles = sentiment.score(["@alice look at https://example.org/a", "@bob look at http"])
    np.testing.assert_allclose(handles[0], handles[1], rtol=1e-6)  # equal texts, in rows of one batch


def test_functions_need_no_torch() -> None:
    code = "import sys, geobias.models.load as s; s.load_classifier(lambda texts: [[1.0]] * len(texts))"
    subprocess.run([sys.executable, "-c", f"{code}; assert 'torch' not in sys.modules"], check=True)
