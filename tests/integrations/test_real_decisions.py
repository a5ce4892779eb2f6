"""The decisions audit in Inspect and lm-evaluation-harness: the same numbers as `geobias decide`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import transformers

from geobias.audits.pages import read_run
from geobias.audits.reports import RunNumber, list_numbers
from tests.conftest import TOKENIZERS, Run, save_random_model
from tests.integrations.runs import answer

pytestmark = pytest.mark.integrations

COUNTRIES = "FR,KE,JP"
CASES = 10  # the fewest that have intervals
LONGEST = 1024  # tokens
CHAT_TEMPLATE = "{% for message in messages %}<{{ message.role }}>{{ message.content }}\n{% endfor %}<assistant>\n"


def read_numbers(folder: Path) -> dict[str, RunNumber]:
    """The numbers of a saved run, by their paths without the model."""
    return {".".join(number.parts[2:]): number for number in list_numbers(read_run(folder).result)}


def decide(run: Run, model: str | Path, *options: str) -> dict[str, RunNumber]:
    code, _, err = run(
        "decide", model, "--countries", COUNTRIES, "--limit", str(CASES), "--out", "decide", "--quiet", *options
    )
    assert code == 0, err
    return read_numbers(Path("decide"))


def ask_inspect(folder: Path, **options: Any) -> Any:
    inspect_ai = pytest.importorskip("inspect_ai")
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    def reply(messages: Any, *_: Any) -> Any:
        prompt = "\n\n".join(message.text for message in messages)
        output = ModelOutput.from_content("mockllm/model", answer([prompt])[0])
        output.usage = ModelUsage()  # else Inspect downloads a tokenizer to count tokens
        return output

    (log,) = inspect_ai.eval(
        "geobias/decide",
        model=get_model("mockllm/model", custom_outputs=reply),
        task_args={"countries": COUNTRIES, "limit": CASES, **options},
        log_dir=str(folder / "logs"),
        display="none",
    )
    assert log.status == "success", log.error
    return log


def test_inspect_gives_the_numbers_of_the_command_line(tmp_path: Path, run: Run) -> None:
    system = "You are strict."
    log = ask_inspect(tmp_path, system=system, out=str(tmp_path / "from-inspect"))
    metrics = {name: metric.value for name, metric in log.results.scores[0].metrics.items()}
    expected = decide(run, "tests.integrations.runs:answer", "--system", system)
    replies = [sample.output.completion for sample in log.samples]
    assert metrics.pop("answers_without_decision") == replies.count("I cannot say.") > 0
    for name in ("impact_ratio.worst", "preference.worst"):
        number = expected[name]
        ends = metrics.pop(name), metrics.pop(f"{name}.low"), metrics.pop(f"{name}.high")
        assert ends == (number.value, number.low, number.high)
    assert not metrics
    saved = read_numbers(tmp_path / "from-inspect")
    assert {name: number.value for name, number in saved.items()} == {
        name: number.value for name, number in expected.items()
    }


def test_inspect_counts_several_answers_to_a_question(tmp_path: Path) -> None:
    once, often = (ask_inspect(tmp_path / str(count), limit=1, samples=count) for count in (1, 3))
    assert len(often.samples) == 3 * len(once.samples)
    assert (once.plan.config.temperature, often.plan.config.temperature) == (0.0, 1.0)
    ratios = [log.results.scores[0].metrics["impact_ratio.worst"].value for log in (once, often)]
    assert ratios[0] == ratios[1]  # this model says the same three times


@pytest.mark.parametrize("is_chat", [False, True], ids=["plain", "chat"])
def test_lm_eval_gives_the_numbers_of_the_command_line(tmp_path: Path, run: Run, is_chat: bool) -> None:
    pytest.importorskip("lm_eval")
    tokenizer = TOKENIZERS["gpt2"]()
    tokenizer.model_max_length = LONGEST
    if is_chat:
        tokenizer.chat_template = CHAT_TEMPLATE
    config = transformers.GPT2Config(
        vocab_size=len(tokenizer), n_positions=LONGEST, n_embd=32, n_layer=2, n_head=2, bos_token_id=None
    )
    model = save_random_model(transformers.AutoModelForCausalLM, config, tokenizer, tmp_path / "tiny-gpt2")
    folder = subprocess.run(
        [sys.executable, "-m", "geobias.integrations.lm_eval_tasks"], capture_output=True, text=True, check=True
    ).stdout.strip()
    options = {"countries": COUNTRIES, "limit": CASES, "chat": is_chat}
    subprocess.run(
        [
            *(sys.executable, "-m", "lm_eval", "--model", "hf", "--device", "cpu", "--batch_size", "32"),
            *("--model_args", f"pretrained={model},dtype=float32", "--output_path", str(tmp_path / "out")),
            *("--include_path", folder, "--tasks", "geobias_decide", "--metadata", json.dumps(options)),
            *(("--apply_chat_template",) if is_chat else ()),
        ],
        env={**os.environ, "HF_DATASETS_OFFLINE": "1"},
        check=True,
    )
    (file,) = (tmp_path / "out").rglob("results_*.json")
    metrics = json.loads(file.read_text(encoding="utf-8"))["results"]["geobias_decide"]
    numbers = decide(run, model)
    worst, farthest = numbers["impact_ratio.worst"], numbers["preference.worst"]
    expected = {
        **{"impact_ratio_worst": worst.value, "impact_ratio_worst_low": worst.low},
        **{"impact_ratio_worst_high": worst.high, "preference_worst": farthest.value},
        **{"preference_worst_low": farthest.low, "preference_worst_high": farthest.high},
        "answered": numbers["answered"].value,
    }
    # Float32 rounds in another order in batches of another size.
    values = {name: metrics[f"{name},none"] for name in expected}
    if is_chat:  # lm-evaluation-harness counts the line break that ends the template as part of each answer
        assert 0 < values.pop("answered") <= (expected.pop("answered") or 0) * (1 + 1e-3)
    assert values == pytest.approx(expected, rel=1e-3, abs=1e-5)


def test_spellings_that_change_the_prompt_are_left_out() -> None:
    """In many tokenizers ":yes" may be one token: then its last part is no answer to the prompt."""
    from tokenizers import Tokenizer, models

    from geobias.integrations.lm_eval_tasks.tasks import select_spellings

    pieces = {"<unk>": 0, "q": 1, ":": 2, "y": 3, ":y": 4, " ": 5, " y": 6, "Y": 7}
    merges = [(":", "y"), (" ", "y")]
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(models.BPE(pieces, merges, unk_token="<unk>")), unk_token="<unk>"
    )
    assert select_spellings(tokenizer, "q:", [" y", "y", "Y", " y", "z"]) == [" y", "Y"]
