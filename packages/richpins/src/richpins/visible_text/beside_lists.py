"""
Recognize elements near a recipe's lists that are not part of them.

Examples are buttons and links (`Send me the list`), serving selectors, ratings, nutrient tables,
breadcrumbs and advertisements.
"""

from __future__ import annotations

import re

from selectolax.lexbor import LexborNode

from richpins.visible_text.list_items import LISTS, is_row
from richpins.visible_text.vocabulary import amounts

_MAX_CHARS = 120
_LISTS = "ul,ol,table,dl"
_LINKS = 'a,button,[role="button"]'


def is_beside_the_list(node: LexborNode) -> bool:
    """Return True if the class or the links of a block show that it is not a list entry."""
    named = node.attributes.get("class") or ""
    if _NEVER.search(named) and not _ENTRIES.search(named):
        return True
    if node.tag in LISTS or is_row(node) or len(node.text()) > _MAX_CHARS:
        return False
    if node.css_first(_LISTS) is not None:
        return False
    return (_SELDOM.search(named) is not None and not _ENTRIES.search(named)) or _is_linked(node)


_NUTRIENTS = r"(?:^|\s)(?:\w[\w-]{0,40})?nutri(?:tion|ent)"
"""Does not match `list-nutrition`, which is a style of the list itself."""
_NEVER = re.compile(
    rf"breadcrumb|{_NUTRIENTS}|(?:^|[-_\s])(?:rating|ratings|tag-?list|taglist|social|sharing|"
    r"unit-?converter|advert(?:isement)?)(?:[-_\s]|$)",
    re.IGNORECASE,
)
_SELDOM = re.compile(
    r"servings?|portions?|yield|(?:^|[-_\s])(?:share|buttons?|btn|cta|read-?more|toggle|video)(?:[-_\s]|$)",
    re.IGNORECASE,
)
_ENTRIES = re.compile(r"ingredients?-?(?:list|item|s)?(?:[-_\s]|$)|instruction|step", re.IGNORECASE)


def is_trail(node: LexborNode) -> bool:
    """Return True for breadcrumbs, tags, nutrients and ratings: lists without recipe entries."""
    return _TRAIL.search(node.attributes.get("class") or "") is not None


_TRAIL = re.compile(
    rf"breadcrumb|{_NUTRIENTS}|(?:^|[-_\s])tag-?list(?:[-_\s]|$)"
    r"|user-?rating",
    re.IGNORECASE,
)


def is_menu(element: LexborNode) -> bool:
    """Return True for a list whose words are all in links."""
    text = _letters(element.text())
    linked = sum(len(_letters(each.text())) for each in element.css("a"))
    return bool(text) and linked >= _MAX_LINKED * len(text)


_MAX_LINKED = 0.9


def _is_linked(node: LexborNode) -> bool:
    """Return True if all words of a block are in links or buttons and it contains no amount."""
    text = _letters(node.text())
    if not text or amounts([node.text().strip()]):
        return False
    if node.tag == "a":
        return True
    linked = "".join(_letters(each.text()) for each in node.css(_LINKS)[:_MAX_LINKS])
    return len(linked) >= len(text)


_MAX_LINKS = 10


def _letters(text: str) -> str:
    return "".join(filter(str.isalpha, text))
