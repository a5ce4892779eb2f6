from __future__ import annotations

import csv
import gzip
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from geobias.errors import InputError
from geobias.texts.scenarios import load_scenarios
from geobias.texts.user_texts import Texts, copy_key, find_first_copies, join_texts, read_texts, sample_texts

TEXTS = ('She said "hi", twice', "two\r\nlines,\nthen one\u2028more", "😀 Anna in Kyïv", "北京 ваш\tدمشق", "NA")
SPANS: list[list[list[int]]] = [[], [[0, 3], [5, 10]], [[2, 6]], [[0, 2]], []]
LABELS: list[list[str]] = [["joy"], ["joy", "anger"], ["1"], ["null"], ["joy"]]
ROWS: list[dict[str, Any]] = [
    {"id": f"t{n}", "text": text, "spans": spans, "label": labels, "country": country}
    for n, (text, spans, labels, country) in enumerate(
        zip(TEXTS, SPANS, LABELS, ["UA", "", "CN", "NA", "UA"], strict=True)
    )
]
ALL: dict[str, Any] = {"spans": "spans", "label": "label", "subsets": ["country"]}


def write_table(path: Path, delimiter: str) -> None:
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(ROWS[0]), delimiter=delimiter)
        writer.writeheader()
        for row in ROWS:
            writer.writerow(row | {key: json.dumps(row[key]) for key in ("spans", "label")})


def write_lines(path: Path) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS), encoding="utf-8", newline="")


WRITERS: dict[str, Callable[[Path], object]] = {
    "csv": lambda path: write_table(path, ","),
    "tsv": lambda path: write_table(path, "\t"),
    "jsonl": write_lines,
    "json": lambda path: path.write_bytes(json.dumps(ROWS, indent=1).encode()),
    "ndjson": write_lines,
    "parquet": lambda path: pq.write_table(pa.Table.from_pylist(ROWS), path),
}


class Column:
    """A column as polars gives it."""

    def __init__(self, values: list[Any]) -> None:
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    def to_list(self) -> list[Any]:
        return self.values


class PolarsFrame:
    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.rows, self.columns = rows, list(rows[0])

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str) -> Column:
        return Column([row[name] for row in self.rows])


class Dataset:
    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.rows, self.column_names = rows, list(rows[0])

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str) -> list[Any]:
        return [row[name] for row in self.rows]


def file(tmp_path: Path, name: str, content: str | bytes) -> Path:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def assert_all(texts: Texts) -> None:
    assert texts.texts == TEXTS
    assert texts.ids == ("t0", "t1", "t2", "t3", "t4")
    assert texts.spans == tuple(tuple((start, end) for start, end in spans) for spans in SPANS)
    assert texts.labels == tuple(tuple(labels) for labels in LABELS)
    assert texts.groups == {"country": ("UA", "(blank)", "CN", "NA", "UA")}
    assert texts.digest == read_texts(ROWS, **ALL).digest
    assert (len(texts), texts.left_out) == (5, 0)


def test_a_json_array_of_texts_and_json_lines_in_a_json_file(tmp_path: Path) -> None:
    texts = read_texts(file(tmp_path, "a.json", json.dumps([*TEXTS, "", None])))
    assert texts.texts == TEXTS and texts.left_out == 2
    lines = file(tmp_path, "b.json", "".join(json.dumps(row) + "\n" for row in ROWS))
    assert_all(read_texts(lines, **ALL))


@pytest.mark.parametrize("kind", WRITERS)
def test_packed_files_and_byte_order_marks(tmp_path: Path, kind: str) -> None:
    plain = tmp_path / f"texts.{kind}"
    WRITERS[kind](plain)
    content = (b"" if kind == "parquet" else b"\xef\xbb\xbf") + plain.read_bytes()
    assert_all(read_texts(file(tmp_path, f"marked.{kind}", content), **ALL))
    assert_all(read_texts(file(tmp_path, f"Packed.{kind.upper()}.GZ", gzip.compress(content, mtime=0)), **ALL))


@pytest.mark.parametrize(
    "data",
    [
        ROWS,
        pd.DataFrame(ROWS),
        pa.Table.from_pylist(ROWS),
        PolarsFrame(ROWS),
        Dataset(ROWS),
    ],
    ids=["list", "pandas", "arrow", "polars-like", "dataset-like"],
)
def test_tables_in_memory(data: Any) -> None:
    assert_all(read_texts(data, **ALL))


