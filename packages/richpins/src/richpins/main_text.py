"""
Find the main text of a page, as plain text or Markdown. No I/O; needs the extra `text`.

The text of an article, a recipe or a documentation page without its menus, teasers and comments.
The library trafilatura says which elements are the main text; what is written of them comes from
the page's own tree.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import logging
import unicodedata
from typing import TYPE_CHECKING

from richpins.errors import MissingExtra

if TYPE_CHECKING:
    from richpins.document import Document  # names of forms need no parser

TRAFILATURA = "trafilatura"
TEXT_VERSION = 2
"""Incremented when the library is asked differently, or its answer is written differently."""
TEXT, MARKDOWN = FORMS = ("text", "markdown")
_HTML = frozenset(["", "text/html", "application/xhtml+xml", "application/xml", "text/xml"])


def is_html(content_type: str | None) -> bool:
    """Whether a page of this Content-Type is HTML; one without a declared type is."""
    return (content_type or "").partition(";")[0].strip().lower() in _HTML


def finder_version() -> str:
    """
    What changes when the same page may yield another text, such as `trafilatura 2.1.0/2`.

    Raises:
        MissingExtra: the extra `text` is not installed.
    """
    if importlib.util.find_spec(TRAFILATURA) is None:
        raise MissingExtra("text", TRAFILATURA)
    return f"{TRAFILATURA} {importlib.metadata.version(TRAFILATURA)}/{TEXT_VERSION}"


def find(page: Document, form: str) -> str:
    """
    Return the main text of a page in one of `FORMS`, or an empty text.

    Raises:
        MissingExtra: the extra `text` is not installed.
    """
    try:
        import trafilatura  # noqa: PLC0415 - an extra, and 0.3 s
    except ModuleNotFoundError:
        raise MissingExtra("text", TRAFILATURA) from None

    from richpins.article import preparation, restoration, writing  # noqa: PLC0415 - lxml, of that extra

    # It logs a warning for each page without a text.
    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)
    article = preparation.prepare(page, with_images=form == MARKDOWN)
    # No URL is given: it would join relative links with the site's root, and ours are absolute.
    found = trafilatura.bare_extraction(
        article.tree,
        fast=True,  # its other mode costs half as much again for the same F1
        include_comments=False,
        include_links=form == MARKDOWN,
        output_format="txt" if form == TEXT else form,
    )
    body = getattr(found, "body", None)
    if body is None:
        return ""
    restoration.restore(body, article.structures, article.text)
    write = writing.to_text if form == TEXT else writing.to_markdown
    return unicodedata.normalize("NFC", write(body, article))
