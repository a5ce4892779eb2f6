"""Stored scores are found by the version of the code that computed them: no score changes without its version.

Every way of scoring is applied to a few texts, with a model of fixed weights, and compared with what was recorded for
its version. Where a change of the numbers is meant, raise the version beside the code and record again:

    python -m tests.models.test_score_versions
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from geobias.models.answers import YES_NO_ANSWERS, AnswerSet, FunctionDecider, make_prompt
from geobias.models.causal import CausalLM
from geobias.models.endpoint import Endpoint
from geobias.models.functions import FunctionClassifier, FunctionLM
from geobias.models.huggingface import HuggingFaceClassifier
from geobias.models.load import load_weights
from geobias.models.masked import MaskedLM
from geobias.models.prompted import LMDecider, PromptedClassifier
from geobias.models.scorer import Scorer
from geobias.models.seq2seq import Seq2SeqLM
from geobias.models.served import ServedClassifier, ServedDecider
from geobias.models.served_lm import ServedLM
from geobias.models.wrappers import AveragingClassifier, BlindClassifier
from geobias.texts.templates import mark
from tests.conftest import build_small_model
from tests.servers import served

RECORD = Path(__file__).with_name("score_versions.json")
TOLERANCE = 1e-4  # other processors round products of float32 otherwise
TEXTS = [
    f"People in Nigeria are {mark('hard-working and inquisitive')}.",
    f"People in São Tomé are {mark('kind')} today.",
    f"The quick brown fox {mark('jumps over')} the lazy dog.",
]
PLAIN_TEXTS = ["Mary Smith was late.", "Is it Kenya?", "The train leaves at nine."]
LANGUAGE_MODELS: dict[str, type[Any]] = {"bert": MaskedLM, "gpt2": CausalLM, "t5": Seq2SeqLM, "bart": Seq2SeqLM}


def set_weights(model: torch.nn.Module) -> None:
    """Weights that are the same whatever the library draws."""
    rng = np.random.default_rng(7)
    with torch.no_grad():
        for name, parameter in sorted(model.named_parameters()):
            is_scale = parameter.ndim == 1 and name.endswith("weight")
            parameter.copy_(torch.from_numpy(rng.standard_normal(tuple(parameter.shape)) * 0.3 + is_scale))


def save_model(kind: str, folder: Path) -> str:
    path = build_small_model(kind, folder / kind)
    model = {"t5": transformers.AutoModelForSeq2SeqLM, "bart": transformers.AutoModelForSeq2SeqLM}.get(
        kind, transformers.AutoModelForCausalLM if kind == "gpt2" else transformers.AutoModelForMaskedLM
    ).from_pretrained(path)
    set_weights(model)
    model.save_pretrained(path)
    return str(path)


def save_classifier(base: str, folder: Path, problem: str) -> str:
    config = transformers.AutoConfig.from_pretrained(base, num_labels=3, problem_type=problem)
    model = transformers.AutoModelForSequenceClassification.from_config(config)
    set_weights(model)
    model.save_pretrained(folder / problem)
    transformers.AutoTokenizer.from_pretrained(base).save_pretrained(folder / problem)
    return str(folder / problem)


def rate(texts: list[str]) -> list[dict[str, float]]:
    return [{"good": sum(map(ord, text)) % 89 / 100, "bad": 1 - sum(map(ord, text)) % 89 / 100} for text in texts]


def judge(texts: list[str]) -> list[str]:
    return ["long" if len(text) > 13 else "short" for text in texts]


def estimate(texts: list[str]) -> list[float]:
    return [-len(text) / 7 for text in texts]


def decide(prompts: list[str]) -> list[dict[str, float]]:
    return [{"yes": sum(map(ord, prompt)) % 53 / 100, "no": 0.3} for prompt in prompts]


def answer(prompts: list[str]) -> list[str]:
    return [("Yes, of course.", "I cannot say.", "no")[len(prompt) % 3] for prompt in prompts]


functions: list[Any] = [rate, judge, estimate, decide, answer]
for function in functions:
    function.fingerprint = "1"
judge.labels = ["long", "short"]  # type: ignore[attr-defined]


def list_local(folder: Path) -> Iterator[tuple[str, Scorer, Sequence[str]]]:
    """Each way of scoring with a loaded model: its name, a scorer, and texts."""
    paths = {kind: save_model(kind, folder) for kind in LANGUAGE_MODELS}
    for kind, lm_type in LANGUAGE_MODELS.items():
        model: Any = load_weights(paths[kind], device="cpu")
        assert isinstance(model, lm_type)
        for method in lm_type.scorers:
            yield f"{kind} {method}", model.scorer(method), TEXTS
        if kind == "bart":
            continue
        yield f"{kind} decider", LMDecider(model, AnswerSet("yes_no", ("kind", "lazy"), "Q")), PLAIN_TEXTS
    for calibrate in (False, True):
        prompt, model = (
            make_prompt("kind,lazy", "Text: {text}\nAnswer:", calibrate=calibrate),
            load_weights(paths["gpt2"]),
        )
        yield f"prompted{', calibrated' * calibrate}", PromptedClassifier(model, prompt), PLAIN_TEXTS
    for problem in ("single_label_classification", "multi_label_classification"):
        path = save_classifier(paths["bert"], folder, problem)
        yield problem, HuggingFaceClassifier.from_pretrained(path, path, device="cpu", dtype="float32"), PLAIN_TEXTS


def list_others() -> Iterator[tuple[str, Scorer, Sequence[str]]]:
    """The same with functions and servers."""
    yield "function, probabilities", FunctionClassifier(rate), PLAIN_TEXTS
    yield "function, labels", FunctionClassifier(judge), PLAIN_TEXTS
    yield "function, likelihoods", FunctionLM(estimate), PLAIN_TEXTS
    yield "function, decisions", FunctionDecider(decide, YES_NO_ANSWERS), PLAIN_TEXTS
    yield "function, answers", FunctionDecider(answer, YES_NO_ANSWERS), PLAIN_TEXTS
    yield "blind", BlindClassifier(rate), PLAIN_TEXTS
    yield "average", AveragingClassifier(rate, 4), PLAIN_TEXTS
    with ExitStack() as stack:
        echo, chat, talk = (Endpoint(stack.enter_context(served(like)).url, "toy") for like in ("vllm", "chat", "talk"))
        for method in ServedLM.methods:
            yield f"server {method}", ServedLM(echo).scorer(method), TEXTS
        words = {"good": "positive", "bad": "negative"}
        yield "server, chat", ServedClassifier(chat, "Is this positive or negative? {text}", words), PLAIN_TEXTS
        dogs = AnswerSet("yes_no", ("dog", "cat"), "Choose.")
        yield "server, decisions", ServedDecider(chat, dogs), PLAIN_TEXTS
        yield "server, answers", ServedDecider(talk, dogs, samples=4), PLAIN_TEXTS


def measure(scorers: Iterable[tuple[str, Scorer, Sequence[str]]]) -> dict[str, dict[str, Any]]:
    """The version and the rows of every way of scoring; what is minus infinity has no number."""
    table = {}
    for name, scorer, texts in scorers:
        rows = np.where(np.isinf(rows := scorer.score(texts)), np.nan, rows)
        version = scorer.version  # type: ignore[attr-defined]
        numbers = [[None if np.isnan(value) else round(value, 6) for value in row] for row in rows.tolist()]
        table[name] = {"version": version, "rows": numbers}
    return table


def list_changes(recorded: dict[str, Any], measured: dict[str, Any]) -> list[str]:
    """Every way of scoring that differs from the record, and what to do about it."""
    changes = []
    for name, entry in measured.items():
        old = recorded.get(name, {"version": None, "rows": []})
        rows, old_rows = (np.array(each["rows"], dtype=float) for each in (entry, old))
        limits = {"rtol": TOLERANCE, "atol": TOLERANCE}
        is_same = rows.shape == old_rows.shape and np.allclose(rows, old_rows, **limits, equal_nan=True)
        if entry["version"] != old["version"]:
            changes.append(f"{name}: record version {entry['version']}")
        elif not is_same:
            changes.append(f"{name}: other scores of version {old['version']}: raise it")
    return changes


def test_no_score_of_a_loaded_model_changes_without_its_version(tmp_path: Path) -> None:
    assert list_changes(json.loads(RECORD.read_text()), measure(list_local(tmp_path))) == []


def test_no_score_of_a_function_or_a_server_changes_without_its_version() -> None:
    assert list_changes(json.loads(RECORD.read_text()), measure(list_others())) == []


def test_a_change_is_noticed_whether_or_not_the_version_is_raised() -> None:
    recorded = {"aul": {"version": 1, "rows": [[-1.43, 4.0]]}}
    assert list_changes(recorded, {"aul": {"version": 1, "rows": [[-1.43, 4.0]]}}) == []
    assert "raise it" in list_changes(recorded, {"aul": {"version": 1, "rows": [[-0.715, 4.0]]}})[0]
    assert "record" in list_changes(recorded, {"aul": {"version": 2, "rows": [[-0.715, 4.0]]}})[0]
    assert "record" in list_changes(recorded, {"new": {"version": 1, "rows": [[-1.0]]}})[0]


def test_every_version_is_in_the_key_of_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also that of a classifier whose language model has a version of its own."""
    made_before = {}
    for _, scorer, _ in chain(list_local(tmp_path), list_others()):
        before = scorer.fingerprint
        with monkeypatch.context() as patch:
            patch.setattr(type(scorer), "version", 99)
            if scorer.fingerprint == before:
                made_before[type(scorer)] = scorer
    assert set(made_before) == {HuggingFaceClassifier, FunctionClassifier, FunctionLM, FunctionDecider}
    for kind, scorer in made_before.items():  # made when the model is loaded
        monkeypatch.setattr(kind, "version", 99)
        again: Scorer
        assert isinstance(scorer, HuggingFaceClassifier | FunctionClassifier | FunctionLM | FunctionDecider)
        if isinstance(scorer, HuggingFaceClassifier):
            again = HuggingFaceClassifier.from_pretrained(scorer.name, scorer.name, device="cpu", dtype="float32")
        elif isinstance(scorer, FunctionDecider):
            again = FunctionDecider(scorer.function, YES_NO_ANSWERS)
        else:
            again = type(scorer)(scorer.function)
        assert again.fingerprint != scorer.fingerprint


def record() -> None:
    with tempfile.TemporaryDirectory() as folder:
        measured = measure(chain(list_local(Path(folder)), list_others()))
    recorded = json.loads(RECORD.read_text())
    changes = list_changes(recorded, measured)
    wrong = [change for change in changes if "raise it" in change]
    if wrong:
        raise SystemExit("\n".join(wrong))
    entries = {
        name: entry if list_changes(recorded, {name: entry}) else recorded[name] for name, entry in measured.items()
    }
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in entries.items())
    RECORD.write_text(f"{{\n{lines}\n}}\n")
    print("\n".join(changes))


if __name__ == "__main__":
    record()
