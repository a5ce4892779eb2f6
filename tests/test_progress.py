"""Progress: bars on a terminal and in a notebook, plain lines in a log."""

from __future__ import annotations

import importlib.util
import sys
from types import SimpleNamespace

import pytest

from geobias import progress


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Jupyter kernel without ipywidgets."""
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "ipywidgets" else find_spec(name, *rest)
    )


def advance_to_the_end(shown: bool | None = None) -> None:
    with progress.progress_bar("texts", 10, shown) as advance:
        for _ in range(10):
            advance(1)


def test_a_log_gets_few_plain_lines(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert not progress.is_notebook()
    advance_to_the_end()
    assert capsys.readouterr().err == ""  # short work leaves no line
    clock = 0.0
    monkeypatch.setattr("geobias.progress.time.perf_counter", lambda: clock)
    with progress.progress_bar("embedded/lm aul", 2000, None) as advance:
        for _ in range(100):  # 1 % every 5 seconds: the half minute passes before the tenth
            clock += 5.0
            advance(20)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "embedded/lm aul: 10 % (200 of 2,000 texts)" and lines[-1].startswith("embedded/lm aul: 100 %")
    assert len(lines) == 10
    with progress.progress_bar("texts", 100, None) as advance:
        for _ in range(10):  # 10 % every 12 seconds: the tenth passes before the half minute
            clock += 12.0
            advance(10)
    assert [line.split()[1] for line in capsys.readouterr().err.splitlines()] == ["30", "60", "90"]
    advance_to_the_end(False)
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("notebook")
def test_a_notebook_has_a_bar(capsys: pytest.CaptureFixture[str]) -> None:
    assert progress.is_notebook()
    advance_to_the_end()
    shown = capsys.readouterr().err
    assert "10/10" in shown and "texts/s" in shown and "\r" in shown
    advance_to_the_end(False)
    assert capsys.readouterr().err == ""


def test_ipython_in_a_terminal_is_no_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    ipython = SimpleNamespace(get_ipython=lambda: SimpleNamespace())
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    assert not progress.is_notebook()
