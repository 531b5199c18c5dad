"""
Text that must not be shown: passwords, tokens, and URLs that may hold one.

Both types are strings, so libraries take them; but what Python prints of them (`repr`, `str`,
f-strings, `%s`) is masked, in logs, tracebacks and error messages alike. `reveal` returns the text
itself, for the code that must send it.
"""

from __future__ import annotations

from typing import Any, Self

MASK = "***"


class Secret(str):
    """A password, a token or a header value, which is never shown."""

    __slots__ = ()

    def __new__(cls, text: str = "") -> Self:
        # `str(text)` of another secret would be its mask.
        return super().__new__(cls, reveal(text))

    @property
    def shown(self) -> str:
        """What may be printed of it."""
        return MASK if len(self) else ""

    def __str__(self) -> str:
        return self.shown

    def __repr__(self) -> str:
        return repr(self.shown)

    def __format__(self, spec: str) -> str:
        return format(self.shown, spec)

    def __getnewargs__(self) -> tuple[Any, ...]:
        return (reveal(self),)


class SecretUrl(Secret):
    """A URL that may hold a password: shown without it."""

    __slots__ = ()

    @property
    def shown(self) -> str:
        return without_password(self)


def reveal(text: str) -> str:
    """The text itself, as a plain string."""
    return str.__str__(text)


def without_password(url: str) -> str:
    """
    `url` as it may be shown: login and query are masked. Any text will do, also a malformed URL.

    Everything before the last `@` counts as login: a password may hold `/`, `#` and `@` unescaped.
    """
    text = reveal(url)
    scheme, separator, rest = text.partition("://")
    if not separator:
        scheme, rest = "", text
    login, at, place = rest.rpartition("@")
    if login:
        place = MASK + at + place
    path, question, query = place.partition("?")
    if any(word in query.lower() for word in ("pass", "secret", "token", "key")):
        path += question + MASK
        question = query = ""
    return scheme + separator + path + question + query


NO_URL = SecretUrl()


def mask(section: object, **values: Any) -> None:
    """Replace fields of a frozen dataclass, such as a section of the settings, by masked ones."""
    for name, value in values.items():
        object.__setattr__(section, name, value)


def secret_urls(texts: tuple[str, ...]) -> tuple[SecretUrl, ...]:
    """Return URLs that may contain passwords, masked."""
    return tuple(SecretUrl(text) for text in texts)
