"""
Find the main text of a page, as plain text or Markdown. No I/O; needs the extra `text`.

The main text is an article, a recipe or a documentation page without menus, teasers and comments.
trafilatura selects the elements; richpins writes their text from the page's own tree.
"""

from __future__ import annotations

import copy
import importlib.metadata
import importlib.util
import logging
import unicodedata
from typing import TYPE_CHECKING, Any

from richpins.errors import MissingExtra

if TYPE_CHECKING:
    from richpins.document import Document  # so that `FORMS` can be imported without a parser

TRAFILATURA = "trafilatura"
TEXT_VERSION = 13
"""Incremented when trafilatura is called differently or the output format changes."""
TEXT, MARKDOWN = FORMS = ("text", "markdown")
_MIN_FOUND = 0.9
"""If a smaller fraction of trafilatura's text is in the page's tree, the text came from JSON-LD."""
_ENOUGH_LETTERS, _MUCH_LONGER = 2_000, 1.5
"""
Shorter texts (in letters) are compared with the result of trafilatura's other mode, which tries two
more algorithms and takes 50% more time. If that result is this many times longer, it is used: the
fast mode may have missed the article.
"""
_HTML = frozenset(["", "text/html", "application/xhtml+xml", "application/xml", "text/xml"])


def is_html(content_type: str | None) -> bool:
    """Return True if the Content-Type is HTML, XML or missing."""
    return (content_type or "").partition(";")[0].strip().lower() in _HTML


def finder_version() -> str:
    """
    Return a version such as `trafilatura 2.1.0/2`. It changes whenever texts may change.

    Raises:
        MissingExtra: the extra `text` is not installed.
    """
    if importlib.util.find_spec(TRAFILATURA) is None:
        raise MissingExtra("text", TRAFILATURA)
    return f"{TRAFILATURA} {importlib.metadata.version(TRAFILATURA)}/{TEXT_VERSION}"


def find(page: Document, form: str) -> str:
    """
    Return a page's main text as plain text or Markdown, depending on `form`; possibly empty.

    For documents other than HTML, that is the whole text, and no extra is needed.

    Raises:
        MissingExtra: the extra `text` is not installed.
    """
    if page.text is not None:
        return page.text
    try:
        import trafilatura  # noqa: PLC0415 - an extra, and 0.3 s
    except ModuleNotFoundError:
        raise MissingExtra("text", TRAFILATURA) from None

    from richpins.article import (  # noqa: PLC0415 - lxml, of that extra
        composition,
        correction,
        page_texts,
        preparation,
        selection,
        writing,
    )

    # trafilatura logs a warning for each page without text.
    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)
    article = preparation.prepare(page, with_images=form == MARKDOWN)

    def extracted(*, fast: bool) -> Any:
        # No URL is passed, because trafilatura would join relative links to the site's root. The
        # tree's links are already absolute.
        found = trafilatura.bare_extraction(
            copy.deepcopy(article.tree),  # trafilatura modifies its input
            fast=fast,
            include_comments=False,
            include_links=form == MARKDOWN,
            output_format="txt" if form == TEXT else form,
        )
        return getattr(found, "body", None)

    body = extracted(fast=True)
    letters = _letters(body)
    if letters < _ENOUGH_LETTERS:
        other = extracted(fast=False)
        body = other if _letters(other) >= _MUCH_LONGER * letters else body
    if body is None:
        return ""
    texts = page_texts.texts_of(article.tree)
    share = selection.select(texts, page_texts.blocks_of(body))
    if share >= _MIN_FOUND:
        correction.correct(texts, page, with_title=form == MARKDOWN)
        body = composition.compose(texts, article.images)
    write = writing.to_text if form == TEXT else writing.to_markdown
    return unicodedata.normalize("NFC", write(body, article))


def _letters(body: Any) -> int:
    return 0 if body is None else len("".join("".join(body.itertext()).split()))
