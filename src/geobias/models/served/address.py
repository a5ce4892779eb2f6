"""The URL of a server, and the key that is sent to it.

The key comes from the environment (`GEOBIAS_API_KEY`) and goes into the header of the calls, nowhere else.
"""

from __future__ import annotations

import os
from urllib.parse import urlsplit

from geobias.errors import InputError

KEY_VARIABLE = "GEOBIAS_API_KEY"
OPENAI_HOST, OPENAI_KEY_VARIABLE = "api.openai.com", "OPENAI_API_KEY"


def check_url(url: str) -> str:
    """Return the URL without a slash at its end. One that could hold a secret is refused, and not repeated."""
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:
        raise InputError("The endpoint is no URL: write it as http://localhost:8000/v1.") from None
    if parts.username is not None or parts.query or parts.fragment:
        raise InputError(
            f"The endpoint's URL must hold no user, password, query or fragment: a key goes into {KEY_VARIABLE}."
        )
    if parts.scheme not in ("http", "https") or not parts.hostname:
        excerpt = "" if set(url) & set("@?#") else f" {url!r}"  # a mistyped URL may hold a password all the same
        raise InputError(f"The endpoint{excerpt} is no URL: write it as http://localhost:8000/v1.")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}{f':{port}' if port else ''}{parts.path.rstrip('/')}"


def read_key(url: str) -> tuple[str, str]:
    """Return the environment variable for this URL, and the key in it; empty if it is not set.

    OpenAI's own variable is used for OpenAI only.
    """
    is_openai = urlsplit(url).hostname == OPENAI_HOST and KEY_VARIABLE not in os.environ
    variable = OPENAI_KEY_VARIABLE if is_openai else KEY_VARIABLE
    key = os.environ.get(variable, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise InputError(f"{variable} holds characters that no key has: set it anew.")
    return variable, key
