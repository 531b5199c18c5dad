"""
Find the text by which a page is compared with others. Pure.

It is the title and the words of `<main>`, or of the body, without navigation, header, footer,
asides and forms. Texts of links count, because a list consists of them. It is not the text of
`main_text`: the extra `text` may not be installed, and finders of articles leave out lists.
"""

from __future__ import annotations

from collections.abc import Iterator

from selectolax.lexbor import LexborNode

from aragog.pages.document import Document
from aragog.pages.structured_data.words import NOT_MAIN
from aragog.pages.text_sketch import sketch_of

_SEPARATOR = " "


def sketch(page: Document) -> str:
    """The sketch of a page's text (`text_sketch`); empty if the text is too short."""
    return sketch_of(compared_text(page))


def compared_text(page: Document) -> str:
    """
    The text. The words of elements that do not count are cut out of the text of all.

    Removing them from a copy of the tree takes three times as long. If an equal text stands before
    that of an element, it is cut instead: the words are the same, two pairs of them are not.
    """
    main = page.tree.css_first("main, [role=main]") or page.tree.body
    if main is None:
        return page.title or ""
    text, at, parts = main.text(separator=_SEPARATOR), 0, [page.title or ""]
    for node in _not_main(page, main):
        own = node.text(separator=_SEPARATOR)
        start = text.find(own, at) if own else -1
        if start >= 0:
            parts.append(text[at:start])
            at = start + len(own)
    return _SEPARATOR.join([*parts, text[at:]])


def _not_main(page: Document, main: LexborNode) -> Iterator[LexborNode]:
    """Yield the outermost elements whose text does not count, in document order."""
    names = [tag[1:] for tag in NOT_MAIN if tag in page.words]
    query = ",".join(names)
    inside = 0
    for node in main.css(query) if names else ():
        if inside:
            inside -= 1
        elif node.mem_id != main.mem_id:
            inside = sum(1 for each in node.css(query) if each.mem_id != node.mem_id)
            yield node
