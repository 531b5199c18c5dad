"""Prices of items with offers: from markup, or as the visible text shows them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from aragog.pages.provenance import Candidate
from aragog.pages.structured_data.graph import Node
from aragog.pages.structured_data.sources import Sources
from aragog.pages.values import money, scalars

MAX_OFFERS = 500
_OFFER_TYPES = frozenset({"offer", "aggregateoffer", "demand", "offerforpurchase", "offerforlease"})

ShownPrice = Callable[[Sources, str | None], tuple[Decimal, str, Candidate] | None]
"""Finds a price in the visible text, given the country: the amount, its currency, its position."""


@dataclass(frozen=True, slots=True)
class Price:
    """The lowest price of an item's offers."""

    amount: Decimal
    currency: str | None
    high: Decimal | None
    """The highest price, if the offers differ."""
    listed: Decimal | None
    """The price before a reduction."""


def offers_of(nodes: list[Node]) -> Iterator[Node]:
    """Yield the offers of products, of their variants, and inside aggregate offers."""
    left = MAX_OFFERS
    for node in nodes:
        if node.role == "itemoffered" and node.parent is not None:
            yield node.parent
        for holder in [node, *_nodes(node.all("hasvariant", "model"))]:
            for offer in _nodes(holder.all("offers", "offer")):
                left -= 1
                if left < 0:
                    return
                yield offer
                yield from _nodes(offer.all("offers", "offer"))[: max(left, 0)]


def _nodes(values: list[Any]) -> list[Node]:
    return [value for value in values if isinstance(value, Node)]


def _price_candidates(sources: Sources, nodes: list[Node]) -> Iterator[Candidate]:
    for node in nodes:
        offers = list(offers_of([node]))
        if offers:
            yield Candidate(offers, node.syntax, f"{node.where}.offers")
        elif "price" in node.properties or "lowprice" in node.properties:
            yield Candidate([node], node.syntax, f"{node.where}.price")
    loose = [n for n in sources.graph.of_types(_OFFER_TYPES) if n.parent is None]
    for offer in loose[:1]:
        yield Candidate([offer], offer.syntax, f"{offer.where}.price")
    for prefix in ("product:sale_price", "product:price", "og:price", "product"):
        amount = sources.metas.first(f"{prefix}:amount")
        if amount:
            currency = sources.metas.first(f"{prefix}:currency", "product:price:currency")
            listed = sources.metas.first(
                "product:original_price:amount",
                *(["product:price:amount"] if prefix == "product:sale_price" else []),
            )
            yield next(sources.meta(f"{prefix}:amount"))._replace(value=(amount, currency, listed))
    for meta in _bare_price_metas(sources):
        yield meta._replace(value=(meta.value, sources.metas.first("product:price:currency"), None))


def _bare_price_metas(sources: Sources) -> Iterator[Candidate]:
    """Yield meta elements with a price and its currency in one text, such as `30,000원`."""
    yield from sources.meta("og:price", "product:price")
    for number in ("1", "2"):
        label = sources.metas.first(f"twitter:label{number}") or ""
        if label.strip().lower().rstrip(":") in _PRICE_LABELS:
            yield from sources.meta(f"twitter:data{number}")


_PRICE_LABELS = frozenset({"price", "preis", "prix", "precio", "prezzo", "preço", "prijs", "cena"})


def price_of(sources: Sources, nodes: list[Node], field: str) -> tuple[Decimal, str | None] | None:
    """Return the price of an item with offers, recorded under the name `field`."""
    price = picked_price(sources, nodes, field)
    return (price.amount, price.currency) if price else None


def picked_price(sources: Sources, nodes: list[Node], field: str) -> Price | None:
    """Return the price in the markup, recorded under the name `field`."""
    country = country_of(sources)
    return sources.ledger.pick(
        field,
        lambda raw: _price(raw, country),
        _price_candidates(sources, nodes),
        expected="a price",
    )


def noted_price(sources: Sources, shown_price: ShownPrice) -> Price | None:
    """Return the price in the visible text, recorded as `product.price`."""
    visible = shown_price(sources, country_of(sources))
    if visible is None:
        return None
    sources.ledger.note("product.price", visible[2])
    return Price(visible[0], visible[1], None, None)


def country_of(sources: Sources) -> str | None:
    """Return the two-letter country of a page's audience, from its locale or host."""
    locale = sources.metas.first("og:locale") or sources.document.language or ""
    region = re.split(r"[-_]", locale)[-1].lower()
    if len(region) == 2 and len(locale) == 5:
        return region
    ending = sources.document.url.partition("://")[2].partition("/")[0].rpartition(".")[2].lower()
    return ending if len(ending) == 2 and ending not in _NO_COUNTRIES else None


_NO_COUNTRIES = frozenset({"io", "co", "me", "tv", "ai", "to", "ly", "gg", "eu", "fm", "cc", "ws"})
"""Country top-level domains that sites of all countries use."""


_NO_CURRENCY = "XXX"
"""ISO 4217's code where no currency is involved; with it, a number is read as a price."""


def _price(raw: Any, country: str | None) -> Price | None:
    if isinstance(raw, tuple):
        amount, currency, listed = raw
        code = money.currency_of(currency) or money.currency_of(amount, country)
        number = money.amount_of(amount, code or _NO_CURRENCY)
        if number is None or number < 0 or code is None:
            return None
        before = money.amount_of(listed, code)
        return Price(number, code, None, before if before and before > number else None)
    prices = [price for offer in raw if (price := _offer_price(offer, country))]
    if not prices:
        return None
    currency = prices[0].currency
    same = [price for price in prices if price.currency == currency]
    low = min(price.amount for price in same)
    high = max(max(price.amount, price.high or price.amount) for price in same)
    listed = next((price.listed for price in same if price.listed), None)
    return Price(low, currency, high if high > low else None, listed)


def _offer_price(offer: Node, country: str | None) -> Price | None:
    specifications = _nodes(offer.all("pricespecification"))
    code = _currency(offer, specifications, country)
    amount = _amount(offer.first("price", "lowprice"), code)
    high = _amount(offer.first("highprice"), code)
    listed = None
    for spec in specifications:
        value = _amount(spec.first("price", "minprice"), code)
        kind = str(spec.first("pricetype") or "").rpartition("/")[2].lower()
        if kind in {"listprice", "strikethroughprice", "msrp", "srp"}:
            listed = value
        elif amount is None:
            amount = value
            high = high or _amount(spec.first("maxprice"), code)
    amount = amount if amount is not None else high
    if amount is None or code is None or amount < 0:
        return None
    return Price(amount, code, high, listed)


def _currency(offer: Node, specifications: list[Node], country: str | None) -> str | None:
    for node in [offer, *specifications]:
        raw = node.first("pricecurrency", "currency")
        code = money.currency_of(scalars.text(raw), country) if raw is not None else None
        if code:
            return code
    return money.currency_of(offer.first("price", "lowprice"), country)


def _amount(value: Any, currency: str | None) -> Decimal | None:
    if isinstance(value, Node):
        value = value.first("price", "value")
    return money.amount_of(value, currency or _NO_CURRENCY)
