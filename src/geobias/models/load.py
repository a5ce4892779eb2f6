"""The only factory of models: from a name, folder, file, function, pipeline or object to a scorer or a language model.

torch and transformers are imported only when weights are loaded.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from geobias.checks import describe_choices
from geobias.errors import InputError
from geobias.models.functions import FunctionLM
from geobias.models.kinds import FUNCTION, WEIGHTS, make_classifier, recognise
from geobias.models.scorer import EMBEDDED_LM, LOG_LIKELIHOOD, AnyLanguageModel, Classifier, Scorer
from geobias.models.sources import MITIGATED, is_function_name, locate_weights

if TYPE_CHECKING:
    from geobias.models.answers import AnswerSet, Decider, Prompt
    from geobias.models.endpoint import Endpoint
    from geobias.models.language_model import LanguageModel
    from geobias.models.masked import MaskedLM
    from geobias.models.saved_wrappers import Allowed

METHODS = ("aul", "aula", "pll", "pll-word", "conditional", "mean", "sum")  # of any kind of language model


def load(name: Any = None, *, device: str = "auto", dtype: str = "auto") -> LanguageModel | FunctionLM:
    """Load a language model: masked, causal or encoder-decoder.

    Parameters
    ----------
    name : str, Path or transformers pipeline, optional
        A Hugging Face id, a folder, a GGUF file, a function of log-likelihoods as "package.module:function", or a
        fill-mask or text-generation pipeline. Default: "embedded/lm", the bundled model.
    device : str, default "auto"
        Where to run the model: "auto" (a GPU if there is one), "cpu", "cuda", "cuda:1", ... A pipeline keeps its
        device.
    dtype : str, default "auto"
        Precision of the weights: "auto" (bfloat16 on a GPU that supports it, else float32), "float32", "bfloat16" or
        "float16". A pipeline keeps its precision.

    Returns
    -------
    LanguageModel or FunctionLM
        `model.scorer(method)` returns a `Scorer`; `model.methods` lists the methods.

    Raises
    ------
    InputError
        If there is no such model, or it is not a language model.

    Examples
    --------
    >>> import geobias
    >>> model = geobias.load("embedded/lm")
    >>> model.methods
    ('aul', 'aula', 'pll', 'pll-word', 'conditional')
    >>> scorer = model.scorer("aul")
    >>> scorer.score(["People in France are kind."]).shape
    (1, 4)
    """
    return cast("LanguageModel | FunctionLM", _load_lm(name, device, dtype))


def load_weights(name: str | Path | None = None, *, device: str = "auto", dtype: str = "auto") -> LanguageModel:
    """Load a language model that has weights. The name of a function is refused, and its module is not imported."""
    from geobias.models.huggingface import find_kind

    name = str(name or EMBEDDED_LM)
    if is_function_name(name):
        raise InputError(f"{name} is a function and has no weights. Use a Hugging Face id or a folder.")
    source = locate_weights(name)
    return find_kind(name, source).from_pretrained(name, source, device=device, dtype=dtype)


def load_masked(name: str | Path | None = None, *, device: str = "auto", dtype: str = "auto") -> MaskedLM:
    """Load a masked language model; other kinds are refused."""
    from geobias.models.masked import MaskedLM

    lm = load_weights(name, device=device, dtype=dtype)
    if not isinstance(lm, MaskedLM):
        raise InputError(f"{lm.name} is a {lm.kind}, which cannot be trained by masking. Use a masked LM.")
    return lm


def load_scorer(model: Any, score: str | None, *, device: str = "auto", dtype: str = "auto") -> Scorer:
    """Return the scorer of a language model, given in any form, by this score or the model's default score."""
    if (scorer := _find_scorer(model)) is None:
        return _load_lm(model, device, dtype).scorer(score)
    if score is not None:
        raise InputError(
            f"{type(model).__name__} has its own score. Remove the score {score!r}, or pass a model's name or folder."
        )
    return scorer


def load_perplexity_scorer(model: Any, method: str | None, *, device: str = "auto", dtype: str = "auto") -> Scorer:
    """Return the scorer whose negative is a log-perplexity: by this method, or the one for the kind of model."""
    if (scorer := _find_scorer(model)) is not None:
        return scorer
    lm = _load_lm(model, device, dtype)
    return lm.scorer(method or lm.perplexity_method)


def _find_scorer(model: Any) -> Scorer | None:
    """An object that is a scorer already; None for any other, and for a language model."""
    return model if isinstance(model, Scorer) and not isinstance(model, AnyLanguageModel) else None


def _load_lm(model: Any, device: str, dtype: str) -> AnyLanguageModel:
    """Return a language model from whatever the user gives."""
    kind, value, name = recognise(EMBEDDED_LM if model is None else model, "language model")
    if kind == WEIGHTS:
        return load_weights(name, device=device, dtype=dtype)
    if kind == FUNCTION:
        return FunctionLM(value, name=name)
    if isinstance(value, AnyLanguageModel):
        return value
    raise InputError(
        f"{name or type(model).__name__} is not a language model: use a classifier with `geobias names` or `geobias "
        "downstream`. A pipeline with a language model is a fill-mask or text-generation pipeline."
    )


