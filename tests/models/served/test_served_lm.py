"""Likelihoods from servers of several kinds, against the toy's own numbers; what a server lacks is told."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from geobias.engine.ask import ask
from geobias.errors import InputError
from geobias.models import endpoint as calls
from geobias.models.answers import AnswerSet, make_prompt
from geobias.models.endpoint import Endpoint, ServerFailed
from geobias.models.prompted import PromptedClassifier
from geobias.models.scorer import Scorer
from geobias.models.served import ServedClassifier, ServedDecider
from geobias.models.served_lm import PROBES, NoLikelihoods, ServedLM
from geobias.models.server_replies import read_echo
from geobias.texts.templates import mark
from tests.conftest import posix_only
from tests.servers import BEGIN, Spoil, Toy, served, tokenise

TEXTS = [
    "People in France are kind.",
    "People in Côte d'Ivoire are kind.",
    "In Ḩalab, 北京",
    "People in France are shy.",
]
ANSWERING = ("plain", "vllm", "one-by-one")


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    async def pause(seconds: float) -> None:
        pass

    monkeypatch.setattr(calls, "pause", pause)


def model(toy: Toy, begin: str = "", **limits: int) -> ServedLM:
    return ServedLM(Endpoint(toy.url, "toy", **limits), begin=begin)


def numbers(toy: Toy, text: str, begin: str = "") -> list[float]:
    """By hand: log P of each token of the text given all before it; the first has none where nothing is before it."""
    before = [*([BEGIN] if toy.like == "vllm" else []), *tokenise(begin)]
    own = tokenise(text)
    given = [[*before, *own[:i]] for i in range(len(own))]
    return [toy.log_p(tokens, token) for tokens, token in zip(given, own, strict=True) if tokens]


@pytest.mark.parametrize(
    ("like", "begin"),
    [("vllm", ""), *((like, begin) for like in ("plain", "one-by-one") for begin in ("", "<s>", "Well:"))],
)
def test_log_likelihoods_are_the_models_own(like: str, begin: str) -> None:
    with served(like) as toy:
        lm = model(toy, begin)
        mean, total = lm.scorer().score(TEXTS), lm.scorer("sum").score(TEXTS)
        expected = [numbers(toy, text, begin) for text in TEXTS]
    np.testing.assert_allclose(mean[:, 0], [np.mean(own) for own in expected])
    np.testing.assert_allclose(total[:, 0], [np.sum(own) for own in expected])
    np.testing.assert_array_equal(mean[:, 1], [len(own) for own in expected])
    assert lm.source.scores_first_token == (like == "vllm" or begin != "")


def test_a_server_that_begins_texts_by_itself_takes_no_beginning() -> None:
    with served("vllm") as toy:
        with pytest.raises(InputError, match=r"adds the first token itself\. Remove begin="):
            model(toy, "<s>").scorer().score(TEXTS)
        assert not set(toy.prompts()) & {f"<s>{text}" for text in TEXTS}


@pytest.mark.parametrize("like", ANSWERING)
def test_conditional_counts_the_marked_part_with_its_space(like: str) -> None:
    texts = [f"People in {place} are {mark('very kind')}." for place in ("France", "Ḩalab")]
    with served(like) as toy:
        found = model(toy).scorer("conditional").score(texts)
        expected = [numbers(toy, f"People in {place} are very kind.")[-3:-1] for place in ("France", "Ḩalab")]
    np.testing.assert_allclose(found[:, 0], [np.mean(own) for own in expected])
    np.testing.assert_array_equal(found[:, 1], [2, 2])


def test_several_texts_a_call_where_the_server_answers_them_rightly() -> None:
    texts = [f"Fox {'x' * n}" for n in range(40)]
    for like, expected in (("plain", 3), ("one-by-one", 40)):
        with served(like) as toy:
            scorer = model(toy).scorer()
            assert scorer.fingerprint
            before = len(toy.calls)
            scorer.score(texts)
            asked = [body for path, body, _ in toy.calls[before:] if path == "/v1/completions"]
        assert len(asked) == expected


@pytest.mark.parametrize(
    ("like", "message"),
    [
        ("no-logprobs", "returns no log-probabilities with its completions"),
        ("no-echo", "does not echo the text .*Only no echo is supported"),
        ("wrong", "echoed log-probabilities do not stand at their own tokens. Load the model's folder or GGUF file"),
        ("chat", "need /completions. A chat-only server can be audited as a classifier"),
    ],
)
def test_what_a_server_lacks_is_told_at_the_first_call(like: str, message: str) -> None:
    with served(like) as toy:
        with pytest.raises(NoLikelihoods, match=message):
            model(toy).scorer().score(TEXTS)
        assert not set(toy.prompts()) & set(TEXTS)


@pytest.mark.parametrize("status", [400, 404, 405, 422, 501])
def test_a_server_that_refuses_completions_may_still_chat(status: int) -> None:
    with served() as toy:
        toy.failures = lambda number: status
        with pytest.raises(NoLikelihoods, match="can be audited as a classifier"):
            model(toy).scorer().score(TEXTS)
        assert len(toy.calls) == 1


def spoil_numbers(number: bytes) -> Spoil:
    return lambda answer: re.sub(rb"-\d+\.\d+", number, answer)


SPOILS: dict[str, Spoil] = {
    "NaN": spoil_numbers(b"NaN"),
    "minus infinity": spoil_numbers(b"-Infinity"),
    "many digits": spoil_numbers(b"-1" + b"0" * 400),
    "cut off": lambda answer: answer[:-20],
    "no numbers": lambda answer: answer.replace(b"logprob", b"other"),
}


def make_scorer(toy: Toy, use: str) -> Scorer:
    endpoint = Endpoint(toy.url, "toy", retries=2, concurrency=1)
    if use == "classifier":
        words = {"good": "positive", "bad": "negative"}
        return ServedClassifier(endpoint, "Is this positive or negative? {text}", words)
    if use == "decider":
        return ServedDecider(endpoint, AnswerSet("yes_no", ("dog", "cat"), "Choose."))
    return ServedLM(endpoint).scorer()


USES = [("plain", "likelihoods"), ("chat", "classifier"), ("chat", "decider")]


@pytest.mark.parametrize(("like", "use"), USES)
@pytest.mark.parametrize("spoil", SPOILS.values(), ids=SPOILS)
def test_what_cannot_be_read_is_asked_again_and_then_the_fault_of_the_server(
    like: str, use: str, spoil: Spoil, own_store: Path
) -> None:
    """Nothing of it is kept, so that the same scorer works once the server is well again."""
    with served(like) as toy:
        expected, scorer = make_scorer(toy, use).score(TEXTS), make_scorer(toy, use)
        assert scorer.fingerprint
        before = len(toy.calls)
        toy.failures = lambda number: spoil
        with pytest.raises(ServerFailed, match=f"The server at {toy.url} returned.* 3 times") as failure:
            ask(scorer, TEXTS)
        assert len(toy.calls) - before >= 3 and "Remove" not in str(failure.value)
        assert not list(own_store.rglob("*.parquet"))
        toy.failures = lambda number: spoil if number % 2 else None
        np.testing.assert_array_equal(ask(scorer, TEXTS).scores, expected)


@pytest.mark.parametrize("spoil", [SPOILS["NaN"], SPOILS["cut off"]], ids=["NaN", "cut off"])
@pytest.mark.parametrize(("like", "use"), USES)
def test_a_probe_that_cannot_be_read_says_nothing_about_the_server(like: str, use: str, spoil: Spoil) -> None:
    with served(like) as toy:
        fingerprint = make_scorer(toy, use).fingerprint
        toy.failures = lambda number: spoil if number % 2 else None
        assert make_scorer(toy, use).fingerprint == fingerprint


@pytest.mark.parametrize(
    ("tokens", "text", "count"),
    [
        (["Text", " ", "积极"], "Text 积极", 3),  # nothing was generated
        (["Text", " ", "积极", " dog"], "Text 积极", 3),
        (["Text", " ", "积极", ""], "Text 积极", 3),  # what was generated shows nothing
        (["Text", " \ufffd", "\ufffd", "\ufffd"], "Text 京", 4),
        (["Text", " ", "", "", " dog"], "Text 京", 4),
        (["Text", " "], "Text 积极", None),
        (["Text", " ", ""], "Text 京 fox", None),
    ],
)
def test_no_token_of_an_echo_is_lost(tokens: list[str], text: str, count: int | None) -> None:
    found = read_echo({"logprobs": {"tokens": tokens, "token_logprobs": [None, *[-1.0] * (len(tokens) - 1)]}}, text)
    assert (None if found is None else len(found)) == count


@pytest.mark.parametrize(("change", "same"), [("nothing", True), ("noise", True), ("weights", False)])
def test_another_model_under_the_same_name_is_told_apart(change: str, same: bool) -> None:
    with served() as toy:
        first = model(toy).scorer("mean").fingerprint
        if change == "noise":
            toy.noise = 0.01  # nats a token
        if change == "weights":
            toy.weights = "2"
        lm = model(toy)
        assert lm.known_fingerprints("mean") == [first]
        assert (lm.scorer("mean").fingerprint == first) is same
        assert lm.scorer("mean").fingerprint != lm.scorer("sum").fingerprint
        toy.weights, toy.noise = "1", 0.0
        assert model(toy).scorer("mean").fingerprint == first  # the old one is still known when it comes back


def test_the_model_that_answered_last_comes_first_and_a_damaged_file_is_no_model(own_store: Path) -> None:
    with served() as toy:
        first = model(toy).scorer("mean").fingerprint
        toy.weights = "2"
        second = model(toy).scorer("mean").fingerprint
        for file in own_store.rglob("served/*/*.json"):
            os.utime(file, (1, 1))
        toy.weights = "1"
        assert model(toy).scorer("mean").fingerprint == first
        assert model(toy).known_fingerprints("mean") == [first, second]
        next(own_store.rglob(f"{first.split(':')[0]}.json")).write_text("{")
        assert model(toy).scorer("mean").fingerprint == first  # found again by the same numbers


@pytest.mark.parametrize("like", ANSWERING)
def test_a_server_that_dies_in_the_middle_is_read_prompt_options_no_text_twice(like: str) -> None:
    texts = [f"Fox {'x' * n}" for n in range(50)]
    with served(like) as toy:
        scorer = model(toy, concurrency=3).scorer()
        assert scorer.fingerprint
        probed = len(toy.calls)
        toy.failures = lambda number: 503 if number > probed + 2 else None
        with pytest.raises(ServerFailed):
            ask(scorer, texts)
        answered = toy.prompts()
        toy.failures = lambda number: None
        known = ask(model(toy).scorer(), texts)
        assert 0 < known.scored < 50
        np.testing.assert_allclose(known.scores[:, 0], [np.mean(numbers(toy, text)) for text in texts])
        asked = toy.prompts() - answered
        assert sum(asked[text] for text in texts) == known.scored


SCRIPT = """
import sys
from geobias.engine.ask import ask
from geobias.models.endpoint import Endpoint
from geobias.models.served_lm import ServedLM

