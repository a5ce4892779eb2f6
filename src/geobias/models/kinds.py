"""What a user gives as a model: a name, a folder, a file, a function, a pipeline of transformers or an object.

`recognise` says which of these it is. What loads models, or says what one can be audited as, goes by its answer. A
classifier from a saved wrapper is made by `models/load.py`: wrappers load what they wrap from here.

**Classifiers of scikit-learn**: a fitted model or pipeline, or a file from `skops.io.dump(pipeline, "model.skops")`. A
pickle is a program that runs when it is opened, so none ever is. A .skops file holds data. If it names a type that
skops does not trust, it is refused, and nothing of it is built.
"""

from __future__ import annotations

import hashlib
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from geobias.checks import need
from geobias.errors import InputError
from geobias.models.functions import (
    Function,
    FunctionClassifier,
    FunctionLM,
    describe_error,
    function_name,
    import_function,
)
from geobias.models.scorer import PROBE, AnyLanguageModel, Classifier, Scorer, probability_columns
from geobias.models.sources import MITIGATED, PICKLES, SKOPS, is_function_name, locate_weights

if TYPE_CHECKING:
    from geobias.models.answers import Prompt

Task = Literal["language model", "classifier"]
WEIGHTS, FUNCTION, ESTIMATOR, FILE, WRAPPER = "weights", "function", "estimator", "file", "wrapper"
LANGUAGE_MODEL, CLASSIFIER, SCORER = "language model", "classifier", "scorer"  # loaded already
USABLE = "Use a language model (masked, causal or encoder-decoder) or a text classifier"


class EstimatorClassifier(FunctionClassifier):
    """`predict_proba` as a function of texts. Its answers are checked like those of any other function."""

    kind = "scikit-learn model"
    failure_hint = " (it is called with a list of texts: give the whole pipeline, including the vectoriser)"

    def __init__(self, estimator: Any, *, name: str | None = None, fingerprint: str | None = None) -> None:
        name = name or type(estimator).__name__
        if not hasattr(estimator, "predict_proba"):
            raise InputError(
                f"{name} has no predict_proba. Use a classifier that has it, such as LogisticRegression, or LinearSVC "
                "inside CalibratedClassifierCV. To audit labels without probabilities, pass its method predict."
            )
        classes = getattr(estimator, "classes_", None)
        if classes is None:
            raise InputError(f"{name} is not fitted (it has no classes_). Fit it first.")
        if isinstance(classes, list):
            raise InputError(f"{name} has {len(classes)} outputs. Use a classifier with one.")
        function: Any = partial(estimator.predict_proba)
        function.labels = [str(label) for label in classes]
        super().__init__(function, name=name)
        self.has_digest = fingerprint is not None
        self.fingerprint = None if fingerprint is None else f"{fingerprint}:function:{self.version}"


def read_estimator(name: str) -> EstimatorClassifier:
    """Read the classifier in a .skops file. A pickle is refused by its name, before the file is opened."""
    path = Path(name).expanduser()
    if path.suffix.lower() in PICKLES:
        raise InputError(
            f"{name} is a pickle. geobias does not load pickles, because they can run any code. Save the model with "
            f"skops.io.dump(model, {path.stem + '.skops'!r}), or pass a function as package.module:function."
        )
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"The file {name} cannot be read: {error.strerror}.") from None
    need("skops", "sklearn", extra="sklearn", user=name)
    import skops.io
    from sklearn import __version__

    try:
        untrusted_types = skops.io.get_untrusted_types(data=content)
        estimator = None if untrusted_types else skops.io.loads(content)
    except Exception as error:  # no zip file, no schema, another version's schema: a damaged file fails in many ways
        raise InputError(f"{name} is damaged or not a skops file: {describe_error(error)}") from error
    if untrusted_types:
        raise InputError(
            f"{name} has types that skops does not trust ({', '.join(untrusted_types)}). If you trust the file, load "
            "it in your own function and pass that as package.module:function."
        )
    # With the version of scikit-learn that computes with it.
    fingerprint = f"{hashlib.sha256(content).hexdigest()[:32]}:scikit-learn {__version__}"
    return EstimatorClassifier(estimator, name=name, fingerprint=fingerprint)


class Given(NamedTuple):
    """What a user gives as a model."""

    kind: str
    """`LANGUAGE_MODEL`, `CLASSIFIER` or `SCORER` if it is loaded; `FUNCTION` or `ESTIMATOR`; and of a name what it
    names: `FUNCTION`, `FILE` (one that skops wrote), `WRAPPER` or `WEIGHTS`."""
    model: Any
    """The function, or the model inside a pipeline. None for a name of anything but a function."""
    name: str | None = None


