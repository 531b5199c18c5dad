"""
Remove dialogs from a page's tree: windows that ask for consent to cookies, and modals.

A page's script displays them above the page, but in the markup they are ordinary paragraphs. Their
texts are often longer than the page's own, so that an extractor takes them for the article.

Elements that are dialogs only by their role (`role=dialog`) stay, because shops put the description
of a product into such elements.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

_MIN_LEFT = 200
"""If the other paragraphs have fewer characters, the dialogs are kept."""
_PARAGRAPHS = ("p", "li", "dd", "td")
_CONTENT = ("h1", "article", "main")
"""An element that contains one of these is not a dialog, whatever its name."""
_TAGS = ("div", "section", "aside", "form", "footer", "header")
"""The elements that dialogs are made of."""
_MODAL = " modal "
"""The class name that Bootstrap and others use for windows that are hidden at first."""
_MAYBE = re.compile(
    "ookie|onsent|netrust|gdpr|cc-window|ens(?:modal|notify)|usercentrics|didomi|qc-cmp|cmplz|"
    "sp_message|osano|iubenda|klaro"
)
"""Excludes most names quickly. This pattern and `_CONSENT` are for names in lower case."""
_CONSENT = re.compile(
    r"\s(?:"
    r"onetrust-(?:consent|banner|pc)-sdk|ot-sdk-container|cybotcookiebot\w*|"
    r"didomi-(?:host|popup|notice)\S*|qc-cmp\S*|usercentrics-\S*|ens(?:modal|notify)\w*|cc-window|"
    r"sp_message_\S*|osano-cm\S*|iubenda-cs-\S*|klaro|borlabscookie\w*|cmplz-cookiebanner\S*|"
    r"(?:moove[-_])?gdpr\S*|"
    r"(?:\S*[-_])?(?:eu-?)?cookies?[-_]?(?:consents?|banner|notice|notification|law|bar|modal|"
    r"pop-?up|message|info|alert|overlay|dialog|disclaimer|warning|compliance|settings|"
    r"preferences)\S*|"
    r"(?:\S*[-_])?consent[-_]?(?:banner|modal|dialog|popup|bar|manager|overlay|container|layer|"
    r"notice)\S*"
    r")\s"
)
"""The names of windows that ask for consent: those of known tools, and those of other sites."""


def remove_dialogs(tree: Any) -> None:
    """
    Remove dialogs from a page, if enough other text is left.

    Modals that have most of the text are kept. Windows that ask for consent are removed even then:
    with their descriptions of each kind of cookie, they may be longer than the page.
    """
    consent: list[Any] = []
    modals: list[Any] = []
    for element in tree.iter(*_TAGS):
        names = f" {element.get('id')} {element.get('class')} "
        lowered = names.lower()
        if _MAYBE.search(lowered) and _CONSENT.search(lowered):
            consent.append(element)
        elif _MODAL in names:
            modals.append(element)
    if consent or modals:
        around_content = _with_ancestors(tree.iter(*_CONTENT))
        _remove((each for each in consent if each not in around_content), tree, max_share=1.0)
        _remove((each for each in modals if each not in around_content), tree, max_share=0.5)


def _with_ancestors(elements: Iterable[Any]) -> set[Any]:
    found: set[Any] = set()
    for element in elements:
        each = element
        while each is not None and each not in found:
            found.add(each)
            each = each.getparent()
    return found


def _remove(dialogs: Iterable[Any], tree: Any, *, max_share: float) -> None:
    """Remove dialogs, given in document order, if enough text is left."""
    outermost: list[Any] = []
    inside: set[Any] = set()
    for dialog in dialogs:
        if dialog not in inside:
            outermost.append(dialog)
            inside.update(dialog.iter())
    removed = sum(_characters(dialog.iter(*_PARAGRAPHS)) for dialog in outermost)
    total = _characters(tree.iter(*_PARAGRAPHS))
    if total - removed < _MIN_LEFT or removed > max_share * total:
        return
    for dialog in outermost:
        if dialog.getparent() is not None:
            dialog.drop_tree()


def _characters(paragraphs: Iterable[Any]) -> int:
    """Return the number of characters in paragraphs; nested paragraphs count once."""
    total = 0
    inside: set[Any] = set()
    for paragraph in paragraphs:
        if paragraph not in inside:
            inside.update(paragraph.iter())
            total += len(paragraph.text_content())
    return total
