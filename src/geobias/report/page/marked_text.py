"""Texts in pieces, so that the page can set off names and commands; the page escapes every piece."""

from __future__ import annotations

import re
from collections.abc import Sequence

from markupsafe import Markup

from geobias.report.page.blocks import Part

QUOTED = re.compile(r"(?<!\w)&#39;.+?&#39;(?!\w)")  # in HTML: not the apostrophe of a name


def mark_names(text: str, names: Sequence[str | None], mark: str, original_names: Sequence[str] = ()) -> list[Part]:
    """The text in pieces, those that are one of the names, or a word of it, with the mark.

    A name in place of an original one follows its case: lower, upper, or as it is.
    """
    words = {word for name in names if name for word in [name, *name.split()]}
    if original_names:
        words |= {word.lower() for word in words if any(name.islower() for name in original_names)}
        words |= {word.upper() for word in words if any(name.isupper() for name in original_names)}
    if not words:
        return [(text, None)]
    pattern = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
    pieces = re.split(rf"(?<!\w)((?:{pattern})(?:\s+(?:{pattern}))*)(?!\w)", text)
    return [(piece, mark if k % 2 else None) for k, piece in enumerate(pieces) if piece]


def split_code(text: str) -> list[tuple[str, bool]]:
    """The text in pieces; code is the text between backticks, and a command that ends the text after a colon."""
    pieces = re.split(r"`([^`]+)`|(?<=: )(geobias [a-z].*)$", text)
    return [(piece, k % 3 != 0) for k, piece in enumerate(pieces) if piece]


def hide_quoted_words(html: Markup) -> Markup:
    """The HTML with every word in single quotes set off, so that the page's switch can hide it."""
    hidden = '<span class="texts">\\g<0></span><span class="hidden-word">a word</span>'
    return Markup(QUOTED.sub(hidden, str(html)))
