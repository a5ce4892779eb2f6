"""Decisions of served models: by candidates, by likelihoods, and by sampled answers, against the toy's own numbers."""

from __future__ import annotations

from itertools import count
from math import exp, log
from typing import Any

import numpy as np
import pytest

from geobias.engine.ask import ask
from geobias.errors import InputError
from geobias.models.answers import CHOICE_ANSWERS, YES_NO_ANSWERS, AnswerSet, Decisions
from geobias.models.endpoint import CallRefused, Endpoint, ServerFailed
from geobias.models.load import load_decider
from geobias.models.prompted import LMDecider
from geobias.models.served import CHAT, ServedDecider, sum_spellings
from tests.servers import Toy, served, tokenise

DOGS = AnswerSet("yes_no", ("dog", "cat"), "Choose.")
TEXTS = ["Is it Kenya?", "Is it Chad?"]


def reply(content: str) -> tuple[int, Any]:
    return 200, {"choices": [{"index": 0, "message": {"role": "assistant", "content": content}}]}


def test_candidates_of_a_chat_give_log_odds() -> None:
    with served("chat") as toy:
        decider = load_decider(Endpoint(toy.url, "toy"), DOGS, system="Be fair.")
        rows = ask(decider, TEXTS).scores
        for row, text in zip(rows, TEXTS, strict=True):
            log_p = dict(toy.ranked(tokenise(f"Choose.\n\n{text}")))
            np.testing.assert_allclose(row, [0, 0, log_p[b" dog"], log_p[b" cat"]])
        path, body, _ = toy.calls[-1]
        calls = len(toy.calls)
        assert ask(decider, TEXTS).scored == 0 and len(toy.calls) == calls  # nothing is paid twice
    assert isinstance(decider, ServedDecider) and path.endswith("chat/completions") and body["top_logprobs"] == 20
    assert body["messages"][0] == {"role": "system", "content": "Be fair."}
    assert decider.identity().asked_by == "candidates of an answer"


def test_an_answer_that_is_no_candidate_has_the_least_of_them_at_most() -> None:
    with served("chat") as toy:
        toy.allowed = 5
        decider = load_decider(Endpoint(toy.url, "toy"), AnswerSet("yes_no", ("dog", "zebra"), "Choose."))
        row = decider.score(TEXTS[:1])[0]
        assert row[3] == pytest.approx(toy.ranked(tokenise(f"Choose.\n\n{TEXTS[0]}"))[4][1])
        assert decider.fingerprint and isinstance(decider, ServedDecider) and decider.route == (CHAT, 5)


