"""Read the Rich Pin of a product and its offers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, Literal

from aragog.pages.richpins.heuristics.price import shown_price
from aragog.pages.richpins.provenance import Candidate
from aragog.pages.richpins.syntax.graph import Node
from aragog.pages.richpins.syntax.sources import Sources
from aragog.pages.richpins.values import dates, money, numbers, scalars
from aragog.pages.richpins.values.scalars import Rating

TYPES = frozenset(
    {
        "product", "productgroup", "productmodel", "individualproduct", "someproducts", "vehicle",
        "car", "motorcycle", "motorizedbicycle", "busorcoach", "dietarysupplement", "drug",
        "productcollection",
    }
)  # fmt: skip

Availability = Literal[
    "in_stock", "out_of_stock", "pre_order", "back_order", "limited", "online_only",
    "in_store_only", "discontinued", "sold_out", "made_to_order", "reserved",
]  # fmt: skip
Condition = Literal["new", "used", "refurbished", "damaged"]

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """A product. Prices are in `currency`; without a currency they are None."""

    price: Decimal | None = None
    """The current price; the lowest if there are several offers."""
    price_high: Decimal | None = None
    """The highest price of several offers or of a declared range; None if there is one price."""
    list_price: Decimal | None = None
    """The price before a reduction, if the page states it."""
    currency: str | None = None
    """ISO 4217."""
    price_valid_until: date | None = None
    availability: Availability | None = None
    condition: Condition | None = None
    brand: str | None = None
    seller: str | None = None
    sku: str | None = None
    gtin: str | None = None
    """Digits of a GTIN-8, 12, 13 or 14 with a valid check digit."""
    mpn: str | None = None
    color: str | None = None
    size: str | None = None
    material: str | None = None
    category: str | None = None
    offer_count: int | None = None
    rating: Rating | None = None


@dataclass(frozen=True, slots=True)
class _Price:
    amount: Decimal
    currency: str | None
    high: Decimal | None
    listed: Decimal | None


def read(sources: Sources, nodes: list[Node]) -> Product:
    """Return the product that `nodes` describe, else the one in Open Graph's product tags."""
    pick = sources.ledger.pick
    offers = list(_offers(nodes))
    price = _picked_price(sources, nodes, "product.price")
    price = price or _shown_price(sources)
    currency = price.currency if price else None
    if price:
        sources.ledger.provenance["product.currency"] = sources.ledger.provenance["product.price"]

    def one(name: str, *properties: str) -> str | None:
        return pick(f"product.{name}", scalars.text, sources.scalars(nodes, *properties))

    return Product(
        price=price.amount if price else None,
        price_high=price.high if price else None,
        list_price=price.listed if price else None,
        currency=currency,
        price_valid_until=pick(
            "product.price_valid_until",
            _day,
            sources.scalars(offers, "pricevaliduntil"),
            expected="a date",
        ),
        availability=_availability(sources, offers, nodes),
        condition=pick(
            "product.condition",
            condition,
            _then(sources.scalars([*offers, *nodes], "itemcondition"),
                  sources.meta("product:condition", "og:condition")),
            expected="a condition",
        ),
        brand=pick(
            "product.brand",
            scalars.name,
            _then(sources.scalars(nodes, "brand", "manufacturer"),
                  sources.meta("product:brand", "og:brand")),
            expected="a name",
        ),
        seller=pick("product.seller", scalars.name, sources.scalars(offers, "seller", "offeredby")),
        sku=one("sku", "sku", "productid"),
        gtin=pick(
            "product.gtin",
            gtin,
            _then(*(sources.scalars([*nodes, *offers], name) for name in _GTINS)),
            expected="a GTIN",
        ),
        mpn=one("mpn", "mpn"),
        color=one("color", "color"),
        size=one("size", "size"),
        material=one("material", "material"),
        category=pick(
            "product.category",
            scalars.text,
            _then(sources.scalars(nodes, "category"), sources.meta("product:category")),
        ),
        offer_count=pick(
            "product.offer_count", numbers.count, sources.scalars(offers, "offercount")
        ),
        rating=pick(
            "product.rating",
            scalars.rating,
            sources.lists(nodes, "aggregaterating"),
            expected="a rating",
        ),
    )  # fmt: skip


_GTINS = ("gtin13", "gtin", "gtin12", "gtin14", "gtin8", "ean", "upc")


def _then(*several: Iterator[Candidate]) -> Iterator[Candidate]:
    for each in several:
        yield from each


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


def shown(sources: Sources) -> Product | None:
    """Return the product of a page without markup that shows a price and a way to buy."""
    if shown_price(sources, country_of(sources), is_product=False) is None:
        return None
    found = read(sources, [])
    return found if found.price is not None else None


def _shown_price(sources: Sources) -> _Price | None:
    found = shown_price(sources, country_of(sources), is_product=True)
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
