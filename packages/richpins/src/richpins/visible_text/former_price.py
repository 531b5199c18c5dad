"""
Find the price before a reduction, beside the element that shows a product's price.

If the page strikes out the declared price beside a lower one, the declared price is the former one.
"""

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
from richpins.visible_text.price import is_other_amount, price_elements

_ShownPrices = list[tuple[LexborNode, str]]
_Former = tuple[Decimal, Candidate]


def add_former_price(sources: Sources, price: Price) -> Price:
    """
    Return the price with the former one beside it as `list_price`, if the page shows one.

    If the page strikes this price out and shows a lower one beside it, return the lower one.
    """
    if not price.currency:
        return price
    country = find_country(sources)
    shown = list(price_elements(sources))
    nodes = [n for n, text in shown if money.find_amount(text, price.currency) == price.amount]
    for node in nodes:
        former = _former_price_near(node, price.amount, price.currency, country)
        if former is not None:
            return _add(sources, price, former)
    if nodes:
        return price
    reduced = _reduced_price(sources, shown, price, country)
    if reduced is not None:
        return reduced
    former = _struck_out_price(sources, price.amount, price.currency, country)
    return price if former is None else _add(sources, price, former)


def _add(sources: Sources, price: Price, former: _Former) -> Price:
    sources.ledger.note("product.list_price", former[1])
    return replace(price, list_price=former[0])


def _reduced_price(
    sources: Sources, shown: _ShownPrices, price: Price, country: str | None
) -> Price | None:
    """Return the lower price beside which the page strikes out `price`; None if there is none."""
    currency = price.currency or ""
    for node, text in shown:
        amount = money.find_amount(text, currency)
        if amount is None or not 0 < amount < price.amount:
            continue
        if is_other_amount(text) or money.are_installments(text):
            continue
        former = _former_price_near(node, amount, currency, country)
        if former is not None and former[0] == price.amount:
            candidate = Candidate(text, "html", f"{node.tag} of a reduced price")
            sources.ledger.note("product.price", candidate)
            return _add(sources, replace(price, amount=amount), former)
    return None


def _struck_out_price(
    sources: Sources, amount: Decimal, currency: str, country: str | None
) -> _Former | None:
    """Return the price struck out beside `amount`, on a page without classes for prices."""
    if not any(mark in sources.words.lowered for mark in _STRUCK_OUT_MARKS):
        return None
    nodes = sources.document.tree.css(f"h1,{_STRUCK_OUT_ELEMENTS}")[:_MAX_STRUCK_OUT_ELEMENTS]
    heading_index = next((i for i, node in enumerate(nodes) if node.tag == "h1"), len(nodes))
    for element in nodes[heading_index + 1 :]:
        former = _former_amount(element, None, currency, country)
        if (
            former is not None
            and amount < former < amount * _MAX_RATIO
            and _is_shown_beside(element, amount, currency)
        ):
            return former, Candidate(element.text().strip(), "html", f"{element.tag} struck out")
    return None


_STRUCK_OUT_MARKS = (b"<del", b"<s>", b"<s ", b"strike", b"line-through", b"crossed")
_STRUCK_OUT_ELEMENTS = (
    'del,s,strike,[class*="line-through"],[class*="strike"],[class*="crossed"],'
    '[style*="line-through"]'
)
_MAX_STRUCK_OUT_ELEMENTS = 50


def _is_shown_beside(element: LexborNode, amount: Decimal, currency: str) -> bool:
    container = element.parent
    for _ in range(_MAX_LEVELS_TO_PRICE):
        if container is None or len(container.text()) > _MAX_CHARS_BESIDE:
            return False
        texts = (other.text(separator=" ").strip() for other in container.css("*")[:_MAX_ELEMENTS])
        if any(
            len(text) <= MAX_PRICE_CHARS
            and money.count_amounts(text) == 1
            and money.find_amount(text, currency) == amount
            for text in texts
        ):
            return True
        container = container.parent
    return False


_MAX_LEVELS_TO_PRICE = 3
_MAX_CHARS_BESIDE = 500
_MAX_ELEMENTS = 40


def _former_price_near(
    node: LexborNode, amount: Decimal, currency: str, country: str | None
) -> _Former | None:
    """
    Return the former price beside the element that shows `amount`, or None.

    It is struck out or in an element with a class for former prices, at most three levels above
    the price, and higher than it.
    """
    container: LexborNode | None = node
    for _ in range(_MAX_LEVELS_TO_FORMER_PRICE):
        if container is None or container.tag == "html":
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
    element: LexborNode, container: LexborNode | None, currency: str, country: str | None
) -> Decimal | None:
    """Return the only amount in an element of the container or page, if it is a former price."""
    if element.tag not in STRUCK_OUT and not is_called_former(element):
        return None
    text = " ".join(element.text(separator=" ").split())
    if len(text) > MAX_PRICE_CHARS or money.count_amounts(text) > 1:
        return None
    other = money.find_currency(text, country)
    if other not in {None, currency} or _is_elsewhere(element, container):
        return None
    return money.find_amount(text, currency)


def _is_elsewhere(element: LexborNode, container: LexborNode | None) -> bool:
    """Return True if an element is hidden, or in a link or list inside the container or page."""
    ancestor: LexborNode | None = element
    end = None if container is None else container.mem_id
    while ancestor is not None and ancestor.mem_id != end:
        if is_hidden(ancestor) or ancestor.tag in _ELSEWHERE_TAGS:
            return True
        ancestor = ancestor.parent
    return False


_ELSEWHERE_TAGS = frozenset({"a", "li", "aside", "footer", "nav", "option", "template"})
_FORMER_ELEMENTS = "del,s,strike,[class],[id],[style]"
_MAX_FORMER_ELEMENTS = 60
_MAX_LEVELS_TO_FORMER_PRICE = 4
_MAX_CONTAINER_CHARS = 5_000
_MAX_RATIO = 20
