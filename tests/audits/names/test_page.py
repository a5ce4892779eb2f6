"""The names audit on the page: names marked in texts, and which texts are shown."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from geobias.audits.names.page import mark_names
from geobias.audits.names.renamed_texts_file import find_most_changed


@pytest.mark.parametrize(
    ("text", "names", "expected"),
    [
        ("Mary's dog saw Mary.", ["Mary"], ["", "Mary", "'s dog saw ", "Mary", "."]),
        ("May will see Will, who may mark it", ["Will May"], ["", "May", " will see ", "Will", ", who may mark it"]),
        ("Marianne and Rosemary", ["Mary", "Mari"], ["Marianne and Rosemary"]),
        ("Mary Ann Lee came", ["Mary Ann", "Lee"], ["", "Mary Ann Lee", " came"]),
        ("Ann-Marie, Ann", ["Ann", "Ann-Marie"], ["", "Ann-Marie", ", ", "Ann"]),
        ("Dr. Lee (Lee)", ["Lee", None], ["Dr. ", "Lee", " (", "Lee", ")"]),
        ("José, Jose", ["José"], ["", "José", ", Jose"]),
        ("C++ is here", ["C++"], ["", "C++", " is here"]),
        ("nobody", [], ["nobody"]),
        ("nobody", [None, ""], ["nobody"]),
    ],
)
def test_names_are_marked_where_they_stand_alone(text: str, names: list[str | None], expected: list[str]) -> None:
    found = mark_names(text, names, "was")
    assert found == [(piece, "was" if k % 2 else None) for k, piece in enumerate(expected) if piece]
    assert "".join(piece for piece, _ in found) == text


def test_new_names_are_marked_as_the_old_ones_were_written() -> None:
    assert mark_names("RAJ saw raj", ["Raj"], "is", ["BAE", "bae"]) == [("RAJ", "is"), (" saw ", None), ("raj", "is")]
    assert mark_names("Raj saw raj", ["Raj"], "is", ["Bae"]) == [("Raj", "is"), (" saw raj", None)]


def test_the_most_changed_texts_by_hand(tmp_path: Path) -> None:
    """Two texts; of the first the second version changed most (0.5), of the second its only one (0.2)."""
    rows = [
        # text, country, first name, text, scores
        ("1", None, None, "Mary sang", 0.2, 0.8),
        ("1", "FR", "Marie", "Marie sang", 0.3, 0.7),
        ("1", "IT", "Maria", "Maria sang", 0.7, 0.3),
        ("2", None, None, "John ran", 0.5, 0.5),
        ("2", "FR", "Jean", "Jean ran", 0.3, 0.7),
        ("3", None, None, "nobody", 0.1, 0.9),
    ]
    table = {
        "text_id": [row[0] for row in rows],
        "country": [row[1] for row in rows],
        "person": [[row[3].split()[0]] if row[1] else [] for row in rows],
        "first_name": [[row[2]] if row[2] else [] for row in rows],
        "last_name": pa.array([[None] if row[2] else [] for row in rows], pa.list_(pa.string())),
        "text": [row[3] for row in rows],
        "m/a": [row[4] for row in rows],
        "m/b": [row[5] for row in rows],
    }
    pq.write_table(pa.table(table), tmp_path / "counterfactuals.parquet")
    first, second = find_most_changed(tmp_path, ["m/a", "m/b"], 5)
    assert (first.text_id, first.country, first.original, first.text) == ("1", "IT", "Mary sang", "Maria sang")
    assert first.original_scores.tolist() == [0.2, 0.8] and first.scores.tolist() == [0.7, 0.3]
    assert (second.text, second.first_name, second.last_name) == ("Jean ran", ["Jean"], [None])
    assert [each.text_id for each in find_most_changed(tmp_path, ["m/a"], 1)] == ["1"]
    assert [each.text_id for each in find_most_changed(tmp_path, ["m/a"], 5, {"1"})] == ["2"]
