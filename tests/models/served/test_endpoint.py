"""Every way in which a server can fail: tried again where that helps, else told in a sentence; the key never shown."""

from __future__ import annotations

import asyncio
import logging
import traceback
from typing import Any

import pytest

from geobias.errors import InputError
from geobias.models import endpoint as module
from geobias.models.endpoint import (
    KEY_VARIABLE,
    OPENAI_KEY_VARIABLE,
    CallRefused,
    Connection,
    Endpoint,
    Query,
    ServerFailed,
)
from tests.servers import CUT, DRIP, HELD, NONSENSE, SLOW, Failure, Spoil, served

KEY = "sk-very-secret-0123456789"


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """No test waits: what would have been waited for is noted instead."""
    waited: list[float] = []

    async def pause(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(module, "pause", pause)
    for variable in (KEY_VARIABLE, OPENAI_KEY_VARIABLE):
        monkeypatch.delenv(variable, raising=False)
    return waited


def said(text: str) -> Query[str]:
    async def question(line: Connection) -> str:
        answer = await line.post("completions", {"prompt": text, "max_tokens": 1, "logprobs": 1, "echo": True})
        return str(answer["choices"][0]["text"])

    return question


@pytest.mark.parametrize("failure", [429, 500, 502, 503, CUT])
def test_a_failure_that_passes_is_tried_again(failure: Failure, pauses: list[float]) -> None:
    with served() as toy:
        toy.failures = lambda number: failure if number <= 3 else None
        assert Endpoint(toy.url, "toy").ask(said("A fox")).startswith("A fox")
        assert len(toy.calls) == 4
    assert len(pauses) == 3
    assert pauses[0] <= module.FIRST_PAUSE < pauses[2] <= 4 * module.FIRST_PAUSE


def test_a_late_answer_is_tried_again() -> None:
    with served() as toy:
        toy.failures = lambda number: HELD if number == 1 else None
        assert Endpoint(toy.url, "toy", timeout=0.2).ask(said("A fox")).startswith("A fox")
        assert len(toy.calls) >= 2


@pytest.mark.parametrize(
    ("failure", "message"), [(503, "status 503: as planned, 3 times"), (CUT, "cut the connection.*3 times")]
)
def test_a_failure_that_stays_is_told(failure: Failure, message: str) -> None:
    with served() as toy:
        toy.failures = lambda number: failure
        with pytest.raises(ServerFailed, match=message):
            Endpoint(toy.url, "toy", retries=2).ask(said("A fox"))
        assert len(toy.calls) == 3


def test_a_server_that_is_not_there() -> None:
    with served() as toy:
        url = toy.url
    with pytest.raises(ServerFailed, match="cannot be reached"):
        Endpoint(url, "toy", retries=1).ask(said("A fox"))


def test_the_server_says_how_long_to_wait(pauses: list[float]) -> None:
    with served() as toy:
        toy.failures = lambda number: (429, {"Retry-After": "100"}) if number == 1 else None
        Endpoint(toy.url, "toy").ask(said("A fox"))
    assert pauses == [100]


def test_a_server_that_says_come_back_tomorrow_is_not_waited_for(pauses: list[float]) -> None:
    with served() as toy:
        toy.failures = lambda number: (429, {"Retry-After": "86400"})
        with pytest.raises(ServerFailed, match="asks to wait for 86400 s"):
            Endpoint(toy.url, "toy").ask(said("A fox"))
    assert pauses == []


@pytest.mark.parametrize("status", [400, 404, 413, 422])
def test_what_is_refused_is_told_at_once(status: int) -> None:
    with served() as toy:
        toy.failures = lambda number: (status, {}, '{"error": {"message": "the prompt is too long"}}')
        with pytest.raises(CallRefused, match="the prompt is too long") as error:
            Endpoint(toy.url, "toy").ask(said("A fox"))
        assert error.value.status == status and len(toy.calls) == 1


def test_nonsense_is_told() -> None:
    with served() as toy:
        toy.failures = lambda number: NONSENSE
        with pytest.raises(ServerFailed, match=r"something other than JSON: <html>busy.*3 times"):
            Endpoint(toy.url, "toy", retries=2).ask(said("A fox"))
        assert len(toy.calls) == 3


@pytest.mark.parametrize(
    "spoil",
    [
        lambda answer: answer[:-9],
        lambda answer: b"[" * 100_000,
    ],
    ids=["cut off", "nested too deeply"],
)
def test_an_answer_that_cannot_be_read_is_asked_for_again(spoil: Spoil) -> None:
    with served() as toy:
        toy.failures = lambda number: spoil if number <= 2 else None
        assert Endpoint(toy.url, "toy").ask(said("A fox")).startswith("A fox")
        assert len(toy.calls) == 3


def test_an_answer_that_drips_in_is_not_waited_for() -> None:
    """Each byte comes in time, the whole answer does not."""
    with served() as toy:
        toy.failures = lambda number: DRIP
        with pytest.raises(ServerFailed, match=r"did not answer within 0\.5 s"):
            Endpoint(toy.url, "toy", retries=0, timeout=0.5).ask(said("A fox"))


def test_answers_come_as_they_are_ready_and_few_are_asked_at_once() -> None:
    with served() as toy:
        toy.failures = lambda number: HELD if number == 1 else None
        texts = [f"Fox {chr(97 + i)}" for i in range(20)]
        answers = []
        for answer in Endpoint(toy.url, "toy", concurrency=3).ask_all(map(said, texts)):
            answers.append(answer[:5])
            if len(answers) == 10:
                toy.release.set()
        held = toy.calls[0][1]["prompt"]
    assert sorted(answers) == texts
    assert answers.index(held) >= 10  # it held nobody up
    assert 1 < toy.most_at_once <= 3


def test_what_is_under_way_is_heard_before_a_failure_rises() -> None:
    with served() as toy:
        plan: dict[int, Failure] = {2: SLOW, 3: 400}
        toy.failures = plan.get
        heard: list[str] = []
        with pytest.raises(CallRefused):
            for answer in Endpoint(toy.url, "toy", concurrency=3).ask_all(said(f"Fox {i}") for i in range(9)):
                heard.append(answer)
        assert len(heard) == len(toy.calls) - 1


def test_closing_early_leaves_no_task_behind() -> None:
    with served() as toy:
        answers = Endpoint(toy.url, "toy", concurrency=2).ask_all(said(f"Fox {i}") for i in range(50))
        next(answers)
        answers.close()  # type: ignore[attr-defined]
        assert len(toy.calls) <= 4


def test_inside_a_running_loop() -> None:
    """As in a notebook."""

    async def cell(url: str) -> list[str]:
        return [*Endpoint(url, "toy").ask_all(said(f"Fox {i}") for i in range(3))]

    with served() as toy:
        assert len(asyncio.run(cell(toy.url))) == 3


def test_no_more_calls_than_allowed() -> None:
    with served() as toy:
        toy.failures = lambda number: 500 if number == 2 else None
        limited = Endpoint(toy.url, "toy", max_calls=4, concurrency=1)
        heard: list[str] = []
        with pytest.raises(InputError, match=r"limit of 4 calls was reached\. The answers so far are saved"):
            for answer in limited.ask_all(said(f"Fox {i}") for i in range(9)):
                heard.append(answer)
        assert len(toy.calls) == 4 and len(heard) == 3  # the one tried again counts too


def test_no_faster_than_allowed(pauses: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("geobias.models.endpoint.time.monotonic", lambda: 1000.0)
    with served() as toy:
        [*Endpoint(toy.url, "toy", rate=4).ask_all(said(f"Fox {i}") for i in range(5))]
    assert pauses == pytest.approx([0.0, 0.25, 0.5, 0.75, 1.0])


def test_the_key_goes_into_the_header_and_nowhere_else(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    with served() as toy:
        toy.key = KEY
        asked = Endpoint(toy.url, "toy")
        asked.ask(said("A fox"))
        assert toy.calls[0][2]["Authorization"] == f"Bearer {KEY}"
        toy.failures = lambda number: (500, {}, f"your key {KEY} is fine, the server is not")
        with pytest.raises(ServerFailed, match=r"your key \*\*\* is fine") as failed:
            Endpoint(toy.url, "toy", retries=0).ask(said("A fox"))
        toy.failures, toy.key = (lambda number: None), "another"
        with pytest.raises(CallRefused, match=r"GEOBIAS_API_KEY was refused. wrong key: Bearer \*\*\*") as refused:
            asked.ask(said("A fox"))
    for error in (failed, refused):
        assert KEY not in "".join(traceback.format_exception(error.value))
    assert KEY not in repr(asked) + str(vars(asked)) + caplog.text


@pytest.mark.parametrize(
    ("url", "warns"),
    [
        ("http://models.example.org/v1", True),
        ("http://192.168.0.7:8000/v1", True),
        ("https://models.example.org/v1", False),
        ("http://localhost:8000/v1", False),
        ("http://127.0.0.1/v1", False),
        ("http://[::1]:8000/v1", False),
    ],
)
def test_a_key_that_others_can_read_on_the_way_is_warned_of_once(
    url: str, warns: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    module.warn_about_key.cache_clear()
    Connection(Endpoint(url, "toy"))
    assert caplog.text == ""  # there is no key
    module.warn_about_key.cache_clear()
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    for _ in range(3):
        Connection(Endpoint(url, "toy"))
    assert len(caplog.records) == warns and KEY not in caplog.text
    assert not warns or KEY_VARIABLE in caplog.text


def test_the_key_of_openai_goes_to_openai_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OPENAI_KEY_VARIABLE, KEY)
    with served() as toy:
        Endpoint(toy.url, "toy").ask(said("A fox"))
        assert "Authorization" not in toy.calls[0][2]
    to_openai: Any = Connection(Endpoint("https://api.openai.com/v1", "gpt"))
    assert to_openai._client.headers["Authorization"] == f"Bearer {KEY}"


def test_a_key_that_cannot_be_one_is_refused_unseen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "gehe\u0131m")
    with pytest.raises(InputError, match="invalid characters") as error:
        Connection(Endpoint("http://localhost:1/v1", "toy"))
    assert "gehe" not in str(error.value)


@pytest.mark.parametrize(
    "url",
    [
        "localhost:8000",
        "",
        "http://u:hidden@x/v1",
        "u:hidden@x/v1",
        "x/v1?key=hidden",
        "http://x/v1?key=hidden",
        "http://x:port/",
    ],
)
def test_urls_that_are_none_or_hold_a_secret(url: str) -> None:
    with pytest.raises(InputError, match="URL") as error:
        Endpoint(url, "toy")
    assert "hidden" not in str(error.value)


@pytest.mark.parametrize("wrong", [{"concurrency": 0}, {"rate": 0.0}, {"max_calls": 0}])
def test_limits_above_zero(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="above 0"):
        Endpoint("http://localhost/v1", "toy", **wrong)
    with pytest.raises(InputError, match="model is empty"):
        Endpoint("http://localhost/v1", " ")
