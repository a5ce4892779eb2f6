"""HERB, Figure 5: a model that is trained on its own most biased sentences (section 4.7).

For each word, the 20 sentences about countries that BERT finds likeliest: 2,240. Their countries are masked, the model
is trained to fill them in (plain SGD, 20 epochs), and C_w is measured after every epoch: does it rise?
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from geobias.audits.regions.result import RegionsResult
from geobias.checks import MOST_EPOCHS, check_number
from geobias.errors import InputError
from geobias.measures.herb import FORMS
from geobias.measures.paired_differences import word_differences
from geobias.models.load import load_masked
from geobias.models.masked import MaskedLM
from geobias.models.model_files import quiet_transformers
from geobias.models.training import epochs as training
from geobias.papers.herb.table_1 import audit_herb, score_words
from geobias.papers.tables import Reproduction
from geobias.report.run_folder import MODEL
from geobias.report.runs import slug
from geobias.report.tables import interval, signed
from geobias.texts import DEFAULT_TEMPLATE
from geobias.texts.templates import REGION, Sentences

TITLE = "HERB's scores while a model is trained on its own most biased sentences"
TOP, BATCH, RATE, SEED = 20, 32, 5e-5, 0  # the paper does not say the size of a batch
AUL_NOTE = (
    "AUL reads unmasked sentences: a model that forgets how to copy them scores lower, whatever it was trained on. A "
    "falling score may be an artefact of that."
)


def measure(
    model: str = "bert-base-cased",
    *,
    epochs: int = 20,
    cities: int | str = 0,
    countries: str | Sequence[str] = (),
    folder: Path,
    device: str = "auto",
    progress: bool | None = None,
) -> Reproduction:
    """Train one model, and measure it before and after every epoch; a killed training resumes in `folder`."""
    check_number("--epochs", epochs, 1, MOST_EPOCHS)
    lm = load_masked(model, device=device, dtype="float32")  # small steps vanish in the rounding of shorter numbers
    training.refuse_untrainable(lm)
    audit = partial(audit_herb, lm.scorer("aul"), cities, countries=countries, progress=progress)
    before = audit()
    sentences = list(choose_sentences(before, TOP))
    examples = mask_regions(lm, sentences)
    settings = {"top": TOP, "rate": RATE, "seed": SEED, "settings": before.to_dict()["settings"],
                "fingerprint": before.model.fingerprint}  # fmt: skip
    checkpoint = training.Checkpoint(folder / slug(model) / "training", settings)
    optimiser = torch.optim.SGD(lm.model.parameters(), lr=RATE)  # no momentum, no decay, a constant rate
    # A finished training has no state of its optimiser any more.
    checkpoint.restore(lm.model, optimiser if len(checkpoint.epochs) < epochs else None)
    lm.trained_on, after = True, None
    for epoch in range(len(checkpoint.epochs) + 1, epochs + 1):
        order = training.shuffle_batches(len(examples), BATCH, seed=SEED, epoch=epoch)
        batches = [training.pad_batch(lm.tokenizer, *zip(*(examples[k] for k in rows), strict=True)) for rows in order]
        loss = training.train_epoch(
            lm.model, batches, optimiser, epoch=epoch, seed=SEED, label=lm.name, progress=progress
        )
        after = audit()
        checkpoint.save(lm.model, optimiser, {"loss": loss, "scores": list_scores(after)})
    after = after or audit()  # stopped after the last epoch
    with quiet_transformers():
        lm.model.save_pretrained(folder / slug(model) / MODEL)
        lm.tokenizer.save_pretrained(folder / slug(model) / MODEL)
    checkpoint.remove_optimiser_states()
    states = [{"epoch": 0, "loss": None, "scores": list_scores(before)}, *checkpoint.epochs]
    rows = [{"epoch": state["epoch"], "loss": state["loss"], **score} for state in states for score in state["scores"]]
    change, falls = describe_change(before, after)
    about = (
        f"{len(sentences):,} sentences, {len(examples):,} of them with their region in view. It is one training with "
        f"one seed. The trained model, to be studied and not used: {folder.name}/{slug(model)}/{MODEL}."
    )
    notes = [change, about, *([AUL_NOTE] if falls else [])]
    return Reproduction(
        title=TITLE, models=[before.model], numbers=rows, chart=draw(rows, lm.name, change), notes=notes
    )


def choose_sentences(result: RegionsResult, top: int) -> Iterator[tuple[str, list[tuple[int, int]]]]:
    """For each word the `top` likeliest sentences about countries, with the places of the country; ties by order."""
    rows = [row for row, region in enumerate(result.regions) if region.level == "country"]
    start = DEFAULT_TEMPLATE.index(REGION)
    for k, word in enumerate(result.scored_words):
        for position in np.argsort(-result.likelihoods[0, rows, k], kind="stable")[:top]:
            name = result.regions[rows[position]].name
            yield Sentences([DEFAULT_TEMPLATE], [name], [word.word])[0], [(start, start + len(name))]


def mask_regions(lm: MaskedLM, sentences: Sequence[tuple[str, list[tuple[int, int]]]]) -> list[training.Example]:
    """Every token of the region masked; a sentence that the model cuts before it is left out."""
    texts, spans = zip(*sentences, strict=True)
    examples = [example for example in training.mask_spans(lm, texts, spans) if example is not None]
    if not examples:
        raise InputError(f"{lm.name} truncates every sentence before its region.")
    return examples


def list_scores(result: RegionsResult) -> list[dict[str, Any]]:
    """C_w of the Earth and the continents in both forms, with 95 % intervals over words."""
    rows = []
    for region in result.top_regions:
        row: dict[str, Any] = {"id": region.id, "region": region.name}
        for form in FORMS:
            estimate = getattr(region, f"c_w_{form}")
            row |= {form: estimate.value, f"{form}_low": estimate.low, f"{form}_high": estimate.high}
        rows.append(row)
    return rows


def describe_change(before: RegionsResult, after: RegionsResult) -> tuple[str, bool]:
    """Balanced C_w after minus before on the same words, and whether that of the first region clearly falls."""
    regions = before.top_regions
    rows = [before.regions.index(region) for region in regions]

    def score(words: np.ndarray) -> np.ndarray:
        """1 x (before, after) x regions."""
        return np.array([[score_words(result, words, rows)["balanced"] for result in (before, after)]])

    difference = word_differences(score, len(before.scored_words)).difference
    first = difference.at(0)
    parts = [f"{region.name} {signed(difference.at(k).value, 4)}" for k, region in enumerate(regions)]
    test = "" if first.p is None else f" (95 % {interval(first, 4)}, adjusted p = {first.p_adjusted:.2g})"
    falls = (first.p_adjusted or 1) < 0.05 and (first.value or 0) < 0
    return f"Balanced C_w, last epoch minus epoch 0: {parts[0]}{test}; {', '.join(parts[1:])}.", falls


def draw(rows: list[dict[str, Any]], model: str, change: str) -> str:
    """The Earth with its interval, and the continents beside it."""
    from geobias.papers.figures import CONTINENT_COLOURS, Beside, Lines, draw_figure

    first, *others = dict.fromkeys(row["region"] for row in rows)

    def plot(names: Sequence[str], *, has_bounds: bool) -> Lines:
        lines = {name: [row for row in rows if row["region"] == name] for name in names}
        points = {name: [(row["epoch"], row["balanced"]) for row in line] for name, line in lines.items()}
        bounds = {name: [(row["balanced_low"], row["balanced_high"]) for row in line] for name, line in lines.items()}
        epochs = sorted({row["epoch"] for row in rows})
        shown = epochs[:: -(-len(epochs) // 8)]
        return Lines(points, bounds if has_bounds else {}, CONTINENT_COLOURS, ("epoch", "balanced C_w"), (shown, ()))

    pictures = [(0.5, plot([first], has_bounds=True)), (0.5, plot(others, has_bounds=False))]
    title = f"Regional bias of {model}, trained on its most biased sentences"
    return draw_figure(title, Beside(pictures), [change, "Band: 95 % interval over words."], rows, model)
