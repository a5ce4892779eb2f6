"""Served models at the command line: nothing is sent before the user agrees, and no more than allowed."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from geobias.models.endpoint import KEY_VARIABLE
from tests.conftest import SCORE_ONLY, Run
from tests.servers import served

TREE = """id,name,parent
E,Earth,
N,North,E
S,South,E
FR,France,N
DE,Germany,N
NG,Nigeria,S
KE,Kenya,S
"""
WORDS = "kind\nshy\nhonest\nlazy\nproud\nwise\nrude\nbrave\n"
FEW = ("--tree", "tree.csv", "--words", "words.txt", *SCORE_ONLY)
KEY = "sk-very-secret-0123456789"


@pytest.fixture(autouse=True)
def few(tmp_path: Path) -> None:
    (tmp_path / "tree.csv").write_text(TREE)
    (tmp_path / "words.txt").write_text(WORDS)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_regions_of_a_served_model(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    with served("vllm") as toy:
        toy.key = KEY
        command = ("regions", *FEW, f"{toy.url}#toy")
        code, _, said = run(*command, "--yes", "--out", "a")
        assert code == 0, said
        first = len(toy.calls)
        assert f"This run sends texts to {toy.url}, model toy: 54 texts" in said
        code, _, said = run(*command, "--yes", "--out", "b")
        assert "0 texts with about 0 tokens in total (54 more are already stored), 40 texts again" in said
        assert len(toy.calls) - first == 6 + 4 < first  # the probe, and 10 sentences and 10 names twice
    result = json.loads((tmp_path / "a" / "results.json").read_text())
    assert result["model"]["endpoint"] == toy.url
    assert (result["model"]["name"], result["model"]["score"]) == ("toy", "conditional")
    assert json.loads((tmp_path / "b" / "results.json").read_text()) == result
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or KEY.encode() not in file.read_bytes()


def test_nothing_is_sent_without_consent(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with served("vllm") as toy:
        command = ("regions", *FEW, f"{toy.url}#toy")
        monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
        code, _, said = run(*command)
        assert code == 2 and "Add --yes" in said
        monkeypatch.setattr("sys.stdin", Terminal("\n"))
        code, _, said = run(*command)
        assert code == 2 and "Send them? [y/N]" in said and "Nothing was sent." in said
        code, told, _ = run(*command, "--plan")
        assert code == 0 and "Nothing is sent with --plan" in told and "54 texts" in " ".join(told.split())
        assert toy.calls == []
        monkeypatch.setattr("sys.stdin", Terminal("y\n"))
        code, _, _ = run(*command, "--server", "calls=3")
        assert code == 2 and len(toy.calls) == 3


def test_no_more_calls_than_allowed_then_the_same_command_goes_on(run: Run) -> None:
    with served("vllm") as toy:
        command = ("regions", *FEW, f"{toy.url}#toy", "--yes", "--out", "a")
        code, _, said = run(*command, "--server", "calls=8")
        assert code == 2 and "answers so far are saved" in said and len(toy.calls) == 8
        code, _, said = run(*command)
        assert code == 0, said
        sentences = {text: n for text, n in toy.prompts().items() if text.startswith("People in ")}
        assert len(sentences) == 48 and set(sentences.values()) <= {1, 2, 3}
        # Of those that were stored 20 are asked again, twice.
        assert sum(sentences.values()) == 48 + 2 * 20


def test_a_server_that_begins_no_texts_needs_begin(run: Run) -> None:
    with served("plain") as toy:
        command = ("regions", *FEW, f"{toy.url}#toy", "--yes")
        code, _, said = run(*command)
        assert code == 2 and "Set --server begin=" in said and not any("Nigeria" in text for text in toy.prompts())
        code, _, said = run(*command, "--server", "begin=<s>")
        assert code == 0, said


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("http://localhost:1/v1",), "needs the name of the model on the server"),
        (("--yes",), "need a model behind a server"),
        (("--server", "calls=3"), "need a model behind a server"),
        (("embedded/lm", "http://localhost:1/v1#toy"), "audit it without other models"),
        (("http://u:hidden@x/v1#toy", "--yes"), "GEOBIAS_API_KEY"),
        (("http://u:hidden@x/v1", "--yes"), "GEOBIAS_API_KEY"),
        (("http://localhost:1/v1#toy", "--yes", "--server", "at-once=0"), "at-once in --server must"),
        (("http://localhost:1/v1#toy", "--yes", "--server", "calls=5,rate=0"), "rate in --server must be"),
        (("http://localhost:1/v1#toy", "--yes", "--server", "calls=0"), "calls in --server must"),
        (("http://localhost:1/v1#toy", "--yes", "--server", "calls=many"), "must be a number, not 'many'"),
        (
            ("http://localhost:1/v1#toy", "--yes", "--server", "call=5"),
            "Unknown --server 'call=5'. Did you mean 'calls'",
        ),
        (("http://localhost:1/v1#toy", "--score", "aul", "--yes"), "mean, sum, conditional"),
    ],
)
def test_options_that_do_not_go_together(run: Run, given: tuple[str, ...], message: str) -> None:
    code, _, said = run("regions", *given)
    assert code == 2 and message in said and "hidden" not in said


@pytest.mark.parametrize("like", ["chat", "vllm"])
def test_names_with_a_served_model(run: Run, tmp_path: Path, like: str) -> None:
    texts = tmp_path / "texts.csv"
    texts.write_text("text,spans\n" + "".join(f'Mary {verb} again.,"[[0, 4]]"\n' for verb in ("ran", "fell", "sang")))
    command = ("names", "--texts", texts, "--spans", "spans", "--countries", "FR,MA", "--draws", "2")
    with served(like) as toy:
        asked = (*command, f"{toy.url}#toy", "--out", "a")
        code, _, said = run(*asked, "--yes")
        assert code == 2 and "--labels" in said and toy.calls == []
        labelled = (*asked, "--labels", "positive,negative")
        code, told, _ = run(*labelled, "--plan")
        assert code == 0 and "Nothing is sent with --plan" in told and toy.calls == []
        code, _, said = run(*labelled, "--yes")
        assert code == 0, said
        assert "This run sends texts" in said
        assert any("Mary fell again." in text for text in toy.prompts())
        code, told, _ = run(*labelled, "--plan")
        # Three texts, and twelve with names of the two countries.
        assert "would send 0 texts with about 0 tokens in total (15 more are already stored)" in " ".join(told.split())
        sent = {text.splitlines()[1] for text in toy.prompts() if " again." in text}
        assert len(sent) == 15, sent
    result = json.loads((tmp_path / "a" / "results.json").read_text())
    assert toy.url in json.dumps(result)


@pytest.mark.parametrize("status", [400, 422])
def test_a_server_that_refuses_completions_is_asked_in_chats(run: Run, tmp_path: Path, status: int) -> None:
    texts = tmp_path / "texts.csv"
    texts.write_text('text,spans\nMary ran.,"[[0, 4]]"\nMary fell.,"[[0, 4]]"\n')
    asked = ("names", "--texts", texts, "--spans", "spans", "--countries", "FR,MA", "--yes")
    with served("chat") as toy:
        toy.failures = lambda number: status if number == 1 else None
        code, _, said = run(*asked, f"{toy.url}#toy", "--labels", "positive,negative")
        assert code == 0, said
        assert {path for path, _, _ in toy.calls[1:]} == {"/v1/chat/completions"}
