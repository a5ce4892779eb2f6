"""Mitigated classifiers on disk: a folder with mitigation.json, loaded as `mitigated:FOLDER`.

Somebody else may have written the file, so a name in it is never imported and never downloaded unless the user repeats
it. Bundled models, and data at an absolute path on this machine, are loaded without asking: reading them runs nothing.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, StringConstraints

from geobias.checks import escape
from geobias.errors import InputError
from geobias.files import save_file
from geobias.models.finders import EMBEDDED_FINDER, find_pipeline_folder
from geobias.models.functions import FunctionClassifier, function_name
from geobias.models.kinds import make_classifier
from geobias.models.mitigated import MitigatedClassifier, PeopleReader
from geobias.models.scorer import EMBEDDED_CLASSIFIERS, Classifier
from geobias.models.sources import MITIGATED, SKOPS
from geobias.models.wrappers import PLACEHOLDER, AveragingClassifier, BlindClassifier
from geobias.world.gazetteer import load_gazetteer, select_for_mitigation

FILE = "mitigation.json"
FORMAT = 1
CONFIG = "config.json"  # of a trained model
WEIGHTS, WEIGHTS_INDEX = "model.safetensors", "model.safetensors.index.json"
AGAIN = "Run `geobias mitigate` again."
NotBlank = Annotated[str, StringConstraints(pattern=r"\S")]
Allowed = str | Callable[..., Any] | Sequence[str | Callable[..., Any]]


def save_mitigated(classifier: MitigatedClassifier, folder: str | Path) -> Path:
    """Write the settings of a wrapper to a new folder; the model itself stays where it is.

    Parameters
    ----------
    classifier : BlindClassifier or AveragingClassifier
        A wrapper around a model that has a name: a Hugging Face id, a folder, a .skops file or a function in a module.
    folder : str or Path
        A folder that does not exist yet, or is empty.

    Returns
    -------
    Path
        The folder. `load_classifier("mitigated:FOLDER")` loads the wrapper.

    Raises
    ------
    InputError
        If the folder holds something, or the model or the finder has no name to load it by.

    Examples
    --------
    >>> import geobias
    >>> blind = geobias.BlindClassifier("embedded/sentiment")
    >>> folder = geobias.save_mitigated(blind, "models/blind")  # doctest: +SKIP
    >>> geobias.load_classifier("mitigated:models/blind")  # doctest: +SKIP
    """
    path = Path(folder)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise InputError(f"{path} exists and is not empty. Choose another folder.")
    write_settings(describe_wrapper(classifier), path)
    return path


def write_settings(settings: dict[str, Any], folder: Path) -> None:
    """Write what a wrapper is loaded from, in place of what an earlier run wrote."""
    save_file(folder / FILE, (json.dumps(settings, indent=1, ensure_ascii=False) + "\n").encode())


def describe_wrapper(classifier: MitigatedClassifier) -> dict[str, Any]:
    """What a wrapper is loaded from; InputError if the model or the finder cannot be loaded by a name."""
    source = classifier.source
    if source is None and isinstance(classifier.classifier, FunctionClassifier):
        source = _importable_name(classifier.classifier.name)
    if source is None:
        raise InputError(
            f"{classifier.classifier.name} cannot be loaded by a name, so its wrapper cannot be saved. Pass the "
            "classifier as a name: a Hugging Face id, a folder, a .skops file or package.module:function."
        )
    finder = _importable_name(classifier.reader.finder.name)
    if finder is None:
        raise InputError(f"The finder {classifier.reader.finder.name} is no importable function. Move it to a module.")
    return {
        "format": FORMAT,
        **classifier.settings,
        "model": _make_absolute(source),
        "finder": _make_absolute(finder),
        "dtype": getattr(classifier.classifier, "dtype", None),
        "model_fingerprint": classifier.classifier.fingerprint,
        "finder_fingerprint": classifier.reader.finder.fingerprint,
    }


def load_mitigated(name: str, *, allow: Allowed = (), device: str = "auto", dtype: str = "auto") -> Classifier:
    """Load a wrapper by `mitigated:FOLDER`, or the model that training left there.

    A wrapper is refused if it needs a name that is not in `allow`, or if its model or its finder has changed.
    """
    folder = Path(name.removeprefix(MITIGATED)).expanduser()
    if (folder / CONFIG).is_file():
        return _load_trained(name, device, dtype)
    wrapper = _read_wrapper(folder)
    several = [allow] if isinstance(allow, str) or callable(allow) else allow
    allowed = {each if isinstance(each, str) else function_name(each): each for each in several}
    if refused := [each for each in wrapper.list_foreign_names() if each not in allowed]:
        options = " ".join(f"--allow {shlex.quote(escape(each))}" for each in refused)
        raise InputError(
            f"{folder / FILE} names {' and '.join(map(escape, refused))}. What only a file names is not imported or "
            f"downloaded. If you trust it, add {options} (in Python: allow=[...])."
        )
    try:
        return wrapper.load(name, allowed, device, dtype)
    except _Changed as change:
        raise InputError(f"{change} has changed since {folder} was saved. {AGAIN}") from None


def list_names_to_allow(folder: Path) -> list[str]:
    """The names that `--allow` has to repeat to load the wrapper in this folder."""
    return _read_wrapper(folder).list_foreign_names()


class _Changed(Exception):
    """What a wrapper needs is not what it was when it was saved."""


class _Wrapper(BaseModel, strict=True):
    """A mitigation.json."""

    format: int
    method: Annotated[str, StringConstraints(pattern=r"^(blind|average:[1-9]\d{0,3})$")]
    model: NotBlank
    finder: NotBlank
    placeholder: NotBlank = PLACEHOLDER  # of a blind one
    seed: int = 0  # and the digest of the names, of one that averages
    names: str = ""
    dtype: Literal["float32", "bfloat16", "float16"] | None
    model_fingerprint: str | None
    finder_fingerprint: str | None

    def list_foreign_names(self) -> list[str]:
        """The model and the finder, where they are loaded only if the user names them."""
        return list(dict.fromkeys(name for name in (self.model, self.finder) if not _is_harmless(name)))

    def load(self, name: str, allowed: Mapping[str, Any], device: str, dtype: str) -> MitigatedClassifier:
        def load_model(dtype: str) -> Classifier:
            if self.model.startswith(MITIGATED):
                return _load_trained(self.model, device, dtype)
            return make_classifier(allowed.get(self.model, self.model), device=device, dtype=dtype)

        copies = self.method.partition(":")[2]
        if copies and select_for_mitigation(load_gazetteer()).digest != self.names:
            raise _Changed("The list of names")
        reader = PeopleReader(allowed.get(self.finder, self.finder), device=device)
        if _weights_digest(self.finder_fingerprint) != _weights_digest(reader.finder.fingerprint):
            raise _Changed(escape(self.finder))
        classifier = load_model(dtype)
        fingerprint = classifier.fingerprint  # of the weights in one precision
        if self.dtype and self.dtype != getattr(classifier, "dtype", None):
            fingerprint = load_model(self.dtype).fingerprint
        if _weights_digest(self.model_fingerprint) != _weights_digest(fingerprint):
            raise _Changed(escape(self.model))
        wrapper: MitigatedClassifier
        if copies:
            wrapper = AveragingClassifier(classifier, int(copies), reader, seed=self.seed, name=name)
        else:
            wrapper = BlindClassifier(classifier, reader, placeholder=self.placeholder, name=name)
        wrapper.source = self.model
        return wrapper


def _load_trained(name: str, device: str, dtype: str) -> Classifier:
    from geobias.models.huggingface import HuggingFaceClassifier  # imports torch

    folder = str(Path(name.removeprefix(MITIGATED)).expanduser())
    return HuggingFaceClassifier.from_pretrained(name, folder, device=device, dtype=dtype)


def _read_wrapper(folder: Path) -> _Wrapper:
    file = folder / FILE
    if not os.path.isfile(file):  # False for a name that is too long
        raise InputError(f"{folder} has no {FILE}. Name a folder that `geobias mitigate` wrote.")
    try:
        wrapper = _Wrapper.model_validate(json.loads(file.read_bytes()))
    except (OSError, ValueError, RecursionError) as error:  # those of pydantic, too
        raise InputError(f"{file} is damaged ({' '.join(str(error).split())[:200]}). {AGAIN}") from None
    if wrapper.format != FORMAT:
        raise InputError(f"{file} is not of this version of geobias. {AGAIN}")
    return wrapper


def _is_harmless(name: str) -> bool:
    """Whether a name stands for a bundled model, or for data on this machine that is read without running anything.

    A spaCy pipeline is not: its configuration names packages, which spaCy imports. Nor are pickled weights.
    """
    if name in (EMBEDDED_FINDER, *EMBEDDED_CLASSIFIERS):
        return True
    path = Path(name.removeprefix(MITIGATED))
    if not path.is_absolute() or str(path).startswith(("//", "\\\\")):  # of another machine, on Windows
        return False
    if name.lower().endswith(SKOPS):
        return os.path.isfile(path)
    has_safe_weights = any(os.path.isfile(path / file) for file in (WEIGHTS, WEIGHTS_INDEX))
    return os.path.isfile(path / CONFIG) and has_safe_weights and not find_pipeline_folder(str(path))


def _weights_digest(fingerprint: str | None) -> str | None:
    """A fingerprint without precision, device and version of the scores, which may differ between machines."""
    endings = r"(?<=^[0-9a-f]{32}):classifier:.*|:function(:\d+)?$"
    return None if fingerprint is None else re.sub(endings, "", fingerprint)


def _make_absolute(name: str) -> str:
    """A folder or file, also after "mitigated:", with its whole path; another name as it is."""
    prefix = MITIGATED if name.startswith(MITIGATED) else ""
    path = Path(name.removeprefix(prefix)).expanduser()
    is_path = path.exists() and not name.startswith("embedded/")
    return f"{prefix}{path.resolve()}" if is_path else name


def _importable_name(name: str) -> str | None:
    """A name as it is; None for a function that no other process can import."""
    return None if "<" in name or name.startswith("__main__:") else name
