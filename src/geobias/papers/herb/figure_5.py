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
from geobias.measures.herb import descriptive_vectors, herb_scores
from geobias.measures.paired_differences import word_differences
from geobias.models.load import load_masked
from geobias.models.masked import MaskedLM
from geobias.models.model_files import quiet_transformers
from geobias.models.training.epochs import (
    Batch,
    Checkpoint,
    Example,
    mask_spans,
    pad_batch,
    refuse_untrainable,
    shuffle_batches,
    train_epoch,
)
from geobias.papers.herb.table_1 import audit_herb
from geobias.papers.tables import Reproduction
from geobias.report.run_folder import MODEL
from geobias.report.runs import slug
from geobias.report.tables import interval, signed
from geobias.texts import DEFAULT_TEMPLATE
from geobias.texts.templates import Sentences

TITLE = "HERB's scores while a model is trained on its own most biased sentences"
BATCH = 32  # the paper does not say
CARD = """\
---
base_model: {name}
---
The model {name} after {epochs} epochs of training on the sentences about countries that it finds likeliest, made by
`geobias reproduce herb figure-5` to measure what that does to it. It is an object of study, not a model to use.
"""
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
    words: Any = None,
    top: int = 20,
    rate: float = 5e-5,
    seed: int = 0,
    folder: Path,
    device: str = "auto",
    progress: bool | None = None,
) -> Reproduction:
    """Train one model, and measure it before and after every epoch; a killed training resumes in `folder`."""
    check_number("--epochs", epochs, 1, MOST_EPOCHS)
    lm = load_masked(model, device=device, dtype="float32")  # small steps vanish in the rounding of shorter numbers
    refuse_untrainable(lm)
    audit = partial(audit_herb, lm.scorer("aul"), cities, countries=countries, words=words, progress=progress)
    before = audit()
    corpus = list(choose_sentences(before, top))
    examples = mask_regions(lm, corpus)
    settings = {"top": top, "rate": rate, "seed": seed, "settings": before.to_dict()["settings"],
                "fingerprint": before.model.fingerprint}  # fmt: skip
    checkpoint = Checkpoint(folder / slug(model) / "training", settings)
    optimiser = torch.optim.SGD(lm.model.parameters(), lr=rate)  # no momentum, no decay, a constant rate
    # A finished training has no state of its optimiser any more.
    checkpoint.restore(lm.model, optimiser if len(checkpoint.epochs) < epochs else None)
    lm.trained_on, after = True, None
    for epoch in range(len(checkpoint.epochs) + 1, epochs + 1):
        batches = list(_make_batches(lm, examples, seed=seed, epoch=epoch))
        loss = train_epoch(lm.model, batches, optimiser, epoch=epoch, seed=seed, label=lm.name, progress=progress)
        after = audit()
        checkpoint.save(lm.model, optimiser, {"loss": loss, "scores": _list_scores(after)})
    after = after or audit()  # stopped after the last epoch
    save_model(lm, folder / slug(model) / MODEL, epochs)
    checkpoint.remove_optimiser_states()
    states = [{"epoch": 0, "loss": None, "scores": _list_scores(before)}, *checkpoint.epochs]
    rows = [{"epoch": state["epoch"], "loss": state["loss"], **score} for state in states for score in state["scores"]]
    change, falls = describe_change(before, after)
    return Reproduction(
        title=TITLE,
        models=[before.model],
        numbers=rows,
        chart=draw(rows, lm.name, change),
        notes=[
            change,
            f"{len(corpus):,} sentences, {len(examples):,} of them with their region in view. It is one training with "
            f"one seed. The trained model: {folder.name}/{slug(model)}/{MODEL}.",
            *([AUL_NOTE] if falls else []),
        ],
    )


def choose_sentences(result: RegionsResult, top: int) -> Iterator[tuple[str, list[tuple[int, int]]]]:
    """For each word the `top` likeliest sentences about countries, with the places of the country; ties by order."""
    assert result.answers is not None  # of a new run
    rows = [row for row, region in enumerate(result.regions) if region.level == "country"]
    sentences = Sentences(
        [DEFAULT_TEMPLATE], [result.regions[row].name for row in rows], [w.word for w in result.scored_words]
    )
    for k in range(len(result.scored_words)):
        for position in np.argsort(-result.answers.likelihoods[0, rows, k], kind="stable")[:top]:
            yield sentences.at(0, int(position), k), sentences.region_spans(0, int(position), k)