@pytest.mark.parametrize(
    "data",
    [list(TEXTS), TEXTS, pd.Series(TEXTS), pd.Series(TEXTS, dtype="category"), np.array(TEXTS), Column(list(TEXTS))],
    ids=["list", "tuple", "pandas", "pandas-category", "numpy", "polars-like"],
)
def test_texts_alone_in_memory(data: Any) -> None:
    texts = read_texts(data, language="uk")
    assert texts == Texts(TEXTS, ("1", "2", "3", "4", "5"), ("uk",) * 5, None, None, {}, texts.source)
    assert texts.source == f"the {type(data).__name__} given"


@pytest.mark.parametrize("name", ["texts.txt", "texts", "texts.log"])
def test_a_text_a_line(tmp_path: Path, name: str) -> None:
    path = file(tmp_path, name, '\ufeffa, "b"\r\n\n \x85北京\u2028 \nNA\n')
    texts = read_texts(path, column="ignored")
    assert (texts.texts, texts.ids, texts.left_out) == (('a, "b"', " \x85北京\u2028 ", "NA"), ("1", "3", "4"), 1)
    packed = read_texts(file(tmp_path, f"{name}.gz", gzip.compress(path.read_bytes(), mtime=0)))
    assert packed.digest == texts.digest


@pytest.mark.parametrize("gap", [None, float("nan"), pd.NA, "", " \n"])
def test_rows_without_text_are_left_out_and_counted(gap: Any) -> None:
    rows = [{"text": "a", "label": "x"}, {"text": gap, "label": ""}, {"text": "b", "label": "y"}]
    texts = read_texts(pd.DataFrame(rows), label="label")
    assert (texts.texts, texts.ids, texts.labels, texts.left_out) == (("a", "b"), ("1", "3"), (("x",), ("y",)), 1)


def test_the_text_may_stand_in_any_column(tmp_path: Path) -> None:
    assert read_texts(file(tmp_path, "a.csv", "n, tweet \n1,007\n\n2,1.50\n"), column="tweet").texts == ("007", "1.50")
    assert read_texts(pd.DataFrame({0: ["a"], 1: ["b"]}), column="1").texts == ("b",)


@pytest.mark.parametrize(
    ("values", "ids"),
    [
        (["b", "a", "c"], ("b", "a", "c")),
        ([7, 8.0, "9"], ("7", "8", "9")),
        (["a", "a", "b"], ("1", "2", "3")),
        (["a", None, "b"], ("1", "2", "3")),
    ],
)
def test_ids_tell_rows_apart(values: list[Any], ids: tuple[str, ...]) -> None:
    assert read_texts([{"id": value, "text": "same"} for value in values]).ids == ids


