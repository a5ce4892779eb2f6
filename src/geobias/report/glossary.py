"""The terms of the output, each defined in plain words.

The page explains them where they are used, `geobias explain` prints them, and docs/glossary.md lists them.
`glossary.toml` holds them.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Final

from geobias.checks import suggest

MOST_SUGGESTIONS: Final = 5


@dataclass(frozen=True)
class Term:
    """A term as the output writes it, what it means, other forms of it, and what it does not mean.

    The page marks a term wherever it occurs, unless it is an everyday word that often has its ordinary meaning.
    """

    name: str
    definition: str
    other_forms: tuple[str, ...] = ()
    note: str = ""
    is_everyday: bool = False
    search_forms: tuple[str, ...] = ()  # forms that only `geobias explain` knows

    @property
    def id(self) -> str:
        """For links: ASCII letters, digits and hyphens."""
        plain = self.name.lower().replace("δ", "delta").replace("%", "percent").replace("×", "times")
        return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")

    @property
    def aliases(self) -> list[str]:
        """Other forms that are more than the plural of the name."""
        return [form for form in self.other_forms if form.lower() not in (f"{self.name.lower()}s", "leaves")]


def _load_topics() -> dict[str, tuple[Term, ...]]:
    content = tomllib.loads(resources.files("geobias.report").joinpath("glossary.toml").read_text(encoding="utf-8"))
    return {topic: tuple(map(_read_term, entries)) for topic, entries in content.items()}


def _read_term(entry: dict[str, Any]) -> Term:
    values: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in entry.items()}
    return Term(**values)


TOPICS: Final = _load_topics()
TERMS: Final = tuple(term for terms in TOPICS.values() for term in terms)


def find_term(text: str) -> Term | None:
    """The term with this name or form, in upper or lower case."""
    return list_forms().get(text.strip().lower())


def suggest_terms(text: str) -> list[Term]:
    """Terms with a form near to a text: a misspelt one, else those that contain it as a word."""
    folded, forms = text.strip().lower(), list_forms()
    nearest = suggest(folded, forms, most=MOST_SUGGESTIONS)
    word = re.compile(rf"\b{re.escape(folded)}\b")
    containing = [form for form in forms if folded and word.search(form)]
    return list(dict.fromkeys(forms[form] for form in nearest or containing))[:MOST_SUGGESTIONS]


def split_terms(text: str) -> list[tuple[str, Term | None]]:
    """The text in pieces, the first occurrence of each term as a separate piece; everyday words are not marked."""
    pieces: list[tuple[str, Term | None]] = []
    seen: set[Term] = set()
    end = 0
    for match in _pattern().finditer(text):
        term = list_forms()[match[0].lower()]
        if term in seen:
            continue
        seen.add(term)
        pieces += [(text[end : match.start()], None), (match[0], term)]
        end = match.end()
    return [(piece, term) for piece, term in [*pieces, (text[end:], None)] if piece]


@cache
def list_forms() -> dict[str, Term]:
    """Every name and other form in lower case, with its term."""
    return {form.lower(): term for term in TERMS for form in (term.name, *term.other_forms, *term.search_forms)}


@cache
def _pattern() -> re.Pattern[str]:
    """Whole words, the longest form first."""
    forms = [form for term in TERMS if not term.is_everyday for form in (term.name, *term.other_forms)]
    alternatives = "|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True))
    return re.compile(rf"(?<![\w-])(?:{alternatives})(?![\w-])", re.IGNORECASE)
