"""Mitigated classifiers on disk: a folder with mitigation.json, loaded as `mitigated:FOLDER`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from geobias.errors import InputError
from geobias.files import save_file
from geobias.models.classifiers.any_classifier import make_classifier
from geobias.models.functions import FunctionClassifier
from geobias.models.mitigated.mitigated_classifier import MitigatedClassifier
from geobias.models.mitigated.wrappers import AveragingClassifier, BlindClassifier
from geobias.models.scorer import Classifier
from geobias.models.sources import MITIGATED

FILE = "mitigation.json"
FORMAT = 1
CONFIG = "config.json"  # of a trained model
METHODS = (BlindClassifier.method, AveragingClassifier.method)


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
        "dtype": _read_precision(classifier),
        "model_fingerprint": classifier.classifier.fingerprint,
        "finder_fingerprint": classifier.reader.finder.fingerprint,
    }


def load_mitigated(name: str, *, device: str = "auto", dtype: str = "auto") -> Classifier:
    """Load a wrapper by `mitigated:FOLDER`, or the model that training left there.

    A wrapper is refused if its model or its finder has changed.
    """
    folder = Path(name.removeprefix(MITIGATED)).expanduser()
    if (folder / CONFIG).is_file():
        from geobias.models.classifiers.huggingface import HuggingFaceClassifier  # imports torch

        return HuggingFaceClassifier.from_pretrained(name, str(folder), device=device, dtype=dtype)
    content = _read_settings(folder)
    method, _, copies = str(content.get("method")).partition(":")
    if content.get("format") != FORMAT or method not in METHODS:
        raise InputError(f"{folder / FILE} is not of this version of geobias. Run `geobias mitigate` again.")
    is_blind = method == BlindClassifier.method
    try:
        model, finder = str(content["model"]), str(content["finder"])
        placeholder = str(content["placeholder"]) if is_blind else ""
        number, seed = (0, 0) if is_blind else (int(copies), int(content["seed"]))
    except (KeyError, TypeError, ValueError):
        raise _refuse_file(folder) from None
    classifier = _load_wrapped(model, device, dtype)
    wrapper: MitigatedClassifier
    if is_blind:
        wrapper = BlindClassifier(classifier, finder, placeholder=placeholder, name=name, device=device)
    else:
        wrapper = AveragingClassifier(classifier, number, finder, seed=seed, name=name, device=device)
    wrapper.source = model
    fingerprint, precision = classifier.fingerprint, content.get("dtype")
    if precision and precision != _read_precision(classifier):  # a fingerprint is of the weights in one precision
        fingerprint = _load_wrapped(model, device, str(precision)).fingerprint
    fingerprints = {
        "model_fingerprint": (model, fingerprint),
        "finder_fingerprint": (finder, wrapper.reader.finder.fingerprint),
        "names": ("The list of names", wrapper.settings.get("names")),
    }
    for key, (title, present) in fingerprints.items():
        if _weights_digest(content.get(key)) != _weights_digest(present):
            raise InputError(f"{title} has changed since {folder} was saved. Run `geobias mitigate` again.")
    return wrapper


def _load_wrapped(name: str, device: str, dtype: str) -> Classifier:
    """The classifier inside a wrapper, which may be a saved wrapper itself."""
    if name.startswith(MITIGATED):
        return load_mitigated(name, device=device, dtype=dtype)
    return make_classifier(name, device=device, dtype=dtype)


def _read_precision(classifier: Classifier) -> str | None:
    """The precision of the model in a wrapper; None if it has no weights."""
    while isinstance(classifier, MitigatedClassifier):
        classifier = classifier.classifier
    return getattr(classifier, "dtype", None)


def _weights_digest(fingerprint: str | None) -> str | None:
    """A fingerprint without precision, device and version of the scores, which may differ between machines."""
    endings = r"(?<=^[0-9a-f]{32}):classifier:.*|:function(:\d+)?$"
    return None if fingerprint is None else re.sub(endings, "", fingerprint)


def _read_settings(folder: Path) -> dict[str, Any]:
    try:
        content = json.loads((folder / FILE).read_text(encoding="utf-8"))
    except OSError:
        raise InputError(f"{folder} has no {FILE}. Name a folder that `geobias mitigate` wrote.") from None
    except ValueError:
        content = None
    if not isinstance(content, dict):
        raise _refuse_file(folder)
    return content


def _refuse_file(folder: Path) -> InputError:
    return InputError(f"{folder / FILE} is damaged. Run `geobias mitigate` again.")


def _make_absolute(name: str) -> str:
    """A folder or file, also after "mitigated:", with its whole path; another name as it is."""
    prefix = MITIGATED if name.startswith(MITIGATED) else ""
    path = Path(name.removeprefix(prefix)).expanduser()
    is_path = path.exists() and not name.startswith("embedded/")
    return f"{prefix}{path.resolve()}" if is_path else name


def _importable_name(name: str) -> str | None:
    """A name as it is; None for a function that no other process can import."""
    return None if "<" in name or name.startswith("__main__:") else name
