"""What the language model trains on: streams of encoded text, rows drawn from them, and hidden tokens.

Every hundredth article of each piece of the corpus is held out. A row has 128 tokens. Most rows run through
an article from the start of a sentence; the others hold single sentences, each with its own [CLS], [SEP] and
positions and blind to its neighbours, because the toolkit asks the model about single short sentences.
"""

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

ROW = 128  # tokens in a row, and the positions the model knows
PAD, UNK, CLS, SEP, MASK = range(5)
STARTS_SENTENCE, STARTS_ARTICLE, ID_BITS = 0x8000, 0x4000, 0x3FFF  # see tokenizer.py
HELD_OUT_EVERY = 100
CAPITALISED_WEIGHT = 1.5
WHOLE_WORD_ROWS = 0.5


class Stream:
    """Token ids on the device, and where their sentences start."""

    def __init__(self, marked_ids: np.ndarray, device: torch.device):
        self.marked = torch.from_numpy(marked_ids.astype(np.int32)).to(device)
        starts = ((self.marked & STARTS_SENTENCE) > 0).nonzero().flatten()
        self.starts = starts[starts < len(marked_ids) - ROW]

    def windows(self, count: int, generator: torch.Generator) -> Tensor:
        """Draw windows of ROW marked ids, each from the first sentence start after a random place."""
        device = self.marked.device
        places = torch.randint(0, len(self.marked), (count,), device=device, generator=generator)
        sentence = torch.searchsorted(self.starts, places).clamp_(max=len(self.starts) - 1)
        return self.marked[self.starts[sentence][:, None] + torch.arange(ROW, device=device)]


class Corpus:
    """The streams that running rows, single sentences and held-out rows come from.

    For the encyclopedia the first two are one and the same, and grow while pieces of it arrive.
    """

    single_held_out = False

    def __init__(self, folder: Path, pieces: int, device: torch.device):
        self.folder, self.pieces, self.device = folder, pieces, device
        self.read: dict[Path, tuple[np.ndarray, np.ndarray]] = {}
        while not self.refresh():
            time.sleep(1)

    def refresh(self) -> bool:
        """Read the pieces that are new; say whether there were any."""
        if len(self.read) >= self.pieces:
            return False
        new = [path for path in sorted(self.folder.glob("*.bin")) if path not in self.read]
        for path in new:
            self.read[path] = split_held_out(np.fromfile(path, dtype=np.uint16))
        if new:
            self.running = Stream(np.concatenate([train for train, _ in self.read.values()]), self.device)
            self.single = self.running
            self.held_out = Stream(np.concatenate([held for _, held in self.read.values()]), self.device)
            print(f"{len(self.read)} pieces, {len(self.running.marked):,} training tokens", flush=True)
        return bool(new)


def split_held_out(marked_ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Split a piece into training tokens and those of every hundredth article."""
    article = np.cumsum((marked_ids & STARTS_ARTICLE) > 0)
    held_out = article % HELD_OUT_EVERY == 0
    return marked_ids[~held_out], marked_ids[held_out]


@dataclass
class Rows:
    """A batch: token ids, their positions, and the attention mask of the rows that hold several sentences."""

    ids: Tensor
    positions: Tensor
    single_mask: Tensor  # added to the attention scores of the last len(single_mask) rows


def make_rows(running_windows: Tensor, single_windows: Tensor, dtype: torch.dtype) -> Rows:
    """Make rows that run through a text of the first windows, rows of single sentences of the others."""
    windows = torch.cat([running_windows, single_windows])
    count, running, single = len(windows), len(running_windows), len(single_windows)
    columns = torch.arange(ROW, device=windows.device)
    ids = torch.empty_like(windows, dtype=torch.long)
    ids[:running, 0] = CLS
    ids[:running, 1:] = windows[:running, : ROW - 1] & ID_BITS
    if single:
        ids[running:] = separate_sentences(windows[running:])
    ids[:, -1] = SEP

    opens = ids[running:] == CLS
    positions = columns.repeat(count, 1)
    positions[running:] -= torch.where(opens, columns, 0).cummax(1).values
    sentence = opens.cumsum(1)
    blind = sentence[:, None, :, None] != sentence[:, None, None, :]
    single_mask = torch.zeros(blind.shape, dtype=dtype, device=ids.device).masked_fill_(blind, -1e4)
    return Rows(ids, positions, single_mask)


def separate_sentences(windows: Tensor) -> Tensor:
    """Put [SEP] [CLS] between the sentences of each window; what that pushes out of the row is lost."""
    count, overflow = len(windows), ROW
    starts = (windows & STARTS_SENTENCE) > 0
    starts[:, 0] = True
    place = torch.arange(ROW, device=windows.device) + 2 * starts.cumsum(1) - 1
    ids = torch.zeros(count, ROW + 1, dtype=torch.long, device=windows.device)
    ids.scatter_(1, place.clamp(max=overflow), (windows & ID_BITS).long())
    before = torch.where(starts & (place > 1), place - 2, overflow).clamp(max=overflow)
    ids.scatter_(1, before, SEP)
    ids.scatter_(1, torch.where(starts, place - 1, overflow).clamp(max=overflow), CLS)
    return ids[:, :ROW]


class Masker:
    """Chooses the tokens to predict and hides them."""

    def __init__(self, vocabulary: dict[str, int], device: torch.device):
        tokens = sorted(vocabulary, key=vocabulary.get)
        self.size = len(tokens)
        self.continues = torch.tensor([token.startswith("##") for token in tokens], device=device)
        self.capitalised = torch.tensor([token[0].isupper() for token in tokens], device=device)

    def __call__(
        self, ids: Tensor, share: float, names_first: bool, generator: torch.Generator
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return the ids with some hidden, the flat indices of the targets and the ids that stood there.

        Each row gets the same number of targets: those with the smallest random keys. The pieces of a word
        that is masked whole share one key. Of the targets 80 % become [MASK], 10 % a random token, 10 % stay.
        """
        count, device = len(ids), ids.device

        def random(*shape: int) -> Tensor:
            return torch.rand(*shape, device=device, generator=generator)

        keys = random(count, ROW)
        if names_first:
            columns = torch.arange(ROW, device=device).expand(count, ROW)
            continues = self.continues[ids]
            first = torch.where(continues, 0, columns).cummax(1).values
            capitalised = self.capitalised[ids.gather(1, first)]
            whole = continues & capitalised & (random(count, 1) < WHOLE_WORD_ROWS)
            keys = keys.gather(1, torch.where(whole, first, columns))
            keys = torch.where(capitalised, keys / CAPITALISED_WEIGHT, keys)
        keys = keys.masked_fill(ids <= MASK, 2.0)
        targets = keys.topk(round(share * ROW), dim=1, largest=False).indices
        labels = ids.gather(1, targets)
        fate = random(*targets.shape)
        other = (MASK + 1 + random(*targets.shape) * (self.size - MASK - 1)).long()
        hidden = torch.where(fate < 0.8, MASK, torch.where(fate < 0.9, other, labels))
        flat = targets + torch.arange(count, device=device)[:, None] * ROW
        return ids.scatter(1, targets, hidden), flat.flatten(), labels.flatten()