@pytest.mark.parametrize(
    ("name", "content", "message"),  # tests/cli/test_bad_inputs.py has more
    [
        ("a.txt", "\ufeff \n\n", "is empty"),
        ("a.parquet", "", "is empty"),
        ("a.csv", 'text,n\n,1\n" ",2\n', "no texts: all 2 row"),
        ("a.jsonl", "{}\n", "no column 'text'. Its columns: none"),
        ("a.txt.gz", b"plain", "damaged or not gzipped"),
        ("a.json", '{\n"text": "a"\n}\n', "Use one array of texts or objects"),
        ("a.json", "[]", "has no texts"),
        ("a.json", '[{"text": "a"}, "b"]', "row 2 is b."),
        ("a.json", '["a", {"text": "b"}]', "row 2: {'text': 'b'} is not a text"),
        ("a.xlsx", b"PK\x03\x04", "is a spreadsheet. Save it as CSV"),
        ("a.jsonl", '{"text": "a", "id": "x"}\n{"text": ["b"], "id": "y"}\n', "row 2 (id 'y'), column 'text': ['b']"),
    ],
)
def test_bad_files_are_named_and_explained(tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
    path = file(tmp_path, name, content)
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        read_texts(path)
    assert str(caught.value).startswith(f"The text file {path}")


def test_only_needed_columns_of_a_parquet_file_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    _, offsets, data = pa.array([b"\xff\xfe"]).buffers()
    broken = pa.StringArray.from_buffers(1, offsets, data)
    pq.write_table(pa.table({"text": broken}), path)
    with pytest.raises(InputError, match="utf-8"):
        read_texts(path)
    pq.write_table(pa.table({"text": ["Hi."], "other": broken}), path)
    assert read_texts(path).texts == ("Hi.",)  # only columns that are needed are read
    with pytest.raises(InputError, match="utf-8"):
        read_texts(path, subsets=["other"])


def test_rows_after_the_limit_do_not_count() -> None:
    texts = read_texts([{"text": text} for text in ("One.", None, "Two.", "", "Three.")], limit=2)
    assert (texts.texts, texts.ids, texts.left_out) == (("One.", "Two."), ("1", "3"), 1)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "The list given has no texts"),
        (["a", 5], "The list given, row 2: 5 is not a text"),
        ([{"text": "a"}, "b"], "row 2 is b."),
        (pd.Series([1, 2]), "The Series given, row 1: 1 is not a text"),
        (pd.DataFrame([["a", "b"]], columns=["text", "text"]), "2 columns named 'text'"),
        (b"bytes", "The bytes given cannot be read"),
        ((text for text in TEXTS), "The generator given cannot be read"),
        (None, "The NoneType given cannot be read"),
    ],
)
def test_bad_data_in_memory(data: Any, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        read_texts(data)


@pytest.mark.parametrize(
    ("value", "spans"),
    [
        (None, ()),
        ("[]", ()),
        ([(0, 5), (5, 11)], ((0, 5), (5, 11))),
        ([{"start": np.int64(0), "end": 5, "label": "PER"}], ((0, 5),)),
        ('[{"start": 6, "end": 11}, [0, 5]]', ((0, 5), (6, 11))),
    ],
)
def test_spans(value: Any, spans: tuple[tuple[int, int], ...]) -> None:
    assert read_texts([{"text": "hello world", "s": value}], spans="s").spans == (spans,)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([[-1, 3]], "[-1, 3] must have"),
        ([[0, 5.0]], "the span [0, 5.0] must be two whole numbers"),
        ([{"start": 0}], "two whole numbers"),
        ('{"start": 0, "end": 5}', "must be a list"),
    ],
)
def test_bad_spans_are_named_by_row_and_id(value: Any, message: str) -> None:
    rows = [{"id": "a", "text": "hello world", "s": []}, {"id": "b", "text": "hello world", "s": value}]
    with pytest.raises(InputError, match=r"row 2 \(id 'b'\), column 's': .*" + re.escape(message)):
        read_texts(rows, spans="s")


@pytest.mark.parametrize(
    ("value", "labels"),
    [
        ("joy", ("joy",)),
        (1, ("1",)),
        (-1.0, ("-1",)),
        (True, ("True",)),
        (["joy", 2.0], ("joy", "2")),
        ('["joy", 2]', ("joy", "2")),
        ([], ()),
    ],
)
def test_labels(value: Any, labels: tuple[str, ...]) -> None:
    assert read_texts([{"text": "a", "y": value}], label="y").labels == (labels,)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (["joy", ""], "the label is blank"),
        ("['joy', 'anger']", 'must be a list such as ["joy", "anger"]'),
        ({"joy": 1}, "{'joy': 1} must be a label"),
        ([["joy"]], "[['joy']] must be a label"),
    ],
)
def test_bad_labels_are_named_by_row(value: Any, message: str) -> None:
    with pytest.raises(InputError, match=r"row 2, column 'y': .*" + re.escape(message)):
        read_texts([{"text": "a", "y": "joy"}, {"text": "b", "y": value}], label="y")


def test_the_digest_changes_with_each_part() -> None:
    texts = Texts(("a", "b"), ("1", "2"), ("", ""), None, None, {}, "here")
    others = [
        replace(texts, texts=("a", "c")),
        replace(texts, texts=("b", "a")),
        replace(texts, ids=("1", "3")),
        replace(texts, languages=("", "en")),
        replace(texts, spans=((), ())),
        replace(texts, spans=(((0, 1),), ())),
        replace(texts, labels=(("x",), ("y",))),
        replace(texts, labels=(("x",), ("x",))),
        replace(texts, groups={"g": ("x", "y")}),
        replace(texts, groups={"h": ("x", "y")}),
        replace(texts, groups={"g": ("x", "x")}),
    ]
    assert len({texts.digest, *(other.digest for other in others)}) == 12
    assert re.fullmatch("[0-9a-f]{32}", texts.digest)
    assert replace(texts, source="there", left_out=3).digest == texts.digest


