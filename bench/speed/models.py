"""Random models of real sizes with tokenizers that cut texts as real ones do; `python -m bench.speed.models` makes all.

Speed does not depend on the weights, so nothing is fetched. A tokenizer is trained on the texts of the benchmark, with
so few pieces that texts have as many tokens as with the real one (`python -m bench.speed.tokens` compares them); its
vocabulary is then filled up with entries that no text holds. Embedding and head have the full size, so what a
vocabulary costs is real.

| name | like | layers x width | vocabulary | tokenizer |
|---|---|---|---|---|
| bert | BERT base | 12 x 768 | 30,522 | WordPiece |
| xlmr | XLM-RoBERTa base | 12 x 768 | 250,002 | Unigram |
| gpt2 | GPT-2 small | 12 x 768 | 50,257 | byte-level BPE |
| bert-classifier | BERT base, three labels | 12 x 768 | 30,522 | WordPiece |
"""

from __future__ import annotations

import hashlib
import json
import os
import string
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from bench.speed.work import Parts
from geobias.models.model_files import quiet_transformers

CACHE = Path(__file__).resolve().parents[1] / ".models"
LONGEST = 512
EMBEDDED = ("embedded/lm", "embedded/sentiment")


@dataclass(frozen=True)
class Size:
    """What makes a model large or small; `pieces` of the vocabulary occur in texts."""

    kind: str  # bert, xlmr, gpt2
    vocabulary: int
    layers: int = 12
    width: int = 768
    heads: int = 12
    pieces: int = 9000
    labels: int = 0
    seed: int = 3
    spread: float = 0.04  # of the weights: twice the usual, so that texts differ


SIZES = {
    "bert": Size("bert", 30_522),
    "xlmr": Size("xlmr", 250_002, pieces=10_000),
    "gpt2": Size("gpt2", 50_257, pieces=12_000),
    "bert-classifier": Size("bert", 30_522, labels=3),
}


def folder_of(name: str, parts: Parts, cache: Path = CACHE) -> Path:
    """The folder of a model by its name here, made when it is not there yet."""
    if name in EMBEDDED:
        return _plain_folder(name, cache)
    size = SIZES[name]
    made_of = json.dumps([asdict(size), asdict(parts)]).encode()
    folder = cache / f"{name}-{hashlib.blake2b(made_of, digest_size=4).hexdigest()}"
    if not (folder / "config.json").is_file():
        make(size, parts, folder)
    return folder


def _plain_folder(name: str, cache: Path) -> Path:
    """A folder that transformers can read by itself: bundled classifiers share the tokenizer of the language model."""
    from geobias.models.load import load_classifier
    from geobias.models.sources import locate_weights

    source = Path(locate_weights(name))
    if (source / "tokenizer.json").is_file():
        return source
    weights = hashlib.blake2b((source / "config.json").read_bytes(), digest_size=4).hexdigest()
    folder = cache / f"{source.name}-{weights}"
    if not (folder / "config.json").is_file():
        classifier: Any = load_classifier(name, device="cpu", dtype="float32")
        _write(classifier.model, classifier.tokenizer, folder)
    return folder


def make(size: Size, parts: Parts, folder: Path) -> None:
    """Write model and tokenizer into a folder beside, which is renamed when it is whole."""
    torch.manual_seed(size.seed)
    tokenizer = tokenizer_of(size, corpus(parts))
    if len(tokenizer) != size.vocabulary:
        raise ValueError(f"{len(tokenizer)} entries where {size.vocabulary} were asked for: fewer pieces are needed.")
    config = _config(size, tokenizer)
    if size.labels:
        model = transformers.AutoModelForSequenceClassification.from_config(config)
    elif size.kind == "gpt2":
        model = transformers.AutoModelForCausalLM.from_config(config)
    else:
        model = transformers.AutoModelForMaskedLM.from_config(config)
    _write(model, tokenizer, folder)


