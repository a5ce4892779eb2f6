"""The errors a user may meet. Each is one sentence that says what is wrong and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class GeobiasError(Exception):
    """Something failed while running; the command line ends with exit code 3."""

    exit_code = 3


class InputError(GeobiasError):
    """The user gave something that cannot be used; the command line ends with exit code 2."""

    exit_code = 2


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Name the file and the remedy when writing fails: a full disk, a folder without permission."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(
            f"Cannot write {path}: {reason}. Free some space, or choose another place with --out or GEOBIAS_CACHE."
        ) from error


def read_text(path: Path, what: str) -> str:
    """The text of a user's UTF-8 file; every way it can be unreadable is one sentence."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"The {what} {path} does not exist.") from None
    except UnicodeDecodeError as error:
        raise InputError(
            f"The {what} {path} is not UTF-8 text (byte {error.start}): save it as UTF-8 and try again."
        ) from None
    except OSError as error:
        raise InputError(f"The {what} {path} cannot be read: {error.strerror or error}.") from None
    if not text.strip():
        raise InputError(f"The {what} {path} is empty.")
    return text
