"""Correct the text that a library selected: complete it, and remove what surrounds the article."""

from __future__ import annotations

from richpins.article.alike import keep_alike, without_other_articles
from richpins.article.completion import (
    complete,
    complete_from_container,
    fill_gaps,
    fill_lines,
)
from richpins.article.container import find_container, long_paragraphs
from richpins.article.ending import remove_ending
from richpins.article.opening import start_with_lead, titles_of
from richpins.article.page_texts import PageTexts
from richpins.article.repeated_parts import complete_from_parts
from richpins.article.surroundings import remove_surroundings
from richpins.article.text_blocks import text_blocks
from richpins.document import Document


def correct(texts: PageTexts, page: Document, *, with_title: bool) -> None:
    """Add what the selection lacks, and remove what is not part of the article."""
    blocks = without_other_articles(texts, list(text_blocks(texts)))
    container = find_container(texts, blocks)
    is_complete = complete(texts, blocks)
    if not long_paragraphs((block for block in blocks if block.is_kept), None):
        # The whole article may be in an aside, or in an element called `comments`.
        container = find_container(texts, blocks, anywhere=True)
    if container is not None:
        if not is_complete:
            is_complete = complete_from_container(container, blocks)
        fill_gaps(container, blocks)
        fill_lines(container, blocks)
        keep_alike(texts, container, blocks)
    else:
        container = find_container(texts, blocks, under_any_name=True)
    if not is_complete:
        complete_from_parts(texts, blocks)
    if container is not None:
        remove_surroundings(texts, blocks, container, titles_of(page))
    start_with_lead(texts, blocks, page, with_title=with_title)
    remove_ending(texts, blocks, container)
