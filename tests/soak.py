"""Attack geobias for as long as one likes, and count what was tried and what was lost.

    make soak MINUTES=30

Every trial runs the real command in processes of its own, disturbs it (kills, faults of a server, damage to the store,
concurrent runs, a user's files in the way), lets it finish, and compares its results with those of an undisturbed run.
A loss is anything that differs, that fails without one clear line, or that is left behind.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from geobias.files import TEMPORARY_FILE
from geobias.report.run_folder import RECORD, RESERVED
from tests.servers import CUT, NONSENSE, Failure, served

MODEL = """
import hashlib, time

def number(text):
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") / 2**32

def likelihood(texts):
    time.sleep(0.004 * len(texts))
    return [-1 - number(text) for text in texts]

def judge(texts):
    time.sleep(0.002 * len(texts))
    return [{"good": number(text), "bad": 1 - number(text)} for text in texts]

likelihood.fingerprint = judge.fingerprint = "1"
"""
TREE = "id,name,parent\nE,Earth,\nN,North,E\nS,South,E\nFR,France,N\nDE,Germany,N\nNG,Nigeria,S\nKE,Kenya,S\n"
WORDS = "kind\nshy\nhonest\nlazy\nproud\nwise\nrude\nbrave\n"
COMMANDS = {
    "regions": ["regions", "model:likelihood", "--tree", "tree.csv", "--paraphrases", "1"],
    "names": ["names", "model:judge", "--limit", "6", "--draws", "3", "--countries", "FR,MA"],
    "downstream": ["downstream", "model:judge", "--limit", "6", "--countries", "FR,DE,NG,KE"],
}  # fmt: skip
PATIENCE = 300.0  # seconds after which a process counts as hanging


@dataclass
class Workspace:
    """A folder with a model, inputs and a store; what went wrong in it is collected."""

    folder: Path
    rng: random.Random
    losses: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def start(self, *arguments: str, store: str = "store") -> subprocess.Popen[str]:
        environment = os.environ | {"GEOBIAS_CACHE": str(self.folder / store), "HF_HUB_OFFLINE": "1"}
        command = [sys.executable, "-m", "geobias.cli", *arguments]
        self.counts["processes"] += 1
        return subprocess.Popen(
            command, cwd=self.folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def wait(self, process: subprocess.Popen[str], *expected: int) -> None:
        """A process ends as expected, with at most one line of error."""
        try:
            _, err = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            self.losses.append(f"hangs: {process.args!r}")
            return
        lines = [line for line in err.splitlines() if "damaged" not in line and "sends texts to" not in line]
        if process.returncode not in expected or len(lines) > 1 or "Traceback" in err:
            self.losses.append(f"exit code {process.returncode}, not {expected}: {err[-300:]}")

    def compare(self, folder: str, reference: str) -> None:
        """Two finished runs hold the same numbers and nothing temporary."""
        try:
            mine, calm = (json.loads((self.folder / one / "results.json").read_text()) for one in (folder, reference))
            if not equal(mine, calm):
                self.losses.append(f"{folder} and {reference} differ")
            if not (self.folder / folder / "report.html").is_file():
                self.losses.append(f"{folder} has no page")
        except (OSError, ValueError) as error:
            self.losses.append(f"{folder} is no finished run: {error}")
        left = [path.name for path in (self.folder / folder).rglob(".geobias-*")]
        if left:
            self.losses.append(f"left behind in {folder}: {left}")


def equal(one: Any, other: Any) -> bool:
    """The same JSON, numbers to within rounding."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(equal(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
    return bool(one == other)


def kills_and_concurrent_runs(work: Workspace) -> None:
    """One to three processes on one store and folder, killed or stopped at random moments, until one may finish."""
    name = work.rng.choice(list(COMMANDS))
    command = [*COMMANDS[name], "--out", "disturbed"]
    for _ in range(work.rng.randint(1, 4)):
        processes = [work.start(*command) for _ in range(work.rng.randint(1, 3))]
        for process in processes:
            time.sleep(work.rng.uniform(0.0, 4.0))
            number = work.rng.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
            process.send_signal(number)
            work.counts[number.name] += 1
            early = -number  # before the command handles signals
            work.wait(process, 0, 130, 128 + number, early)
    work.wait(work.start(*command), 0)
    work.wait(work.start(*COMMANDS[name], "--out", "calm", store="other"), 0)
    work.compare("disturbed", "calm")


def kills_while_saving(work: Workspace) -> None:
    """Killed as soon as the run's folder is there, at different moments."""
    name = work.rng.choice(list(COMMANDS))
    command = [*COMMANDS[name], "--out", "disturbed"]
    work.wait(work.start(*COMMANDS[name], "--out", "calm"), 0)
    for _ in range(3):
        process = work.start(*command)
        before = (work.folder / "disturbed/run.json").exists()
        while process.poll() is None:
            record = work.folder / "disturbed" / RECORD
            if record.exists() or (not before and (work.folder / "disturbed").exists()):
                time.sleep(work.rng.uniform(0, 0.5))
                process.kill()
                work.counts["SIGKILL while saving"] += 1
                break
            time.sleep(0.0005)
        work.wait(process, 0, -signal.SIGKILL)
    work.wait(work.start(*command), 0)
    work.compare("disturbed", "calm")


