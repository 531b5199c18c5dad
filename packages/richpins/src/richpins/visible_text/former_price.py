"""Find the price before a reduction, beside the element that shows a product's price."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from selectolax.lexbor import LexborNode

from richpins._price_texts import MAX_PRICE_CHARS, STRUCK_OUT, is_called_former, is_hidden
from richpins.provenance import Candidate
from richpins.structured_data.sources import Sources
from richpins.values import money
from richpins.values.offers import Price
from richpins.values.prices import find_country
from richpins.visible_text.price import price_elements


def add_former_price(sources: Sources, price: Price) -> Price:
    """Return the price with the former one beside it as `list_price`, if the page shows one."""
    former = _former_price(sources, price.amount, price.currency) if price.currency else None
    if former is None:
        return price
    sources.ledger.note("product.list_price", former[1])
    return replace(price, list_price=former[0])


def _former_price(
    sources: Sources, amount: Decimal, currency: str
) -> tuple[Decimal, Candidate] | None:
    """
    Return the former price beside the element that shows `amount`, or None.

    It is struck out or in an element with a class for former prices, at most three levels above
    the price, and higher than it.
    """
    country = find_country(sources)
    for node, text in price_elements(sources):
        if money.find_amount(text, currency) == amount:
            former = _former_price_near(node, amount, currency, country)
            if former is not None:
                return former
    return None


def _former_price_near(
    node: LexborNode, amount: Decimal, currency: str, country: str | None
) -> tuple[Decimal, Candidate] | None:
    container: LexborNode | None = node
    for _ in range(_MAX_LEVELS_TO_FORMER_PRICE):
        if container is None or container.tag in {"body", "html"}:
            return None
        if len(container.text()) > _MAX_CONTAINER_CHARS:
            return None
        for element in container.css(_FORMER_ELEMENTS)[:_MAX_FORMER_ELEMENTS]:
            former = _former_amount(element, container, currency, country)
            if former is not None and amount < former < amount * _MAX_RATIO:
                candidate = Candidate(
                    element.text().strip(), "html", f"{element.tag} of a former price"
                )
                return former, candidate
        container = container.parent
    return None


def _former_amount(
    element: LexborNode, container: LexborNode, currency: str, country: str | None
) -> Decimal | None:
    """Return the only amount in an element of the container, if it is a former price."""
    if element.tag not in STRUCK_OUT and not is_called_former(element):
        return None
    text = " ".join(element.text(separator=" ").split())
    if len(text) > MAX_PRICE_CHARS or money.count_amounts(text) > 1:
        return None
    other = money.find_currency(text, country)
    if other not in {None, currency} or _is_elsewhere(element, container):
        return None
    return money.find_amount(text, currency)


def _is_elsewhere(element: LexborNode, container: LexborNode) -> bool:
    """Return True if an element is hidden, or in a link or list inside the container."""
    ancestor: LexborNode | None = element
    while ancestor is not None and ancestor.mem_id != container.mem_id:
        if is_hidden(ancestor) or ancestor.tag in _ELSEWHERE_TAGS:
            return True
        ancestor = ancestor.parent
    return False


_ELSEWHERE_TAGS = frozenset({"a", "li", "aside", "footer", "nav", "option", "template"})
_FORMER_ELEMENTS = "del,s,strike,[class],[style]"
_MAX_FORMER_ELEMENTS = 60
_MAX_LEVELS_TO_FORMER_PRICE = 4
_MAX_CONTAINER_CHARS = 5_000
_MAX_RATIO = 20