def _write(model: Any, tokenizer: Any, folder: Path) -> None:
    temporary = folder.with_name(f"{folder.name}.{os.getpid()}")
    with quiet_transformers():
        tokenizer.save_pretrained(temporary)
        model.save_pretrained(temporary)
    temporary.rename(folder)


def corpus(parts: Parts) -> list[str]:
    """Everyday words more often than places and descriptions: those fall into more pieces, as they do in real life."""
    places, descriptions = (
        [f"People in {region} are" for region in parts.regions],
        [f"are {word}." for word in parts.words],
    )
    return [*parts.tweets * 3, *places * 2, *descriptions * 4]


def tokenizer_of(size: Size, texts: Sequence[str]) -> Any:
    cut, special = {"bert": _wordpiece, "xlmr": _unigram, "gpt2": _byte_bpe}[size.kind](size.pieces, texts)
    whole = json.loads(cut.to_str())
    vocabulary = whole["model"]["vocab"]
    unused = [f"[unused{i}]" for i in range(size.vocabulary - len(vocabulary))]
    if isinstance(vocabulary, list):
        lowest = min(score for _, score in vocabulary)
        vocabulary += [[entry, lowest - 10] for entry in unused]
    else:
        vocabulary |= {entry: len(vocabulary) + i for i, entry in enumerate(unused)}
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(json.dumps(whole)),
        model_max_length=LONGEST,
        model_input_names=["input_ids", "attention_mask"],
        **special,
    )


def _wordpiece(pieces: int, texts: Sequence[str]) -> tuple[Any, dict[str, str]]:
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=pieces, special_tokens=names, show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return tokenizer, dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), names, strict=True))


def _unigram(pieces: int, texts: Sequence[str]) -> tuple[Any, dict[str, str]]:
    names = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=pieces, special_tokens=names, unk_token="<unk>", show_progress=False, n_sub_iterations=1
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    kinds = ("cls_token", "pad_token", "sep_token", "unk_token", "mask_token")
    return tokenizer, dict(zip(kinds, names, strict=True))


def _byte_bpe(pieces: int, texts: Sequence[str]) -> tuple[Any, dict[str, str]]:
    """Begins every text with a token of its own, as later causal models do: then nobody has to decide about it."""
    names = ["<|endoftext|>", "<pad>"]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=pieces,
        special_tokens=names,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    # A blank is part of the word after it, whatever its first letter, as with the real one: it never stands alone.
    letters = " " + " ".join(string.ascii_letters)
    tokenizer.train_from_iterator([*texts, *[letters] * 3 * len(texts)], trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<|endoftext|> $A", special_tokens=[("<|endoftext|>", 0)]
    )
    return tokenizer, {"bos_token": names[0], "eos_token": names[0], "unk_token": names[0], "pad_token": names[1]}


def _config(size: Size, tokenizer: Any) -> Any:
    common = {"vocab_size": size.vocabulary, "initializer_range": size.spread, "pad_token_id": tokenizer.pad_token_id}
    if size.kind == "gpt2":
        return transformers.GPT2Config(
            n_layer=size.layers, n_embd=size.width, n_head=size.heads, bos_token_id=0, eos_token_id=0, **common
        )
    common |= {
        "num_hidden_layers": size.layers,
        "hidden_size": size.width,
        "num_attention_heads": size.heads,
        "intermediate_size": 4 * size.width,
    }
    if size.labels:
        common["num_labels"] = size.labels
    if size.kind == "bert":
        return transformers.BertConfig(max_position_embeddings=LONGEST, **common)
    return transformers.XLMRobertaConfig(
        max_position_embeddings=LONGEST + 2, type_vocab_size=1, bos_token_id=0, eos_token_id=2, **common
    )


if __name__ == "__main__":
    from bench.speed.work import prepare_texts

    for model_name in SIZES:
        print(folder_of(model_name, prepare_texts()))
