"""Everything a user can get wrong: one line that says what and where, exit code 2, and nothing is written."""

from __future__ import annotations

import gzip
import io
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.conftest import Run, posix_only

LONGEST_LINE = 700  # characters on standard error
HALF = "\\ud800"  # as JSON spells half of a surrogate pair
NOT_UTF8 = b"w\xff.csv".decode("utf-8", "surrogateescape")  # as Python hands on a file name that is not UTF-8
TOO_LONG = "x" * 300  # more than a file name may have
FLOOD = "x" * 5000
HUGE = "99999999999999"
TREE = "id,name,parent\nr,Root,\na,A,r\nb,B,r\n"


def parquet(**columns: Any) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file)
    return file.getvalue()


@dataclass(frozen=True)
class Case:
    """A command, the files that lie beside it, and a part of what it must say."""

    id: str
    arguments: tuple[str, ...]
    message: str
    files: Mapping[str, str | bytes] = field(default_factory=dict)


def texts(id: str, file: str, content: str | bytes, message: str, *options: str) -> Case:
    return Case(f"texts-{id}", ("names", "--texts", file, *options), message, {file: content})


def words(id: str, content: str | bytes, message: str) -> Case:
    files = {"words.csv": content, "tree.csv": TREE}  # a small tree is read faster than the world
    return Case(f"words-{id}", ("regions", "--tree", "tree.csv", "--words", "words.csv"), message, files)


def tree(id: str, content: str | bytes, message: str) -> Case:
    return Case(f"tree-{id}", ("regions", "--tree", "tree.csv"), message, {"tree.csv": content})


def names(id: str, content: str | bytes, message: str) -> Case:
    return Case(f"gazetteer-{id}", ("names", "--gazetteer", "names.csv"), message, {"names.csv": content})


def rules(id: str, content: str | bytes, message: str) -> Case:
    return Case(f"rules-{id}", ("gate", "run", "--rules", "rules.toml"), message, {"rules.toml": content})


def number(command: str, option: str, value: str, message: str) -> Case:
    return Case(f"{command} {option}={value[:20]}", (*command.split(), option, value), message)


TEXTS = [
    texts("empty", "a.csv", "", "The text file a.csv is empty."),
    texts("utf16", "a.csv", "text\nété\n".encode("utf-16"), "a.csv is not UTF-8 text (byte 0)"),
    texts("nul", "a.csv", "text\nJohn\na\0b\n", "a.csv has a NUL character in line 3"),
    texts("nul-json", "a.jsonl", '{"text": "a\\u0000"}\n', "row 1, column 'text': the text has a NUL character"),
    texts("header-alone", "a.csv", "\ufefftext\r\n", "a.csv has no texts: all 0 row(s) are blank."),
    texts("wrong-column", "a.csv", "tweet,n\na,1\n", "a.csv has no column 'text'. Its columns: tweet, n."),
    texts("option-column", "a.csv", "text\na\n", "has no column 'stars'. Its columns: text.", "--subset", "stars"),
    texts("two-columns", "a.csv", "text,text\na,b\n", "a.csv has 2 columns named 'text': rename all but one."),
    texts("ragged", "a.csv", "text,n\r\na,1\r\nb\r\n", "a.csv has 1 cell(s) in line 3 but 2 in the header"),
    texts("quotes", "a.tsv", 'text\tn\n"a" b\t1\n', "a.tsv has broken quoting in the row that starts in line 2"),
    texts("open-quote", "a.csv", 'text\na\n"b\n', "a.csv has broken quoting in the row that starts in line 3"),
    texts("no-json", "a.jsonl", '{"text": "a"}\n{"text": \n', "a.jsonl, line 2 is not valid JSON"),
    texts("no-object", "a.jsonl", '{"text": "a"}\n["b"]\n', "a.jsonl: row 2 is ['b']. Every row must be an object"),
    texts("deep-json", "a.jsonl", "[" * 100_000 + "\n", "a.jsonl, line 1 is not valid JSON"),
    texts("deep-cell", "a.jsonl", f'{{"text": "a", "y": {"[" * 900}{"]" * 900}}}', "nested too deeply", "--label", "y"),
    texts("mixed-types", "a.jsonl", '{"text": "a"}\n{"text": 5}\n', "row 2, column 'text': 5 is not a text"),
    texts("half-text", "a.jsonl", f'{{"text": "a{HALF}"}}', "row 1, column 'text': the text has half a character"),
    texts("half-id", "a.jsonl", f'{{"text": "a", "id": "{HALF}"}}', "row 1, column 'id': the value has half"),
    texts("half-subset", "a.jsonl", f'{{"text": "a", "g": "{HALF}"}}', "row 1, column 'g': the value", "--subset", "g"),
    texts("half-label", "a.jsonl", f'{{"text": "a", "y": ["{HALF}"]}}', "row 1, column 'y': the value", "--label", "y"),
    texts("half-spans", "a.jsonl", f'{{"text": "a", "s": "{HALF}"}}', "must be a list such as", "--spans", "s"),
    texts("long", "a.csv", f"text\na\n{'John Smith ' * 100_000}\n", "row 2, column 'text': the text has 1,100,000"),
    texts("spans-beyond", "a.csv", 'text,s\nhi,"[[0, 3]]"\n', "[0, 3] must have 0 <= start < end <= 2", "--spans", "s"),
    texts("spans-overlap", "a.csv", 'text,s\nJohn,"[[0, 3], [2, 4]]"\n', "[0, 3] and [2, 4] overlap", "--spans", "s"),
    texts("spans-no-list", "a.csv", "text,s\nJohn,0-3\n", "'0-3' must be a list such as [[0, 5]]", "--spans", "s"),
    texts("label-blank", "a.csv", "text,y\nJohn,\n", "row 1, column 'y': the label is blank", "--label", "y"),
    texts("parquet-cut", "a.parquet", parquet(text=["a"] * 100)[:-20], "a.parquet is damaged or not a Parquet file"),
    texts("parquet-dates", "a.parquet", parquet(text=["a"], id=pa.array([2**60], pa.timestamp("us"))),
          "a.parquet: column 'id' cannot be read"),
    texts("parquet-none", "a.parquet", "text\na\n", "a.parquet is damaged or not a Parquet file"),
    texts("parquet-packed", "a.parquet.gz", b"x", "a.parquet.gz is damaged or not gzipped"),
    texts("gz-cut", "a.csv.gz", gzip.compress(b"text\nJohn\n" * 99)[:-9], "a.csv.gz is damaged or not gzipped"),
    Case("texts-missing", ("names", "--texts", "none.csv"), "The text file none.csv does not exist."),
    Case("texts-folder", ("names", "--texts", "."), "The text file . cannot be read: Is a directory."),
    Case("texts-twice", ("names", "--texts", "a.csv", "--texts", "b.csv"), "Several --texts need a language each"),
]  # fmt: skip

