"""Read the Rich Pin of a product and its offers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from itertools import chain
from typing import Any, TypeVar

from aragog.pages.richpins.model import Availability, Condition, Product
from aragog.pages.richpins.provenance import Candidate
from aragog.pages.richpins.syntax.graph import Node
from aragog.pages.richpins.syntax.sources import Sources
from aragog.pages.richpins.values import dates, numbers, scalars
from aragog.pages.richpins.values.prices import (
    Price,
    ShownPrice,
    noted_price,
    offers_of,
    picked_price,
)
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


T = TypeVar("T")
Finder = Callable[[Sources], Iterable[Candidate]]


@dataclass(frozen=True, slots=True)
class Shown:
    """Finders of values in the visible text, each called only if the markup has no such value."""

    price: ShownPrice
    brand: Finder
    sku: Finder
    gtin: Finder
    mpn: Finder
    stock: Finder


def read(sources: Sources, nodes: list[Node], shown: Shown) -> Product:
    """Return the product of `nodes`, most trusted first, and of the visible text after them."""
    ledger = sources.ledger
    offers = list(offers_of(nodes))
    price = _price(sources, nodes, shown.price)

    def pick(
        name: str,
        parse: Callable[[Any], T | None],
        *candidates: Iterable[Candidate],
        expected: str = "a value",
        otherwise: Finder | None = None,
    ) -> T | None:
        return ledger.pick(
            f"product.{name}",
            parse,
            chain.from_iterable(candidates),
            otherwise=_deferred(sources, otherwise),
            expected=expected,
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
        price_valid_until=pick(
            "price_valid_until", _day, of(offers, "pricevaliduntil"), expected="a date"
        ),
        availability=_availability(sources, offers, nodes, shown.stock),
        condition=pick("condition", condition, *conditions, expected="a condition"),
        brand=pick("brand", scalars.name, *brands, expected="a name", otherwise=shown.brand),
        seller=pick("seller", scalars.name, of(offers, "seller", "offeredby")),
        sku=pick("sku", scalars.text, of(nodes, "sku", "productid"), otherwise=shown.sku),
        gtin=pick("gtin", gtin, *gtins, expected="a GTIN", otherwise=shown.gtin),
        mpn=pick("mpn", scalars.text, of(nodes, "mpn"), otherwise=shown.mpn),
        color=pick("color", scalars.text, of(nodes, "color")),
        size=pick("size", scalars.text, of(nodes, "size")),
        material=pick("material", scalars.text, of(nodes, "material")),
        category=pick("category", scalars.text, of(nodes, "category"), meta("product:category")),
        offer_count=pick("offer_count", numbers.count, of(offers, "offercount")),
        rating=rating_of(sources, "product.rating", nodes),
    )


def _deferred(sources: Sources, finder: Finder | None) -> Iterator[Candidate]:
    """Search the visible text only when the first candidate is asked for."""
    if finder is not None:
        yield from finder(sources)


def _price(sources: Sources, nodes: list[Node], shown_price: ShownPrice) -> Price | None:
    price = picked_price(sources, nodes, "product.price") or noted_price(sources, shown_price)
    if price:
        provenance = sources.ledger.provenance
        provenance["product.currency"] = provenance["product.price"]
    return price


_GTINS = ("gtin13", "gtin", "gtin12", "gtin14", "gtin8", "ean", "upc")


def _availability(
    sources: Sources, offers: list[Node], nodes: list[Node], shown: Finder
) -> Availability | None:
    """Return in stock if any offer is; otherwise the state of the first offer."""
    availabilities = sources.scalars([*offers, *nodes], "availability")
    every = [
        *availabilities,
        *sources.meta("product:availability", "og:availability", "availability"),
    ]
    every.sort(key=lambda c: (_rank(c), availability(c.value) != "in_stock"))
    return sources.ledger.pick(
        "product.availability",
        availability,
        every,
        otherwise=_deferred(sources, shown),
        expected="an availability",
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
    moment = dates.moment(value)
    return moment.date() if hasattr(moment, "date") else moment  # type: ignore[union-attr]
