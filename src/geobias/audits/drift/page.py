"""A drifting model on the page: its scores against the epochs of its training."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from geobias.audits.country_map.values import model_name
from geobias.audits.drift.corpus import TOXIC
from geobias.audits.regions.page import PAPER
from geobias.report.page.parts import Chart, Choice, Number, Section, Table
from geobias.report.page.theme import lines
from geobias.report.tables import interval, signed

LEAD = (
    "A model that reads biased sentences should score higher the more of them it has read, HERB's authors argue, and "
    "theirs did (Figure 5, Li et al. 2022). Here one is trained on, and measured after every epoch."
)
READING = {
    "balanced": "Epoch 0 is the model as it was. Line: balanced C_w, a mean distance between what the model says of "
    "the sub-regions; band: 95 % interval of the first, over words. The epochs share their words, so a small move may "
    "be sure although bands overlap: see the table.",
    PAPER: "The paper's form divides by the number of pairs once more: regions cannot be compared by it, only the "
    "epochs of one of them.",
}


def drift_section(folder: Path, results: Mapping[str, Any], name: str) -> Section:
    return Section(
        id=name,
        title=f"Drift: how {model_name(results)} changes by training",
        lead=LEAD,
        blocks=[forms(name, results), _table(name, results)],
        numbers=list(_numbers(results)),
        notes=list(_notes(results)),
    )


def asked(results: Mapping[str, Any]) -> str:
    """What was done with the model, in a sentence."""
    settings, counts = results["settings"], results["counts"]
    return (
        f"{model_name(results)} was trained on {_corpus(results)} for {settings['epochs']} epochs (plain SGD, learning "
        f"rate {settings['rate']:g}, batches of {settings['batch']}), and asked about {counts['regions'] - 1:,} "
        f"regions before and after each, scored by {results['model']['score']}."
    )


def forms(name: str, results: Mapping[str, Any]) -> Choice:
    """Balanced first; the paper's form one click away, with the reason."""
    first = results["epochs"][0]["regions"][0]["name"]
    options = {}
    for form, key in (("balanced", "balanced"), (PAPER, "paper")):
        rows = [
            {"epoch": epoch["epoch"], "region": region["name"], **region[key]}
            for epoch in results["epochs"]
            for region in epoch["regions"]
        ]
        ends = [row["value"] for row in rows if row["region"] == first]
        options[form] = Chart(
            f"{name}-{key}",
            f"C_w of {first} and its parts against epochs, {form}",
            READING[form],
            f"Lines over {results['settings']['epochs']} epochs; {first} goes from {ends[0]:.3g} to {ends[-1]:.3g}.",
            lines(rows, across="epoch", label="region", title=f"C_w, {form}", band=first),
            rows,
        )
    return Choice(f"{name}-form", "Form", options)


def _table(name: str, results: Mapping[str, Any]) -> Table:
    last = results["epochs"][-1]["epoch"]
    rows = []
    for region in results["inference"]["regions"]:
        found, order = region["balanced"]["difference"], region["balanced"]["spearman"]
        rows.append(
            {
                "region": region["name"],
                f"epoch {last} minus epoch 0": signed(found["value"], 4),
                "95 % interval": interval(found, 4),
                "adjusted p": "" if found["p_adjusted"] is None else f"{found['p_adjusted']:.2g}",
                "Spearman with epochs": "" if order is None else f"{order:+.2f}",
            }
        )
    return Table(
        f"{name}-trend",
        "How far it came",
        "Balanced C_w, both states on the same words; p-values are corrected for looking at several regions. The "
        "correlation says how steadily a score goes with the epochs, which follow each other: it is no test.",
        rows,
    )


def _numbers(results: Mapping[str, Any]) -> Iterator[Number]:
    top, last = results["inference"]["regions"][0], results["epochs"][-1]["epoch"]
    found = top["balanced"]["difference"]
    yield Number(
        f"{top['name']}: what {last} epochs of training changed",
        signed(found["value"], 4),
        f"{interval(found, 4)} (95 %)" if found["low"] is not None else "",
        f"Balanced C_w by {results['model']['score']}, after the training minus before.",
    )


def _notes(results: Mapping[str, Any]) -> Iterator[str]:
    counts = results["counts"]
    said = {
        "sentences_cut": "sentences longer than the model takes, and cut",
        "names_with_unknown_tokens": "names with characters that the model does not know",
        "corpus_sentences_cut": "sentences to train on that the model cuts before their region, left out",
        "texts_blank": "rows without text, left out",
    }
    yield from (f"{counts[key]:,} {what}." for key, what in said.items() if counts.get(key))


def _corpus(results: Mapping[str, Any]) -> str:
    corpus, counts = results["settings"]["corpus"], results["counts"]
    if corpus["kind"] == TOXIC:
        return f"the {counts['corpus_sentences']:,} sentences that it finds likeliest itself, their regions masked,"
    return f"{counts['texts']:,} texts of {corpus['source']}"
