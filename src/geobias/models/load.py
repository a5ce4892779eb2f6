"""The only factory of models: from a name, folder, file, function or object to a scorer or a language model.

torch and transformers are imported only when weights are loaded.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from geobias.errors import InputError
from geobias.models.functions import FunctionClassifier, FunctionLM, function_name, import_function
from geobias.models.scorer import (
    EMBEDDED_LM,
    LOG_LIKELIHOOD,
    AnyLanguageModel,
    Classifier,
    Scorer,
    ScorerLike,
    as_classifier,
    as_scorer,
)
from geobias.models.sources import PICKLES, SKOPS, is_function_name, locate_weights

if TYPE_CHECKING:
    from geobias.models.classifiers.prompted import Prompt
    from geobias.models.language.language_model import LanguageModel
    from geobias.models.language.masked import MaskedLM


def load(name: str | Path | None = None, *, device: str = "auto", dtype: str = "auto") -> LanguageModel | FunctionLM:
    """Load a language model of any kind.

    `name` is a Hugging Face id, a folder, a GGUF file, or a function of log-likelihoods as `package.module:function`;
    by default the embedded model.
    """
    name = str(name or EMBEDDED_LM)
    if is_function_name(name):
        return FunctionLM.from_function(import_function(name), name=name)
    return load_weights(name, device=device, dtype=dtype)


def load_weights(name: str | Path | None = None, *, device: str = "auto", dtype: str = "auto") -> LanguageModel:
    """Load a language model that has weights. The name of a function is refused, and its module is not imported."""
    from geobias.models.language.model_kinds import load_language_model

    name = str(name or EMBEDDED_LM)
    if is_function_name(name):
        raise InputError(f"{name} is a function, which has no weights: give a Hugging Face id or a folder.")
    return load_language_model(name, locate_weights(name), device=device, dtype=dtype)


def load_masked(name: str | Path | None = None, *, device: str = "auto", dtype: str = "auto") -> MaskedLM:
    """Load a masked language model; other kinds are refused."""
    from geobias.models.language.masked import MaskedLM

    lm = load_weights(name, device=device, dtype=dtype)
    if not isinstance(lm, MaskedLM):
        raise InputError(f"{lm.name} is a {lm.kind}, which is trained otherwise: give a masked LM.")
    return lm


def load_scorer(model: Any, score: str | None, *, device: str = "auto", dtype: str = "auto") -> Scorer:
    """Return the scorer of a language model, given in any form, by this score or the model's default score."""
    lm = _load_any_lm(model, device, dtype)
    if isinstance(lm, AnyLanguageModel):
        return lm.scorer(score)
    if score is not None:
        raise InputError(
            f"The score {score!r} is for a model's name or folder; {type(model).__name__} scores by itself."
        )
    return lm


def load_perplexity_scorer(model: Any, method: str | None, *, device: str = "auto", dtype: str = "auto") -> Scorer:
    """Return the scorer whose negative is a log-perplexity: by this method, or the one for the kind of model."""
    lm = _load_any_lm(model, device, dtype)
    return lm.scorer(method or lm.perplexity_method) if isinstance(lm, AnyLanguageModel) else lm


def _load_any_lm(model: Any, device: str, dtype: str) -> AnyLanguageModel | Scorer:
    """Return a language model, or a scorer that stands for one, from whatever the user gives."""
    if model is None or isinstance(model, (str, Path)):
        return load(model, device=device, dtype=dtype)
    if isinstance(model, AnyLanguageModel):
        return model
    if isinstance(model, ScorerLike):
        return as_scorer(model)
    if callable(model):
        return FunctionLM.from_function(model)
    raise InputError(
        f"Something of type {type(model).__name__} is not a language model: "
        "give a Hugging Face id, a folder, a function, or a scorer."
    )


def load_classifier(
    model: Any, *, prompt: Prompt | None = None, device: str = "auto", dtype: str = "auto"
) -> Classifier:
    """Load a classifier.

    `model` is a Hugging Face id, a folder, a bundled model; a function, itself or as `package.module:function`; or a
    scikit-learn model, itself or as a .skops file. Pickles are refused: they can run any code. A language model
    becomes a classifier by a `prompt`. A loaded classifier is returned as it is.
    """
    from geobias.models.classifiers.scikit_learn import EstimatorClassifier, is_estimator, read_estimator

    if isinstance(model, AnyLanguageModel) and model.prompted_method is not None:
        from geobias.models.classifiers.prompted import PromptedClassifier, require_prompt

        return PromptedClassifier(model, require_prompt(prompt, model.name))
    if isinstance(model, Classifier) or (isinstance(model, ScorerLike) and hasattr(model, "labels")):
        return as_classifier(model)
    if is_estimator(model):
        return EstimatorClassifier.from_estimator(model)
    if callable(model):
        return FunctionClassifier.from_function(model)
    if not isinstance(model, str | Path):
        raise InputError(
            f"Something of type {type(model).__name__} is not a classifier: "
            "give a Hugging Face id, a folder, a function, or a scikit-learn model."
        )
    name = str(model)
    if name.lower().endswith((SKOPS, *PICKLES)) and not Path(name).expanduser().is_dir():
        return read_estimator(name)
    if is_function_name(name):
        return FunctionClassifier.from_function(import_function(name), name=name)
    from geobias.models.language.model_kinds import load_pretrained_classifier

    return load_pretrained_classifier(name, locate_weights(name), prompt, device=device, dtype=dtype)


def find_default_score(name: str) -> str:
    """Return the score of a model when the user chooses none. No weights are loaded."""
    if is_function_name(name):
        return LOG_LIKELIHOOD
    from geobias.models.language.model_kinds import default_method

    return default_method(name, locate_weights(name))


def find_model_name(model: Any) -> str:
    """Return what results call a model, given in any form. Nothing is loaded."""
    if isinstance(model, str | Path):
        return str(model)
    if isinstance(model, AnyLanguageModel):
        return model.name
    if isinstance(model, ScorerLike):
        return as_scorer(model).identity().name
    return function_name(model)
