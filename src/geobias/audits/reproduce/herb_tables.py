"""HERB's tables: 1, 2, 3 and 6 from language models; 4 from classifiers and texts that the user gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from geobias.audits.regions.answers import RegionsAnswers
from geobias.audits.regions.audit import ask_regions
from geobias.audits.regions.measure import score_regions
from geobias.audits.regions.wording import FULL, REPLACED, WITHOUT_TOPIC, score_wordings
from geobias.audits.reproduce.design import ALBERT, HERB_MODELS, HERB_SCORE, HerbDesign
from geobias.audits.reproduce.paper_study import PaperStudy
from geobias.audits.reproduce.prefix_tables import PrefixAnswers, ask_datasets, measure_prefix_table
from geobias.audits.reproduce.published import PublishedTable, build_table
from geobias.audits.reproduce.result import ReproducedTable
from geobias.measures.pairs import pair_count
from geobias.measures.ranks import rank_correlation
from geobias.models.load import load
from geobias.models.scorer import Scorer
from geobias.world.regions import RegionTree

WORDINGS = {"full": FULL, "without": WITHOUT_TOPIC, "replace": REPLACED}  # as rows of Tables 3 and 6 are named
SCALE = 1000  # Tables 1, 3 and 6 are printed so many times larger
CONTINENTS = ("AF", "AS", "EU", "OC", "SA", "NA")
TAKEN_FOR = {"OC": "NA", "SA": "OC", "NA": "SA"}  # the released code prints NA, OC, SA; the paper's heads OC, SA, NA
SWAPPED_NOTE = (
    "The columns printed OC, SA and NA are taken for NA, OC and SA, the order in which the released code prints them: "
    "as labelled, the published scores would leap 23- to 33-fold between SA and NA once the second division by the "
    "number of pairs is undone. So “NA” is likely South America, the continent with the fewest countries."
)
FORMS_NOTE = (
    "In the paper's form Eq. 8 divides by the number of pairs of sub-regions twice, so a score mostly reflects the "
    "number of sub-regions. The balanced form does not. Its published numbers are the printed ones with the second "
    "division undone (x n(n-1)/2 / 1000), which is an approximation."
)
FINETUNE_NOTE = "Table 5 needs models fine-tuned on hatespeech18: `geobias finetune` is the command for it."
Scores = Mapping[str, np.ndarray]  # c_w.balanced, c_w.paper, c_z..., flat: a number for each region
ScoresByRow = dict[tuple[str, str], Scores]  # by (model, "") for Tables 1 and 2, by (wording, topic) for 3 and 6


HerbAnswers = tuple[dict[str, RegionsAnswers], PrefixAnswers]  # the first by published model


class HerbStudy(PaperStudy[HerbDesign, HerbAnswers]):
    def ask(self, scorers: Sequence[Scorer]) -> HerbAnswers:
        design = self.design
        answers = {}
        for name in HERB_MODELS if design.has("1", "2") else [ALBERT] if design.has("3", "6") else []:
            model = self.load_model(name, load)
            if model is None:
                continue
            scorer = model.scorer(HERB_SCORE)
            regions = design.wordings if name == ALBERT else design.regions
            answers[name] = ask_regions(regions, scorer, progress=self.options.progress)
            self.record(name, scorer, answers[name].work)
        prefix_tables = [table for table in design.tables if table.number.startswith("4")]
        return answers, ask_datasets(prefix_tables, design.datasets, self.options, self.record)

    def measure_tables(self, answers: HerbAnswers) -> list[ReproducedTable]:
        regions, prefixes = answers
        scores = _score_rows(self.design, regions)

        def measure(table: PublishedTable) -> ReproducedTable:
            if table.number.startswith("4"):
                return measure_prefix_table(table, prefixes)
            if table.number == "5":
                return build_table(table, notes=[FINETUNE_NOTE])
            return measure_regions_table(table, scores, self.design.regions.tree)

        return [measure(table) for table in self.design.tables]

    def notes(self) -> list[str]:
        design, cities = self.design, self.design.regions.settings.cities
        notes = [SWAPPED_NOTE, FORMS_NOTE] if design.has("1", "3", "6") else []
        if design.has("1", "2", "3", "6") and cities != "all":
            notes.append(
                f"At most {cities} cities of each country are scored, the paper uses all (--cities all): scores differ "
                "for that reason alone."
            )
        return notes


def _score_rows(design: HerbDesign, answers: dict[str, RegionsAnswers]) -> ScoresByRow:
    scores: ScoresByRow = {}
    for name, model_answers in answers.items():
        if design.has("1", "2"):
            by_template = score_regions(design.regions, model_answers)
            scores[name, ""] = {measure: values.mean(axis=0) for measure, values in by_template.items()}
        if name == ALBERT and design.has("3", "6"):
            for wording in score_wordings(design.wordings, model_answers):
                scores[wording.what, wording.name] = wording.scores
    return scores


def measure_regions_table(table: PublishedTable, scores: ScoresByRow, tree: RegionTree) -> ReproducedTable:
    """A table whose columns are the continents and the Earth."""
    positions = {region.id: i for i, region in enumerate(tree.regions) if region.level == "continent"}
    positions["overall"] = 0
    as_printed = [positions[column] for column in table.columns]
    as_released = [positions[TAKEN_FOR.get(column, column)] for column in table.columns]

    def measured(measure: str, columns: Sequence[int]) -> np.ndarray:
        rows = [_row_scores(table, row, scores, measure) for row in table.rows]
        return np.array([np.full(len(columns), np.nan) if row is None else row[columns] for row in rows])

    if table.number == "2":
        flat = measured("flat", as_printed)
        note = _compare_readings(table.values, flat, measured("flat", as_released))
        note += " Nothing in Table 2 itself tells whether its labels are swapped too: they are taken as printed."
        return build_table(table, flat, ranked=CONTINENTS, notes=[note.strip()])
    pairs = np.array([pair_count(len(tree.children[i])) for i in as_released])
    paper = measured("paper", as_released)
    balanced = (table.values * pairs / SCALE, measured("balanced", as_released))
    forms = {"balanced": balanced, "paper": (table.values, SCALE * paper)}
    note = _compare_readings(table.values, measured("paper", as_printed), paper)
    return build_table(table, forms=forms, taken_for=TAKEN_FOR, ranked=CONTINENTS, notes=[note] if note else [])


def _row_scores(table: PublishedTable, row: Sequence[str], scores: ScoresByRow, measure: str) -> np.ndarray | None:
    """The scores of all regions behind a row; None where its model was not scored."""
    if table.number in ("1", "2"):
        key, name = (row[0], ""), measure if table.number == "2" else f"{row[1].lower()}.{measure}"
    else:
        wording, _, topic = row[0].partition(" ")
        key, name = (WORDINGS[wording], topic), f"c_w.{measure}"
    return scores[key][name] if key in scores else None


def _compare_readings(published: np.ndarray, as_printed: np.ndarray, as_released: np.ndarray) -> str:
    """How well the order of the continents agrees by either reading of the labels; empty if nothing was measured."""
    count = len(CONTINENTS)
    means = []
    for measured in (as_printed, as_released):
        rows = zip(published[:, :count], measured[:, :count], strict=True)
        correlations = [value for value in (rank_correlation(*row) for row in rows) if value is not None]
        if not correlations:
            return ""
        means.append(f"{np.mean(correlations):+.2f}")
    return (
        "Order of the continents by the printed scores, mean rank correlation over the measured rows: "
        f"{means[0]} with the labels as printed, {means[1]} in the released code's order."
    )