def faults_of_a_server(work: Workspace) -> None:
    """A server that fails at random; the same command until it is through."""
    faults: list[Failure] = [429, 500, 502, 503, CUT, NONSENSE, (429, {"Retry-After": "0"}), None, None, None, None]
    with served("vllm") as toy:
        command = [
            "regions", "--tree", "tree.csv", "--words", "words.txt", f"{toy.url}#toy", "--yes",
            "--paraphrases", "0", "--no-placebo",
        ]  # fmt: skip
        work.wait(work.start(*command, "--out", "calm", store="other"), 0)
        chosen = random.Random(work.rng.random())
        toy.failures = lambda number: chosen.choice(faults)
        calls = len(toy.calls)
        for _ in range(3):
            work.wait(work.start(*command, "--out", "disturbed"), 0, 2, 3)
        work.counts["calls to a failing server"] += len(toy.calls) - calls
        toy.failures = lambda number: None
        work.wait(work.start(*command, "--out", "disturbed"), 0)
    work.compare("disturbed", "calm")


def damage_to_the_store(work: Workspace) -> None:
    """Random bytes in random files of the store, files cut short, replaced by folders or by other Parquet files."""
    name = work.rng.choice(list(COMMANDS))
    work.wait(work.start(*COMMANDS[name], "--out", "calm"), 0)
    for _ in range(3):
        file = work.rng.choice([path for path in (work.folder / "store").rglob("*") if path.is_file()])
        content = bytearray(file.read_bytes())
        kind = work.rng.choice(["flip", "cut", "empty", "folder", "text"])
        if kind == "flip" and content:
            content[work.rng.randrange(len(content))] ^= 1 << work.rng.randrange(8)
        elif kind == "cut":
            content = content[: work.rng.randrange(len(content) + 1)]
        file.unlink()
        if kind == "folder":
            file.mkdir()
        else:
            file.write_bytes(b"not a table" if kind == "text" else b"" if kind == "empty" else bytes(content))
        work.counts[f"store: {kind}"] += 1
    work.wait(work.start("cache"), 0)
    work.wait(work.start(*COMMANDS[name], "--out", "disturbed"), 0)
    work.compare("disturbed", "calm")


def files_of_the_user(work: Workspace) -> None:
    """A folder with files of the user, named like those of a run: refused, and nothing of it is touched."""
    name = work.rng.choice(list(COMMANDS))
    folder = work.folder / "disturbed"
    for entry in work.rng.sample(sorted(RESERVED), 3):
        path = folder / entry / "content" if "." not in entry.lstrip(".") else folder / entry
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("the user's own")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    work.wait(work.start(*COMMANDS[name], "--out", "disturbed"), 2)
    if before != {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}:
        work.losses.append("files of the user were touched")
    work.counts["files of the user"] += len(before)


TRIALS: tuple[Callable[[Workspace], None], ...] = (
    kills_and_concurrent_runs,
    kills_while_saving,
    faults_of_a_server,
    damage_to_the_store,
    files_of_the_user,
)


@contextmanager
def workspace(seed: int) -> Iterator[Workspace]:
    folder = Path(tempfile.mkdtemp(prefix="geobias-soak-"))
    for name, content in (("model.py", MODEL), ("tree.csv", TREE), ("words.txt", WORDS)):
        (folder / name).write_text(content)
    try:
        yield Workspace(folder, random.Random(seed))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run_trial(trial: Callable[[Workspace], None], seed: int) -> Workspace:
    with workspace(seed) as work:
        trial(work)
        old = [path for path in (work.folder / "store").rglob("*") if TEMPORARY_FILE.fullmatch(path.name)]
        work.counts["temporary files of killed processes in the store"] += len(old)
    return work


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0, help="How long to go on (default: 10).")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="Of the first trial (default: the time).")
    arguments = parser.parse_args()
    until, seed = time.monotonic() + 60 * arguments.minutes, arguments.seed
    trials: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    losses: list[str] = []
    print(f"first seed {seed}", flush=True)
    while time.monotonic() < until:
        trial = TRIALS[seed % len(TRIALS)]
        work = run_trial(trial, seed)
        trials[trial.__name__.replace("_", " ")] += 1
        counts.update(work.counts)
        losses += [f"{trial.__name__}, seed {seed}: {loss}" for loss in work.losses]
        for loss in work.losses:
            print(f"LOST {trial.__name__}, seed {seed}: {loss}", flush=True)
        seed += 1
    for name, count in (*trials.items(), *sorted(counts.items())):
        print(f"{count:>8,}  {name}")
    print(f"{len(losses):>8,}  lost")
    sys.exit(1 if losses else 0)


if __name__ == "__main__":
    main()
