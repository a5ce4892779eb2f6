"""The folder of a mitigated model: an ordinary model folder that says how it was made, never half-written.

The model is made in a folder beside it, OUT.training, and moved to OUT when it is finished.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from geobias.errors import InputError
from geobias.files import save_file, writing
from geobias.models.huggingface import find_base_model
from geobias.models.model_files import quiet_transformers

RECORD = "mitigation.json"
PIPELINES = {"classifier": "text-classification", "masked-LM": "fill-mask", "causal LM": "text-generation"}
BORROWED_TOKENIZER = ("tokenizer_folder", "tokenizer_normalizer")  # fields of a bundled classifier's configuration


class MitigatedFolder:
    """Where a mitigated model is written. Another model, or one with other settings, is never overwritten."""

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        self.path, self.settings = path, json.loads(json.dumps(settings))
        self.training = path.with_name(f"{path.name}.training")
        self.is_finished = False
        if path.is_dir() and any(path.iterdir()):
            if _read_settings(path) != self.settings:
                raise InputError(
                    f"{path} exists and is not a model of this training: method, strength, data, model or seed differ. "
                    "Choose another folder, or remove it."
                )
            self.is_finished = True
        elif path.exists() and not path.is_dir():
            raise InputError(f"{path} is a file. Choose another folder for the model.")

    def prepare(self) -> None:
        """Make the folder of the training: what cannot be written fails now, not after an epoch."""
        with writing(self.path):
            self.training.mkdir(parents=True, exist_ok=True)

    def publish(
        self,
        model: Any,
        tokenizer: Any,
        name: str,
        source: str,
        facts: Mapping[str, Any],
        kind: str = "classifier",
    ) -> None:
        """Save the model with its tokenizer and card, and move it to its place."""
        base = find_base_model(name, source) if kind == "classifier" else name
        for field in BORROWED_TOKENIZER:
            if hasattr(model.config, field):
                delattr(model.config, field)
        staging = self.training / "model"
        with writing(self.path), quiet_transformers():
            shutil.rmtree(staging, ignore_errors=True)
            model.cpu().save_pretrained(staging)
            tokenizer.save_pretrained(staging)
            save_file(staging / "README.md", write_card(name, base, facts, kind).encode())
            record = {"settings": self.settings, "facts": facts}
            save_file(staging / RECORD, json.dumps(record, indent=1).encode())
            if self.path.is_dir():  # and empty
                self.path.rmdir()
            staging.replace(self.path)
            shutil.rmtree(self.training)
        self.is_finished = True


def write_card(name: str, base: str | None, facts: Mapping[str, Any], kind: str = "classifier") -> str:
    """The model card: which model was changed, how and with what. `base` is the language model behind it, if known."""
    lines = ["---", "library_name: transformers", f"pipeline_tag: {PIPELINES[kind]}"]
    lines += [f"base_model: {json.dumps(base)}"] if base else []
    lines += ["tags: [geobias, mitigation]", "---", "", f"# {name}, mitigated with `{facts['method']}`", ""]
    change = (
        f"geobias changed the classifier `{name}` so that its answers depend less on the country that people's names "
        "come from. Labels and speed are unchanged."
        if kind == "classifier"
        else f"geobias changed the {kind} `{name}` so that its descriptions of people depend less on their region."
    )
    unseen = "names" if kind == "classifier" else "regions, words and templates"
    lines += [
        change,
        "",
        "| | |",
        "|---|---|",
        *(f"| {key.replace('_', ' ')} | {_format(value)} |" for key, value in facts.items()),
        "",
        f"Audit it on {unseen} that were not used here. The licences of the original model and of the texts apply.",
    ]
    return "\n".join(lines) + "\n"


def digest_lists(*data: Sequence[str]) -> str:
    """What tells the texts and names of a training from others."""
    return hashlib.sha256(json.dumps([list(each) for each in data]).encode()).hexdigest()[:16]


def _format(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_format, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _read_settings(folder: Path) -> Any:
    try:
        return json.loads((folder / RECORD).read_text(encoding="utf-8"))["settings"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
