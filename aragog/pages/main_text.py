"""
Finds a page's main text, which a crawl can store in several formats, such as Markdown. No I/O.

The main text is an article, a recipe or a page of documentation, without menus, teasers and
comments. The setting `pipeline.text_finder` selects the finder: `trafilatura` (the extra `text`),
or a function that an installed package declares under the group `aragog.text_finders`:

    def my_text(page: Document, form: str) -> str:
        return page.tree.css_first("main").text()

If the finder's version changes, stored texts are extracted again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING

import orjson

from aragog.errors import ConfigError, Unsupported
from aragog.runtime.extras import has, install_command
from richpins.main_text import FORMS, TRAFILATURA, find, finder_version

if TYPE_CHECKING:
    from richpins.document import Document  # callers that read field names need no parser

GROUP = "aragog.text_finders"
FIELDS = {form: f"page.{form}" for form in FORMS}
"""The field of each form of a text, such as plain text or Markdown."""
VERSION_FIELD = "page.text_version"
MAX_BYTES = 1_000_000
"""Maximum size of a stored text, as JSON."""


@dataclass(frozen=True, slots=True)
class TextFinder:
    """A function that extracts main text, and its version."""

    find: Callable[[Document, str], str]
    """Returns a page's text in one of `FORMS`, or "" if there is none."""
    version: str
    """Changes whenever the finder might return another text for the same page."""


class TextTooLong(ValueError):
    """A text is too long to store."""


@lru_cache(maxsize=16)
def load(name: str) -> TextFinder:
    """
    Import the finder with this name.

    Raises:
        ConfigError: no installed package declares it, or it cannot be imported.
        Unsupported: the extra `text` is not installed.
    """
    if name == TRAFILATURA:
        if not has("text"):
            raise Unsupported(
                f"the main text needs {name}, which is not installed: {install_command('text')}"
            )
        return TextFinder(find, finder_version())
    return load_from(entry_points(group=GROUP), name)


def load_from(points: Iterable[EntryPoint], name: str) -> TextFinder:
    """Like `load`, for these entry points."""
    declared_points = {point.name: point for point in points}
    if name not in declared_points:
        available = ", ".join(sorted({TRAFILATURA, *declared_points}))
        raise ConfigError(
            f"pipeline.text_finder: no installed package declares {name!r} under {GROUP}; "
            f"declared: {available}"
        )
    point = declared_points[name]
    try:
        find = point.load()
    except Exception as error:
        raise ConfigError(f"pipeline.text_finder: {name!r} cannot be loaded: {error}") from error
    return TextFinder(find, f"{name} {point.dist.version if point.dist else '0'}")


def stored_version(finder: TextFinder, forms: Iterable[str]) -> str:
    """Return the version that is stored for these forms, or "" if there are none."""
    names = ", ".join(sorted(forms))
    return f"{finder.version}: {names}" if names else ""


def to_fields(page: Document, finder: TextFinder, forms: Iterable[str]) -> dict[str, bytes]:
    """
    Return the fields with a page's texts and their version. A form without text has no field.

    Raises:
        TextTooLong: a text is larger than `MAX_BYTES` in JSON.
    """
    fields = {VERSION_FIELD: orjson.dumps(stored_version(finder, forms))}
    for form in forms:
        value = orjson.dumps(finder.find(page, form).encode("utf-8", "replace").decode())
        if len(value) > MAX_BYTES:
            raise TextTooLong(f"{FIELDS[form]} has {len(value)} bytes; the limit is {MAX_BYTES}")
        if value != b'""':
            fields[FIELDS[form]] = value
    return fields
