"""Read environment variables."""

from __future__ import annotations

import os
from collections.abc import Mapping


def variable(name: str, environ: Mapping[str, str] | None = None) -> str | None:
    """
    Return the value of an environment variable, or None if it is not set.

    Trailing line breaks are removed, because secrets from files often end with one.

    Args:
        name: the variable's name.
        environ: None means `os.environ`.
    """
    text = (os.environ if environ is None else environ).get(name)
    return None if text is None else without_line_end(text)


def without_line_end(text: str) -> str:
    """Return the text without trailing line breaks."""
    return text.rstrip("\r\n")
