"""
The exceptions of this package.

    UrlSpellingError
    ├── InvalidUrl          the caller's string is not an http(s) URL
    └── InvalidSiteRules    a configuration file with site rules is invalid

Retrying does not help. Both can be pickled.
"""

from __future__ import annotations


class UrlSpellingError(Exception):
    """The base class of this package's exceptions."""


class InvalidUrl(UrlSpellingError, ValueError):
    """
    The string is not an http(s) URL. The message shows at most 200 characters of it.

    `url` is the string as passed, and `reason` says what is wrong with it.
    """

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(url, reason)
        self.url = url
        self.reason = reason

    def __str__(self) -> str:
        excerpt = self.url if len(self.url) <= 200 else f"{self.url[:200]}…"
        return f"{self.reason}: {excerpt!r}"


class InvalidSiteRules(UrlSpellingError, ValueError):
    """
    A file with rules for individual sites is invalid.

    `problems` has one line per mistake, with the file, the value and how to fix it.
    """

    def __init__(self, *problems: str) -> None:
        super().__init__(*problems)
        self.problems = problems

    def __str__(self) -> str:
        return "\n".join(self.problems)
