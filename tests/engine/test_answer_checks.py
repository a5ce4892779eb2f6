"""A model that changed is not answered for by the store, and one that answers at random is noticed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import geobias
from geobias.engine.answer_checks import CHECKED_TEXTS, check_answers
from geobias.engine.ask import ask
from geobias.errors import InputError
from geobias.models.answers import AnswerSet, make_prompt
from geobias.models.endpoint import Endpoint
from geobias.models.huggingface import HuggingFaceClassifier
from geobias.models.load import load_weights
from geobias.models.prompted import PromptedClassifier
from geobias.models.scorer import ModelIdentity, Scorer
from geobias.models.served import ServedDecider
from geobias.models.served_lm import ServedLM
from geobias.models.wrappers import BlindClassifier
from tests.servers import Toy, served

TEXTS = [f"Text {'x' * n}" for n in range(60)]


class Changing(Scorer):
    """Gives a number for each text, and `change` more."""

    columns, fingerprint = ("p",), "declared"
    dtype: str | None = None

    def __init__(self, change: float = 0.0, noise: float = 0.0) -> None:
        self.change, self.noise, self.rng = change, noise, np.random.default_rng(1)
        self.asked: Counter[str] = Counter()

    def score(self, texts: Sequence[str]) -> np.ndarray:
        self.asked.update(texts)
        noise = self.noise * self.rng.uniform(-0.5, 0.5, len(texts))
        return np.array([[len(text) / 100 + self.change] for text in texts]) + noise[:, None]

    def identity(self) -> ModelIdentity:
        return ModelIdentity("changing", "p", self.fingerprint, dtype=self.dtype)


class Undeclared(Changing):
    fingerprint: Any = None


class Float32(Changing):
    fingerprint = "declared too"
    dtype = "float32"


def ask_all(scorer: Scorer, *blocks: Sequence[str], seed: int = 0) -> list[Any]:
    """One run that asks for these texts; return the models that were found to answer at random."""
    with check_answers(seed) as checks:
        for block in blocks or (TEXTS,):
            ask(scorer, block)
        return checks.list_nondeterministic()


@pytest.mark.parametrize(
    ("kind", "change", "refused"),
    [
        (Changing, 0.41, True),
        (Changing, 0.03, True),
        (Changing, 0.01, False),
        (Float32, 0.01, True),
        (Float32, 5e-4, False),
    ],
)
def test_a_model_that_changed_is_refused_and_the_store_stays_as_it_is(
    kind: type[Changing], change: float, refused: bool
) -> None:
    ask_all(kind())
    changed = kind(change)
    if refused:
        with pytest.raises(InputError, match=r"differ from stored ones.*geobias cache --clear"):
            ask_all(changed, [*TEXTS, "a new text"])
        assert "a new text" not in changed.asked
    else:
        assert ask_all(changed) == []
    again = kind()
    ask_all(again)
    np.testing.assert_array_equal(ask(again, TEXTS).scores[:, 0], [len(text) / 100 for text in TEXTS])
    assert max(again.asked.values()) <= 2


def test_how_many_texts_are_asked_again() -> None:
    first, second, third = Changing(), Changing(), Changing()
    ask_all(first, TEXTS[:30], TEXTS[30:])
    assert sorted(first.asked.values()) == [1] * 40 + [2] * CHECKED_TEXTS
    ask_all(second, TEXTS[:30], TEXTS[30:])
    assert sorted(second.asked.values()) == [2] * CHECKED_TEXTS
    ask_all(third, TEXTS[:30], TEXTS[30:], seed=1)
    assert set(third.asked) != set(second.asked)  # the seed draws them


def test_without_a_fingerprint_texts_are_asked_twice_only() -> None:
    scorer = Undeclared()
    ask_all(scorer, TEXTS[:5], TEXTS[5:])
    assert sum(scorer.asked.values()) == 60 + CHECKED_TEXTS


@pytest.mark.parametrize("kind", [Changing, Undeclared])
def test_answers_at_random_are_told_with_their_size_and_do_not_refuse_the_store(kind: type[Changing]) -> None:
    for _ in range(2):
        (model,) = ask_all(kind(noise=0.4), TEXTS[:30], TEXTS[30:])
        assert (model.name, model.texts) == ("changing", CHECKED_TEXTS)
        assert 10 < model.differing <= CHECKED_TEXTS and 0.1 < model.largest_difference < 0.4
    if kind is Changing:
        with pytest.raises(InputError, match="differ from stored ones"):  # more than by chance
            ask_all(kind(change=0.9, noise=0.4))


def test_models_that_are_known_by_their_weights_are_not_asked_again(
    small_models: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    lm = load_weights(small_models["gpt2"])
    classifier = geobias.load_classifier("embedded/sentiment")
    prompted = PromptedClassifier(lm, make_prompt("bad,good", "{text} is"))
    known = [lm.scorer("mean"), classifier, prompted, BlindClassifier(classifier)]
    assert all(scorer.has_digest for scorer in known)
    assert not BlindClassifier(judge).has_digest and not BlindClassifier(classifier, find_nobody).has_digest
    scored: list[str] = []
    batches = HuggingFaceClassifier.batches

    def note(self: HuggingFaceClassifier, texts: Sequence[str]) -> Any:
        scored.extend(texts)
        return batches(self, texts)

    monkeypatch.setattr(HuggingFaceClassifier, "batches", note)
    for _ in range(2):
        ask_all(classifier, TEXTS[:3])
    assert scored == TEXTS[:3]


def judge(texts: list[str]) -> list[list[float]]:
    return [[0.5, 0.5] for _ in texts]


def find_nobody(texts: list[str]) -> list[list[tuple[int, int]]]:
    return [[] for _ in texts]


def answer_with(toy: Toy, shares: Callable[[int], bool], monkeypatch: pytest.MonkeyPatch) -> None:
    number = iter(range(10**9))

    def chat(body: dict[str, Any]) -> tuple[int, Any]:
        message = {"role": "assistant", "content": "dog" if shares(next(number)) else "cat"}
        return 200, {"choices": [{"index": 0, "message": message}]}

    monkeypatch.setattr(toy, "_chat", chat)


def test_sampled_answers_differ_by_design_but_a_changed_model_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    texts, dogs = TEXTS[:20], AnswerSet("yes_no", ("dog", "cat"), "Choose.")
    with served("no-logprobs") as toy:

        def decide() -> list[Any]:
            return ask_all(ServedDecider(Endpoint(toy.url, "toy"), dogs, samples=5), texts)

        answer_with(toy, lambda number: number % 3 == 0, monkeypatch)
        assert decide() == []
        assert len(toy.calls) == 3 + 5 * 20  # three probes; nothing twice
        answer_with(toy, lambda number: number % 10 < 4, monkeypatch)
        assert decide() == []  # 40 % after 33 %: chance
        answer_with(toy, lambda number: number % 10 < 9, monkeypatch)
        with pytest.raises(InputError, match="differ from stored ones"):
            decide()


def test_a_server_whose_probes_are_the_same_but_not_its_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    with served() as toy:
        ask_all(ServedLM(Endpoint(toy.url, "toy")).scorer(), TEXTS)
        log_p = toy.log_p

        def change(before: Sequence[bytes], token: bytes) -> float:
            return log_p(before, token) - log(2) * (b"Text" in before)

        monkeypatch.setattr(toy, "log_p", change)
        with pytest.raises(InputError, match="toy gives answers that differ from stored ones"):
            ask_all(ServedLM(Endpoint(toy.url, "toy")).scorer(), TEXTS)


def test_the_limit_of_calls_holds_for_checks_too() -> None:
    with served("one-by-one") as toy:
        ask_all(ServedLM(Endpoint(toy.url, "toy")).scorer(), TEXTS)
        before = len(toy.calls)
        with pytest.raises(InputError, match="limit of 25 calls"):
            ask_all(ServedLM(Endpoint(toy.url, "toy", max_calls=25)).scorer(), TEXTS)
        assert sum(path.endswith("completions") for path, _, _ in toy.calls[before:]) == 25
