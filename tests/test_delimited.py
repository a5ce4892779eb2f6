"""Tables in text form: separators, blank lines and the numbers of lines, alike for every file."""

from __future__ import annotations

import csv

import pytest

from geobias.errors import InputError
from geobias.files import parse_lines, parse_named_rows, parse_rows, sniff_delimiter


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_separators_and_line_endings(separator: str, ending: str) -> None:
    text = ending.join(["", " ", "ID,Name", "a, A ", "", ",", '"b","B"']).replace(",", separator)
    assert parse_named_rows(text, "T", ["id", "name"]) == [(4, {"id": "a", "name": "A"}), (7, {"id": "b", "name": "B"})]


def test_the_separator_is_the_one_that_names_the_columns() -> None:
    assert parse_named_rows('id,"a; b; c",name\n1,2,3\n', "T", ["id", "name"])[0][1]["name"] == "3"


def test_a_row_is_numbered_by_its_first_line() -> None:
    assert parse_rows('a,b\n"1\n2",3\n4,5\n', "T", ",") == [(1, ["a", "b"]), (2, ["1\n2", "3"]), (4, ["4", "5"])]
    with pytest.raises(InputError, match="T has 1 cell\\(s\\) in line 4 but 2"):
        parse_rows('a,b\n"1\n2",3\n4\n', "T", ",")


def test_a_blank_line_is_a_row_of_a_table_with_one_column() -> None:
    assert [cells for _, cells in parse_rows("text\na\n \nb\n", "T", ",")] == [["text"], ["a"], [" "], ["b"]]


def test_long_cells_are_read_and_the_limit_is_put_back() -> None:
    before = csv.field_size_limit()
    assert parse_rows(f"a\n{'x' * 200_000}\n", "T", ",")[1] == (2, ["x" * 200_000])
    with pytest.raises(InputError):
        parse_rows('a\n"x', "T", ",")
    assert csv.field_size_limit() == before


def test_lines() -> None:
    assert parse_lines(" a \r\n\r\n\x85b\rc\u2028d", "T") == [(1, "a"), (3, "b"), (4, "c\u2028d")]


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("text\na; b; c\n", ","),  # one column
        ("text,n\na; b; c,1\n", ","),
        ("text;n\na, b, c;1\n", ";"),
        ("text\tn\na, b; c\t1\n", "\t"),
        ('id,"a; b; c; d",n\n1,2,3\n', ","),  # more semicolons, but in quotes
        ("id;first, second, third;n\n1;a;2\n", ";"),  # more commas, but the rows have none
        ("text,n\na,1,2\n", ","),  # refused later, by its line
        ('text;n\n"a\nb";1\n\nc;2\n', ";"),
        ("\n\ntext;n\na;1\n", ";"),
        ("", ","),
    ],
)
def test_the_separator_is_sniffed(text: str, delimiter: str) -> None:
    assert sniff_delimiter(text) == delimiter
