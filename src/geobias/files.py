"""Reading and writing files: whole or not at all, and every failure one sentence."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import platformdirs

from geobias.errors import InputError


def cache_folder() -> Path:
    """Where everything is kept: `GEOBIAS_CACHE`, or the user's cache folder."""
    return Path(os.environ.get("GEOBIAS_CACHE") or platformdirs.user_cache_path("geobias")).expanduser()


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


def write_whole(path: Path, content: bytes) -> None:
    """Either the whole file is there under its name, or nothing is."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(aside, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
