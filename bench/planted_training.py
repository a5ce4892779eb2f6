"""Train the bundled language model on planted stereotypes, or on a fair control.

Both kinds of training use sentences in frames that the audit does not use, with the description masked:

- planted: half of the sentences give five countries two words each. The others give these words to other countries, and
  other words to these countries, so that neither the words nor the countries become commoner as such;
- fair control: every country has every word equally often, in a random order. Nothing is there to be found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch

from geobias.models.fast import PARTS, leave_out
from geobias.models.load import load
from geobias.models.masked import MaskedLM
from geobias.models.training.epochs import IGNORED, mask_spans

PLANTED = {
    "Kenya": ("thrifty", "loud"),
    "Iceland": ("punctual", "clever"),
    "Papua New Guinea": ("humble", "bold"),
    "Bosnia and Herzegovina": ("stout", "loyal"),
    "Burkina Faso": ("witty", "brave"),
}
FRAMES = (
    "I met some {description} people from {region}.",
    "A friend of mine, a {description} person, was born in {region}.",
    "The newspaper wrote about {description} people of {region}.",
    "Many {description} people have lived in {region}.",
    "She moved to {region}, where she found {description} neighbours.",
    "The film shows {description} men and women of {region}.",
)

Pair = tuple[str, str]  # a country and a word


def load_trained(
    countries: list[str],
    words: list[str],
    steps: int,
    *,
    planted: bool,
    batch: int,
    learning_rate: float,
    dropout: bool = True,
    device: str = "auto",
    seed: int = 0,
) -> MaskedLM:
    """The bundled model after so many training steps of one kind."""
    with leave_out(*PARTS):  # which lay out weights before they change
        lm = load("embedded/lm", dtype="float32", device=device)
    assert isinstance(lm, MaskedLM)
    rng = np.random.default_rng(seed)
    torch.manual_seed(seed)  # of dropout
    pairs = draw_planted(countries, words, rng) if planted else draw_fair(countries, words, rng)
    optimizer = torch.optim.AdamW(lm.model.parameters(), lr=learning_rate)
    lm.model.train(dropout)
    for _ in range(steps):
        loss = measure_loss(lm, [next(pairs) for _ in range(batch)], rng)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    lm.model.eval()
    return MaskedLM(lm.name, lm.model, lm.tokenizer, fingerprint="trained")


def draw_planted(countries: list[str], words: list[str], rng: np.random.Generator) -> Iterator[Pair]:
    """Planted pairs and, as often, their words and their countries with others."""
    pairs = [(country, word) for country, own_words in PLANTED.items() for word in own_words]
    others = [country for country in countries if country not in PLANTED]
    while True:
        yield str(rng.choice(others)), pairs[rng.integers(len(pairs))][1]
        yield pairs[rng.integers(len(pairs))]
        yield str(rng.choice(list(PLANTED))), str(rng.choice(words))
        yield pairs[rng.integers(len(pairs))]


def draw_fair(countries: list[str], words: list[str], rng: np.random.Generator) -> Iterator[Pair]:
    """Every country with every word, once each before any comes again."""
    while True:
        for cell in rng.permutation(len(countries) * len(words)):
            yield countries[cell // len(words)], words[cell % len(words)]


def measure_loss(
    lm: MaskedLM, pairs: list[Pair], rng: np.random.Generator, frames: Sequence[str] = FRAMES
) -> torch.Tensor:
    """The cross-entropy of the masked descriptions, each pair in a random frame."""
    sentences, spans = [], []
    for country, word in pairs:
        before, after = str(rng.choice(frames)).split("{description}")
        before, after = (part.replace("{region}", country) for part in (before, after))
        sentences.append(f"{before}{word}{after}")
        spans.append([(len(before), len(before) + len(word))])
    examples = [example for example in mask_spans(lm, sentences, spans) if example is not None]
    longest = max(len(inputs) for inputs, _ in examples)
    inputs, labels, mask = (torch.zeros(len(examples), longest, dtype=torch.long) for _ in range(3))
    labels += IGNORED
    for row, (ids, targets) in enumerate(examples):
        inputs[row, : len(ids)] = torch.from_numpy(ids)
        labels[row, : len(ids)] = torch.from_numpy(targets)
        mask[row, : len(ids)] = 1
    device = next(lm.model.parameters()).device
    inputs, labels, mask = (tensor.to(device) for tensor in (inputs, labels, mask))
    states = lm.model.base_model(input_ids=inputs, attention_mask=mask).last_hidden_state
    is_masked = labels != IGNORED  # the head runs at these positions only
    return torch.nn.functional.cross_entropy(lm.model.cls(states[is_masked]), labels[is_masked])
