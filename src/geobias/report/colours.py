"""What colours mean; the colours themselves are in page/templates/figure.css."""

from __future__ import annotations

from typing import Literal

Tone = Literal["better", "worse", "neutral"]
"""What a difference means for the person: better, worse, or neither."""
