"""Properties of reading: the same rows are the same texts in every format, and no content of a file breaks a reader."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from geobias.errors import InputError
from geobias.texts.user_texts import read_texts
from geobias.world.gazetteer import read_gazetteer
from geobias.world.regions import read_tree
from geobias.world.words import read_words

Row = dict[str, str]
OPTIONS: dict[str, Any] = {"spans": "spans", "label": "label", "subsets": ["group"]}
COLUMNS = ("id", "text", "spans", "label", "group")
# NUL and lone surrogates are refused in every format; files that are not JSON cannot even spell the latter.
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
AWKWARD_TEXT = st.text(st.sampled_from("a,;\t\"'\n\r\u2028\u0085\x0b\x1c\ufeff [{é😀"), max_size=12)
CELLS = st.one_of(ANY_TEXT, AWKWARD_TEXT)
SOUND_ROW = {
    "id": CELLS,
    "text": CELLS.map("a{}".format),  # one letter at least, so that a span fits
    "spans": st.sampled_from(["", "[]", "[[0, 1]]", '[{"start": 0, "end": 1}]']),
    "label": CELLS.map("joy{}".format) | st.sampled_from(["1.0", "-2", '["joy", 2]', "[]", "nan", "null"]),
    "group": CELLS,
}
OTHER_ROW = SOUND_ROW | {"text": CELLS, "spans": st.sampled_from(["[[0, 1], [0, 2]]", "[[2, 9]]", "0"]), "label": CELLS}
SOUND_ROWS, OTHER_ROWS = (
    st.lists(st.fixed_dictionaries(row), min_size=1, max_size=5) for row in (SOUND_ROW, OTHER_ROW)
)
ROWS = SOUND_ROWS | st.builds(list.__add__, SOUND_ROWS, OTHER_ROWS)
quick = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reading")


def delimited(rows: list[Row], delimiter: str) -> bytes:
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, COLUMNS, delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue().encode()


def json_lines(rows: list[Row], *, escaped: bool) -> bytes:
    return "".join(f"{json.dumps(row, ensure_ascii=escaped)}\n" for row in rows).encode()


def parquet(rows: list[Row]) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table({name: [row[name] for row in rows] for name in COLUMNS}), file)
    return file.getvalue()


FILES: dict[str, Callable[[list[Row]], bytes]] = {
    "a.csv": lambda rows: delimited(rows, ","),
    "a.tsv": lambda rows: delimited(rows, "\t"),
    "marked.csv": lambda rows: b"\xef\xbb\xbf" + delimited(rows, ","),
    "a.jsonl": lambda rows: json_lines(rows, escaped=False),
    "a.ndjson": lambda rows: json_lines(rows, escaped=True),
    "a.parquet": parquet,
    "a.csv.gz": lambda rows: gzip.compress(delimited(rows, ","), 1),
}


def reading(source: Any, title: str) -> tuple[Any, ...]:
    """What is read, or what is said instead; without the name of the source, which differs."""
    try:
        texts = read_texts(source, **OPTIONS)
    except InputError as error:
        assert str(error).startswith(title)
        return (str(error).removeprefix(title),)
    return texts.texts, texts.ids, texts.spans, texts.labels, texts.groups, texts.left_out, texts.digest


@quick
@given(rows=ROWS)
@example(rows=[dict.fromkeys(COLUMNS, ""), {"id": "1", "text": "\ufeffa\r\nb", "spans": "", "label": "x", "group": ""}])
def test_the_same_rows_are_the_same_texts_in_every_format(folder: Path, rows: list[Row]) -> None:
    expected = reading(rows, "The list given")
    assert reading(pd.DataFrame(rows), "The DataFrame given") == expected
    assert reading(pa.table({name: [row[name] for row in rows] for name in COLUMNS}), "The Table given") == expected
    for name, write in FILES.items():
        path = folder / name
        path.write_bytes(write(rows))
        assert reading(path, f"The text file {path}") == expected, name
    if len(expected) > 1:  # the texts are those given, but for blank ones
        assert expected[0] == tuple(row["text"] for row in rows if row["text"].strip())


SUFFIXES = ("", ".txt", ".csv", ".tsv", ".json", ".jsonl", ".parquet", ".csv.gz", ".jsonl.gz", ".parquet.gz")
WHOLE = [{"id": "1", "text": "John, Mary", "spans": "[[0, 4]]", "label": "x", "group": "y"}] * 3
VALID = [write(WHOLE) for write in FILES.values()]


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A valid file of some format with a few bytes cut out or replaced: further inside a reader than random bytes."""
    content = draw(st.sampled_from(VALID))
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(content)))
        content = content[:start] + draw(st.binary(max_size=4)) + content[start + draw(st.integers(0, 8)) :]
    return content


MARKS = st.text(st.sampled_from('text,id\n\r";\t\0\x02[]{}:\\ud8001.e-é'), max_size=60)
CONTENT = st.one_of(st.binary(max_size=80), damaged(), MARKS.map(str.encode))


@settings(quick, max_examples=250)
@given(content=CONTENT, suffix=st.sampled_from(SUFFIXES), packed=st.booleans())
@example(content=b'""', suffix=".csv", packed=False)
def test_no_content_breaks_the_reader_of_texts(folder: Path, content: bytes, suffix: str, packed: bool) -> None:
    path = folder / f"any{suffix}"
    path.write_bytes(gzip.compress(content, 1) if packed else content)
    for options in ({}, OPTIONS, {"label": "y"}):
        refused_or_read(lambda: read_texts(path, **options), path)  # noqa: B023


HEADERS = st.sampled_from(
    [
        "",
        "word,topic,substitute\n",
        "word\n",
        "id,name,parent\nr,Root,\n",
        "country;kind;name\n",
        "\ufeff\n \nword\tx\n",
    ]
)
LINES = st.text(st.sampled_from('ab,;\t"\n\r r\0\x02\x85maleFR/()é'), max_size=60)
NAME_CONTENT = st.one_of(
    st.binary(max_size=80), st.builds(lambda header, rest: (header + rest).encode(), HEADERS, LINES)
)


@settings(quick, max_examples=250)
@given(content=NAME_CONTENT)
@example(content=b"word,topic\nkind," + b"a" * 200_000)
def test_no_content_breaks_the_readers_of_names(folder: Path, content: bytes) -> None:
    path = folder / "names.csv"
    path.write_bytes(content)
    for read in (read_words, read_tree, read_gazetteer):
        refused_or_read(lambda: read(path), path)  # noqa: B023


def refused_or_read(read: Callable[[], object], path: Path) -> None:
    try:
        read()
    except InputError as error:
        assert str(path) in str(error)
