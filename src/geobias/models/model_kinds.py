"""Which kind of language model a name stands for: its configuration says so before any weight is read."""

from __future__ import annotations

from typing import Any

import transformers
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, MODEL_FOR_MASKED_LM_MAPPING_NAMES

from geobias.errors import InputError
from geobias.models.answers import Prompt, require_prompt
from geobias.models.causal import CausalLM
from geobias.models.huggingface import HuggingFaceClassifier
from geobias.models.language_model import LanguageModel
from geobias.models.masked import MaskedLM
from geobias.models.model_files import read_config
from geobias.models.prompted import PromptedClassifier
from geobias.models.scorer import Classifier
from geobias.models.seq2seq import Seq2SeqLM

CAUSAL_HEADS = ("ForCausalLM", "LMHeadModel", "ModelWithLMHead")  # the last is Reformer's
CLASSIFIER_HEAD = "ForSequenceClassification"
MASKED_HEADS = ("ForMaskedLM", "WithLMHeadModel")  # XLM's and Flaubert's
PRETRAINING_HEAD = "ForPreTraining"  # BERT's and ALBERT's, which holds that of a masked LM
SEQ2SEQ_HEADS = ("ForConditionalGeneration", "ForSeq2SeqLM")


def load_language_model(name: str, source: str, *, device: str = "auto", dtype: str = "auto") -> LanguageModel:
    """The model, loaded as what it was trained to be."""
    return _find_kind(name, source).from_pretrained(name, source, device=device, dtype=dtype)


def default_method(name: str, source: str) -> str:
    """The default score of a model."""
    return _find_kind(name, source).default_method


def _find_kind(name: str, source: str) -> type[LanguageModel]:
    config = read_config(name, source)
    if any(head.endswith(CLASSIFIER_HEAD) for head in config.architectures or []):
        raise InputError(f"{name} is a classifier, not a language model. Use `geobias names` or `geobias downstream`.")
    return kind_of(config)


def load_pretrained_classifier(name: str, source: str, prompt: Prompt | None, *, device: str, dtype: str) -> Classifier:
    """A trained classifier; or, where the weights are a language model's, that model prompted."""
    config = read_config(name, source)
    if is_language_model(config) and not generates_text(config):
        raise InputError(f"{name} is a language model, not a classifier. Use `geobias regions`.")
    if generates_text(config):
        prompt = require_prompt(prompt, name)
        return PromptedClassifier(load_language_model(name, source, device=device, dtype=dtype), prompt)
    return HuggingFaceClassifier.from_pretrained(name, source, device=device, dtype=dtype)


def generates_text(config: transformers.PreTrainedConfig) -> bool:
    """Whether these are the weights of a model that generates text: it can be prompted for a label."""
    if kind_of(config) is MaskedLM:
        return False
    heads: Any = config.architectures or []
    return not heads or any(head.endswith((*CAUSAL_HEADS, *SEQ2SEQ_HEADS)) for head in heads)


def is_language_model(config: transformers.PreTrainedConfig) -> bool:
    """Whether the weights were saved with the head of a language model, as far as the configuration says.

    Without a head ("BartModel") generative models still are: their head is tied to the embeddings, a masked LM's not.
    """
    heads: Any = config.architectures or []
    if any(head.endswith((*CAUSAL_HEADS, *MASKED_HEADS, *SEQ2SEQ_HEADS, PRETRAINING_HEAD)) for head in heads):
        return True
    return not heads or (all(head.endswith("Model") for head in heads) and kind_of(config) is not MaskedLM)


def kind_of(config: transformers.PreTrainedConfig) -> type[LanguageModel]:
    """By the head that the weights were saved with; where that says nothing, by the forms its architecture has.

    Many architectures come in several forms: there is a causal BERT too, but hardly anybody trains it.
    """
    if config.is_encoder_decoder:
        return Seq2SeqLM
    heads: Any = config.architectures or []
    if any(head.endswith(CAUSAL_HEADS) and not head.endswith(MASKED_HEADS) for head in heads):
        return CausalLM
    masked = config.model_type in MODEL_FOR_MASKED_LM_MAPPING_NAMES
    return CausalLM if config.model_type in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES and not masked else MaskedLM
