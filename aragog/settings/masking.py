"""Masked types for the secrets of a section."""

from __future__ import annotations

from typing import Any

from aragog.secret import SecretUrl

NO_URL = SecretUrl()


def mask(section: object, **values: Any) -> None:
    """Convert the secrets of a frozen section to masked types."""
    for name, value in values.items():
        object.__setattr__(section, name, value)


def secret_urls(texts: tuple[str, ...]) -> tuple[SecretUrl, ...]:
    """Return URLs that may contain passwords, masked."""
    return tuple(SecretUrl(text) for text in texts)