def recognise(model: Any, wanted: str = "model") -> Given:
    """Say what a model is given as; refuse an object that is none. A function is imported; no weights are read."""
    if isinstance(model, str | Path):
        name = str(model)
        if name.lower().endswith((SKOPS, *PICKLES)) and not Path(name).expanduser().is_dir():
            return Given(FILE, None, name)
        if name.startswith(MITIGATED):
            return Given(WRAPPER, None, name)
        return Given(FUNCTION, import_function(name), name) if is_function_name(name) else Given(WEIGHTS, None, name)
    model = read_model_object(model)
    for kind, base in ((LANGUAGE_MODEL, AnyLanguageModel), (CLASSIFIER, Classifier), (SCORER, Scorer)):
        if isinstance(model, base):
            return Given(kind, model)
    is_estimator = hasattr(model, "predict") or hasattr(model, "predict_proba")
    if is_estimator and (hasattr(model, "classes_") or not callable(model)):  # else it is a function first
        return Given(ESTIMATOR, model)
    name = type(model).__name__
    if any(
        base.__module__.startswith("transformers.") and base.__name__ == "PreTrainedModel" for base in _bases(model)
    ):
        raise InputError(
            f"{name} has no tokenizer. Pass transformers.pipeline(TASK, model=model, tokenizer=tokenizer), where TASK "
            "is 'text-classification', 'fill-mask' or 'text-generation'."
        )
    if callable(model):
        return Given(FUNCTION, model)
    raise InputError(
        f"An object of type {name} is not a {wanted}. Pass a Hugging Face id, a folder, a pipeline of transformers, a "
        "function, a scikit-learn model or an object of a subclass of geobias.Scorer."
    )


def _bases(model: Any) -> tuple[type, ...]:
    return type(model).__mro__


def read_model_object(model: Any) -> Any:
    """Return the model inside a pipeline of transformers, and anything else unchanged. transformers is not imported."""
    if any(f"{base.__module__}.{base.__name__}" == "transformers.pipelines.base.Pipeline" for base in _bases(model)):
        from geobias.models.huggingface import read_pipeline

        return read_pipeline(model)
    return model


def find_tasks(model: Any, *, has_labels: bool = False) -> tuple[Task, ...]:
    """What a model can be audited as.

    `model` is a name, a folder, a file, a function or an object, as in `load` and `load_classifier`. With `has_labels`,
    a language model that generates text is a classifier too: it is prompted for one of the labels. A function is called
    with one text; of a Hugging Face model only the configuration is read. What is neither is refused.
    """
    given = recognise(model)
    if given.kind == FUNCTION:
        return (_find_task_of_function(given.model, given.name or function_name(given.model)),)
    if given.kind == FILE:
        make_classifier(given.name)  # raises where the file cannot be used
    if given.kind in (CLASSIFIER, ESTIMATOR, FILE, WRAPPER):
        return ("classifier",)
    if given.kind == WEIGHTS:
        from geobias.models.huggingface import find_tasks_of_weights

        is_classifier, can_be_prompted = find_tasks_of_weights(str(given.name), locate_weights(str(given.name)))
        if is_classifier:
            return ("classifier",)
    else:
        can_be_prompted = isinstance(given.model, AnyLanguageModel) and given.model.prompted_method is not None
    return ("language model", "classifier") if has_labels and can_be_prompted else ("language model",)


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
    kind, model, name = recognise(model, "classifier")
    if kind == CLASSIFIER:
        columns = probability_columns(model.labels)
        if tuple(model.columns[: len(columns)]) != columns:  # others may follow
            raise InputError(f"{type(model).__name__} is no complete classifier. It needs the columns {columns}.")
        return cast(Classifier, model)
    if kind == FUNCTION:
        return FunctionClassifier(model, name=name, label_set=prompt.labels if prompt else None)
    if kind in (ESTIMATOR, FILE):
        return EstimatorClassifier(model) if name is None else read_estimator(name)
    if kind == WEIGHTS:
        from geobias.models.huggingface import load_pretrained_classifier

        return load_pretrained_classifier(str(name), locate_weights(str(name)), prompt, device=device, dtype=dtype)
    if kind == LANGUAGE_MODEL and model.prompted_method is not None:
        from geobias.models.answers import require_prompt
        from geobias.models.prompted import PromptedClassifier

        return PromptedClassifier(model, require_prompt(prompt, model.name))
    raise InputError(f"{name or type(model).__name__} is not a classifier. {USABLE}.")
