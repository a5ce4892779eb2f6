"""Without an optional package, one line says what to install. (Ray and smollm2: in the tests of their parts.)"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.conftest import Run

TEXTS = ("--texts", "texts.txt")


@pytest.mark.parametrize(
    ("package", "arguments", "message"),
    [
        ("skops", ("names", "model.skops", *TEXTS), "needs the package skops: pip install '.[sklearn]'."),
        ("sklearn", ("names", "model.skops", *TEXTS), "needs the package sklearn: pip install '.[sklearn]'."),
        ("gguf", ("regions", "model.gguf"), "needs the package gguf: pip install '.[gguf]'."),
        ("accelerate", ("regions", "model.gguf"), "needs the package accelerate: pip install '.[gguf]'."),
        ("presidio_analyzer", ("find", "mine:find"), "presidio_analyzer"),
    ],
)
def test_one_line_says_what_to_install(
    run: Run, monkeypatch: pytest.MonkeyPatch, package: str, arguments: tuple[str, ...], message: str
) -> None:
    Path("texts.txt").write_text("Mary was late.\n")
    Path("mine.py").write_text("import presidio_analyzer\n")
    for name in ("model.skops", "model.gguf"):
        Path(name).write_bytes(b"GGUF")
    if package == "accelerate":
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == package else object())
    monkeypatch.setitem(sys.modules, package, None)
    code, out, err = run(*arguments)
    assert code == 2 and not out and message in err and err.count("\n") == 1
    assert "Traceback" not in err
