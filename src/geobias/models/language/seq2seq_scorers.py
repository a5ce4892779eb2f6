"""The scores of sequence-to-sequence models; each says what is read, what is written, and what of it counts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from geobias.errors import InputError
from geobias.models.batching import equal_length_batches
from geobias.models.language.language_scorer import LanguageScorer, ScoredBatch
from geobias.texts.templates import unmark

if TYPE_CHECKING:
    from geobias.models.language.seq2seq import Seq2SeqLM

# Token ids that the encoder reads, those that the decoder writes, and the positions of the latter that count.
Exchange = tuple[np.ndarray, np.ndarray, np.ndarray]
PlainText = tuple[str, int, int]  # a text, and from where to where it was marked


class Seq2SeqScorer(LanguageScorer):
    """log P of the written tokens that count, each given what was read and what was written before it."""

    lm: Seq2SeqLM

    @abstractmethod
    def make_exchanges(self, texts: list[PlainText]) -> tuple[list[Exchange], np.ndarray]:
        """What is read and written for each text, and how many of its tokens were cut off."""

    def _prepare(self, texts: list[str]) -> tuple[list[Exchange], np.ndarray]:
        return self.make_exchanges([unmark(text) for text in texts])

    def _score(self, prepared: tuple[list[Exchange], np.ndarray]) -> Iterator[ScoredBatch]:
        exchanges, cut = prepared
        tokens = np.array([len(counted) for _, _, counted in exchanges])
        unknown_id = self.lm.tokenizer.unk_token_id
        unknown = np.array([(written[counted] == unknown_id).sum() for _, written, counted in exchanges])
        lengths = np.array([[len(read), len(written)] for read, written, _ in exchanges]).reshape(-1, 2)
        shapes = lengths @ [2**20, 1]
        for batch in equal_length_batches(shapes, lengths.sum(axis=1), self.lm.budget):
            total = self.lm.fitting(batch, lambda part: self._total([exchanges[index] for index in part]))
            yield batch, self._make_rows(total, tokens[batch], unknown[batch], cut[batch])

    def _total(self, exchanges: Sequence[Exchange]) -> np.ndarray:
        """The sum over each text's counted tokens of their log P."""
        owner = np.repeat(np.arange(len(exchanges)), [len(counted) for _, _, counted in exchanges])
        if not len(owner):
            return np.zeros(len(exchanges))
        read, written = (np.stack([exchange[side] for exchange in exchanges]) for side in (0, 1))
        place = np.concatenate([counted for _, _, counted in exchanges])
        values = self.lm.log_p(
            {
                "input_ids": self.lm.tensor(read),
                "decoder_input_ids": self.lm.tensor(self.lm.decoder_inputs(written)),
            },
            *map(self.lm.tensor, (owner, place, written[owner, place])),
        )
        return np.bincount(owner, weights=values.cpu().numpy(), minlength=len(exchanges))


class Seq2SeqAULScorer(Seq2SeqScorer):
    """The encoder reads the sentence S and the decoder writes it again.

        AUL(S) = 1/|S| * sum_i log P(w_i | S, w_1 ... w_{i-1})

    This is what HERB (Li et al. 2022) computes for BART.
    """

    def make_exchanges(self, texts: list[PlainText]) -> tuple[list[Exchange], np.ndarray]:
        encodings, cut = self.lm.encode([text for text, _, _ in texts], reserve=1)
        return [_copy_text(encoding) for encoding in encodings], cut


class Seq2SeqMeanScorer(Seq2SeqScorer):
    """The encoder reads a mask in place of the sentence S, which the decoder writes.

    mean(S) = 1/|S| * sum_i log P(w_i | mask, w_1 ... w_{i-1})
    """

    def __init__(self, lm: Seq2SeqLM, method: str) -> None:
        super().__init__(lm, method)
        if lm.mask is None:
            raise InputError(f"{lm.name} has no mask token, which the score {method!r} needs; try --score aul.")

    def masked_tokens(self, encoding: Any, start: int, end: int) -> np.ndarray:
        """Which tokens the mask stands for: all of the text's own."""
        return np.array(encoding.special_tokens_mask) == 0

    def make_exchanges(self, texts: list[PlainText]) -> tuple[list[Exchange], np.ndarray]:
        encodings, cut = self.lm.encode([text for text, _, _ in texts], reserve=1)
        spans = [span for _, *span in texts]
        exchanges = []
        for encoding, (start, end) in zip(encodings, spans, strict=True):
            ids, masked = np.array(encoding.ids), np.flatnonzero(self.masked_tokens(encoding, start, end))
            if not len(masked):  # the marked part was cut off: nothing counts
                exchanges.append((ids, ids, masked))
                continue
            read = np.concatenate([ids[: masked[0]], [self.lm.mask], ids[masked[-1] + 1 :]])
            if self.lm.writes_masks_only:
                written = np.concatenate([[self.lm.mask], ids[masked]])
                exchanges.append((read, written, np.arange(1, len(masked) + 1)))
            else:
                exchanges.append((read, ids, masked))
        return exchanges, cut


class Seq2SeqSumScorer(Seq2SeqMeanScorer):
    """The sum in place of the mean: log P of the whole sentence."""

    def _mean(self, total: np.ndarray, tokens: np.ndarray) -> np.ndarray:
        return total


class Seq2SeqConditionalScorer(Seq2SeqMeanScorer):
    """The encoder reads the sentence S with its marked part D = d_1 ... d_n masked.

    conditional(S) = 1/n * sum_i log P(d_i | S with D masked, what is written before d_i)
    """

    needs_mark = True

    def masked_tokens(self, encoding: Any, start: int, end: int) -> np.ndarray:
        offsets = np.array(encoding.offsets).reshape(-1, 2)
        return super().masked_tokens(encoding, start, end) & (offsets[:, 1] > start) & (offsets[:, 0] < end)


class Seq2SeqAnswerScorer(Seq2SeqScorer):
    """The encoder reads what stands before the marked part D = d_1 ... d_n, and the decoder writes that part.

    answer(S) = 1/n * sum_i log P(d_i | what stands before D, d_1 ... d_{i-1})
    """

    needs_mark = True

    def make_exchanges(self, texts: list[PlainText]) -> tuple[list[Exchange], np.ndarray]:
        read, cut = self.lm.encode([text[:start] for text, start, _ in texts])
        written, _ = self.lm.encode([text[start:end] for text, start, end in texts])
        answers = [_copy_text(encoding)[1:] for encoding in written]
        return [(np.array(source.ids), *answer) for source, answer in zip(read, answers, strict=True)], cut


def _copy_text(encoding: Any) -> Exchange:
    """The text is read and written, and its own tokens count."""
    ids = np.array(encoding.ids)
    return ids, ids, np.flatnonzero(np.array(encoding.special_tokens_mask) == 0)
