"""Which model was asked, and with which versions of what: the part of a result that lets others repeat it."""

from __future__ import annotations

from typing import Any

from geobias.models.scorer import Scorer
from geobias.report.results import ModelIdentity


def model_identity(scorer: Scorer) -> ModelIdentity:
    """Name, content digest and properties of the model behind a scorer; a plain function has few of them."""
    model: Any = getattr(scorer, "lm", scorer)  # a classifier is its own model
    name = getattr(model, "name", None) or getattr(scorer, "name", None) or type(scorer).__name__
    score = "probabilities" if hasattr(scorer, "labels") else getattr(scorer, "method", scorer.columns[0])
    identity: dict[str, Any] = {"name": name, "score": score, "fingerprint": scorer.fingerprint}
    if hasattr(scorer, "prompt"):
        identity["prompt"] = scorer.prompt.settings
    if hasattr(model, "architecture"):
        identity |= {
            "architecture": model.architecture,
            "parameters": model.parameters,
            "dtype": model.dtype,
            "device": model.device.type,
            "max_length": model.max_length,
        }
    if hasattr(model, "endpoint"):
        identity |= {"endpoint": model.endpoint.url, "asked_by": model.asked_by}
        if hasattr(model, "begin"):
            identity["begin"] = model.begin
    return ModelIdentity(**identity)
