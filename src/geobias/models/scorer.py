"""The one protocol of all models, and `load()` and `load_classifier()`, which find the right one for a name.

Anything with these three attributes is a scorer; a model of your own needs no more than

    class Mine:
        fingerprint, columns = None, ("log_likelihood",)
        def score(self, texts): return numpy.array([[my_function(text)] for text in texts])

With a string for `fingerprint` its scores are kept for ever; change the string whenever the function changes. A plain
function of log-likelihoods or probabilities is made a scorer here too (`models.function`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from geobias.errors import InputError
from geobias.models.bundled.catalogue import INSTALLED, embedded_folder, installed_file

if TYPE_CHECKING:
    from geobias.models.classifiers.prompted import Prompt
    from geobias.models.functions import FunctionLM
    from geobias.models.language.language_model import LanguageModel
    from geobias.models.language.masked import MaskedLM

LOG_LIKELIHOOD = "log_likelihood"
LIKELIHOOD_COLUMNS = (LOG_LIKELIHOOD, "tokens", "unknown", "cut")
EMBEDDED_LM = "embedded/lm"
EMBEDDED_CLASSIFIERS = ("embedded/sentiment", "embedded/emotion", "embedded/hate", "embedded/offensive")
PROBE = "The quick brown fox."  # what a model is asked first, to see how it answers
METHODS = ("aul", "aula", "pll", "pll-word", "conditional", "mean", "sum")  # of any kind of language model
GGUF, SKOPS = ".gguf", ".skops"
PICKLES = (".pkl", ".pickle", ".joblib", ".sav", ".dill")


@runtime_checkable
class Scorer(Protocol):
    """Texts in, numbers out.

    `fingerprint` stands for everything the numbers depend on besides the text: weights, method, precision, cut
    length. Scores are kept under it; with None they are kept for this run alone. The first of the `columns` is the
    score; a scorer may add what it saw on the way (number of tokens, tokens cut off).
    A scorer that has a method `batches(texts)`, yielding positions and rows as they come, is handed many texts at
    once; all of them, if it has `takes_everything = True`.
    A scorer that looks at a marked part of the text only (see `prompts.templates`) has `needs_mark = True`.
    One whose answers cost money has `paid = True`: each is kept on disk as soon as it comes.
    One that can use a GPU has a method `to(device)`: workers of a cluster get a copy, and move it there.
    """

    @property
    def fingerprint(self) -> str | None: ...

    @property
    def columns(self) -> Sequence[str]: ...

    def score(self, texts: Sequence[str]) -> np.ndarray: ...


@runtime_checkable
class LabelScorer(Scorer, Protocol):
    """A classifier: a scorer whose columns are p(label) for each of its `labels`, and "cut", the tokens cut off.

    With `multi_label` the labels do not exclude each other, and a row need not sum to one. `base` names the
    language model that the classifier was made from; None where nobody knows.
    """

    @property
    def name(self) -> str: ...

    @property
    def labels(self) -> Sequence[str]: ...

    @property
    def multi_label(self) -> bool: ...

    @property
    def base(self) -> str | None: ...


class StreamingScorer(ABC):
    """A scorer that has its rows batch by batch; `score` puts them into the order of the texts."""

    columns: Sequence[str]

    @abstractmethod
    def batches(self, texts: Sequence[str]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Scores as they come: the positions of some of the texts, and their rows."""

    def score(self, texts: Sequence[str]) -> np.ndarray:
        rows = np.full((len(texts), len(self.columns)), np.nan)
        for some, scores in self.batches(texts):
            rows[some] = scores
        return rows


def probability_columns(labels: Sequence[str]) -> tuple[str, ...]:
    """The columns of every classifier: a probability for each label, and the number of tokens cut off."""
    return (*(f"p({label})" for label in labels), "cut")


def load(name: str | Path | None = None, *, device: str = "auto", dtype: str = "auto") -> LanguageModel | FunctionLM:
    """A language model of any kind by Hugging Face id, folder or GGUF file, or a function of log-likelihoods, as
    `package.module:function`; by default the embedded one.
    """
    name = str(name or EMBEDDED_LM)
    if is_function_name(name):
        from geobias.models.functions import FunctionLM, named_function

        return FunctionLM(named_function(name), name=name)
    return load_weights(name, device=device, dtype=dtype)


def load_weights(name: str | Path | None = None, *, device: str = "auto", dtype: str = "auto") -> LanguageModel:
    """The same for what looks inside a model: a function is refused, and not even imported."""
    from geobias.models.language.model_kinds import load_language_model  # torch only when a model is loaded

    name = str(name or EMBEDDED_LM)
    if is_function_name(name):
        raise InputError(f"{name} is a function, which has no weights: give a Hugging Face id or a folder.")
    return load_language_model(name, location(name), device=device, dtype=dtype)


def load_masked(name: str | Path | None = None, *, device: str = "auto", dtype: str = "auto") -> MaskedLM:
    """The same where only a masked language model will do: one that shall be trained to fill in masks."""
    from geobias.models.language.masked import MaskedLM

    found = load_weights(name, device=device, dtype=dtype)
    if not isinstance(found, MaskedLM):
        raise InputError(f"{found.name} is a {found.kind}, which is trained otherwise: give a masked LM.")
    return found


