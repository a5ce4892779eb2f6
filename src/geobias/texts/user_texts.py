"""The texts of an audit: the user's, with their ids, languages, spans, labels and subsets, or the bundled tweets.

Texts stay unchanged, since offsets count their characters. The same rows give the same `Texts`
whichever format they come from.

**Copies** of one text (the same row again, or another filling of the same template) answer alike, so the second one
adds nothing to what is known of other texts: a test that counts it as a new text finds differences where there are
none. Every audit uses the first of them and counts the others. Two texts are copies if they are equal but for names,
numbers, handles, links, and upper and lower case. Names are the spans that the audit has, and words that look like
names: capitalised inside a sentence, or a listed name at its start.
"""

from __future__ import annotations

import hashlib
import json
import logging
import lzma
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import resources
from itertools import pairwise
from typing import Any, TypeVar

from geobias.checks import describe_choices, find_unusable_character, shorten
from geobias.errors import InputError
from geobias.texts.input_table import InputTable, read_table
from geobias.texts.people import Span
from geobias.world.gazetteer import load_gazetteer

BLANK = "(blank)"
LONGEST_TEXT = 1_000_000  # characters: what spaCy's pipelines take, and more than any classifier reads
Spans = tuple[tuple[int, int], ...]
Cell = TypeVar("Cell")
Parsed = TypeVar("Parsed")
log = logging.getLogger("geobias")
NAME = "\x00"  # stands for a name, a handle or a link; no text has this character
_UNIQUE = re.compile(r"(?:https?:|www\.)\S+|[\w.+-]{1,64}@[\w-]+\.\w+|[@＠]\w+")
_TOKEN = re.compile(rf"{NAME}|[^\W\d_]+|\d+|[^\w\s]|_")
_SENTENCE_END = frozenset('.!?…:"“”„«»()\n')


@dataclass(frozen=True)
class Texts:
    """Texts with their attributes; all fields with one entry per text have the same order."""

    texts: tuple[str, ...]
    ids: tuple[str, ...]
    languages: tuple[str, ...]  # "" when none was given
    spans: tuple[Spans, ...] | None  # start and end of the names in each text
    labels: tuple[tuple[str, ...], ...] | None  # true labels
    groups: dict[str, tuple[str, ...]]  # subset column -> value per text
    source: str  # how settings and messages name it
    left_out: int = 0  # rows without text
    copies: int = 0  # rows that `drop_copies` left out

    def __len__(self) -> int:
        return len(self.texts)

    def head(self, count: int) -> Texts:
        """The first `count` texts."""
        return self.take(range(min(count, len(self))))

    def take(self, rows: Iterable[int]) -> Texts:
        """The texts at these rows, in this order."""
        rows = list(rows)

        def select(values: Sequence[Any] | None) -> Any:
            return None if values is None else tuple(values[row] for row in rows)

        columns = {name: select(getattr(self, name)) for name in ("texts", "ids", "languages", "spans", "labels")}
        return replace(self, **columns, groups={name: select(values) for name, values in self.groups.items()})

    def drop_copies(self, rows: Sequence[int]) -> Texts:
        """The texts at these rows, of which the others are copies: `find_first_copies` tells."""
        return replace(self.take(rows), copies=self.copies + len(self) - len(rows))

    @cached_property
    def digest(self) -> str:
        """A hash of the content, independent of file and format."""
        digest = hashlib.blake2b(digest_size=16)
        for part in (self.texts, self.ids, self.languages, self.spans, self.labels, self.groups):
            digest.update(json.dumps(part, sort_keys=True).encode() + b"\n")
        return digest.hexdigest()


