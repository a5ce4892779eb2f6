"""Hook of the documentation site: a link to a file outside of the site is a warning, so `make docs-check` fails.

MkDocs itself reports such a link at level INFO, whatever its `validation` says, and the site would have a dead link.
"""

from __future__ import annotations

import logging


def _raise_level(record: logging.LogRecord) -> bool:
    if "excluded from the built site" in record.getMessage():
        record.levelno, record.levelname = logging.WARNING, logging.getLevelName(logging.WARNING)
    return True


logging.getLogger("mkdocs.structure.pages").addFilter(_raise_level)
