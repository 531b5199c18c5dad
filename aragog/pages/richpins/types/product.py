"""Read the Rich Pin of a product and its offers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from itertools import chain
from typing import Any, TypeVar

from aragog.pages.richpins.model import Availability, Condition, Product
from aragog.pages.richpins.provenance import Candidate
from aragog.pages.richpins.syntax.graph import Node
from aragog.pages.richpins.syntax.sources import Sources
from aragog.pages.richpins.values import dates, money, numbers, scalars
from aragog.pages.richpins.values.ratings import rating_of

TYPES = frozenset(
    {
        "product", "productgroup", "productmodel", "individualproduct", "someproducts", "vehicle",
        "car", "motorcycle", "motorizedbicycle", "busorcoach", "dietarysupplement", "drug",
        "productcollection",
    }
)  # fmt: skip

_AVAILABILITY: dict[str, Availability] = {
    "instock": "in_stock", "available": "in_stock", "availablefororder": "in_stock",
    "instocksoon": "back_order", "oos": "out_of_stock", "outofstock": "out_of_stock",
    "unavailable": "out_of_stock", "notavailable": "out_of_stock", "preorder": "pre_order",
    "presale": "pre_order", "pending": "pre_order", "backorder": "back_order",
    "limitedavailability": "limited", "onlineonly": "online_only", "instoreonly": "in_store_only",
    "discontinued": "discontinued", "soldout": "sold_out", "madetoorder": "made_to_order",
    "reserved": "reserved", "true": "in_stock", "false": "out_of_stock",
}  # fmt: skip
_CONDITION: dict[str, Condition] = {
    "new": "new", "newcondition": "new", "brandnew": "new", "used": "used",
    "usedcondition": "used", "refurbished": "refurbished", "refurbishedcondition": "refurbished",
    "damaged": "damaged", "damagedcondition": "damaged",
}  # fmt: skip
MAX_OFFERS = 500
_OFFER_TYPES = frozenset({"offer", "aggregateoffer", "demand", "offerforpurchase", "offerforlease"})

ShownPrice = Callable[[Sources, str | None], tuple[Decimal, str, Candidate] | None]
"""Finds a price in the visible text, given the country: the amount, its currency, its position."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Price:
    amount: Decimal
    currency: str | None
    high: Decimal | None
    listed: Decimal | None


def read(sources: Sources, nodes: list[Node], shown_price: ShownPrice) -> Product:
    """
    Return the product that `nodes` describe, most trusted first.

    `shown_price` finds the price in the visible text; it is called if the markup has none.
    """
    ledger = sources.ledger
    offers = list(_offers(nodes))
    price = _picked_price(sources, nodes, "product.price") or _noted(sources, shown_price)
    if price:
        ledger.provenance["product.currency"] = ledger.provenance["product.price"]

    def one(
        name: str,
        parse: Callable[[Any], T | None],
        *candidates: Iterable[Candidate],
        expected: str = "a value",
    ) -> T | None:
        return ledger.pick(
            f"product.{name}", parse, chain.from_iterable(candidates), expected=expected
        )

    def of(owners: list[Node], *properties: str) -> Iterator[Candidate]:
        return sources.scalars(owners, *properties)

    meta = sources.meta
    gtins = (of([*nodes, *offers], name) for name in _GTINS)
    conditions = (of([*offers, *nodes], "itemcondition"), meta("product:condition", "og:condition"))
    brands = (of(nodes, "brand", "manufacturer"), meta("product:brand", "og:brand"))
    return Product(
        price=price.amount if price else None,
        price_high=price.high if price else None,
        list_price=price.listed if price else None,
        currency=price.currency if price else None,
        price_valid_until=one(
            "price_valid_until", _day, of(offers, "pricevaliduntil"), expected="a date"
        ),
        availability=_availability(sources, offers, nodes),
        condition=one("condition", condition, *conditions, expected="a condition"),
        brand=one("brand", scalars.name, *brands, expected="a name"),
        seller=one("seller", scalars.name, of(offers, "seller", "offeredby")),
        sku=one("sku", scalars.text, of(nodes, "sku", "productid")),
        gtin=one("gtin", gtin, *gtins, expected="a GTIN"),
        mpn=one("mpn", scalars.text, of(nodes, "mpn")),
        color=one("color", scalars.text, of(nodes, "color")),
        size=one("size", scalars.text, of(nodes, "size")),
        material=one("material", scalars.text, of(nodes, "material")),
        category=one("category", scalars.text, of(nodes, "category"), meta("product:category")),
        offer_count=one("offer_count", numbers.count, of(offers, "offercount")),
        rating=rating_of(sources, "product.rating", nodes),
    )


