"""Classification by how a served model begins its answer, against the toy's own candidates."""

from __future__ import annotations

from math import exp

import numpy as np
import pytest

from geobias.engine.ask import ask
from geobias.errors import GeobiasError, InputError
from geobias.models import served_chat
from geobias.models.endpoint import Endpoint
from geobias.models.scorer import LabelScorer
from geobias.models.served_chat import ServedClassifier
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
    assert isinstance(found, LabelScorer) and found.paid and found.labels == ("good", "bad")
    assert (body["logprobs"], body["top_logprobs"], body["max_tokens"], body["temperature"]) == (True, 20, 1, 0)


def test_completions_where_chats_have_no_log_probabilities(monkeypatch: pytest.MonkeyPatch) -> None:
    with served("no-echo") as toy:
        monkeypatch.setattr(toy, "_chat", lambda body: (404, {"detail": "Not Found"}))
        found = classifier(toy, good=" dog", bad="cat")
        monkeypatch.setitem(served_chat.CANDIDATES, "completions", 9)
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
    with served("chat") as toy, pytest.raises(GeobiasError, match=r"'I ran\.' with none of yes, no \(but with"):
        classifier(toy, good="yes", bad="no").score(["I ran."])


def test_a_server_without_log_probabilities_is_told_apart() -> None:
    with (
        served("no-logprobs") as toy,
        pytest.raises(InputError, match=r"cannot be asked to classify: .* with chat/comp"),
    ):
        classifier(toy).score(["I ran."])


def test_words_that_begin_alike() -> None:
    with served("chat") as toy:
        with pytest.raises(InputError, match="'a' and 'b' begin alike"):
            classifier(toy, a="good", b="Goodness")
        with pytest.raises(InputError, match="fits several labels"):
            classifier(toy, a="posh", b="post").score(["I ran."])


@pytest.mark.parametrize(
    ("prompt", "words", "message"),
    [
        ("No place", WORDS, "must hold {text}"),
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
        assert again.likely_fingerprints() == [again.fingerprint]
        ask(again, ["I ran."])
        assert toy.prompts()[PROMPT.replace("{text}", "I ran.")] == asked == 1
        assert classifier(toy, good="dog", bad="cat").fingerprint != again.fingerprint
        toy.weights = "2"
        assert classifier(toy).fingerprint != again.fingerprint
