"""Commands that end early: killed, stopped by a signal, or ended by the code of a user's model."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from geobias.engine.answer_checks import CHECKED_TEXTS
from tests.conftest import SCORE_ONLY, Run

if os.name == "nt":
    pytest.skip("Windows has no such signals", allow_module_level=True)

COUNTRIES = ("--cities", "0", "--countries", "FR,DE,NG,KE,US,CN")
MODEL = '''
"""A language model that stops in the middle of its work until the file `go` is there, and logs what it scores."""
import time
from pathlib import Path

def score(texts):
    with open("scored.txt", "a", encoding="utf-8") as log:
        log.writelines(f"{text}\\n" for text in texts)
    if Path("scored.txt").read_text(encoding="utf-8").count("\\n") > 60 and not Path("go").exists():
        Path("waiting").touch()
        while not Path("go").exists():
            time.sleep(0.01)
    return [-float(len(text)) for text in texts]

score.fingerprint = "1"
'''
STOPPED = "stopped{}. The scores so far are saved; run the same command to resume."


@pytest.fixture
def command(tmp_path: Path, own_store: Path) -> list[str]:
    """`geobias regions` with a model under the test's control, which keeps every share of its answers at once."""
    (tmp_path / "model.py").write_text(MODEL, encoding="utf-8")
    code = (
        "import sys; sys.argv[0] = 'geobias'; from geobias.engine import ask; "
        "from geobias.models import scorer; ask.SECONDS_AT_RISK = scorer.SHARE_SECONDS = 0.0; "
        "from geobias import cli; cli.main()"
    )
    return [sys.executable, "-c", code, "regions", "model:score", *COUNTRIES, *SCORE_ONLY, "--out", "here"]


def start(command: list[str], folder: Path) -> subprocess.Popen[str]:
    """Start the command, and return when its model waits in the middle of the work."""
    process = subprocess.Popen(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_signals,
    )
    wait_for(folder / "waiting", process)
    return process


def heed_signals() -> None:
    """Whoever runs the tests may ignore signals, as shells do in the background: children would inherit that."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def wait_for(file: Path, process: subprocess.Popen[str]) -> None:
    while not file.exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)


def resume(command: list[str], folder: Path) -> None:
    """Run it again to its end: what was kept is not scored again."""
    store = Path(os.environ["GEOBIAS_CACHE"])
    kept = sum(pq.read_metadata(file).num_rows for file in store.rglob("*.parquet"))
    (folder / "go").touch()
    before = len((folder / "scored.txt").read_text(encoding="utf-8").splitlines())
    finished = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    results = json.loads((folder / "here/results.json").read_text(encoding="utf-8"))
    lines = (folder / "scored.txt").read_text(encoding="utf-8").splitlines()
    total = results["counts"]["distinct_sentences"] + len(results["regions"]) - 1
    probes = 1
    checks = len(lines) - before - (total - kept + probes)  # stored texts again, and some twice
    assert 0 < kept < total and 0 <= checks <= 2 * CHECKED_TEXTS


@pytest.mark.parametrize(
    ("number", "code", "said"),
    [
        (signal.SIGINT, 130, STOPPED.format("")),
        (signal.SIGTERM, 143, STOPPED.format(" by SIGTERM")),
        (signal.SIGHUP, 129, STOPPED.format(" by SIGHUP")),
        (signal.SIGKILL, -signal.SIGKILL, ""),
    ],
)
def test_a_stopped_command_resumes(
    number: signal.Signals, code: int, said: str, command: list[str], tmp_path: Path
) -> None:
    process = start(command, tmp_path)
    process.send_signal(number)
    out, err = process.communicate()
    assert process.returncode == code and out == "" and "Traceback" not in err
    assert err.strip() == (f"geobias: {said}" if said else "")
    assert not (tmp_path / "here").exists()
    if number in (signal.SIGTERM, signal.SIGKILL):  # the others go the same way as the first
        resume(command, tmp_path)


@pytest.mark.slow
def test_nohup_is_obeyed(command: list[str], tmp_path: Path) -> None:
    process = start(["nohup", *command], tmp_path)
    process.send_signal(signal.SIGHUP)
    (tmp_path / "go").touch()
    process.communicate()
    assert process.returncode == 0 and (tmp_path / "here/run.json").exists()


@pytest.mark.parametrize("kind", ["classifier", "language model"])
@pytest.mark.parametrize(
    ("module", "expected_code", "message"),
    [
        ("import sys\nsys.exit(0)\ndef f(texts): ...", 3, "Importing the module 'exiting' ended the program"),
        ("def f(texts): raise SystemExit(0)", 3, "exiting:f ended the program (SystemExit: 0)"),
        ("def f(texts): raise GeneratorExit", 3, "exiting:f ended the program (GeneratorExit)"),
        ("class Own(BaseException): ...\ndef f(texts): raise Own('x')", 3, "exiting:f ended the program (Own: x)"),
        ("def f(texts):\n    if len(texts) > 1: exit(0)\n    return ANSWER", 3, "exiting:f ended the program"),
        ("def f(texts): raise ValueError('x')", 2, "exiting:f failed: ValueError: x"),
    ],
    ids=["at import", "exit", "generator exit", "own exception", "late", "plain error"],
)
def test_a_function_cannot_make_a_failure_look_like_success(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, expected_code: int, message: str, kind: str
) -> None:
    monkeypatch.delitem(sys.modules, "exiting", raising=False)
    answer = "[-1.0]" if kind == "language model" else "[{'a': 0.5, 'b': 0.5}]"
    (tmp_path / "exiting.py").write_text(module.replace("ANSWER", answer), encoding="utf-8")
    arguments = ("regions", "exiting:f", *COUNTRIES) if kind == "language model" else ("names", "exiting:f")
    code, out, err = run(*arguments, "--out", "here")
    assert code == expected_code and message in err and err.count("\n") == 1 and out == ""
    assert not Path("here").exists()
    assert run("gate", "here", "--rule", "names.a.delta.worst < 2")[0] == 2  # no run: the gate does not pass


STUBBORN = '''
"""A model that works in processes of its own."""
import multiprocessing

def length(text):
    return -float(len(text))

def pooled(texts):
    with multiprocessing.get_context("fork").Pool(2) as pool:
        return pool.map(length, texts)
'''


@pytest.mark.slow
def test_processes_of_a_model_end_silently(tmp_path: Path, own_store: Path) -> None:
    """A pool ends its processes by SIGTERM: they must not report an interrupt."""
    (tmp_path / "stubborn.py").write_text(STUBBORN, encoding="utf-8")
    command = [sys.executable, "-m", "geobias.cli", "regions", "stubborn:pooled", *COUNTRIES, "--out", "here"]
    finished = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert finished.returncode == 0 and finished.stderr == ""