_GTINS = ("gtin13", "gtin", "gtin12", "gtin14", "gtin8", "ean", "upc")


def _offers(nodes: list[Node]) -> Iterator[Node]:
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


def _nodes(found: list[Any]) -> list[Node]:
    return [value for value in found if isinstance(value, Node)]


def _price_candidates(sources: Sources, nodes: list[Node]) -> Iterator[Candidate]:
    for node in nodes:
        offers = list(_offers([node]))
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
            listed = sources.metas.first("product:original_price:amount")
            yield next(sources.meta(f"{prefix}:amount"))._replace(value=(amount, currency, listed))
    for each in _bare_price_metas(sources):
        yield each._replace(value=(each.value, sources.metas.first("product:price:currency"), None))


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
    found = _picked_price(sources, nodes, field)
    return (found.amount, found.currency) if found else None


def _picked_price(sources: Sources, nodes: list[Node], field: str) -> _Price | None:
    country = country_of(sources)
    return sources.ledger.pick(
        field,
        lambda raw: _price(raw, country),
        _price_candidates(sources, nodes),
        expected="a price",
    )


def _noted(sources: Sources, shown_price: ShownPrice) -> _Price | None:
    found = shown_price(sources, country_of(sources))
    if found is None:
        return None
    sources.ledger.note("product.price", found[2])
    return _Price(found[0], found[1], None, None)


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


def _price(raw: Any, country: str | None) -> _Price | None:
    if isinstance(raw, tuple):
        amount, currency, listed = raw
        code = money.currency_of(currency) or money.currency_of(amount, country)
        number = money.amount_of(amount, code or "XXX")
        if number is None or number < 0 or code is None:
            return None
        return _Price(number, code, None, money.amount_of(listed, code))
    found = [price for offer in raw if (price := _offer_price(offer, country))]
    if not found:
        return None
    currency = found[0].currency
    same = [price for price in found if price.currency == currency]
    low = min(price.amount for price in same)
    high = max(max(price.amount, price.high or price.amount) for price in same)
    listed = next((price.listed for price in same if price.listed), None)
    return _Price(low, currency, high if high > low else None, listed)


def _offer_price(offer: Node, country: str | None) -> _Price | None:
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
    return _Price(amount, code, high, listed)


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
    return money.amount_of(value, currency or "XXX")


def _availability(sources: Sources, offers: list[Node], nodes: list[Node]) -> Availability | None:
    """Return in stock if any offer is; otherwise the state of the first offer."""
    found = sources.scalars([*offers, *nodes], "availability")
    every = [*found, *sources.meta("product:availability", "og:availability", "availability")]
    every.sort(key=lambda c: (_rank(c), availability(c.value) != "in_stock"))
    return sources.ledger.pick(
        "product.availability", availability, every, expected="an availability"
    )


def _rank(candidate: Candidate) -> int:
    return {"json-ld": 0, "microdata": 1, "rdfa": 2}.get(candidate.syntax, 3)


def availability(value: Any) -> Availability | None:
    """Parse schema.org's and Open Graph's availability: `http://schema.org/InStock`, `in stock`."""
    return _AVAILABILITY.get(_word(value))


def condition(value: Any) -> Condition | None:
    """Parse an item condition: `https://schema.org/NewCondition`, `new`."""
    return _CONDITION.get(_word(value))


def _word(value: Any) -> str:
    if isinstance(value, Node):
        value = value.id or value.first("name", "url") or ""
    return re.sub(
        r"[\s_\-]", "", str(value).rstrip("/").rpartition("/")[2].rpartition(":")[2]
    ).lower()


def gtin(value: Any) -> str | None:
    """Return a GTIN's digits, or None if its check digit is wrong."""
    digits = re.sub(r"[\s\-]|^(?:gtin|ean|upc)\D*", "", str(value).lower())
    if not (digits.isascii() and digits.isdigit() and len(digits) in {8, 12, 13, 14}):
        return None
    body = [int(digit) for digit in reversed(digits)]
    total = sum(digit * (3 if place % 2 else 1) for place, digit in enumerate(body))
    return digits if total % 10 == 0 and int(digits) else None


def _day(value: Any) -> date | None:
    found = dates.moment(value)
    return found.date() if hasattr(found, "date") else found  # type: ignore[union-attr]