def test_joined_languages() -> None:
    rows = [{"text": "a b", "s": [[0, 1]], "y": "x", "g": "u"}, {"text": "", "s": [], "y": "x", "g": "u"}]
    english = read_texts(rows, spans="s", label="y", subsets=["g"], language="en")
    german = replace(english, texts=("c d",), languages=("de",), groups={"g": ("v",)}, source="b.csv")
    assert join_texts([english, german]) == Texts(
        texts=("a b", "c d"),
        ids=("en:1", "de:1"),
        languages=("en", "de"),
        spans=(((0, 1),), ((0, 1),)),
        labels=(("x",), ("x",)),
        groups={"g": ("u", "v")},
        source="the list given, b.csv",
        left_out=2,
    )
    assert join_texts([english]) == english


def test_parts_that_cannot_be_joined() -> None:
    plain = Texts(("a",), ("1",), ("en",), None, None, {}, "a.csv")
    for field, message in (
        ({"spans": ((),)}, "b.csv has spans"),
        ({"labels": (("x",),)}, "b.csv has labels"),
        ({"groups": {"g": ("x",)}}, "b.csv has the subset 'g'"),
    ):
        other = replace(plain, languages=("de",), source="b.csv", **field)
        with pytest.raises(InputError, match=f"{message}, a.csv has not"):
            join_texts([plain, other])
    with pytest.raises(InputError, match="the id 'en:1'"):
        join_texts([plain, plain])
    with pytest.raises(InputError, match="No texts"):
        join_texts([])


def test_the_tweets_inside() -> None:
    persons = sample_texts()
    assert (len(persons), sum(map(len, persons.spans or ()))) == (800, 1002)
    assert persons.spans and all(persons.spans) and persons.source == "the bundled tweets"
    assert set(persons.languages) == {"en"}
    assert persons.ids[0] == "btc.dev.0000"
    assert persons.texts[0][slice(*persons.spans[0][0])] == "Allen Iverson"


COPIES = [
    ("I met Maria at work.", "I met Ahmed at work."),
    ("I met Maria Garcia at work.", "I met Ahmed at work."),
    ("Maria feels angry.", "Ahmed feels angry."),
    ("Invoice 17 is due.", "invoice  2041 is due."),
    ("They moved to Peru in 1990.", "They moved to South Sudan in 2011."),
    ("@anna so true https://t.co/1", "@ben so true https://t.co/2"),
    ("GREAT FILM", "great film"),
]
NO_COPIES = [
    ("The film was good.", "The film was bad."),
    ("Great film.", "Terrible film."),
    ("Parliament Passes Budget After Long Debate", "Senate Blocks Reform Despite Public Outcry"),
    ("GREAT FILM", "AWFUL FILM"),
    ("I like it.", "You like it."),
    ("Is it good?", "It is good."),
]


@pytest.mark.parametrize(("first", "second"), COPIES)
def test_texts_that_differ_in_names_numbers_case_and_blanks_are_copies(first: str, second: str) -> None:
    assert copy_key(first) == copy_key(second)
    assert find_first_copies([first, second, first]) == [0]


@pytest.mark.parametrize(("first", "second"), NO_COPIES)
def test_other_texts_are_no_copies(first: str, second: str) -> None:
    assert copy_key(first) != copy_key(second)
    assert find_first_copies([first, second]) == [0, 1]


def test_spans_mark_names_that_do_not_look_like_names() -> None:
    texts = ["she asked xiu about it", "she asked the plumber about it"]
    assert find_first_copies(texts) == [0, 1]
    assert find_first_copies(texts, [[(10, 13)], [(10, 21)]]) == [0]


def test_the_bundled_tweets_are_hardly_ever_taken_for_copies() -> None:
    """Two repeat another one."""
    tweets = sample_texts()
    assert len(tweets) - len(find_first_copies(tweets.texts, tweets.spans)) == 2


def test_no_bundled_scenario_is_a_copy() -> None:
    texts = [scenario.texts[0] for scenario in load_scenarios()]
    assert find_first_copies(texts) == [*range(len(texts))]