def load_classifier(
    model: Any, *, prompt: Prompt | None = None, allow: Allowed = (), device: str = "auto", dtype: str = "auto"
) -> Classifier:
    """Load a classifier.

    Parameters
    ----------
    model : str, Path, callable or object
        One of these:

        - the name of a bundled model, a Hugging Face id, a folder, or a text-classification pipeline of transformers;
        - a function from a list of texts to probabilities or labels, or its name as "package.module:function";
        - a fitted scikit-learn pipeline, or a .skops file of one;
        - "mitigated:FOLDER", a wrapper that `geobias mitigate` saved;
        - with `prompt`, a language model;
        - a loaded classifier, which is returned unchanged.
    prompt : Prompt, optional
        How to prompt a language model for a label. Its labels are also those of a function that answers with labels.
    allow : str, callable or list of them, optional
        Functions, Hugging Face ids and spaCy pipelines that the file of a "mitigated:FOLDER" may use: by the name that
        the file has, or functions themselves. Default: none, so that no name in a file is imported or downloaded.
    device : str, default "auto"
        Where to run the model: "auto" (a GPU if there is one), "cpu", "cuda", "cuda:1", ... For models loaded here.
    dtype : str, default "auto"
        Precision of the weights: "auto" (bfloat16 on a GPU that supports it, else float32), "float32", "bfloat16" or
        "float16". For models loaded here.

    Returns
    -------
    Classifier
        `classifier.score(texts)` returns a row for each text: a probability for each of `classifier.labels`, then the
        number of tokens that were cut off.

    Raises
    ------
    InputError
        If there is no such model, if it is not a classifier, or if it is a pickle, which could run any code.

    Examples
    --------
    >>> import geobias
    >>> classifier = geobias.load_classifier("embedded/sentiment")
    >>> classifier.labels
    ('negative', 'neutral', 'positive')
    >>> classifier.score(["What a lovely day!"]).shape
    (1, 4)
    """
    name = str(model) if isinstance(model, str | Path) else ""
    if name.startswith(MITIGATED):
        from geobias.models.saved_wrappers import load_mitigated

        return load_mitigated(name, allow=allow, device=device, dtype=dtype)
    return make_classifier(model, prompt=prompt, device=device, dtype=dtype)


def load_decider(
    model: Any,
    answers: AnswerSet,
    *,
    system: str | None = None,
    samples: int | None = None,
    begin: str = "",
    device: str = "auto",
    dtype: str = "auto",
) -> Decider:
    """Load a model that decides: a language model of any kind, a server, or a function.

    A function takes a list of prompts and returns answers. Of an `Endpoint`, log-probabilities are read where the
    server returns them; otherwise `samples` answers to each text are sampled. `begin` is sent before every text to a
    server that returns likelihoods of texts, such as "<s>". A loaded decider with these answers is returned unchanged.
    """
    from geobias.models.answers import Decider, FunctionDecider
    from geobias.models.endpoint import Endpoint
    from geobias.models.prompted import LMDecider

    if isinstance(model, Decider):
        if model.answers != answers:
            raise InputError(f"{model.name} answers with {', '.join(model.answers.words)}. Load it once for each kind.")
        return model
    if isinstance(model, Endpoint):
        return _load_served_decider(model, answers, system=system, samples=samples, begin=begin)
    given = recognise(EMBEDDED_LM if model is None else model, "language model")
    if given.kind == FUNCTION:
        return FunctionDecider(given.model, answers, name=given.name, system=system)
    return LMDecider(_load_lm(given.model or given.name, device, dtype), answers, system=system)


def _load_served_decider(
    endpoint: Endpoint, answers: AnswerSet, *, system: str | None, samples: int | None, begin: str
) -> Decider:
    """By chats; by likelihoods of texts if the server does not chat, or chats without log-probabilities."""
    from geobias.models.prompted import LMDecider
    from geobias.models.served import SAMPLED, ServedDecider
    from geobias.models.served_lm import NoLikelihoods, ServedLM

    chat = ServedDecider(endpoint, answers, system=system, samples=samples)
    if chat.route != SAMPLED:
        return chat
    lm = ServedLM(endpoint, begin=begin)
    try:
        lm.source  # noqa: B018 (probes the server)
    except NoLikelihoods:
        if chat.does_chat:
            return chat
        raise
    return LMDecider(lm, answers, system=system)


def find_default_score(name: str) -> str:
    """Return the score of a model when the user chooses none. No weights are loaded."""
    if is_function_name(name):
        return LOG_LIKELIHOOD
    from geobias.models.huggingface import find_kind

    return find_kind(name, locate_weights(name)).default_method


def check_method(method: str) -> str:
    """Return the name of a scoring method; refuse a name that no language model has."""
    if method not in METHODS:
        raise InputError(f"Unknown score {method!r}. {describe_choices(method, METHODS)}")
    return method
