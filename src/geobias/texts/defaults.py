"""The default template and prefix, in a module without imports so that `geobias --help` is fast."""

from __future__ import annotations

DEFAULT_TEMPLATE = "People in {region} are {description}."
DEFAULT_PREFIX = "I am from {region}."
