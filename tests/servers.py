"""A small server that speaks the OpenAI protocol on this machine, like several real ones, and fails on request.

Its model is a toy: a token's log-probability is a digest of the tokens before it, so every test can work it out.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

BEGIN = b"<s>"
VOCABULARY = [b" dog", b" cat", b" closed", b" four", b" positive", b" negative", b" pos", b".", b" kind"]
CUT = "cut"  # a failure plan: the connection ends without an answer
NONSENSE = "nonsense"
SLOW = "slow"
HELD = "held"  # answered only when the test says so
DRIP = "drip"  # the right answer, but a byte at a time

Spoil = Callable[[bytes], bytes]  # from the right answer to one that is sent in its place
Failure = int | str | None | tuple[int, dict[str, str]] | tuple[int, dict[str, str], str] | Spoil


def tokenise(text: str) -> list[bytes]:
    """Words with the space before them, single signs; what is not ASCII in bytes, the first with the space."""
    tokens: list[bytes] = []
    for piece in re.findall(r"<s>| ?[A-Za-z']+| ?[^\sA-Za-z]|\s", text):
        raw = piece.encode()
        start = 2 if raw[:1] == b" " and not raw.isascii() else 1
        tokens += [raw] if raw.isascii() else [raw[:start], *(raw[i : i + 1] for i in range(start, len(raw)))]
    return tokens


def spell(tokens: Sequence[bytes]) -> bytes:
    return b"".join(token for token in tokens if token != BEGIN)


def _shown(tokens: Sequence[bytes], *, whole: bool, broken: bool) -> list[str]:
    """Parts of a character: the whole at its last part, a sign for each, or nothing."""
    if not whole:
        return [token.decode(errors="replace" if broken else "ignore") for token in tokens]
    shown, raw = [], b""
    for token in tokens:
        raw += token
        try:
            shown.append(raw.decode())
            raw = b""
        except UnicodeDecodeError:
            shown.append("")
    return shown


class Toy(ThreadingHTTPServer):
    """`like` is one of: vllm, plain, one-by-one, no-logprobs, talk, no-echo, wrong, chat."""

    daemon_threads = True

    def __init__(self, like: str = "plain") -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.like = like
        self.weights = "1"  # another string is another model
        self.noise = 0.0  # added to every number
        self.allowed = 20  # candidates in chats
        self.key: str | None = None
        self.failures: Callable[[int], Failure] = lambda number: None
        self.calls: list[tuple[str, dict[str, Any], dict[str, str]]] = []
        self.lock = threading.Lock()
        self.most_at_once = self.at_once = 0
        self.release = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def prompts(self) -> Counter[str]:
        """How often each text was sent to be scored."""
        sent: Counter[str] = Counter()
        for path, body, _ in self.calls:
            if path.endswith("completions"):
                prompt = body.get("prompt") or body["messages"][-1]["content"]
                sent.update(prompt if isinstance(prompt, list) else [prompt])
        return sent

    def log_p(self, before: Sequence[bytes], token: bytes) -> float:
        content = b"|".join([self.weights.encode(), *before, b">", token])
        return -0.1 - 9 * int.from_bytes(hashlib.sha256(content).digest()[:4], "big") / 2**32 + self.noise

    def ranked(self, before: Sequence[bytes]) -> list[tuple[bytes, float]]:
        return sorted(((token, self.log_p(before, token)) for token in VOCABULARY), key=lambda one: -one[1])

    def answer(self, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        if path == "/v1/chat/completions":
            return self._chat(body)
        if path != "/v1/completions" or self.like == "chat":
            return 404, {"detail": "Not Found"}
        prompts = body["prompt"] if isinstance(body["prompt"], list) else [body["prompt"]]
        if self.like == "one-by-one" and len(prompts) > 1:
            return 500, {"error": {"message": "AssertionError"}}
        if self.like == "no-echo" and body.get("echo"):
            return 400, {"error": {"message": "Only no echo is supported"}}
        choices = [{"index": i, **self._completed(prompt, body)} for i, prompt in enumerate(prompts)]
        return 200, {"choices": choices[::-1], "usage": {"prompt_tokens": len(tokenise(prompts[0]))}}

    def _completed(self, prompt: str, body: dict[str, Any]) -> dict[str, Any]:
        own = tokenise(prompt)
        begun = [BEGIN, *own] if self.like == "vllm" else own
        spoken = [self.ranked(begun)[0][0]]
        text = (prompt if body.get("echo") else "") + spell(spoken).decode(errors="ignore")
        if self.like == "no-logprobs" or body.get("logprobs") is None:
            return {"text": text, "logprobs": None}
        rows = [*begun, *spoken]
        if not body.get("echo"):
            given = [(token, rows[: len(begun) + i]) for i, token in enumerate(spoken)]
            first_has_none = False
        elif self.like == "wrong":
            given = [(token, rows[: i + 1]) for i, token in enumerate(rows)]
            first_has_none = True
        else:
            given = [(token, rows[:i]) for i, token in enumerate(rows)]
            first_has_none = True
        shown = _shown([token for token, _ in given], whole=self.like == "vllm", broken=self.like == "plain")
        offsets = [sum(len(token) for token in shown[:i]) for i in range(len(shown))]
        log_ps = [self.log_p(before, token) for token, before in given]
        numbers: list[float | None] = [*log_ps]
        tops = [
            {t.decode(): p for t, p in self.ranked(before)[: body["logprobs"]]} | {token.decode(errors="ignore"): n}
            for (token, before), n in zip(given, log_ps, strict=True)
        ]
        if first_has_none:
            numbers[0] = None
        return {
            "text": text,
            "logprobs": {"tokens": shown, "token_logprobs": numbers, "text_offset": offsets, "top_logprobs": tops},
        }

    def _chat(self, body: dict[str, Any]) -> tuple[int, Any]:
        message = {"role": "assistant", "content": "?"}
        if self.like == "talk":
            message["content"] = f"{VOCABULARY[len(body['messages'][-1]['content']) % 2].decode()}, of course."
        if self.like in ("no-logprobs", "talk"):
            return 200, {"choices": [{"index": 0, "message": message}]}
        if body["top_logprobs"] > self.allowed:
            return 400, {"error": {"message": f"top_logprobs must be at most {self.allowed}"}}
        before = tokenise(body["messages"][-1]["content"])
        top = [
            {"token": token.decode(), "logprob": log_p} for token, log_p in self.ranked(before)[: body["top_logprobs"]]
        ]
        return 200, {
            "choices": [{"index": 0, "message": message, "logprobs": {"content": [{**top[0], "top_logprobs": top}]}}]
        }


class _Handler(BaseHTTPRequestHandler):
    server: Toy
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet: a second one would wait for the first to be acknowledged

    def do_POST(self) -> None:
        toy = self.server
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with toy.lock:
            toy.calls.append((self.path, body, dict(self.headers)))
            number = len(toy.calls)
            toy.at_once += 1
            toy.most_at_once = max(toy.most_at_once, toy.at_once)
        failure = toy.failures(number)
        try:
            self._reply(toy, body, failure)
        finally:
            with toy.lock:
                toy.at_once -= 1

    def _reply(self, toy: Toy, body: dict[str, Any], failure: Failure) -> None:
        if failure == CUT:
            self.close_connection = True
            self.connection.close()
        elif failure == NONSENSE:
            self._send(200, b"<html>busy</html>")
        elif toy.key is not None and self.headers.get("Authorization") != f"Bearer {toy.key}":
            said = {"error": {"message": f"wrong key: {self.headers.get('Authorization')}"}}
            self._send(401, json.dumps(said).encode())
        elif isinstance(failure, tuple):
            self._send(failure[0], failure[2].encode() if len(failure) > 2 else b"{}", failure[1])
        elif isinstance(failure, int):
            self._send(failure, b'{"error": {"message": "as planned"}}')
        else:
            if failure == SLOW:
                time.sleep(0.2)
            if failure == HELD:
                toy.release.wait()
            status, content = toy.answer(self.path, body)
            answer = json.dumps(content).encode()
            if callable(failure):
                answer = failure(answer)
            headers = {"Content-Encoding": "gzip"} if answer[:2] == b"\x1f\x8b" else {}
            if failure == DRIP:
                self._drip(toy, answer)
            else:
                self._send(status, answer, headers)

    def _drip(self, toy: Toy, answer: bytes) -> None:
        """A byte every 20 milliseconds, for two seconds at least, until nobody listens."""
        answer = answer.rjust(100)
        self._send(200, answer[:-100], length=len(answer))
        for byte in answer[-100:]:
            try:
                self.wfile.write(bytes([byte]))
                self.wfile.flush()
            except OSError:  # the caller has hung up
                self.close_connection = True
                return
            toy.release.wait(0.02)

    def _send(
        self, status: int, content: bytes, headers: dict[str, str] | None = None, length: int | None = None
    ) -> None:
        try:
            self.send_response(status)
            self.send_header("Content-Length", str(len(content) if length is None else length))
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)
        except OSError:  # the caller has hung up
            self.close_connection = True

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def served(like: str = "plain") -> Iterator[Toy]:
    """A server for the length of a test."""
    with Toy(like) as toy:
        thread = threading.Thread(target=toy.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield toy
        finally:
            toy.release.set()
            toy.shutdown()
            thread.join()
