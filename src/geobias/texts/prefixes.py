"""Texts with a sentence before them: "I am from France." and then the original text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from geobias.checks import check_characters, shorten
from geobias.errors import InputError
from geobias.texts.defaults import DEFAULT_PREFIX
from geobias.texts.lazy_texts import BlockShape, LazyTexts
from geobias.texts.templates import REGION

NOWHERE = "here"  # replaces the region in the control prefix


def check_prefix(prefix: str) -> str:
    """Return the prefix without surrounding spaces; refuse one without {region}."""
    check_characters(prefix, f"The prefix {shorten(prefix)!r}")
    if REGION not in prefix:
        raise InputError(f"The prefix {prefix!r} must hold {REGION}; for example: {DEFAULT_PREFIX!r}.")
    return prefix.strip()


def make_control_prefix(prefix: str, control: str | None) -> str:
    """The control prefix, which names no region: the user's, otherwise the prefix with "here" for the region."""
    if control is None:
        return prefix.replace(REGION, NOWHERE)
    check_characters(control, f"The control {shorten(control)!r}")
    if REGION in control or not control.strip():
        raise InputError(
            f"The control {control!r} must be a prefix that names no region, so without {REGION}; for example: "
            f"{prefix.replace(REGION, NOWHERE)!r}."
        )
    return control.strip()


@dataclass(frozen=True)
class PrefixedTexts(LazyTexts):
    """Every text with every prefix before it: texts x prefixes x 1."""

    texts: Sequence[str]
    prefixes: Sequence[str]

    @property
    def shape(self) -> BlockShape:
        return len(self.texts), len(self.prefixes), 1

    def at(self, text: int, prefix: int, _: int) -> str:
        return f"{self.prefixes[prefix]} {self.texts[text]}"