NAME_FILES = [
    words("empty", "", "The word file words.csv is empty."),
    words("ragged", "word,topic\nkind,a\nrude,b,c\n", "words.csv has 3 cell(s) in line 3 but 2 in the header"),
    words("no-word", "word,topic\nkind,a\n,b\n", "words.csv has no word in line 3"),
    words("no-column", "adjective,topic\nkind,a\n", "words.csv has no column 'word'. Its first line is 'adjective"),
    words("one", "kind\n", "has 1 distinct word(s)"),
    words("long-line", f"kind\n{'a' * 200_000}\n", "words.csv, line 2: 'aaaa"),
    words("control", "kind\nru\x02de\n", "words.csv, line 2: 'ru\\x02de' has a control character at position 2"),
    tree("empty", "", "The region file tree.csv is empty."),
    tree("header-alone", "id,name,parent\n", "tree.csv has no regions"),
    tree("no-column", "id,name\nr,Root\n", "tree.csv has no column parent"),
    tree("orphan", f"id,name,parent\nr,Root,\na,A,{FLOOD}\n", "is not an id in the file"),
    names("empty", " \n", "The name file names.csv is empty."),
    names("kind", f"country,kind,name\nFR,{FLOOD},Luc\n", "in line 2. Use male, female or last."),
    names("control", "country;kind;name\nFR;last;Mar\x02tin\n", "names.csv, line 2: 'Mar\\x02tin' has a control"),
    Case("words-folder", ("regions", "--words", "."), "The word file . cannot be read: Is a directory."),
    Case("tree-missing", ("regions", "--tree", "none.csv"), "The region file none.csv does not exist."),
    rules("empty", "", "The rules file rules.toml is empty."),
    rules("no-toml", "rules = [", "The rules file rules.toml is not valid TOML"),
    rules("deep", f"rules = {'[' * 50_000}", "The rules file rules.toml is not valid TOML"),
    Case("rule-spaces", ("gate", "run", "--rule", " a . " * 800), "must be PATH OP NUMBER"),
]  # fmt: skip