def default_score(name: str) -> str:
    """The score that a model is asked for when none is named."""
    if is_function_name(name):
        return LOG_LIKELIHOOD
    from geobias.models.language.model_kinds import default_method  # torch only when a model is looked at

    return default_method(name, location(name))


def is_function_name(name: str) -> bool:
    """Whether a name is written as `package.module:function`. Paths, C:/models/bert among them, are none."""
    is_path = any(slash in name for slash in "/\\") or name.lower().endswith((GGUF, SKOPS, *PICKLES))
    return ":" in name and not is_path and not Path(name).exists()


def _language_model(model: Any, device: str, dtype: str) -> Any:
    """Whatever stands for a language model, as something that is or has a scorer."""
    if model is None or isinstance(model, (str, Path)):
        return load(model, device=device, dtype=dtype)
    if isinstance(model, Scorer) or hasattr(model, "scorer"):
        return model
    if callable(model):
        from geobias.models.functions import FunctionLM

        return FunctionLM(model)
    raise InputError(
        f"Something of type {type(model).__name__} is not a language model: "
        "give a Hugging Face id, a folder, a function, or a scorer."
    )


def scorer_for(model: Any, score: str | None, *, device: str = "auto", dtype: str = "auto") -> Scorer:
    """The scorer behind whatever names a language model; one that is a scorer already has its own score."""
    model = _language_model(model, device, dtype)
    if hasattr(model, "scorer"):
        scorer: Scorer = model.scorer(score)
        return scorer
    if score is not None:
        raise InputError(
            f"The score {score!r} is for a model's name or folder; {type(model).__name__} scores by itself."
        )
    own: Scorer = model
    return own


def perplexity_scorer(model: Any, method: str | None, *, device: str = "auto", dtype: str = "auto") -> Scorer:
    """The scorer whose negative is a log-perplexity: by this method, or the one that fits the kind of model."""
    model = _language_model(model, device, dtype)
    if hasattr(model, "scorer"):
        scorer: Scorer = model.scorer(method or model.perplexity_method)
        return scorer
    own: Scorer = model
    return own


def load_classifier(
    model: Any, *, prompt: Prompt | None = None, device: str = "auto", dtype: str = "auto"
) -> LabelScorer:
    """A classifier by Hugging Face id, by folder, an embedded one; a function, itself or `package.module:function`; or
    one of scikit-learn, itself or as a .skops file. Pickles are refused: they can run any code.

    A language model becomes one by a `prompt`. A classifier that is loaded already is given back as it is.
    """
    from geobias.models.classifiers.scikit_learn import EstimatorClassifier, is_estimator, read_estimator
    from geobias.models.functions import FunctionClassifier, named_function

    if isinstance(model, Scorer) and hasattr(model, "labels"):
        if not isinstance(model, LabelScorer) or tuple(model.columns) != probability_columns(model.labels):
            raise InputError(
                f"{type(model).__name__} is not a whole classifier: it needs name, labels, multi_label and base, and "
                "the columns p(label) for each label, then cut; or give a function instead."
            )
        return model
    if hasattr(model, "prompted_method"):
        from geobias.models.classifiers.prompted import PromptedClassifier, needed

        return PromptedClassifier(model, needed(prompt, model.name))
    if is_estimator(model):
        return EstimatorClassifier(model)
    if callable(model):
        return FunctionClassifier(model)
    if not isinstance(model, str | Path):
        raise InputError(
            f"Something of type {type(model).__name__} is not a classifier: "
            "give a Hugging Face id, a folder, a function, or a scikit-learn model."
        )
    name = str(model)
    if name.lower().endswith((SKOPS, *PICKLES)) and not Path(name).expanduser().is_dir():
        return read_estimator(name)
    if is_function_name(name):
        return FunctionClassifier(named_function(name), name=name)
    from geobias.models.language.model_kinds import load_pretrained_classifier  # torch only when a model is loaded

    return load_pretrained_classifier(name, location(name), prompt, device=device, dtype=dtype)


def location(name: str) -> str:
    """Where the weights are: a folder inside the package, a folder of the user's, or a Hugging Face id."""
    if name.startswith("embedded/"):
        folder = embedded_folder() / name.removeprefix("embedded/")
        if not (folder / "config.json").is_file():
            raise InputError(f"There is no embedded model {name!r}: `geobias models` lists those there are.")
        return str(folder)
    if name in INSTALLED:
        return str(installed_file(name))
    path = Path(name).expanduser()
    if name.lower().endswith(GGUF):
        if not path.is_file() and not (name.count("/") == 1 and ":" in name):  # nor owner/name:file.gguf
            raise InputError(f"There is no file {name}: give a GGUF file, or owner/name:file.gguf on the hub.")
        return str(path)
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise InputError(f"The folder {name} holds no model: it has no config.json.")
        return str(path)
    looks_like_path = name.startswith((".", "/", "~")) or name.count("/") > 1 or path.exists()
    if looks_like_path:
        raise InputError(f"There is no model folder {name}: give a folder with config.json and weights.")
    return name


def checked_method(method: str) -> str:
    """The name of a score, if there is one of that name."""
    if method not in METHODS:
        raise InputError(f"Unknown score {method!r}: choose one of {', '.join(METHODS)}.")
    return method