def read_texts(
    source: Any,
    *,
    column: str = "text",
    spans: str | None = None,
    label: str | None = None,
    subsets: Sequence[str] = (),
    language: str = "",
    limit: int | None = None,
) -> Texts:
    """Texts from a file (CSV, TSV, JSON lines, Parquet, plain lines) or from memory (lists, frames, datasets).

    `spans`, `label` and `subsets` name further columns. Ids are the column "id" where it tells the rows apart,
    otherwise the numbers of the rows. Rows after the first `limit` texts do not count.
    """
    table = read_table(source)
    _check_columns(table, column, spans, label, subsets)
    values = table.column(column)
    rows = [row for row, value in enumerate(values) if not _is_blank(value)][:limit]
    if not rows:
        raise InputError(f"{table.title} has no texts: all {len(values)} row(s) are blank.")
    places = [f"row {row + 1}" for row in rows]

    def parse_cells(name: str, cells: Iterable[Cell], parse: Callable[[Cell], Parsed]) -> tuple[Parsed, ...]:
        """Parse every cell; an error names the row and the column."""
        values = []
        where = "" if table.names is None else f", column {shorten(name)!r}"
        for place, cell in zip(places, cells, strict=True):
            try:
                values.append(parse(cell))
            except (ValueError, RecursionError) as error:
                problem = "the lists are nested too deeply" if isinstance(error, RecursionError) else error
                raise InputError(f"{table.title}, {place}{where}: {problem}.") from None
        return tuple(values)

    def read_cells(name: str) -> list[Any]:
        cells = table.column(name)
        return [cells[row] for row in rows]

    ids = tuple(str(row + 1) for row in rows)
    if table.names and "id" in table.names:
        user_ids = parse_cells("id", read_cells("id"), _parse_value)
        if "" not in user_ids and len(set(user_ids)) == len(user_ids):
            places = [
                place if key == number else f"{place} (id {shorten(key)!r})"
                for place, number, key in zip(places, ids, user_ids, strict=True)
            ]
            ids = user_ids
        else:
            log.warning("%s has blank or repeated ids; row numbers are used instead.", table.source)
    texts = parse_cells(column, [values[row] for row in rows], _parse_text)
    return Texts(
        texts=texts,
        ids=ids,
        languages=(language,) * len(texts),
        spans=parse_cells(spans, zip(read_cells(spans), texts, strict=True), _parse_spans)
        if spans is not None
        else None,
        labels=parse_cells(label, read_cells(label), _parse_labels) if label is not None else None,
        groups={
            name: tuple(value or BLANK for value in parse_cells(name, read_cells(name), _parse_value))
            for name in subsets
        },
        source=table.source,
        left_out=(rows[-1] + 1 if len(rows) == limit else len(values)) - len(rows),
    )


def join_texts(parts: Sequence[Texts]) -> Texts:
    """Join several sets, usually of several languages; each id starts with its language."""
    if not parts:
        raise InputError("No texts. Pass at least one file.")
    if len(parts) == 1:
        return parts[0]
    subsets = dict.fromkeys(name for part in parts for name in part.groups)
    presence = {name: [getattr(part, name) is not None for part in parts] for name in ("spans", "labels")}
    presence |= {f"the subset {name!r}": [name in part.groups for part in parts] for name in subsets}
    for what, present in presence.items():
        if any(present) and not all(present):
            having, lacking = parts[present.index(True)].source, parts[present.index(False)].source
            raise InputError(f"{having} has {what}, {lacking} has not. Give them to all files or to none.")
    ids = tuple(
        f"{language}:{key}" if language else key
        for part in parts
        for key, language in zip(part.ids, part.languages, strict=True)
    )
    if len(set(ids)) < len(ids):
        duplicate = Counter(ids).most_common(1)[0][0]
        raise InputError(f"Two texts have the id {duplicate!r}. Give each file its own language.")
    columns: dict[str, Any] = {
        name: tuple(value for part in parts for value in getattr(part, name))
        for name in ("texts", "languages", "spans", "labels")
        if getattr(parts[0], name) is not None
    }
    return replace(
        parts[0],
        **columns,
        ids=ids,
        groups={name: tuple(value for part in parts for value in part.groups[name]) for name in subsets},
        source=", ".join(part.source for part in parts),
        left_out=sum(part.left_out for part in parts),
    )


def sample_texts() -> Texts:
    """The bundled tweets that name a person, with the spans of the names."""
    packed = resources.files("geobias.texts").joinpath("data/tweets.jsonl.xz").read_bytes()
    content = lzma.decompress(packed).decode("utf-8")
    tweets = [json.loads(line) for line in content.removesuffix("\n").split("\n")]
    texts = read_texts(tweets, spans="persons", language="en")
    return replace(texts, source="the bundled tweets")


def _check_columns(
    table: InputTable, column: str, spans: str | None, label: str | None, subsets: Sequence[str]
) -> None:
    options = [("--spans", spans), ("--label", label), *(("--subset", subset) for subset in subsets)]
    columns = [(option, name) for option, name in options if name is not None]
    if table.names is None:
        if columns:
            option, name = columns[0]
            raise InputError(
                f"{table.title} has one text per line and no columns, so {option} {name} cannot be used. Use a table "
                "(CSV, JSONL, Parquet, a DataFrame), or remove the option."
            )
        return
    for option, name in (("--column", column), *columns):
        if name not in table.names:
            choices = describe_choices(name, table.names, "Its columns")
            raise InputError(f"{table.title} has no column {shorten(name)!r}. {choices} Choose one with {option}.")


def _is_blank(value: Any) -> bool:
    is_nan = isinstance(value, float) and value != value
    return value is None or is_nan or (isinstance(value, str) and not value.strip())


def _parse_value(value: Any) -> str:
    """A cell as text, blank where it has none; a whole number loses its ".0", which it gets in columns with gaps."""
    if _is_blank(value):
        return ""
    return _check_usable(re.sub(r"^(-?\d+)\.0$", r"\1", str(value).strip()), "value")


