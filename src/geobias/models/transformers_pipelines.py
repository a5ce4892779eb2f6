"""The model inside a transformers pipeline. The pipeline itself is never called: the model is read as any other.

So texts are batched by length and cut where the model ends, scores are stored, and every label gets its probability
whatever `top_k` is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from geobias.errors import InputError

if TYPE_CHECKING:
    from geobias.models.huggingface import HuggingFaceClassifier
    from geobias.models.language_model import LanguageModel

ACCEPTED = "text-classification, fill-mask and text-generation"


def is_pipeline(model: Any) -> bool:
    """Whether an object is a transformers pipeline, or of a class derived from one. transformers is not imported."""
    return any(f"{base.__module__}.{base.__name__}" == "transformers.pipelines.base.Pipeline" for base in _bases(model))


def is_bare_model(model: Any) -> bool:
    """Whether an object is a model of transformers without a tokenizer."""
    return any(
        base.__name__ == "PreTrainedModel" and base.__module__.startswith("transformers.") for base in _bases(model)
    )


def _bases(model: Any) -> tuple[type, ...]:
    return type(model).__mro__


def read_pipeline(pipeline: Any) -> HuggingFaceClassifier | LanguageModel:
    """Return the classifier or the language model inside a pipeline, on the device and in the precision it has."""
    from geobias.models.causal import CausalLM
    from geobias.models.huggingface import HuggingFaceClassifier
    from geobias.models.masked import MaskedLM
    from geobias.models.model_files import check_tokenizer, compute_fingerprint

    kind = type(pipeline).__name__
    model_types = {
        "TextClassificationPipeline": HuggingFaceClassifier,
        "FillMaskPipeline": MaskedLM,
        "TextGenerationPipeline": CausalLM,
    }
    if not type(pipeline).__module__.startswith("transformers."):
        raise InputError(
            f"{kind} is a custom pipeline, which may change the output of its model. Pass a function that calls it and "
            "returns probabilities."
        )
    if kind not in model_types:
        raise InputError(
            f"A {pipeline.task} pipeline is not supported. Pass one for {ACCEPTED}, or a function that calls it and "
            "returns probabilities."
        )
    model, tokenizer = pipeline.model, pipeline.tokenizer
    name = model.name_or_path or type(model).__name__
    if tokenizer is None:
        raise InputError(f"The {pipeline.task} pipeline of {name} has no tokenizer. Create it with tokenizer=...")
    check_tokenizer(name, tokenizer)
    # The configuration of the object and not that of its files, which the user may have changed since.
    fingerprint = compute_fingerprint(model, tokenizer)
    if kind == "TextClassificationPipeline":
        options = {"multi_label": _read_output(pipeline, name)}
        return HuggingFaceClassifier(name, model.eval(), tokenizer, fingerprint=fingerprint, **options)
    return model_types[kind](name, model.eval(), tokenizer, fingerprint=fingerprint)


def _read_output(pipeline: Any, name: str) -> bool | None:
    """Whether the labels can hold together, by the pipeline's `function_to_apply`; None where it has none."""
    function = pipeline._postprocess_params.get("function_to_apply")
    if function is None:
        return None
    if function.value not in ("sigmoid", "softmax"):
        raise InputError(
            f"The pipeline of {name} returns no probabilities (function_to_apply={function.value!r}). Use "
            "'softmax' or 'sigmoid', or remove the option."
        )
    return bool(function.value == "sigmoid")


def read_model_object(model: Any) -> Any:
    """Return the model inside a pipeline, and anything else unchanged."""
    return read_pipeline(model) if is_pipeline(model) else model