PATH_OPTIONS = ("regions --words", "names --texts", "names --out", "gate run --rules", "report ", "compare run ")
ARGUMENTS = [
    *(
        Case(f"bytes-{command}".strip(), (*command.split(), NOT_UTF8), "The argument 'w\\xff.csv' is not valid UTF-8.")
        for command in PATH_OPTIONS
    ),
    *(
        Case(f"too-long-{command}".strip(), (*command.split(), TOO_LONG), "too long")
        for command in ("regions --out", "regions ", "names --texts", "gate ")
    ),
    Case("bytes-joined", ("names", f"--texts={NOT_UTF8}"), "'--texts=w\\xff.csv' is not valid UTF-8"),
    Case("bytes-language", ("names", "--texts", f"en={NOT_UTF8}"), "'en=w\\xff.csv' is not valid UTF-8"),
    Case("bytes-template", ("regions", "--template", NOT_UTF8), "is not valid UTF-8. Type it in UTF-8"),
    Case("bytes-prefix", ("downstream", "--prefix", NOT_UTF8), "is not valid UTF-8. Type it in UTF-8"),
    Case("long-country", ("names", "--countries", "x" * 4000), "Unknown country 'xxx"),
    Case("long-rule", ("gate", "run", "--rule", "x" * 4000), "must be PATH OP NUMBER"),
    Case("escapes", ("regions", "./\x1b[31mred"), "There is no model folder ./\\x1b[31mred"),
    Case("empty-out", ("regions", "--out", ""), "An argument is empty. Remove it, or check the shell variable"),
    Case("empty-joined", ("names", "--finder="), "--finder is empty. Remove it"),
    Case("empty-model", ("regions", " "), "An argument is empty. Remove it"),
    Case("home", ("regions", "--out", "~nobody-here/x"), "a name that has no home folder here"),
    Case("out-file", ("regions", "--tree", "t", "--words", "w", "--out", "t"), "is a file", {"t": TREE, "w": "a\nb\n"}),
]  # fmt: skip

SEED = "--seed must be between 0 and 4,294,967,295, not "
NUMBERS = [
    *(number("names", "--draws", v, f"--draws must be between 1 and 10,000, not {v}.") for v in (HUGE, "0", "-1")),
    number("names", "--draws", "9" * 30, f"--draws must be between 1 and 10,000, not {'9' * 30}."),
    *(number("names", "--limit", v, f"--limit must be between 1 and 1,000,000,000, not {v}.") for v in (HUGE, "0")),
    *(number("names", "--seed", v, f"{SEED}{v}.") for v in (HUGE, "-1")),
    *(number("names", "--preview", v, f"--preview must be between 1 and 10,000, not {v}.") for v in (HUGE, "0", "-1")),
    *(number("regions", "--cities", v, f"--cities must be between 0 and 100,000, not {v}.") for v in (HUGE, "-1")),
    *(
        number("downstream --regions cities", "--cities", v, f"--cities must be between 1 and 100,000, not {v}.")
        for v in (HUGE, "0")
    ),
    *(
        number("reproduce herb figure-5 --model embedded/lm", "--epochs", v, "--epochs must be between 1 and 10,000")
        for v in (HUGE, "0", "-1")
    ),
    *(number("reproduce herb 5 --texts a.csv", "--epochs", v, "--epochs must be between 1 and ") for v in (HUGE, "-1")),
    number(
        "reproduce names 1 --model embedded/hate", "--draws", HUGE, f"--draws must be between 1 and 10,000, not {HUGE}."
    ),
]

CASES = [*TEXTS, *NAME_FILES, *ARGUMENTS, *NUMBERS]


def parameter(case: Case) -> Any:
    return pytest.param(case, id=case.id)


@pytest.mark.parametrize("case", map(parameter, CASES))
def test_bad_input_is_one_line_and_leaves_nothing(run: Run, tmp_path: Path, case: Case) -> None:
    for name, content in case.files.items():
        (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
    code, out, err = run(*case.arguments)
    assert case.message in err
    assert (code, out) == (2, "")
    assert err.startswith("geobias: ") and err.count("\n") == 1 and len(err) < LONGEST_LINE
    assert "Traceback" not in err and err[:-1].isprintable()
    assert {path.name for path in tmp_path.iterdir()} == set(case.files)


@posix_only
@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may read everything")
def test_files_without_permission(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text\nJohn\n")
    (tmp_path / "a.csv").chmod(0)
    code, _, err = run("names", "--texts", "a.csv")
    assert (code, err) == (2, "geobias: The text file a.csv cannot be read: Permission denied.\n")


def test_every_case_has_its_own_name() -> None:
    assert len({case.id for case in CASES}) == len(CASES)
