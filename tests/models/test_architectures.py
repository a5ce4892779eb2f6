"""Scores of odd architectures against brute force; what cannot be scored is refused in one line.

`python -m tests.models.architectures` checks every architecture of transformers.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from geobias.errors import InputError
from geobias.models.load import load_masked
from geobias.texts.templates import Sentences, TextSelection
from tests.conftest import Run
from tests.models.architectures.check import check_architecture
from tests.models.architectures.tiny_models import build_tiny_model

ALL = ""  # the model is refused when it is loaded
# Kind and architecture: the scores that are refused. All others must equal brute force.
REFUSED: dict[tuple[str, str], set[str]] = {
    ("masked", "big_bird"): set(),
    ("masked", "fnet"): {"aula"},
    ("masked", "funnel"): {"aula"},
    ("masked", "longformer"): {"aula"},
    ("masked", "modernbert"): set(),
    ("masked", "mra"): {"aula"},
    ("masked", "perceiver"): {ALL},
    ("masked", "reformer"): {ALL},
    ("masked", "squeezebert"): {"aula"},
    ("masked", "xlm"): set(),
    ("masked", "xmod"): {ALL},
    ("masked", "yoso"): {"aula"},
    ("causal", "bart"): set(),
    ("causal", "gemma2"): set(),
    ("causal", "llama4_text"): set(),
    ("causal", "mamba"): set(),
    ("causal", "modernbert-decoder"): set(),
    ("causal", "prophetnet"): {ALL},
    ("causal", "rwkv"): set(),
    ("seq2seq", "encoder-decoder"): set(),
    ("seq2seq", "fsmt"): set(),
    ("seq2seq", "led"): set(),
    ("seq2seq", "nllb-moe"): set(),
    ("seq2seq", "prophetnet"): {ALL},
    ("seq2seq", "switch_transformers"): set(),
    ("seq2seq", "voxtral"): {ALL},
}
OFTEN = (("masked", "squeezebert"), ("causal", "mamba"), ("seq2seq", "led"))  # by `make test`


@pytest.mark.parametrize(
    ("kind", "architecture"),
    [pytest.param(*each, id="-".join(each), marks=[] if each in OFTEN else pytest.mark.slow) for each in REFUSED],
)
def test_scores_equal_brute_force_in_any_batch(kind: str, architecture: str, tmp_path: Path) -> None:
    checks = list(check_architecture(kind, architecture, tmp_path))
    statuses = {check.method: check.status for check in checks}
    refused = REFUSED[kind, architecture]
    assert statuses == {method: "refused" if method in refused else "ok" for method in statuses}, checks
    assert refused <= set(statuses)


@pytest.mark.parametrize("architecture", ["fnet", "squeezebert"])
def test_aula_without_attention_weights_names_another_score(architecture: str, tmp_path: Path) -> None:
    """FNet has none; what SqueezeBERT calls attentions are no weights."""
    lm = load_masked(build_tiny_model("masked", architecture, tmp_path))
    with pytest.raises(
        InputError, match=r"returns no attention weights between tokens.*'aula' needs\. Use --score aul"
    ):
        lm.scorer("aula")


def test_the_command_refuses_aula_in_one_line(run: Run, tmp_path: Path) -> None:
    build_tiny_model("masked", "fnet", tmp_path / "fnet")
    code, _, errors = run("regions", "fnet", "--score", "aula", "--countries", "FR,DE,ES", "--cities", "0")
    assert code == 2 and errors.endswith("Use --score aul.\n") and errors.count("\n") == 1, errors


@pytest.mark.parametrize("as_template", [True, False])
def test_a_text_that_an_architecture_cannot_read_is_refused(
    as_template: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Funnel halves the length of a text until nothing is left of short ones."""
    monkeypatch.setattr("geobias.models.language_model.SAMPLE_SIZE", -1000)
    scorer = load_masked(build_tiny_model("masked", "funnel", tmp_path)).scorer("aul")
    sentences = Sentences(["{region}{description}"], ["F"], ["."])
    texts = TextSelection(sentences, np.arange(1)) if as_template else list(sentences)
    with pytest.raises(InputError, match=r"\(FunnelForMaskedLM\) cannot read a text of 4 tokens: .*Use another model"):
        scorer.score(texts)