ask(ServedLM(Endpoint(sys.argv[1], "toy", concurrency=2)).scorer(), [f"Fox {'x' * n}" for n in range(64)])
"""


@posix_only
def test_killed_in_the_middle_nothing_that_was_kept_is_paid_again(tmp_path: Path, own_store: Path) -> None:
    script = tmp_path / "asking.py"
    script.write_text(SCRIPT)
    with served() as toy:
        toy.failures = lambda number: 503 if number > 8 else None  # two shares of sixteen, then in vain
        command = [sys.executable, str(script), toy.url]
        environment = os.environ | {"GEOBIAS_CACHE": str(own_store)}
        first = subprocess.Popen(command, env=environment)
        while len(list(own_store.rglob("*.parquet"))) < 2 and first.poll() is None:
            time.sleep(0.01)
        first.send_signal(signal.SIGKILL)
        assert first.wait() == -signal.SIGKILL
        kept = sum(pq.read_metadata(file).num_rows for file in own_store.rglob("*.parquet"))
        toy.failures = lambda number: None
        before = len(toy.calls)
        subprocess.run(command, check=True, env=environment)
        sent = [body["prompt"] for _, body, _ in toy.calls[before:]]
        again = {text for prompt in sent if isinstance(prompt, list) for text in prompt} - set(PROBES)
    assert 0 < kept < 64 and again == {f"Fox {'x' * n}" for n in range(kept, 64)}


@pytest.mark.parametrize("like", ANSWERING)
def test_a_served_model_is_prompted_for_labels(like: str) -> None:
    prompt = make_prompt("bad,good", "Text: {text}\nAnswer:")
    with served(like) as toy:
        classifier = PromptedClassifier(model(toy), prompt)
        p = classifier.score(["I ran."])
        odds = [np.exp(numbers(toy, f"Text: I ran.\nAnswer: {word}")[-1]) for word in ("bad", "good")]
    np.testing.assert_allclose(p, [[odds[0] / sum(odds), odds[1] / sum(odds), 0]])
    assert classifier.paid


def test_calibration_is_paid_once() -> None:
    prompt = make_prompt("bad,good", "Text: {text}\nAnswer:", calibrate=True)
    with served() as toy:
        for text in ("I ran.", "I fell."):
            classifier = PromptedClassifier(model(toy), prompt)
            row = ask(classifier, [text]).scores[0]
        assert toy.prompts()["Text: \nAnswer: good"] == toy.prompts()["Text: I fell.\nAnswer: good"] == 1
        assert classifier.known_fingerprints() == [classifier.fingerprint]
        own, prior = (
            np.array([numbers(toy, f"Text: {text}\nAnswer: {word}")[-1] for word in ("bad", "good")])
            for text in ("I fell.", "")
        )
    odds = np.exp(own - prior)
    np.testing.assert_allclose(row, [*odds / odds.sum(), 0])
