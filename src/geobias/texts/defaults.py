"""What is asked when nobody says otherwise; in a file of its own, so that `geobias --help` reads little."""

from __future__ import annotations

DEFAULT_TEMPLATE = "People in {region} are {description}."
DEFAULT_PREFIX = "I am from {region}."
