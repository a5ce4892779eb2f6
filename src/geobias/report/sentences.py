"""Numbers and lists as the sentences of findings have them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from geobias.report.findings import Size, format_p
from geobias.report.tables import listed

if TYPE_CHECKING:
    from geobias.report.results import HasInterval

MOST_NAMES = 3
_SPECIAL = re.compile(r"([\\`*_\[\]<>|~#&$])")  # in Markdown


def format_number(value: float) -> str:
    """Two significant digits, without an exponent; whole numbers keep all their digits."""
    if value == 0:
        return "0"
    places = max(0, 1 - math.floor(math.log10(abs(value))))
    return f"{value:.2g}" if places > 6 else f"{value:.{places}f}"


def format_evidence(estimate: HasInterval, p_adjusted: float | None, unit: str = "") -> str:
    """The interval and the adjusted p-value, for the brackets behind a number."""
    if estimate.low is None or estimate.high is None:
        return format_p(p_adjusted)
    bounds = f"{format_number(estimate.low)} to {format_number(estimate.high)}"
    return f"95 % interval {bounds}{f' {unit}' if unit else ''}; {format_p(p_adjusted)}"


def measure_size(estimate: HasInterval, unit: str) -> Size | None:
    """An estimate as the size of a finding."""
    return None if estimate.value is None else Size(estimate.value, estimate.low, estimate.high, unit)


def say_missed(data: str, effect: float | None, sizes: Iterable[float], form: Callable[[float], str]) -> str:
    """ " With these 24 texts a difference under 3 points could be missed.": the end of a null result.

    `effect` would typically be detected; nothing is said where it is not known. Some of `sizes`, the differences that
    were not detected, may still be larger: of a country with rarer names, say.
    """
    if not effect:
        return ""
    return f" With these {data} a difference under {form(max([effect, *map(abs, sizes)]))} could be missed."


def list_first(names: Sequence[str], most: int = MOST_NAMES) -> str:
    """The first few names, and how many more there are."""
    if len(names) <= most:
        return listed(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"


def to_markdown(text: str) -> str:
    """Text that Markdown shows unchanged, on one line and within one cell."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def format_list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
