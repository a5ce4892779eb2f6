"""HERB, Table 3: each topic of the words left out (section 4.4).

ALBERT's C_w from all 112 words, then without those of one topic; the vectors are normalised again on what remains.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from geobias.papers.herb.table_1 import Scores, audit_herb, compare_scores, find_columns, load_scorer, score_words
from geobias.papers.tables import Reproduction, Row, load_each, read_published
from geobias.world.words import Word, herb_words

TITLE = "topics left out, C_w"
ALBERT = "albert-base-v2"
ChooseWords = Callable[[str], Sequence[Word]]


def measure(
    model: str | None = None, *, cities: int | str = "all", device: str = "auto", progress: bool | None = None
) -> Reproduction:
    """C_w of one model with each topic left out; the published numbers are ALBERT's."""

    def leave_out(topic: str) -> list[Word]:
        return [word for word in herb_words() if word.topic != topic]

    return measure_wordings("table_3", TITLE, leave_out, herb_words(), model, cities, device, progress)


def measure_wordings(
    name: str,
    title: str,
    choose_words: ChooseWords,
    words: Sequence[Word],
    model: str | None,
    cities: int | str,
    device: str,
    progress: bool | None,
) -> Reproduction:
    """A table with a row for each topic; `choose_words` says with which of the words it is measured ("": all)."""
    table, missing = read_published("herb", name), list[str]()
    models = [] if model is None else [model]
    ((model, scorer),) = load_each(models, [ALBERT], lambda name: load_scorer(name, device), missing)
    result = audit_herb(scorer, cities, words=words, progress=progress)
    positions = {word.word: k for k, word in enumerate(result.scored_words)}
    rows = [result.regions.index(region) for region in find_columns(result, table.columns)]
    measured: dict[Row, Scores] = {}
    for (row,) in table.rows:
        scored = [positions[word.word] for word in choose_words(row.partition(" ")[2])]
        measured[row,] = score_words(result, scored, rows)
    reproduction = compare_scores(table, measured, [result], cities, title=title)
    if model != ALBERT:
        reproduction.notes.append(f"The published rows are {ALBERT}'s, the measured ones {model}'s.")
    return reproduction