def _check_usable(text: str, what: str) -> str:
    problem = find_unusable_character(text)  # JSON can spell half of an emoji, and no tokenizer takes it
    if problem:
        raise ValueError(f"the {what} has {problem}. Remove it")
    return text


def _to_python(value: Any) -> Any:
    """Convert NumPy values, as pandas returns them, to Python lists and numbers."""
    value = value.tolist() if hasattr(value, "tolist") else value
    return [_to_python(item) for item in value] if isinstance(value, list | tuple) else value


def _parse_text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r:.60} is not a text. Choose another column, or fix the row")
    if len(value) > LONGEST_TEXT:
        raise ValueError(f"the text has {len(value):,} characters; the limit is {LONGEST_TEXT:,}. Split or shorten it")
    return _check_usable(value, "text")


def _parse_spans(cell: tuple[Any, str]) -> Spans:
    value, text = cell
    if _is_blank(value):
        return ()
    pairs = []
    for item in _parse_list(value, "such as [[0, 5]]"):
        pair = _to_python([item.get("start"), item.get("end")]) if isinstance(item, Mapping) else item
        if not isinstance(pair, list) or [type(number) for number in pair] != [int, int]:
            raise ValueError(f"the span {item!r:.60} must be two whole numbers, [start, end]")
        start, end = pair
        if not 0 <= start < end <= len(text):
            raise ValueError(f"the span {pair} must have 0 <= start < end <= {len(text)}, the length of its text")
        pairs.append((start, end))
    pairs.sort()
    for first, second in pairwise(pairs):
        if second[0] < first[1]:
            raise ValueError(f"the spans {list(first)} and {list(second)} overlap. Keep one of them")
    return tuple(pairs)


def _parse_labels(value: Any) -> tuple[str, ...]:
    value = _to_python(value)
    several = isinstance(value, list) or (isinstance(value, str) and value.strip().startswith("["))
    labels = _parse_list(value, 'such as ["joy", "anger"]') if several else [value]
    if any(_is_blank(label) for label in labels):
        raise ValueError("the label is blank. Fill it in, or remove the row")
    if any(isinstance(label, Mapping | list) for label in labels):
        raise ValueError(f"{value!r:.60} must be a label or a list of labels")
    return tuple(_parse_value(label) for label in labels)


def _parse_list(value: Any, example: str) -> list[Any]:
    """A list, or the list that a text spells in JSON, as in a cell of a CSV."""
    items = _to_python(value)
    if isinstance(value, str):
        try:
            items = json.loads(value)
        except (ValueError, RecursionError):
            items = None
    if not isinstance(items, list):
        raise ValueError(f"{value!r:.60} must be a list {example}")
    return items


def find_first_copies(texts: Sequence[str], spans: Sequence[Sequence[Span]] | None = None) -> list[int]:
    """Return the position of every text that is no copy of an earlier one."""
    seen: set[bytes] = set()
    first = []
    for row, text in enumerate(texts):
        key = copy_key(text, () if spans is None else spans[row])
        if key not in seen:
            seen.add(key)
            first.append(row)
    return first


def copy_key(text: str, spans: Sequence[Span] = ()) -> bytes:
    """Return what copies of a text have in common, as a digest."""
    return hashlib.blake2b(_mask_fillings(text, spans).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _mask_fillings(text: str, spans: Sequence[Span]) -> str:
    for start, end in sorted(spans, reverse=True):
        text = f"{text[:start]} {NAME} {text[end:]}"
    text = _UNIQUE.sub(f" {NAME} ", unicodedata.normalize("NFKC", text))
    tokens = [token for token in _TOKEN.findall(text) if not token.isdigit()]
    looks_like_name = [_looks_like_name(tokens, i) for i in range(len(tokens))]
    words = sum(token[0].isalpha() for token in tokens)
    if text.isupper() or 2 * sum(looks_like_name) > words:  # in capitals, or a headline: capitals mark no names
        looks_like_name = [False] * len(tokens)
    masked = [NAME if is_name else token.casefold() for token, is_name in zip(tokens, looks_like_name, strict=True)]
    # A name of two words and one of three fill the same place.
    kept = [token for i, token in enumerate(masked) if token != NAME or masked[i - 1 : i] != [NAME]]
    return " ".join(kept)


def _looks_like_name(tokens: Sequence[str], position: int) -> bool:
    word = tokens[position]
    if not word[0].isupper():
        return False
    if position > 0 and tokens[position - 1] not in _SENTENCE_END:
        return len(word) > 1 or not word.isascii()  # "I" is no name
    names = load_gazetteer("all")
    return names.is_first(word) or names.is_last(word)
