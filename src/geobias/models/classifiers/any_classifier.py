"""A classifier from anything but a saved wrapper: `models/load.py` adds those, which load what they wrap from here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from geobias.errors import InputError
from geobias.models.functions import FunctionClassifier, import_function
from geobias.models.own_objects import ScorerLike, as_classifier
from geobias.models.scorer import AnyLanguageModel, Classifier
from geobias.models.sources import PICKLES, SKOPS, is_function_name, locate_weights
from geobias.models.transformers_pipelines import is_bare_model, read_model_object

if TYPE_CHECKING:
    from geobias.models.classifiers.prompted import Prompt


def make_classifier(
    model: Any, *, prompt: Prompt | None = None, device: str = "auto", dtype: str = "auto"
) -> Classifier:
    """Load a classifier by name, or wrap an object or a function; the parameters are those of `load_classifier`."""
    from geobias.models.classifiers.scikit_learn import EstimatorClassifier, is_estimator, read_estimator

    model = read_model_object(model)
    if isinstance(model, AnyLanguageModel) and model.prompted_method is not None:
        from geobias.models.classifiers.prompted import PromptedClassifier, require_prompt

        return PromptedClassifier(model, require_prompt(prompt, model.name))
    if isinstance(model, Classifier) or (isinstance(model, ScorerLike) and hasattr(model, "labels")):
        return as_classifier(model)
    if is_estimator(model):
        return EstimatorClassifier(model)
    label_set = prompt.labels if prompt else None
    if is_bare_model(model):
        raise InputError(
            f"{type(model).__name__} has no tokenizer. Pass transformers.pipeline('text-classification', "
            "model=model, tokenizer=tokenizer)."
        )
    if callable(model):
        return FunctionClassifier(model, label_set=label_set)
    if not isinstance(model, str | Path):
        raise InputError(
            f"An object of type {type(model).__name__} is not a classifier. Pass a Hugging Face id, a folder, a "
            "text-classification pipeline, a function, or a scikit-learn model."
        )
    name = str(model)
    if name.lower().endswith((SKOPS, *PICKLES)) and not Path(name).expanduser().is_dir():
        return read_estimator(name)
    if is_function_name(name):
        return FunctionClassifier(import_function(name), name=name, label_set=label_set)
    from geobias.models.language.model_kinds import load_pretrained_classifier

    return load_pretrained_classifier(name, locate_weights(name), prompt, device=device, dtype=dtype)