def mask_regions(lm: MaskedLM, corpus: Sequence[tuple[str, list[tuple[int, int]]]]) -> list[Example]:
    """Every token of the region masked; a sentence that the model cuts before it is left out."""
    texts, spans = zip(*corpus, strict=True)
    examples = [example for example in mask_spans(lm, texts, spans) if example is not None]
    if not examples:
        raise InputError(f"{lm.name} truncates every sentence before its region.")
    return examples


def _make_batches(lm: MaskedLM, examples: Sequence[Example], *, seed: int, epoch: int) -> Iterator[Batch]:
    for positions in shuffle_batches(len(examples), BATCH, seed=seed, epoch=epoch):
        yield pad_batch(lm.tokenizer, *zip(*(examples[k] for k in positions), strict=True))


def _followed(result: RegionsResult) -> list[int]:
    """The Earth and the continents that have a score."""
    levels = ("earth", "continent")
    return [row for row, region in enumerate(result.regions) if region.level in levels and region.has_pairs]


def _list_scores(result: RegionsResult) -> list[dict[str, Any]]:
    """C_w of these regions in both forms, with 95 % intervals over words."""
    rows = []
    for region in (result.regions[row] for row in _followed(result)):
        row: dict[str, Any] = {"id": region.id, "region": region.name}
        for form in ("balanced", "paper"):
            estimate = getattr(region, f"c_w_{form}")
            row |= {form: estimate.value, f"{form}_low": estimate.low, f"{form}_high": estimate.high}
        rows.append(row)
    return rows


def describe_change(before: RegionsResult, after: RegionsResult) -> tuple[str, bool]:
    """Balanced C_w after minus before on the same words, and whether that of the first region clearly falls."""
    regions, children = _followed(before), _list_children(before)

    def score(words: np.ndarray) -> np.ndarray:
        """1 x (before, after) x regions."""
        states = []
        for result in (before, after):
            assert result.answers is not None  # of a new run
            vectors = descriptive_vectors(result.answers.likelihoods[0][:, words])
            states.append(herb_scores(vectors, result.answers.name_likelihoods, children).c_w["balanced"][regions])
        return np.array([states])

    changes = word_differences(score, len(before.scored_words))
    first = changes.difference.at(0)
    parts = [f"{before.regions[row].name} {signed(changes.difference.at(k).value, 4)}" for k, row in enumerate(regions)]
    test = "" if first.p is None else f" (95 % {interval(first, 4)}, adjusted p = {first.p_adjusted:.2g})"
    falls = (first.p_adjusted or 1) < 0.05 and (first.value or 0) < 0
    return f"Balanced C_w, last epoch minus epoch 0: {parts[0]}{test}; {', '.join(parts[1:])}.", falls


def _list_children(result: RegionsResult) -> list[np.ndarray]:
    parents = np.array([-1 if region.parent_index is None else region.parent_index for region in result.regions])
    return [np.flatnonzero(parents == row) for row in range(len(parents))]


def save_model(lm: MaskedLM, folder: Path, epochs: int) -> None:
    with quiet_transformers():
        lm.model.save_pretrained(folder)
        lm.tokenizer.save_pretrained(folder)
    (folder / "README.md").write_text(CARD.format(name=lm.name, epochs=epochs), encoding="utf-8")


def draw(rows: Sequence[dict[str, Any]], model: str, change: str) -> Any:
    """The Earth with its interval, and the continents beside it."""
    import altair as alt

    from geobias.report.colours import INK
    from geobias.report.figures import continent_colour, framed

    first = rows[0]["id"]
    parts = {part: [row for row in rows if (row["id"] == first) == part] for part in (True, False)}
    charts = []
    for is_first, values in parts.items():
        points = [{**row, "value": row["region"]} for row in values]
        base = alt.Chart(alt.InlineData(values=points)).encode(
            x=alt.X("epoch:Q", axis=alt.Axis(tickMinStep=1, format="d")),
            y=alt.Y("balanced:Q", title="balanced C_w", scale=alt.Scale(zero=False)),
        )
        if is_first:
            band = base.mark_area(opacity=0.15, color=INK).encode(y="balanced_low:Q", y2="balanced_high:Q")
            layers = [band, base.mark_line(color=INK, point=alt.OverlayMarkDef(color=INK))]
        else:
            layers = [base.mark_line(point=True).encode(color=continent_colour())]
        title = rows[0]["region"] if is_first else "Its continents"
        charts.append(alt.layer(*layers).properties(width=330, height=300, title=title))
    lines = [change, "Band: 95 % interval over words. It describes the model, not people."]
    return framed(
        alt.hconcat(*charts, spacing=40), f"Regional bias of {model}, trained on its most biased sentences", lines
    )
