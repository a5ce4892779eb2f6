"""HERB's tables again: Tables 1, 2, 3 and 6 from language models; 4 from classifiers and texts that the user has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from geobias.audits.regions.design import Question, answer, question
from geobias.audits.regions.wording import FULL, REPLACED, WITHOUT_TOPIC, wording_scores
from geobias.audits.reproduce.prefix_study import DATASETS, checked_datasets, reproduce_prefixes
from geobias.audits.reproduce.published import Published
from geobias.audits.reproduce.result import (
    Form,
    Models,
    Reproduced,
    ReproduceResult,
    checked_stand_ins,
    published_only,
    result,
)
from geobias.measures.herb import FORMS
from geobias.measures.pairs import pair_count
from geobias.measures.ranks import rank_correlation
from geobias.models.load import load
from geobias.texts.defaults import DEFAULT_TEMPLATE

ALBERT = "albert-base-v2"
LANGUAGE_MODELS = ("bert-base-cased", ALBERT, "roberta-base", "facebook/bart-base")
WORDINGS = {"full": FULL, "without": WITHOUT_TOPIC, "replace": REPLACED}
SCALE = 1000  # Tables 1, 3 and 6 are printed so many times larger
CONTINENTS = ("AF", "AS", "EU", "OC", "SA", "NA")
TAKEN_FOR = {"OC": "NA", "SA": "OC", "NA": "SA"}  # the released code prints NA, OC, SA; the paper's heads OC, SA, NA
SWAPPED_NOTE = (
    "The columns printed OC, SA and NA are taken for NA, OC and SA, the order in which the released code prints them: "
    "as labelled, the published scores would leap 23- to 33-fold between SA and NA once the second division by the "
    "number of pairs is undone. So “NA” is likely South America, the continent with the fewest countries."
)
FORMS_NOTE = (
    "In the paper's form Eq. 8 divides by the number of pairs of sub-regions twice, so a score mostly tells how few "
    "sub-regions there are. Balanced does not; its published numbers are the printed ones with the second division "
    "undone (x n(n-1)/2 / 1000), which is as near as they let one come."
)
Scores = Mapping[str, np.ndarray]  # c_w.balanced, c_w.paper, c_z..., flat: a number for each region


def reproduce_herb(
    tables: Sequence[Published],
    *,
    stand_ins: Sequence[str] = (),
    cities: int | str = "all",
    texts: Mapping[str, Path] | None = None,
    classifiers: Sequence[str] = (),
    limit: int | None = None,
    device: str = "auto",
    dtype: str = "float32",
    ready: Callable[[dict[str, Any]], None] | None = None,
    progress: bool | None = None,
) -> ReproduceResult:
    """Ask the published models, or those that stand in for them, and put their numbers beside the published ones.

    `texts` are the labelled texts of Table 4 by dataset, `classifiers` its classifiers as DATASET=MODEL.
    `ready` is called with the settings before anything is asked: it may refuse them.
    """
    models = Models(checked_stand_ins(stand_ins, LANGUAGE_MODELS), device, dtype)
    datasets = checked_datasets(texts or {}, checked_stand_ins(classifiers, tuple(DATASETS), "--classifier"), limit)
    numbers = {table.number for table in tables}
    plain = question(cities=cities)
    worded = question(
        cities=cities,
        ablate="topics" if "3" in numbers else (),
        substitute="topics" if "6" in numbers else None,
    )
    settings = {
        "paper": "herb",
        "tables": [table.number for table in tables],
        "models": {name: models.stand_ins.get(name, name) for name in LANGUAGE_MODELS},
        "score": "aul",
        "template": DEFAULT_TEMPLATE,
        **{key: plain.settings[key] for key in ("cities", "regions_digest")},
        "datasets": {name: one.settings for name, one in datasets.items()},
        "limit": limit,
        "dtype": dtype,
    }
    if ready is not None:
        ready(settings)
    scores = _asked(numbers, plain, worded, models, progress)
    prefixed = reproduce_prefixes([t for t in tables if t.number.startswith("4")], datasets, models, progress)
    found = []
    for table in tables:
        if table.number in prefixed:
            found.append(prefixed[table.number])
        elif table.number == "5":
            needed = "Table 5 needs models fine-tuned on hatespeech18: `geobias finetune` is the command for it."
            found.append(published_only(table, needed))
        else:
            found.append(_regions_table(table, scores, plain))
    return result(settings, found, models, list(_notes(numbers, plain)))


def _notes(numbers: set[str], asked: Question) -> list[str]:
    notes = [SWAPPED_NOTE, FORMS_NOTE] if numbers & {"1", "3", "6"} else []
    if numbers & {"1", "2", "3", "6"} and asked.settings["cities"] != "all":
        notes.append(
            f"Cities asked about: at most {asked.settings['cities']} of each country, the paper's are all (--cities "
            "all): scores differ for that alone."
        )
    return notes


def _asked(
    numbers: set[str], plain: Question, worded: Question, models: Models, progress: bool | None
) -> dict[tuple[str, ...], Scores]:
    """What each model scores, by ("roberta-base",); of ALBERT also with other words, by ("without topic", "morality").

    Models come and go one by one: the four need not fit into memory together.
    """
    found: dict[tuple[str, ...], Scores] = {}
    wanted = LANGUAGE_MODELS if numbers & {"1", "2"} else (ALBERT,) if numbers & {"3", "6"} else ()
    for name in wanted:
        model = models.load(name, load)
        if model is None:
            continue
        scorer = model.scorer("aul")
        said = answer(worded if name == ALBERT else plain, scorer, progress=progress)
        models.note(name, scorer, said.work)
        if name == ALBERT and numbers & {"3", "6"}:
            found |= {(wording.what, wording.name): wording.scores for wording in wording_scores(said)}
        if numbers & {"1", "2"}:
            measures = ("flat", *(f"{variant}.{form}" for variant in ("c_w", "c_z") for form in FORMS))
            found[name,] = {measure: said.measure(measure) for measure in measures}
    return found


def _regions_table(table: Published, scores: Mapping[tuple[str, ...], Scores], asked: Question) -> Reproduced:
    """A table whose columns are the continents and the Earth."""
    at = {region.id: i for i, region in enumerate(asked.tree.regions) if region.level == "continent"} | {"overall": 0}
    taken_for = {} if table.number == "2" else TAKEN_FOR
    read = [at[taken_for.get(column, column)] for column in table.columns]
    labelled = [at[column] for column in table.columns]

    def measured(measure: str, where: Sequence[int]) -> np.ndarray:
        rows = [_row(table, names, scores, measure) for names in table.rows]
        return np.array([np.full(len(where), np.nan) if row is None else row[list(where)] for row in rows])

    if table.number == "2":
        flat = Form("", table.values, measured("flat", read), table.places)
        other = [at[TAKEN_FOR.get(column, column)] for column in table.columns]
        note = _both_readings(table.values, measured("flat", labelled), measured("flat", other))
        note += " Nothing in Table 2 itself tells whether its labels are swapped too: they are taken as printed."
        return Reproduced(table, (flat,), ranked=CONTINENTS, notes=(note.strip(),))
    pairs = np.array([pair_count(len(asked.tree.children[i])) for i in read])
    undone = table.values * pairs / SCALE
    forms = (
        Form("balanced", undone, measured("balanced", read), table.places),
        Form("paper", table.values, SCALE * measured("paper", read), table.places),
    )
    note = _both_readings(table.values, measured("paper", labelled), measured("paper", read))
    return Reproduced(table, forms, taken_for, CONTINENTS, (note,) if note else ())


def _row(
    table: Published, names: Sequence[str], scores: Mapping[tuple[str, ...], Scores], measure: str
) -> np.ndarray | None:
    """The scores behind a row, of all regions; None where its model was not asked."""
    if table.number in ("1", "2"):
        found = scores.get((names[0],))
        key = measure if table.number == "2" else f"{names[1].lower()}.{measure}"
    else:
        what, _, topic = names[0].partition(" ")
        found = scores.get((WORDINGS[what], topic))
        key = f"c_w.{measure}"
    return None if found is None else found[key]


def _both_readings(published: np.ndarray, labelled: np.ndarray, swapped: np.ndarray) -> str:
    """How well the continents' order agrees by either reading of the labels; nothing where nothing was measured."""
    count = len(CONTINENTS)
    said = []
    for values in (labelled, swapped):
        found = [rank_correlation(a[:count], b[:count]) for a, b in zip(published, values, strict=True)]
        known = [value for value in found if value is not None]
        if not known:
            return ""
        said.append(f"{np.mean(known):+.2f}")
    return (
        f"Order of the continents, mean rank correlation over rows: {said[0]} with the labels as printed, {said[1]} in "
        "the released code's order."
    )
