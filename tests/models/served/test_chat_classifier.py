"""Classification by how a served model begins its answer, against the toy's own candidates."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp

import numpy as np
import pytest

from geobias.engine.ask import ask
from geobias.errors import InputError
from geobias.models import served as served_chat
from geobias.models.endpoint import Endpoint
from geobias.models.scorer import Classifier
from geobias.models.served import ServedClassifier
from tests.servers import Toy, served, tokenise

PROMPT = "Is this positive or negative? {text}"
WORDS = {"good": "positive", "bad": "Negative"}


def classifier(toy: Toy, **words: str) -> ServedClassifier:
    return ServedClassifier(Endpoint(toy.url, "toy"), PROMPT, words or WORDS)


def test_candidates_become_probabilities() -> None:
    with served("chat") as toy:
        found = classifier(toy)
        rows = ask(found, ["I ran.", "I fell."]).scores
        for row, text in zip(rows, ["I ran.", "I fell."], strict=True):
            p = {token: exp(log_p) for token, log_p in toy.ranked(tokenise(PROMPT.replace("{text}", text)))}
            good, bad = p[b" positive"] + p[b" pos"], p[b" negative"]
            np.testing.assert_allclose(row, [good / (good + bad), bad / (good + bad), 0])
        body = toy.calls[-1][1]
    assert isinstance(found, Classifier) and found.paid and found.labels == ("good", "bad")
    assert (body["logprobs"], body["top_logprobs"], body["max_tokens"], body["temperature"]) == (True, 20, 1, 0)


def test_completions_where_chats_have_no_log_probabilities(monkeypatch: pytest.MonkeyPatch) -> None:
    with served("no-echo") as toy:
        monkeypatch.setattr(toy, "_chat", lambda body: (404, {"detail": "Not Found"}))
        found = classifier(toy, good=" dog", bad="cat")
        monkeypatch.setattr(ServedClassifier, "routes", (("chat/completions", 20), ("completions", 9)))
        p = found.score(["I ran."])
        odds = [exp(toy.log_p(tokenise(PROMPT.replace("{text}", "I ran.")), token)) for token in (b" dog", b" cat")]
    np.testing.assert_allclose(p, [[odds[0] / sum(odds), odds[1] / sum(odds), 0]])


def test_a_label_that_is_no_candidate_has_the_least_of_them_at_most() -> None:
    with served("chat") as toy:
        p = classifier(toy, good="dog", bad="zebra").score(["I ran."])
        ranked = toy.ranked(tokenise(PROMPT.replace("{text}", "I ran.")))
    dog, least = exp(dict(ranked)[b" dog"]), exp(ranked[-1][1])
    np.testing.assert_allclose(p[0, :2], [dog / (dog + least), least / (dog + least)])


def test_an_answer_without_any_label_names_the_text() -> None:
    message = r"1 text\(s\) with none of yes, no, such as 'I ran\.' \(but with"
    with served("chat") as toy, pytest.raises(InputError, match=message):
        classifier(toy, good="yes", bad="no").score(["I ran."])


def test_texts_without_any_label_are_kept_and_told_when_the_others_are_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts = [f"I ran{'!' * n}" for n in range(30)]
    silent = {PROMPT.replace("{text}", text) for text in texts[3:5]}
    with served("chat") as toy:
        ranked = toy.ranked

        def partly(before: Sequence[bytes]) -> list[tuple[bytes, float]]:
            own = b"".join(before).decode() not in silent
            return ranked(before) if own else [(b" Well", -0.1), (b" I", -3.0)]

        monkeypatch.setattr(toy, "ranked", partly)
        for asked in (33, 3):  # three to tell the model apart; then nothing is paid again
            before = len(toy.calls)
            with pytest.raises(InputError, match=r"2 text\(s\) with none of positive, negative, .*'I ran!!!'"):
                ask(classifier(toy), texts)
            assert len(toy.calls) - before - 1 == asked
        assert len(ask(classifier(toy), texts[:3] + texts[5:]).scores) == 28


def test_a_prompt_that_never_gets_a_label_is_told_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served_chat, "MOST_UNLABELLED", 4)
    with served("chat") as toy:
        with pytest.raises(InputError, match=r"4 text\(s\) with none of yes, no"):
            ask(classifier(toy, good="yes", bad="no"), [f"I ran{'!' * n}" for n in range(100)])
        assert len(toy.calls) < 30


def test_fewer_candidates_where_the_server_allows_no_more() -> None:
    with served("chat") as toy:
        toy.allowed = 5
        found = classifier(toy, good="positive", bad="zebra", other="dog", fourth="cat")
        p = found.score(["I ran."])
        assert toy.calls[-1][1]["top_logprobs"] == 5 and found.route == ("chat/completions", 5)
        few = found.fingerprint
        toy.allowed = 20
        assert classifier(toy, good="positive", bad="zebra", other="dog", fourth="cat").fingerprint != few
    np.testing.assert_allclose(p[0, :4].sum(), 1)


def test_models_that_are_sure_of_the_same_answer_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    with served("chat") as toy:

        def sure(before: Sequence[bytes]) -> list[tuple[bytes, float]]:
            return [(b" positive", -1e-6), (b" negative", toy.log_p(before, b" negative") - 10), (b" no", -20.0)]

        monkeypatch.setattr(toy, "ranked", sure)
        first = classifier(toy).fingerprint
        toy.noise = 0.1  # unlikely candidates are less exact
        assert classifier(toy).fingerprint == first
        toy.weights, toy.noise = "2", 0.0
        assert classifier(toy).fingerprint != first
        monkeypatch.setattr(toy, "ranked", lambda before: [(b" negative", log_p) for _, log_p in sure(before)[:1]])
        other = classifier(toy).fingerprint
        monkeypatch.setattr(toy, "ranked", lambda before: sure(before)[:1])
        assert classifier(toy).fingerprint != other


def test_a_server_without_log_probabilities_is_told_apart() -> None:
    with (
        served("no-logprobs") as toy,
        pytest.raises(InputError, match=r"cannot be used as a classifier: .* with chat/comp"),
    ):
        classifier(toy).score(["I ran."])


def test_words_that_begin_alike() -> None:
    with served("chat") as toy:
        with pytest.raises(InputError, match="for 'a' is the start of the word for 'b'"):
            classifier(toy, a="good", b="Goodness")
        with pytest.raises(InputError, match="starts like several labels"):
            classifier(toy, a="posh", b="post").score(["I ran."])


@pytest.mark.parametrize(
    ("prompt", "words", "message"),
    [
        ("No place", WORDS, "must contain {text}"),
        (PROMPT, {"a": "x"}, "two labels"),
        (PROMPT, {"a": "x", "b": " "}, "word"),
    ],
)
def test_prompts_and_words_that_do_not_do(prompt: str, words: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ServedClassifier(Endpoint("http://localhost:1/v1", "toy"), prompt, words)


def test_answers_are_kept_under_model_prompt_and_words() -> None:
    with served("chat") as toy:
        ask(classifier(toy), ["I ran."])
        asked = toy.prompts()[PROMPT.replace("{text}", "I ran.")]
        again = classifier(toy)
        assert again.known_fingerprints() == [again.fingerprint]
        ask(again, ["I ran."])
        assert toy.prompts()[PROMPT.replace("{text}", "I ran.")] == asked == 1
        assert classifier(toy, good="dog", bad="cat").fingerprint != again.fingerprint
        toy.weights = "2"
        assert classifier(toy).fingerprint != again.fingerprint
