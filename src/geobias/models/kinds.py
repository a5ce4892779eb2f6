"""What a name, a file, a function or an object is: what it can be audited as, and the classifier that it makes.

A classifier from a saved wrapper is made by `models/load.py`: wrappers load what they wrap from here.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from geobias.errors import InputError
from geobias.models.functions import Function, FunctionClassifier, FunctionLM, function_name, import_function
from geobias.models.own_objects import ScorerLike, as_classifier
from geobias.models.scorer import PROBE, AnyLanguageModel, Classifier
from geobias.models.sources import MITIGATED, PICKLES, SKOPS, is_function_name, locate_weights
from geobias.models.transformers_pipelines import is_bare_model, read_model_object

if TYPE_CHECKING:
    from geobias.models.answers import Prompt


Task = Literal["language model", "classifier"]
USABLE = "Use a language model (masked, causal or encoder-decoder) or a text classifier"


def find_tasks(model: Any, *, has_labels: bool = False) -> tuple[Task, ...]:
    """What a model can be audited as.

    `model` is a name, a folder, a file, a function or an object, as in `load` and `load_classifier`. With `has_labels`,
    a language model that generates text is a classifier too: it is prompted for one of the labels. A function is called
    with one text; of a Hugging Face model only the configuration is read. What is neither is refused.
    """
    if isinstance(model, str | Path):
        return _find_tasks_of_name(str(model), has_labels)
    model = read_model_object(model)
    if isinstance(model, AnyLanguageModel):
        is_prompted = has_labels and model.prompted_method is not None
        return ("language model", "classifier") if is_prompted else ("language model",)
    if isinstance(model, Classifier) or (isinstance(model, ScorerLike) and hasattr(model, "labels")):
        return ("classifier",)
    if isinstance(model, ScorerLike):
        return ("language model",)
    from geobias.models.scikit_learn import is_estimator

    if is_estimator(model):
        return ("classifier",)
    if callable(model) and not is_bare_model(model):
        return (_find_task_of_function(model, function_name(model)),)
    raise InputError(f"An object of type {type(model).__name__} cannot be audited. {USABLE}.")


def _find_tasks_of_name(name: str, has_labels: bool) -> tuple[Task, ...]:
    if name.lower().endswith((SKOPS, *PICKLES)) and not Path(name).expanduser().is_dir():
        from geobias.models.scikit_learn import read_estimator

        read_estimator(name)  # raises where the file cannot be used
        return ("classifier",)
    if name.startswith(MITIGATED):
        return ("classifier",)
    if is_function_name(name):
        return (_find_task_of_function(import_function(name), name),)
    from geobias.models.model_files import read_config
    from geobias.models.model_kinds import CLASSIFIER_HEAD, generates_text, is_language_model

    config = read_config(name, locate_weights(name))
    heads = config.architectures or []
    if any(head.endswith(CLASSIFIER_HEAD) for head in heads):
        return ("classifier",)
    if not is_language_model(config):
        token_classifier = any(head.endswith("ForTokenClassification") for head in heads)
        other = " (`geobias find` audits token classifiers)" if token_classifier else ""
        raise InputError(f"{name} is a {', '.join(heads)}, which cannot be audited{other}. {USABLE}.")
    return ("language model", "classifier") if has_labels and generates_text(config) else ("language model",)


def _find_task_of_function(function: Function, name: str) -> Task:
    """By what the function answers: one number is a log-likelihood; labels or probabilities are a classifier's."""
    try:
        value = float(FunctionLM(function, name=name).score([PROBE])[0, 0])
    except InputError:
        FunctionClassifier(function, name=name)  # raises where it is no classifier either
        return "classifier"
    if value > 0:
        raise InputError(
            f"The function {name} returned {value:g} for a text, which is neither a log-likelihood nor a probability "
            "for each label. Use `geobias regions` for a language model, `geobias names` for a classifier."
        )
    return "language model"


def make_classifier(
    model: Any, *, prompt: Prompt | None = None, device: str = "auto", dtype: str = "auto"
) -> Classifier:
    """Load a classifier by name, or wrap an object or a function; the parameters are those of `load_classifier`."""
    from geobias.models.scikit_learn import EstimatorClassifier, is_estimator, read_estimator

    model = read_model_object(model)
    if isinstance(model, AnyLanguageModel) and model.prompted_method is not None:
        from geobias.models.answers import require_prompt
        from geobias.models.prompted import PromptedClassifier

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
    from geobias.models.model_kinds import load_pretrained_classifier

    return load_pretrained_classifier(name, locate_weights(name), prompt, device=device, dtype=dtype)
