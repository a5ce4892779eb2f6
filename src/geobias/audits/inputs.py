"""Input that several audits read: texts, lists of names, a number of cities; and the people whom they rename."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd

from geobias.checks import HIGHEST_SEED, MOST_ROWS, check_number, check_size, split_list
from geobias.errors import InputError
from geobias.texts.counterfactuals import Counterfactuals
from geobias.texts.input_table import is_hub_name
from geobias.texts.people import Person
from geobias.texts.user_texts import Texts, join_texts, read_texts, sample_texts
from geobias.world.gazetteer import ENOUGH, FEWEST_NAMES, PAPER_COUNTRIES, Gazetteer

SAMPLE = 100  # bundled tweets that are used where neither texts nor a limit are given


@dataclass(frozen=True)
class TextsSettings:
    """Which texts were used."""

    source: str
    """The file, or what the texts were given as."""
    count: int
    digest: str
    """Tells other texts apart, wherever they come from."""

    @classmethod
    def describe(cls, texts: Texts) -> TextsSettings:
        return cls(texts.source, len(texts), texts.digest)


@dataclass(frozen=True, kw_only=True)
class ClassifierSettings:
    """Settings that identify a run of classifiers on texts."""

    texts: TextsSettings
    threshold: float | None
    """A class is predicted from this probability on; null for the likeliest one."""
    prompt: dict[str, Any] | None = None
    """Prompt for language models."""
    classifiers: list[str]


@dataclass(frozen=True, kw_only=True)
class TextCounts:
    """Numbers of texts."""

    texts: int
    rows_without_text: int
    """Left out."""
    copies: int = 0
    """Rows left out because they repeat another text but for names, numbers and case."""

    @classmethod
    def count(cls, texts: Texts, **more: Any) -> Self:
        return cls(texts=len(texts), rows_without_text=texts.left_out, copies=texts.copies, **more)


def describe_copies(texts: int, copies: int, noun: str = "text") -> str:
    """ " (240 rows, 8 distinct texts)" where some are copies (texts/user_texts.py); nothing otherwise."""
    return f" ({texts + copies:,} rows, {texts:,} distinct {noun}{'' if texts == 1 else 's'})" if copies else ""


def list_copies(copies: int, noun: str = "text") -> Iterator[str]:
    """A note on the copies that were left out, if there are any."""
    if copies:
        yield (
            f"Left out, since they repeat another {noun} but for names, numbers and case: {copies:,} rows. Copies are "
            "answered alike: counted as texts of their own, they would look like evidence."
        )


def load_texts(
    source: Any,
    *,
    column: str = "text",
    spans: str | None = None,
    label: str | None = None,
    subsets: str | Sequence[str] = (),
    limit: int | None = None,
    sample: int = SAMPLE,
) -> Texts:
    """The user's texts, or {language: texts}; without a source the first bundled tweets that name a person."""
    if limit is not None:
        check_number("--limit", limit, 1, MOST_ROWS)
    if source is None:
        options = {"--column": column != "text", "--spans": spans, "--label": label, "--subset": subsets}
        for option in (option for option, value in options.items() if value):
            raise InputError(f"{option} needs --texts: the bundled tweets have no such column.")
        return sample_texts().head(limit or sample)
    subsets = [subsets] if isinstance(subsets, str) else subsets
    sources = source.items() if isinstance(source, Mapping) else [("", source)]
    parts = [
        read_texts(part, column=column, spans=spans, label=label, subsets=subsets, language=language, limit=limit)
        for language, part in sources
    ]
    texts = join_texts(parts)
    if len(set(texts.languages)) > 1 and "language" in texts.groups:
        raise InputError("--texts already sets the languages as subsets. Remove --subset language.")
    return texts


def parse_text_files(values: Sequence[str] | None) -> str | Path | dict[str, str | Path] | None:
    """`--texts FILE`, or several `--texts LANGUAGE=FILE` as {language: file}; a file may have "=" in its name.

    Names on the Hugging Face Hub stay as they are: a path would lose a slash of "hf://".
    """
    if not values:
        return None
    files: dict[str, str | Path] = {}
    for value in values:
        language, separator, path = value.partition("=")
        if not separator or os.path.exists(value):  # False for a name that is too long for a file
            language, path = "", value
        if language in files:
            raise InputError("Several --texts need a language each: --texts en=a.csv --texts eu=b.csv.")
        files[language] = path if is_hub_name(path) else Path(path)
    return files[""] if list(files) == [""] else files


def distinct_texts(texts: Texts) -> Texts:
    """Every text once: a repeated one could be in the training and the test set."""
    return texts.take(np.flatnonzero(~pd.Series(texts.texts).duplicated()))


