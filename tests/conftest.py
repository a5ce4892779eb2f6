"""Shared by all tests: a store of their own, no network, and small random models of real architectures."""

from __future__ import annotations

import gc
import hashlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["OMP_NUM_THREADS"] = "1"  # for models this small a second thread only waits
# What Triton brings along is interpreted for good if it is when first imported; beside a GPU, models then do without.
os.environ["TRITON_INTERPRET"] = "1"
with suppress(ImportError):  # not everywhere
    import triton  # noqa: F401
del os.environ["TRITON_INTERPRET"]

import pytest
import torch
import transformers
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from geobias import cli
from geobias.models.fast import VARIABLE

CORPUS = [
    "People in France are kind.",
    "People in Nigeria are hard-working and inquisitive.",
    "People in Papua New Guinea are straightforward, loyal and honest.",
    "São Tomé, Curaçao and Åland are islands.",
    "The quick brown fox jumps over the lazy dog.",
] * 4


Run = Callable[..., tuple[int, str, str]]
SCORE_ONLY = ("--paraphrases", "0", "--no-placebo")  # options of `geobias regions`: HERB's score and no more
LETTERS = "abcdefghijklmnopqrstuvwxyz"
posix_only = pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals, processes or limits")


def pytest_collection_finish() -> None:
    """Spare the garbage collector the objects that imports left: it would look at them again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Run the command in this process, in an empty folder: exit code, standard output, standard error."""
    monkeypatch.chdir(tmp_path)

    def command(*arguments: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["geobias", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        shown = capsys.readouterr()
        return int(stopped.value.code or 0), shown.out, shown.err

    return command


def spell(number: int) -> str:
    """A word for a number: texts that differ in numbers alone are copies of one text to every audit."""
    first, second = divmod(number, len(LETTERS))
    return f"{spell(first - 1) if first else ''}{LETTERS[second]}"


def sign_results(folder: Path) -> None:
    """Let run.json fit the results.json that a test edited, as a forger would."""
    path = folder / "run.json"
    digest = hashlib.sha256((folder / "results.json").read_bytes()).hexdigest()
    content = json.loads(path.read_text(encoding="utf-8")) | {"results_sha256": digest}
    path.write_text(json.dumps(content), encoding="utf-8")


def made_up_names(folder: Path, countries: Sequence[str]) -> Path:
    """A gazetteer of countries without a name in common; of each name one can tell whose it is: Amalea, Bmalea, ..."""
    rows = [
        f"{country},{kind},{country[0]}{kind}{chr(97 + i)}"
        for country in countries
        for kind in ("male", "female", "last")
        for i in range(20)
    ]
    file = folder / "names.csv"
    file.write_text("country,kind,name\n" + "\n".join(rows), encoding="utf-8")
    return file


@pytest.fixture(autouse=True)
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test keeps its scores in a folder of its own."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("GEOBIAS_CACHE", str(folder))
    return folder


@pytest.fixture(autouse=True)
def fast_path_is_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the environment says."""
    monkeypatch.setenv(VARIABLE, "1")


@pytest.fixture(autouse=True)
def restore_recursion_limit() -> Iterator[None]:
    """`torch.compile` raises it for the whole process; lists that are nested too deeply are then read."""
    limit = sys.getrecursionlimit()
    yield
    sys.setrecursionlimit(limit)


@pytest.fixture(autouse=True)
def forget_modules_of_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests write modules of the same name ("model.py"): none may find that of an earlier one."""
    yield
    folder = str(tmp_path_factory.getbasetemp())
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None) or "").startswith(folder):
            del sys.modules[name]


def _wordpiece() -> transformers.PreTrainedTokenizerFast:
    """Short words whole, longer ones in letters: the library's trainer would give other pieces in every run."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words = sorted(set(re.findall(r"\w+|[^\w\s]", " ".join(CORPUS))))
    first, later = sorted({word[0] for word in words}), sorted({f"##{letter}" for word in words for letter in word[1:]})
    pieces = dict.fromkeys([*special, *first, *later, *(word for word in words if len(word) < 7)])
    vocabulary = {piece: i for i, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
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
        mask_token="[MASK]",
        model_max_length=40,
    )


def _byte_bpe() -> transformers.PreTrainedTokenizerFast:
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=300, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>",
        eos_token="</s>",
        cls_token="<s>",
        sep_token="</s>",
        unk_token="<unk>",
        pad_token="<pad>",
        mask_token="<mask>",
        model_max_length=40,
    )


def _gpt_bpe() -> transformers.PreTrainedTokenizerFast:
    """As GPT-2's: nothing is put around a text."""
    tokenizer = _byte_bpe().backend_tokenizer
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    tokenizer.add_special_tokens(["<|endoftext|>"])
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<|endoftext|>", model_max_length=60
    )


def _llama_bpe() -> transformers.PreTrainedTokenizerFast:
    """As Llama's: every text begins with <s>."""
    tokenizer = _byte_bpe().backend_tokenizer
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", model_max_length=60
    )


