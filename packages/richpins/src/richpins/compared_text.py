"""
Find the text by which a page is compared with others. Pure.

It is the title and the words of `<main>`, or of the body, without navigation, header, footer,
asides and forms. Texts of links count, because a list consists of them. It is not the text of
`main_text`: the extra `text` may not be installed, and finders of articles leave out lists.
"""

from __future__ import annotations

from richpins.document import Document
from richpins.text_sketch import sketch_of

_NOT_MAIN = [
    "script", "style", "noscript", "template", "nav", "header", "footer", "aside", "form", "select",
    "button", "svg", "iframe", "dialog",
]  # fmt: skip


def sketch(page: Document) -> str:
    """The sketch of a page's text (`text_sketch`); empty if the text is too short."""
    return sketch_of(compared_text(page))


def compared_text(page: Document) -> str:
    """The text; of a copy of the tree, because removing elements changes it."""
    tree = page.tree.clone()
    tree.strip_tags(_NOT_MAIN)
    main = tree.css_first("main, [role=main]") or tree.body
    text = main.text(separator=" ") if main is not None else ""
    return f"{page.title or ''} {text}"
