"""
Extract the text used to compare a page with others.

It consists of the title and the words in `<main>`, or in the body if there is no `<main>`, without
navigation, headers, footers, asides and forms. A form with most of the text is kept, because
ASP.NET wraps each page in one. Unlike in `main_text`, link text is included, because pages that
list other pages are mostly links.
"""

from __future__ import annotations

from selectolax.lexbor import LexborNode

from richpins._plain_text import text_without
from richpins.document import Document
from richpins.structured_data.words import NOT_MAIN
from richpins.text_sketch import MAX_CHARS, sketch_of

FORM = "form"
MAX_FORMS = 5
"""How many forms are checked to see whether one contains most of the page's text."""


def sketch(page: Document) -> str:
    """Return the sketch (`text_sketch`) of a page's text; empty if the text is too short."""
    return sketch_of(compared_text(page))


def compared_text(page: Document) -> str:
    """Return the text to compare. A few words may be out of order (`text_without`)."""
    if page.text is not None:
        return f"{page.title or ''} {page.text[:MAX_CHARS]}"
    return _text_without(page, ())


def text_without_links(page: Document, gap: str = " ") -> str:
    """
    Return the text to compare without link text, because links describe other pages.

    Each omitted element becomes `gap`.
    """
    if page.text is not None:
        return f"{page.title or ''} {page.text[:MAX_CHARS]}"
    return _text_without(page, ("a",), gap)


def _text_without(page: Document, tags: tuple[str, ...], gap: str = " ") -> str:
    main = page.tree.css_first("main, [role=main]") or page.tree.body
    if main is None:
        return page.title or ""
    omitted_tags = [*(tag[1:] for tag in NOT_MAIN if tag in page.words), *tags]
    if FORM in omitted_tags and _is_mostly_a_form(main):
        omitted_tags.remove(FORM)
    text = (
        text_without(main, ",".join(omitted_tags), gap, max_chars=MAX_CHARS)
        if omitted_tags
        else main.text(separator=" ")
    )
    return f"{page.title or ''} {text}"


def _is_mostly_a_form(main: LexborNode) -> bool:
    total_chars = len(main.text())
    return any(2 * len(form.text()) > total_chars for form in main.css(FORM)[:MAX_FORMS])