def _train_unigram(tokenizer: Tokenizer, special: list[str]) -> None:
    """With the pieces in order: the library's trainer numbers them anew in every run."""
    trainer = trainers.UnigramTrainer(vocab_size=90, special_tokens=special, unk_token="<unk>", show_progress=False)
    tokenizer.train_from_iterator(CORPUS, trainer)
    trained = json.loads(tokenizer.to_str())["model"]["vocab"]
    pieces = sorted((piece, round(score, 3)) for piece, score in trained if piece not in special)
    tokenizer.model = models.Unigram([*((piece, 0.0) for piece in special), *pieces], special.index("<unk>"), False)


def _sentinels() -> transformers.PreTrainedTokenizerFast:
    """As T5's: </s> ends a text, and <extra_id_0> is the first mask."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    special = ["<pad>", "</s>", "<unk>", "<extra_id_0>"]
    _train_unigram(tokenizer, special)
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="<unk>", pad_token="<pad>", eos_token="</s>", model_max_length=60
    )


def _unigram() -> transformers.PreTrainedTokenizerFast:
    special = ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKD(), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    _train_unigram(tokenizer, special)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token="<unk>",
        pad_token="<pad>",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_max_length=40,
    )


SMALL: dict[str, Any] = {"num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24, "hidden_size": 16}


def _config(kind: str, vocabulary: int) -> transformers.PreTrainedConfig:
    if kind == "bert":
        return transformers.BertConfig(vocab_size=vocabulary, max_position_embeddings=40, **SMALL)
    if kind == "roberta":
        return transformers.RobertaConfig(
            vocab_size=vocabulary, max_position_embeddings=42, pad_token_id=1, bos_token_id=0, eos_token_id=2, **SMALL
        )
    if kind == "albert":
        return transformers.AlbertConfig(
            vocab_size=vocabulary, max_position_embeddings=40, embedding_size=8, pad_token_id=0, **SMALL
        )
    if kind == "distilbert":
        return transformers.DistilBertConfig(
            vocab_size=vocabulary, max_position_embeddings=40, dim=16, n_layers=2, n_heads=2, hidden_dim=24
        )
    if kind == "electra":
        return transformers.ElectraConfig(vocab_size=vocabulary, max_position_embeddings=40, embedding_size=8, **SMALL)
    if kind == "deberta":
        return transformers.DebertaV2Config(
            vocab_size=vocabulary,
            max_position_embeddings=40,
            relative_attention=True,
            pos_att_type=["p2c", "c2p"],
            **SMALL,
        )
    if kind == "bart":
        return transformers.BartConfig(
            vocab_size=vocabulary,
            max_position_embeddings=40,
            d_model=16,
            encoder_layers=2,
            decoder_layers=2,
            encoder_attention_heads=2,
            decoder_attention_heads=2,
            encoder_ffn_dim=24,
            decoder_ffn_dim=24,
            pad_token_id=1,
            bos_token_id=0,
            eos_token_id=2,
            decoder_start_token_id=2,
            forced_eos_token_id=2,
        )
    if kind == "gpt2":
        return transformers.GPT2Config(
            vocab_size=vocabulary, n_positions=60, n_embd=16, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0
        )
    if kind == "bloom":
        return transformers.BloomConfig(vocab_size=vocabulary, hidden_size=16, n_layer=2, n_head=2)
    if kind == "llama":
        return transformers.LlamaConfig(
            vocab_size=vocabulary, max_position_embeddings=60, num_key_value_heads=1, bos_token_id=0, **SMALL
        )
    if kind == "t5":
        config = transformers.T5Config(
            vocab_size=vocabulary, d_model=16, d_kv=8, d_ff=24, num_layers=2, num_heads=2, pad_token_id=0
        )
        config.decoder_start_token_id = 0
        return config
    raise ValueError(kind)


TOKENIZERS = {
    "roberta": _byte_bpe,
    "bart": _byte_bpe,
    "albert": _unigram,
    "gpt2": _gpt_bpe,
    "bloom": _gpt_bpe,
    "llama": _llama_bpe,
    "t5": _sentinels,
}
MASKED = ("bert", "roberta", "albert", "distilbert", "electra", "deberta")
CAUSAL = ("gpt2", "llama", "bloom")
SEQ2SEQ = ("bart", "t5")


def build_small_model(kind: str, folder: Path) -> Path:
    """Save a small language model of this architecture."""
    form: Any = transformers.AutoModelForSeq2SeqLM
    if kind in (*MASKED, *CAUSAL):
        form = transformers.AutoModelForMaskedLM if kind in MASKED else transformers.AutoModelForCausalLM
    tokenizer = TOKENIZERS.get(kind, _wordpiece)()
    return save_random_model(form, _config(kind, len(tokenizer)), tokenizer, folder)


def save_random_model(form: Any, config: Any, tokenizer: Any, folder: Path) -> Path:
    """Save a model of this Auto class and configuration, with random weights large enough that scores differ."""
    torch.manual_seed(7)
    model = form.from_config(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def finished_run(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a small finished run of an audit, which no test changes."""
    from tests.finished_runs import prepare_runs

    return prepare_runs(tmp_path_factory.mktemp("finished"))


@pytest.fixture(scope="session")
def small_models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder for each architecture."""
    return {kind: build_small_model(kind, tmp_path_factory.mktemp(kind)) for kind in (*MASKED, *CAUSAL, *SEQ2SEQ)}
