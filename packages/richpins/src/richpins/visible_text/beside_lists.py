"""
Recognize elements near a recipe's lists that are not part of them.

Examples are buttons, links (`Send me the list`), serving selectors, ratings, nutrients, breadcrumbs
and advertisements.
"""

from __future__ import annotations

import re

from selectolax.lexbor import LexborNode

from richpins.visible_text.list_items import LISTS, is_row
from richpins.visible_text.vocabulary import count_amounts

_MAX_BLOCK_CHARS = 120
_LIST_ELEMENTS = "ul,ol,table,dl"
_LINK_ELEMENTS = 'a,button,[role="button"]'


def is_unrelated_block(node: LexborNode) -> bool:
    """Return True if the class or the links of a block show that it is not a list entry."""
    class_name = node.attributes.get("class") or ""
    if _UNRELATED_CLASS.search(class_name) and not _ENTRY_CLASS.search(class_name):
        return True
    if node.tag in LISTS or is_row(node) or len(node.text()) > _MAX_BLOCK_CHARS:
        return False
    if node.css_first(_LIST_ELEMENTS) is not None:
        return False
    return (
        _PROBABLY_UNRELATED_CLASS.search(class_name) is not None
        and not _ENTRY_CLASS.search(class_name)
    ) or _is_only_links(node)


_NUTRIENTS = r"(?:^|\s)(?:\w[\w-]{0,40})?nutri(?:tion|ent)"
"""Does not match `list-nutrition`, which is a style of the list itself."""
_UNRELATED_CLASS = re.compile(
    rf"breadcrumb|{_NUTRIENTS}|(?:^|[-_\s])(?:rating|ratings|tag-?list|taglist|social|sharing|"
    r"unit-?converter|advert(?:isement)?)(?:[-_\s]|$)",
    re.IGNORECASE,
)
_PROBABLY_UNRELATED_CLASS = re.compile(
    r"servings?|portions?|yield|(?:^|[-_\s])(?:share|buttons?|btn|cta|read-?more|toggle|video)(?:[-_\s]|$)",
    re.IGNORECASE,
)
_ENTRY_CLASS = re.compile(
    r"ingredients?-?(?:list|item|s)?(?:[-_\s]|$)|instruction|step", re.IGNORECASE
)


def is_unrelated_list(node: LexborNode) -> bool:
    """Return True for breadcrumbs, tags, nutrients and ratings."""
    return _UNRELATED_LIST_CLASS.search(node.attributes.get("class") or "") is not None


_UNRELATED_LIST_CLASS = re.compile(
    rf"breadcrumb|{_NUTRIENTS}|(?:^|[-_\s])tag-?list(?:[-_\s]|$)"
    r"|user-?rating",
    re.IGNORECASE,
)


def is_menu(element: LexborNode) -> bool:
    """Return True for a list with nearly all of its letters in links."""
    letters = _letters(element.text())
    linked_count = sum(len(_letters(link.text())) for link in element.css("a"))
    return bool(letters) and linked_count >= _MIN_LINKED_SHARE * len(letters)


_MIN_LINKED_SHARE = 0.9


def _is_only_links(node: LexborNode) -> bool:
    letters = _letters(node.text())
    if not letters or count_amounts([node.text().strip()]):
        return False
    if node.tag == "a":
        return True
    linked_letters = "".join(
        _letters(link.text()) for link in node.css(_LINK_ELEMENTS)[:_MAX_LINKS]
    )
    return len(linked_letters) >= len(letters)


_MAX_LINKS = 10


def _letters(text: str) -> str:
    return "".join(filter(str.isalpha, text))