@pytest.mark.parametrize("failure", [(), CallRefused("no", 400), ServerFailed("no", 500)], ids=str)
def test_a_server_that_has_no_500_candidates_is_asked_for_20(failure: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    decider = ServedDecider(Endpoint("http://localhost:1/v1", "toy"), CHOICE_ANSWERS)

    async def get_candidates(text: str, route: Any, connection: Any) -> Any:
        if route[1] > 20 and failure:
            raise failure
        return [("A", -1.0)] if route[1] <= 20 else failure

    monkeypatch.setattr(decider, "_get_candidates", get_candidates)
    assert decider.route == (CHAT, 20)


def decide_by(answers: AnswerSet, candidates: list[tuple[str, float]], monkeypatch: pytest.MonkeyPatch) -> Decisions:
    """The decision of a served model whose reply has these candidates."""
    decider = ServedDecider(Endpoint("http://localhost:1/v1", "toy"), answers)
    decider.route = (CHAT, 5)

    async def get_candidates(*_: Any, **__: Any) -> Any:
        return candidates

    monkeypatch.setattr(decider, "_get_candidates", get_candidates)
    return Decisions(answers, decider.score(["Who?"]))


def test_an_article_is_no_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    ranked = [("a", log(0.5)), (" A", log(0.3)), ("B", log(0.1)), ("x", log(0.01))]
    np.testing.assert_allclose(decide_by(CHOICE_ANSWERS, ranked, monkeypatch).p, [[0.3, 0.1]])


def test_a_reply_without_any_answer_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    refusal = [("I", log(0.8)), ("Sorry", log(0.1)), ("As", log(0.02))]
    assert decide_by(YES_NO_ANSWERS, refusal, monkeypatch).answered.tolist() == [0]
    refusal.insert(2, ("No", log(0.05)))
    decisions = decide_by(YES_NO_ANSWERS, refusal, monkeypatch)
    assert decisions.answered[0] == pytest.approx(0.07) and decisions.log_odds[0] == pytest.approx(log(0.02 / 0.05))


@pytest.mark.parametrize(
    ("candidates", "p"),
    [
        ({"Yes": 0.4, " yes": 0.2, "No": 0.1}, 0.6),
        ({"Yes": 0.4, "yes": 0.1, "Y": 0.02, "Ye": 0.02}, 0.5),  # "Y" begins "YES" or another word
        ({"Ye": 0.3, "N": 0.3}, 0.3),  # a tokenizer that splits every spelling
        ({"": 0.5, "Yesterday": 0.3}, None),
    ],
)
def test_beginnings_of_an_answer_count_only_without_the_whole_word(
    candidates: dict[str, float], p: float | None
) -> None:
    pairs = [(token, log(each)) for token, each in candidates.items()]
    log_p = sum_spellings(pairs, YES_NO_ANSWERS.spellings("yes"))
    assert log_p is None if p is None else exp(log_p or 0) == pytest.approx(p)


def test_likelihoods_where_the_server_does_not_chat(monkeypatch: pytest.MonkeyPatch) -> None:
    with served("plain") as toy:
        monkeypatch.setattr(toy, "_chat", lambda body: (404, {"detail": "Not Found"}))
        decider = load_decider(Endpoint(toy.url, "toy"), DOGS)
        begun = load_decider(Endpoint(toy.url, "toy"), DOGS, begin="<s>")
        assert isinstance(begun, LMDecider) and begun.lm.describe("", "").begin == "<s>"
        row = decider.score(TEXTS[:1])[0]
        before = tokenise(f"Choose.\n\n{TEXTS[0]}\nAnswer:")
        for value, word in zip(row[2:], ("dog", "cat"), strict=True):
            forms = [space + form for space in (" ", "") for form in (word, word.title(), word.upper())]
            assert value == pytest.approx(log(sum(exp(toy.log_p(before, form.encode())) for form in forms)))
    assert isinstance(decider, LMDecider) and decider.paid


def sample(toy: Toy, monkeypatch: pytest.MonkeyPatch, answers: list[str], samples: int | None = None) -> Decisions:
    number = count()
    monkeypatch.setattr(toy, "_chat", lambda body: reply(answers[next(number) % len(answers)]))
    decider = load_decider(Endpoint(toy.url, "toy", concurrency=1), DOGS, samples=samples)
    assert isinstance(decider, ServedDecider) and decider.identity().asked_by == f"{samples or 20} sampled answers"
    return Decisions(DOGS, ask(decider, TEXTS).scores)


def test_answers_are_sampled_where_there_are_no_log_probabilities(monkeypatch: pytest.MonkeyPatch) -> None:
    with served("no-logprobs") as toy:
        decisions = sample(toy, monkeypatch, ["Dog.", "dog", "Cat", "I cannot say.", "Maybe"])
    assert decisions.samples.tolist() == [20, 20] and decisions.refusals.tolist() == [4, 4]
    np.testing.assert_allclose(decisions.p, [[0.4, 0.2]] * 2)
    np.testing.assert_allclose(decisions.log_odds, log(8.5 / 4.5))


def test_a_server_that_always_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    with served("no-logprobs") as toy:
        decisions = sample(toy, monkeypatch, ["I'm sorry, I can't decide about people."], samples=3)
        assert len([body for _, body, _ in toy.calls if body.get("temperature") == 1]) == 6
    assert decisions.refusals.tolist() == [3, 3] and (decisions.answered == 0).all() and (decisions.log_odds == 0).all()


def test_sampling_needs_two_answers() -> None:
    with pytest.raises(InputError, match="--samples must be at least 2, not 1"):
        load_decider(Endpoint("http://localhost:1/v1", "toy"), DOGS, samples=1)