def text_classes(texts: Texts) -> list[str]:
    """The one label of each text."""
    assert texts.labels is not None
    for text_id, labels in zip(texts.ids, texts.labels, strict=True):
        if len(labels) != 1:
            raise InputError(
                f"{texts.source}, text {text_id}: {len(labels)} labels. Training needs exactly one per text."
            )
    return [labels[0] for labels in texts.labels]


def split_by_class(rows: np.ndarray, classes: Sequence[str], share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows that remain and those that are held out, the same share of every class."""
    rng = np.random.default_rng(seed)
    held_out: list[int] = []
    for label in sorted({classes[row] for row in rows}):
        shuffled = rng.permutation([row for row in rows if classes[row] == label])
        held_out += list(shuffled[: max(1, round(share * len(shuffled)))])
    remaining = np.setdiff1d(rows, held_out)
    if {classes[row] for row in remaining} != {classes[row] for row in rows}:
        rarest = Counter(classes[row] for row in rows).most_common()[-1][0]
        raise InputError(
            f"Too few texts have the label {rarest!r} to split them into training and test texts. Add more."
        )
    return remaining, np.sort(held_out)


MOST_DRAWS = 10_000


def check_draws(draws: int, seed: int) -> None:
    check_number("--draws", draws, 1, MOST_DRAWS)
    check_number("--seed", seed, 0, HIGHEST_SEED)


def choose_countries(
    gazetteer: Gazetteer, names: str | Sequence[str] | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The codes of the countries to draw names from, and of those that "all" leaves out for lack of names."""
    if names == "all" or (names is None and not set(PAPER_COUNTRIES) <= set(gazetteer.codes)):
        left_out = tuple(code for code in gazetteer.codes if gazetteer.find_short_lists(code))
        codes = tuple(code for code in gazetteer.codes if code not in left_out)
        if not codes:
            raise InputError(
                f"No country has at least {ENOUGH} names of every kind ({', '.join(gazetteer.kinds)}). Add names."
            )
        return codes, left_out
    codes = PAPER_COUNTRIES
    if names is not None:
        codes = tuple(dict.fromkeys(gazetteer.find(name.strip()) for name in split_list(names, "--countries")))
    if not codes:
        raise InputError("--countries is empty. Add at least one value, or remove it.")
    for code in codes:
        for kind, count in gazetteer.find_short_lists(code):
            raise InputError(
                f"{gazetteer.country(code)} has {count} {kind} names in this script; at least {ENOUGH} are needed. "
                "Remove the country, add names (--gazetteer), or use names of all scripts (scripts='all' in Python)."
            )
    return codes, ()


def drop_short_lists(
    gazetteer: Gazetteer, codes: Sequence[str], names: str | Sequence[str] | None, reason: str, advice: str = ""
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The countries with enough of the names that are left, and the others; refuse one that the user names."""
    short = {code: lists for code in codes if (lists := gazetteer.find_short_lists(code, FEWEST_NAMES))}
    if short and (names not in (None, "all") or len(short) == len(codes)):
        code, lists = next(iter(short.items()))
        kind, count = lists[0]
        raise InputError(
            f"{gazetteer.country(code)} has {count} {kind} names {reason}; at least {FEWEST_NAMES} are needed. Remove "
            f"the country from --countries{advice}."
        )
    return tuple(code for code in codes if code not in short), tuple(short)


class NobodyNamedError(InputError):
    """No text names anybody, or the finder does not read the texts, so nobody can be renamed."""


def rename_people(
    texts: Texts,
    people: Sequence[tuple[Person, ...]],
    gazetteer: Gazetteer,
    codes: Sequence[str],
    *,
    draws: int,
    seed: int,
) -> tuple[np.ndarray, Counterfactuals]:
    """The positions of the texts that name somebody, and these texts with names of every country."""
    named = np.array([i for i, row in enumerate(people) if row], dtype=int)
    check_size(len(named) * len(codes) * draws, "renamed texts", "Use fewer --draws, --countries or texts (--limit)")
    return named, Counterfactuals(
        [texts.texts[i] for i in named], [row for row in people if row], gazetteer, codes, draws=draws, seed=seed
    )


def digest_mentions(people_by_text: Sequence[Sequence[Person]]) -> str:
    """What tells apart two ways of finding names in the same texts."""
    spans = [
        [(mention.start, mention.end) for person in persons for mention in person.mentions]
        for persons in people_by_text
    ]
    return hashlib.blake2b(json.dumps(spans).encode(), digest_size=16).hexdigest()
