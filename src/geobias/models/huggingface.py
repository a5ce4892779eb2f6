"""Models of transformers: which kind a configuration or a pipeline holds, and text classifiers.

A pipeline itself is never called: its model is read as any other. So texts are batched by length and cut where the
model ends, scores are stored, and every label gets its probability whatever `top_k` is.

The labels of a classifier that exclude each other sum to one (softmax). If labels can hold together, or there is only
one, each has a separate probability (sigmoid).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
import transformers
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, MODEL_FOR_MASKED_LM_MAPPING_NAMES

from geobias.errors import InputError
from geobias.models.answers import Prompt, require_prompt
from geobias.models.causal import CausalLM
from geobias.models.language_model import LanguageModel
from geobias.models.masked import MaskedLM
from geobias.models.model_files import check_tokenizer, compute_fingerprint, read_config
from geobias.models.pretrained import LoadedModel, Ragged, Tokens, equal_length_batches, prepared_ahead
from geobias.models.prompted import PromptedClassifier
from geobias.models.scorer import (
    PROBABILITIES,
    PROBE,
    Classifier,
    ModelIdentity,
    ScoreBlock,
    StreamingScorer,
    probability_columns,
)
from geobias.models.seq2seq import Seq2SeqLM

CAUSAL_HEADS = ("ForCausalLM", "LMHeadModel")
CLASSIFIER_HEAD = "ForSequenceClassification"
MASKED_HEADS = ("ForMaskedLM", "WithLMHeadModel")  # XLM's and Flaubert's
PRETRAINING_HEAD = "ForPreTraining"  # BERT's and ALBERT's, which holds that of a masked LM
SEQ2SEQ_HEADS = ("ForConditionalGeneration", "ForSeq2SeqLM")


class HuggingFaceClassifier(LoadedModel, Classifier, StreamingScorer):
    """A loaded sequence classifier with its tokenizer."""

    auto_class = transformers.AutoModelForSequenceClassification
    kind = "classifier"
    version = 1  # as of a `LanguageScorer`
    has_digest = True
    takes_everything = True

    def __init__(
        self, name: str, model: Any, tokenizer: Any, *, fingerprint: str, multi_label: bool | None = None
    ) -> None:
        """Wrap a loaded model. `multi_label` says whether labels can hold together; by default its configuration."""
        super().__init__(name, model, tokenizer, fingerprint=fingerprint)
        config = model.config
        if config.problem_type == "regression":
            raise InputError(f"{name} is a regression model and has no label probabilities. Use a classifier.")
        self.labels = tuple(str(label) for _, label in sorted(config.id2label.items()))
        if len(set(self.labels)) < len(self.labels):
            raise InputError(f"{name} has duplicate labels ({', '.join(self.labels)}). Rename them in its config.json.")
        self.columns = probability_columns(self.labels)
        if multi_label is None:
            multi_label = config.problem_type == "multi_label_classification"
        self.multi_label = multi_label or len(self.labels) == 1
        output = "sigmoid" if self.multi_label else "softmax"
        settings = f"{output}:{self.version}:{self.dtype}:{self.max_length}{self.fast.identity}"
        self.fingerprint = f"{fingerprint}:classifier:{settings}"
        # XLNet and Funnel have token types of their own; other models assume zeros, or have none.
        self.has_token_types = any(self.encode([PROBE])[0][0].type_ids)
        # Causal models read the last token that is not padding, and refuse a batch if no padding token is set.
        # Nothing is padded here: with an id that never occurs they find the last token of each text.
        text_config = config.get_text_config()
        if text_config.pad_token_id is None:
            text_config.pad_token_id = -1

    def identity(self) -> ModelIdentity:
        return self.describe(PROBABILITIES, self.fingerprint)

    def batches(self, texts: Sequence[str]) -> Iterator[ScoreBlock]:
        with self.fast.use():
            for start, (ids, types, cut) in prepared_ahead(texts, self._tokenise):
                for batch in equal_length_batches(ids.lengths, ids.lengths, self.budget):
                    probabilities = self.fitting(batch, partial(self._probabilities, ids, types))
                    yield start + batch, np.column_stack([probabilities, cut[batch]])

    def _tokenise(self, texts: list[str]) -> tuple[Ragged, Ragged | None, np.ndarray]:
        """Return the tokens of the texts, their types if there are several, and how many of each text were cut off."""
        encodings, cut = self.encode(texts)
        tokens = Tokens(encodings)
        if not tokens.ids.lengths.all():
            text = texts[int(np.argmin(tokens.ids.lengths))]
            raise InputError(f"{self.name} has no tokens for the text {text[:60]!r}. Remove the text.")
        return tokens.ids, tokens.kinds if self.has_token_types else None, cut

    @torch.inference_mode()
    def _probabilities(self, ids: Ragged, types: Ragged | None, positions: np.ndarray) -> np.ndarray:
        """Return texts x labels, in float64, so that rows sum to one whatever the precision of the model."""
        inputs = {"input_ids": self.tensor(ids.take(positions))}
        if types is not None:
            inputs["token_type_ids"] = self.tensor(types.take(positions))
        logits = self.run_model(self.model, **inputs).logits.double()
        return np.asarray((logits.sigmoid() if self.multi_label else logits.softmax(1)).cpu())


def find_kind(name: str, source: str) -> type[LanguageModel]:
    """What a language model was trained to be; a classifier is refused."""
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
        lm = kind_of(config).from_pretrained(name, source, device=device, dtype=dtype)
        return PromptedClassifier(lm, prompt)
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


def find_tasks_of_weights(name: str, source: str) -> tuple[bool, bool]:
    """Whether a model is a classifier, and whether it can be prompted for a label; refuse what cannot be audited."""
    config = read_config(name, source)
    heads: Any = config.architectures or []
    if any(head.endswith(CLASSIFIER_HEAD) for head in heads):
        return True, False
    if not is_language_model(config):
        token_classifier = any(head.endswith("ForTokenClassification") for head in heads)
        other = " (`geobias find` audits token classifiers)" if token_classifier else ""
        raise InputError(
            f"{name} is a {', '.join(heads)}, which cannot be audited{other}. Use a language model (masked, causal or "
            "encoder-decoder) or a text classifier."
        )
    return False, generates_text(config)


def read_pipeline(pipeline: Any) -> HuggingFaceClassifier | LanguageModel:
    """Return the classifier or the language model inside a pipeline, on the device and in the precision it has."""
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
            f"A {pipeline.task} pipeline is not supported. Pass one for text-classification, fill-mask and "
            "text-generation, or a function that calls it and returns probabilities."
        )
    model, tokenizer = pipeline.model, pipeline.tokenizer
    name = model.name_or_path or type(model).__name__
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
