"""
Find the main text of a page, as plain text or Markdown. No I/O; needs the extra `text`.

An article's text, a recipe or a documentation page without its menus, teasers and comments.
The library trafilatura says which elements are the main text; what is written of them comes from
the page's own tree.
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
    from richpins.document import Document  # names of forms need no parser

TRAFILATURA = "trafilatura"
TEXT_VERSION = 6
"""Incremented when the library is asked differently, or its answer is written differently."""
TEXT, MARKDOWN = FORMS = ("text", "markdown")
_LEAST_FOUND = 0.9
"""With less of its text in the page, what the library found stands in JSON-LD."""
_ENOUGH_LETTERS, _MUCH_LONGER = 2_000, 1.5
"""
A shorter text is compared with that of trafilatura's other mode, which asks two more algorithms and
costs half as much again. It counts if it is much longer: a fast one may have missed the article.
"""
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

    Of a document that is not HTML it is the whole text, in both forms, without the extra.

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
        completion,
        composition,
        opening,
        page_texts,
        preparation,
        selection,
        writing,
    )

    # It logs a warning for each page without a text.
    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)
    article = preparation.prepare(page, with_images=form == MARKDOWN)

    def extracted(*, fast: bool) -> Any:
        # No URL is given: it would join relative links with the site's root, and ours are absolute.
        found = trafilatura.bare_extraction(
            copy.deepcopy(article.tree),  # it changes what it is given
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
    if share >= _LEAST_FOUND:
        completion.complete(texts)
        opening.open_with_lead(texts, page, with_title=form == MARKDOWN)
        body = composition.compose(texts, article.images)
    write = writing.to_text if form == TEXT else writing.to_markdown
    return unicodedata.normalize("NFC", write(body, article))


def _letters(body: Any) -> int:
    return 0 if body is None else len("".join("".join(body.itertext()).split()))
