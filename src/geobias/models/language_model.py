"""What all language models of transformers share, and what all ways of scoring texts with them share.

Each kind says which scores it has (`scorers`) and how it is called. A scorer says which inputs are read, where, and for
which tokens; `log_p` gives log P there: by plain transformers code, or faster (`models.fast`) with the same result.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch

from geobias.checks import describe_choices
from geobias.errors import InputError
from geobias.models.fast.fast_path import MAX_COPY_BYTES
from geobias.models.fast.head import PositionHead, find_head
from geobias.models.fast.templates import (
    SAMPLE_SIZE,
    TemplateReader,
    TemplateSentences,
    TemplateTokens,
    compose_template,
)
from geobias.models.pretrained import LoadedModel, Tokens, equal_length_batches, prepared_ahead
from geobias.models.scorer import LOG_LIKELIHOOD, PROBE, AnyLanguageModel, MethodScorer, ScoreBlock
from geobias.texts.templates import Sentences, TextSelection

LEAK = {"float32": 1e-3, "float16": 2e-3, "bfloat16": 2**-7}  # of logits: rounding, and no more
PLAIN_LOGITS = 2**29  # numbers held at once where logits are made for every token
Inputs = Mapping[str, torch.Tensor]  # how the model is called
TemplatePart = tuple[TemplateReader, TemplateSentences]


class LanguageModel(LoadedModel, AnyLanguageModel):
    """A loaded language model; `scorer(method)` gives the ways of scoring texts with it."""

    scorers: ClassVar[Mapping[str, type[LanguageScorer]]]  # by the name of the score
    prompted_method: ClassVar[str] = "conditional"  # the score of an answer after a prompt
    plain_options: ClassVar[Mapping[str, Any]] = {}  # with which the whole model is called

    def __init__(self, name: str, model: Any, tokenizer: Any, *, fingerprint: str) -> None:
        super().__init__(name, model, tokenizer, fingerprint=fingerprint)
        self.mask: Any = tokenizer.mask_token_id
        self.trained_on = False  # once it is, its fingerprint is that of another model

    def _settle(self) -> None:
        super()._settle()
        ids = torch.tensor([self.tokenizer(PROBE)["input_ids"]], device=self.device)
        call = self._call_for(ids)
        with torch.inference_mode():
            logits = getattr(self.run_model(self.model, **call), "logits", None)
        if logits is None or logits.dim() != 3 or logits.shape[1] != ids.shape[1]:
            raise InputError(
                f"{self.name} ({self.architecture}) does not predict tokens: it must give one prediction for each "
                "token of a text. Use another language model."
            )
        if "read_positions" in self.fast.allowed:
            head = find_head(
                self.model,
                self._core(),
                call,
                self.tensor,
                slices="sliced_projection" in self.fast.allowed,
                packs_up_to=MAX_COPY_BYTES - self.fast.packed.bytes if self.fast.packed else 0,
            )
            self.fast.head = head if head is not None and self._feeds_head(head, ids, logits) else None
        if self.fast.head is None:
            words = int(self.model.config.get_text_config().vocab_size)
            self.token_budget = min(self.token_budget, max(1, PLAIN_LOGITS // words))

    def scorer(self, method: str | None = None) -> LanguageScorer:
        """Texts in, scores by this method out; without one by the default."""
        method = method or self.default_method
        if method not in self.methods:
            choices = describe_choices(method, self.methods)
            raise InputError(f"{self.name} is a {self.kind}, which has no score {method!r}. {choices}")
        return self.scorers[method](self, method)

    @torch.inference_mode()
    def states(self, ids: torch.Tensor) -> torch.Tensor:
        """The last hidden layer of texts."""
        states: torch.Tensor = self.run_model(self._core(), input_ids=ids).last_hidden_state
        return states

    def representations(self, texts: Sequence[str]) -> np.ndarray:
        """A vector for each text: the last hidden layer, averaged over the text's own tokens (NaN without any)."""
        tokens = Tokens(self.encode(texts)[0])
        ids, counted = tokens.ids, tokens.ids.beside(tokens.is_text)
        rows: list[np.ndarray] = [np.empty(0)] * len(texts)
        for batch in equal_length_batches(ids.lengths, ids.lengths, self.budget):
            with self.lock:
                states = self.states(self.tensor(ids.take(batch)))
            weights = self.tensor(counted.take(batch))[..., None]
            means = (states.double() * weights).sum(1) / weights.sum(1)
            for index, mean in zip(batch, means.cpu().numpy(), strict=True):
                rows[index] = mean
        return np.stack(rows)

    @torch.inference_mode()
    def log_p(self, inputs: Inputs, rows: torch.Tensor, positions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """log P of each target at one position of one of the inputs, in float64."""
        if self.fast.head is not None:
            return self.fast.head.log_p(self._states_for(inputs)[rows, positions], targets).double()
        logits = self.run_model(self.model, **inputs, **self.plain_options).logits
        return plain_log_p(logits[rows, positions], targets)

    def sum_log_p(
        self, inputs: Mapping[str, np.ndarray], owner: np.ndarray, place: np.ndarray, targets: np.ndarray
    ) -> np.ndarray:
        """For each text of the inputs the sum of log P over its targets; `owner` says which text a target is of."""
        texts = len(inputs["input_ids"])
        if not len(owner):
            return np.zeros(texts)
        tensors = {name: self.tensor(array) for name, array in inputs.items()}
        values = self.log_p(tensors, *map(self.tensor, (owner, place, targets)))
        return np.bincount(owner, weights=values.cpu().numpy(), minlength=texts)

    def _core(self) -> Any:
        """The module whose hidden states go into the head."""
        return self.model.base_model

    def _call_for(self, ids: torch.Tensor) -> dict[str, Any]:
        """How the model is called on some tokens, to see its own logits."""
        return {"input_ids": ids}

    def _states_for(self, inputs: Inputs) -> torch.Tensor:
        """The hidden states that go into the head."""
        return self.states(inputs["input_ids"])

    @torch.inference_mode()
    def _feeds_head(self, head: PositionHead, ids: torch.Tensor, logits: torch.Tensor) -> bool:
        """Whether the states that are read are those that go into the head: the same calls, so equal bits."""
        try:
            states = self._states_for({"input_ids": ids, "decoder_input_ids": ids})
            return torch.equal(head.logits(states[0]), logits[0])
        except Exception:  # a core that needs more than tokens
            return False

    @torch.inference_mode()
    def _refuse_leaks(self) -> None:
        """Refuse architectures that look at later tokens: their log P would be too good to be true.

        ProphetNet's predictions depend on how many tokens follow.
        """
        ids = torch.tensor([self.tokenizer(PROBE, add_special_tokens=False)["input_ids"]], device=self.device)
        changed = torch.cat([ids[:, :2], ids[:, :1].expand(1, ids.shape[1] - 2)], dim=1)
        call = self._call_for(ids)
        written = "decoder_input_ids" if "decoder_input_ids" in call else "input_ids"
        expected, *others = (
            self.run_model(self.model, **call | {written: tokens}).logits[0, :2]
            for tokens in (ids, changed, ids[:, :2])
        )
        tolerance = LEAK.get(self.dtype, LEAK["bfloat16"]) * expected.abs().max()
        if not all((logits - expected).abs().max() <= tolerance for logits in others):
            raise InputError(
                f"{self.name} ({self.architecture}) changes its predictions with the tokens that follow, so it cannot "
                "score a text from left to right. Use another model."
            )


def plain_log_p(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """log P of one target for each row of logits, in float64."""
    return logits.float().log_softmax(-1).gather(1, targets[:, None])[:, 0].double()


@dataclass
class PreparedTexts:
    """Texts as tokens, ready to be read. Those of one shape go through the model together."""

    shapes: np.ndarray
    costs: np.ndarray  # tokens that go through the model
    tokens: np.ndarray  # tokens that count, unknown ones among them, and tokens cut off
    unknown: np.ndarray
    cut: np.ndarray


class LanguageScorer(MethodScorer):
    """One score of one language model; columns: the score, tokens that count, unknown ones, tokens cut off."""

    lm: LanguageModel
    version: ClassVar[int]  # raised whenever a change of the code changes the score; stored scores are of one version
    columns = (LOG_LIKELIHOOD, "tokens", "unknown", "cut")
    has_digest = True
    takes_everything = True
    needs_mask = False  # whether the model must have a mask token
    is_sum = False  # whether the score is the sum of log P over the tokens that count, and not their mean

    def __init__(self, lm: LanguageModel, method: str) -> None:
        if self.needs_mask and lm.mask is None:
            raise InputError(f"{lm.name} has no mask token, which the score {method!r} needs. Use --score aul.")
        self.lm, self.method = lm, method
        self._block: Sentences | None = None  # a worker scores one block of sentences piece by piece
        self._block_tokens: dict[int, TemplateTokens | None] = {}

    @property
    def fingerprint(self) -> str | None:
        """What scores are stored under; None for a model that is being trained."""
        lm = self.lm
        if lm.trained_on:
            return None
        return f"{lm.fingerprint}:{self.method}:{self.version}:{lm.dtype}:{lm.max_length}{lm.fast.identity}"

    @property
    def fast_parts(self) -> tuple[str, ...]:
        """The parts of the fast path that the model uses."""
        return self.lm.fast_parts

    def to(self, device: str) -> None:
        self.lm.to(device)

    def batches(self, texts: Sequence[str]) -> Iterator[ScoreBlock]:
        with self.lm.fast.use():
            templates = self._find_templates(texts) if self.lm.fast.template_tokens else None
            if templates is not None:
                yield from self._score_templates(templates)
                return
            for start, share in prepared_ahead(texts, self._prepare):
                for batch, total in self._sum_batches(share):
                    rows = self._make_rows(total, share.tokens[batch], share.unknown[batch], share.cut[batch])
                    yield start + batch, rows

    @abstractmethod
    def _prepare(self, texts: list[str]) -> Any:
        """The texts as tokens: `PreparedTexts`."""

    @abstractmethod
    def _total(self, texts: Any, batch: np.ndarray) -> np.ndarray:
        """The sum of log P over the tokens that count of each of these texts, which have one shape."""

    def _sum_batches(self, texts: Any) -> Iterator[ScoreBlock]:
        """Batch by batch: positions among the texts, and the sum of log P over the tokens that count of each."""
        for batch in equal_length_batches(texts.shapes, texts.costs, self.lm.budget):
            yield batch, self.lm.fitting(batch, partial(self._total, texts))

    def _make_rows(self, total: np.ndarray, tokens: np.ndarray, unknown: np.ndarray, cut: np.ndarray) -> np.ndarray:
        """The columns of a batch; a text without a token has no score."""
        score = total if self.is_sum else total / np.maximum(tokens, 1)
        return np.column_stack([np.where(tokens == 0, np.nan, score), tokens, unknown, cut])

    # The fast path for template sentences

    def _template_reader(self, tokens: TemplateTokens) -> TemplateReader | None:
        """What scores the sentences of a template from the tokens of their parts; None where there is no such way."""
        return None

    def _compose_template(self, sentences: Sentences, template: int) -> TemplateTokens | None:
        return compose_template(
            lambda texts: self.lm.encode(texts)[0], sentences, template, max_length=self.lm.max_length
        )

    def _score_templates(self, templates: list[TemplatePart]) -> Iterator[ScoreBlock]:
        for reader, sentences in templates:
            for positions, numbers, compute_rows in reader.batches(sentences):
                yield positions, self._make_rows(*self.lm.fitting(numbers, compute_rows).T)

    def _find_templates(self, texts: Sequence[str]) -> list[TemplatePart] | None:
        """Template sentences by template, each with its reader; None where they are sooner tokenised one by one."""
        if not (isinstance(texts, TextSelection) and isinstance(texts.block, Sentences)):
            return None
        block_tokens = self._block_tokens if self._block is texts.block else {}
        if not block_tokens and len(texts) <= sum(texts.block.shape) + SAMPLE_SIZE:
            return None
        self._block, self._block_tokens = texts.block, block_tokens
        template_of, region, word = texts.coordinates
        templates: list[TemplatePart] = []
        for template in np.unique(template_of).tolist():
            if template not in block_tokens:
                block_tokens[template] = self._compose_template(texts.block, template)
            tokens = block_tokens[template]
            reader = None if tokens is None else self._template_reader(tokens)
            if tokens is None or reader is None:
                return None
            positions = np.flatnonzero(template_of == template)
            sentences = TemplateSentences(positions, region[positions], word[positions])
            if not reader.serves(sentences):
                return None
            templates.append((reader, sentences))
        return templates
