"""The page type of a product and its offers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from itertools import chain, islice
from typing import Any, Literal, TypeVar

from richpins._list_entries import find_page_addresses, has_address
from richpins.page_facts import breadcrumbs, url_codes
from richpins.page_types import PageType, article
from richpins.provenance import Candidate
from richpins.structured_data.graph import Node
from richpins.structured_data.sources import Sources
from richpins.values import dates, numbers, prices, scalars
from richpins.values.availability import Availability, availability, normalize_term
from richpins.values.offers import Price, offer_availability, read_offer_price
from richpins.values.ratings import Rating, read_rating
from richpins.visible_text import brands, product_details, trails
from richpins.visible_text.former_price import add_former_price
from richpins.visible_text.price import shown_price
from urlspelling import InvalidUrl
from urlspelling.domain import registered_domain

Condition = Literal["new", "used", "refurbished", "damaged"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """A product. Prices are in `currency`; without a currency, they are None."""

    price: Decimal | None = None
    """The current price, or the lowest if there are several offers."""
    price_high: Decimal | None = None
    """The highest price of several offers or of a declared range; None if there is only one."""
    list_price: Decimal | None = None
    """The price before a reduction, if the page shows it."""
    currency: str | None = None
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


TYPES = frozenset(
    {
        "product", "productgroup", "productmodel", "individualproduct", "someproducts", "vehicle",
        "car", "motorcycle", "motorizedbicycle", "busorcoach", "dietarysupplement", "drug",
        "productcollection",
    }
)  # fmt: skip

_CONDITIONS: dict[str, Condition] = {
    "new": "new", "newcondition": "new", "brandnew": "new", "used": "used",
    "usedcondition": "used", "refurbished": "refurbished", "refurbishedcondition": "refurbished",
    "damaged": "damaged", "damagedcondition": "damaged",
}  # fmt: skip


T = TypeVar("T")
Finder = Callable[[Sources], Iterable[Candidate]]


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads one product's values from its items, its offers and the page."""

    sources: Sources
    nodes: list[Node]
    offers: list[Node]

    def pick(
        self,
        name: str,
        parse: Callable[[Any], T | None],
        *candidates: Iterable[Candidate],
        expected: str = "a value",
        fallback: Finder | None = None,
    ) -> T | None:
        return self.sources.ledger.pick(
            f"product.{name}",
            parse,
            chain.from_iterable(candidates),
            fallback=_search_lazily(self.sources, fallback),
            expected=expected,
        )

    def item_values(self, *properties: str) -> Iterator[Candidate]:
        return self.sources.scalars(self.nodes, *properties)

    def offer_values(self, *properties: str) -> Iterator[Candidate]:
        return self.sources.scalars(self.offers, *properties)

    @property
    def name(self) -> str | None:
        return next(filter(None, (scalars.text(node.first("name")) for node in self.nodes)), None)


def read(sources: Sources, nodes: list[Node]) -> Product:
    """Return the product described by `nodes` (most trusted first), or else by the visible text."""
    ownerless = sources.graph.ownerless_product
    nodes = nodes if ownerless is None else [*nodes, ownerless]
    price = _price(sources, nodes, partial(shown_price, is_product=True))
    reader = _Reader(
        sources, nodes, _move_chosen_offer_first(list(prices.find_offers(nodes)), price)
    )
    product = Product(
        price=price.amount if price else None,
        price_high=price.high if price else None,
        list_price=price.list_price if price else None,
        currency=price.currency if price else None,
        availability=_availability(sources, price, reader.offers, nodes),
        rating=read_rating(sources, "product.rating", nodes),
    )
    return _add_attributes(reader, _add_identifiers(reader, _add_offer_values(reader, product)))


def _add_offer_values(reader: _Reader, product: Product) -> Product:
    pick, offer_values, meta = reader.pick, reader.offer_values, reader.sources.meta
    conditions = chain(offer_values("itemcondition"), reader.item_values("itemcondition"))
    return replace(
        product,
        price_valid_until=pick(
            "price_valid_until", _parse_day, offer_values("pricevaliduntil"), expected="a date"
        ),
        condition=pick(
            "condition",
            condition,
            conditions,
            meta("product:condition", "og:condition"),
            expected="a condition",
        ),
        seller=pick("seller", scalars.name, offer_values("seller", "offeredby")),
        offer_count=pick("offer_count", numbers.count, offer_values("offercount")),
    )


def _add_identifiers(reader: _Reader, product: Product) -> Product:
    pick, item_values, meta = reader.pick, reader.item_values, reader.sources.meta
    name = reader.name or reader.sources.document.heading
    gtins = (chain(item_values(key), reader.offer_values(key)) for key in _GTIN_PROPERTIES)
    return replace(
        product,
        brand=pick(
            "brand",
            brand,
            item_values("brand", "manufacturer"),
            meta("product:brand", "og:brand"),
            expected="a name",
            fallback=brands.brands,
        ),
        sku=pick(
            "sku", partial(sku, name=name), item_values("sku", "productid"), fallback=_visible_skus
        ),
        gtin=pick(
            "gtin",
            gtin,
            *gtins,
            meta(*_GTIN_TAGS),
            expected="a GTIN",
            fallback=product_details.gtins,
        ),
        mpn=pick(
            "mpn",
            scalars.text,
            item_values("mpn"),
            meta("product:mfr_part_no", "product:mpn"),
            fallback=product_details.mpns,
        ),
    )


def _add_attributes(reader: _Reader, product: Product) -> Product:
    pick, item_values, meta = reader.pick, reader.item_values, reader.sources.meta
    name = reader.name or reader.sources.document.heading
    return replace(
        product,
        color=pick("color", scalars.text, item_values("color"), meta("product:color")),
        size=pick("size", scalars.text, item_values("size"), meta("product:size")),
        material=pick("material", scalars.text, item_values("material"), meta("product:material")),
        category=pick(
            "category",
            scalars.text,
            item_values("category"),
            meta("product:category"),
            fallback=partial(_categories, name=name),
        ),
    )


def _categories(sources: Sources, name: str | None) -> Iterator[Candidate]:
    yield from breadcrumbs.categories(sources, name)
    yield from trails.categories(sources, name)


def _visible_skus(sources: Sources) -> Iterator[Candidate]:
    yield from url_codes.asins(sources)
    yield from product_details.skus(sources)
    # After visible numbers, because some shops put the number of their database into these tags.
    yield from sources.meta("product:retailer_item_id", "product:retailer_part_no")
    yield from url_codes.product_codes(sources)


def _search_lazily(sources: Sources, finder: Finder | None) -> Iterator[Candidate]:
    if finder is not None:
        yield from finder(sources)


def _price(sources: Sources, nodes: list[Node], shown_price: prices.ShownPrice) -> Price | None:
    price = prices.find_price(sources, nodes, shown_price)
    if price is None:
        return None
    provenance = sources.ledger.provenance
    provenance["product.currency"] = provenance["product.price"]
    return price if price.list_price or price.high else add_former_price(sources, price)


_GTIN_TAGS = ("product:gtin", "product:ean", "product:upc", "product:isbn")
_GTIN_PROPERTIES = ("gtin13", "gtin", "gtin12", "gtin14", "gtin8", "ean", "upc")


def _move_chosen_offer_first(offers: list[Node], price: Price | None) -> list[Node]:
    """Move the offer with the chosen price to the front. Its seller is then preferred."""
    chosen_offers = [offer for offer in offers if price is not None and offer is price.offer]
    return [*chosen_offers[:1], *(offer for offer in offers if offer not in chosen_offers)]


def _availability(
    sources: Sources, price: Price | None, offers: list[Node], nodes: list[Node]
) -> Availability | None:
    """
    Return the availability of the offer with the chosen price.

    If that offer declares none, the product is in stock if its own markup or an offer without a
    price says so. Otherwise the first availability found counts. A product stays in stock if only
    one of its sizes is sold out.
    """
    skipped_ids = {id(offer) for offer in price.other_offers} if price else set()
    remaining_offers = [offer for offer in offers if id(offer) not in skipped_ids]
    chosen_offers = [price.offer] if price and price.offer is not None else []
    candidates = [
        *sources.scalars([*remaining_offers, *nodes], "availability"),
        *sources.meta("product:availability", "og:availability", "availability"),
    ]
    candidates.sort(key=lambda c: (_syntax_rank(c), availability(c.value) != "in_stock"))
    return sources.ledger.pick(
        "product.availability",
        availability,
        [
            *sources.scalars(_offer_of_other_size(sources, nodes, price), "availability"),
            *sources.scalars(chosen_offers, "availability"),
            *candidates,
            *product_details.card_stock(sources),
        ],
        fallback=_search_lazily(sources, product_details.visible_stock),
        expected="an availability",
    )


def _offer_of_other_size(sources: Sources, nodes: list[Node], price: Price | None) -> list[Node]:
    """Return an offer in stock at this price for another variant of the item, such as a size."""
    if price is None or price.offer is None or offer_availability(price.offer) not in _UNAVAILABLE:
        return []
    name = scalars.text(nodes[0].first("name"))
    same_name_items = [
        node
        for node in islice(sources.graph.find_nodes(TYPES), _MAX_EXAMINED_ITEMS)
        if name and scalars.text(node.first("name")) == name
    ]
    matching_offers = (
        offer
        for offer in prices.find_offers(same_name_items)
        if offer_availability(offer) == "in_stock"
        and (other_price := read_offer_price(offer, None)) is not None
        and (other_price.amount, other_price.currency) == (price.amount, price.currency)
    )
    return list(islice(matching_offers, 1))


_MAX_EXAMINED_ITEMS = 100
_UNAVAILABLE = frozenset({"out_of_stock", "sold_out"})


def _syntax_rank(candidate: Candidate) -> int:
    return {"json-ld": 0, "microdata": 1, "rdfa": 2}.get(candidate.syntax, 3)


def condition(value: Any) -> Condition | None:
    """Parse an item condition: `https://schema.org/NewCondition`, `new`."""
    return _CONDITIONS.get(normalize_term(value))


def brand(value: Any) -> str | None:
    """Return a brand without the words of a store link: `Visit the Pot & Co Store`."""
    name = scalars.name(value)
    if name is None:
        return None
    match = _BRAND_LINK.fullmatch(name)
    return (match[1] or match[2]).strip() if match else name


_BRAND_LINK = re.compile(
    r"visit\sthe\s(.{1,60})\sstore"
    r"|(?:[^:]{0,40}\b)?(?:brand|marke|marca|marque|merk|märke|mærke|značka|marka|бренд)\s?:\s?(.{1,60})",
    re.IGNORECASE,
)


def sku(value: Any, name: str | None) -> str | None:
    """
    Return a product number without its label or the product's name; None if nothing is left.

    For a URL, return the last path segment, if it contains a digit.
    """
    text = _SKU_LABEL.sub("", scalars.text(value) or "")
    if "://" in text:
        last_segment = text.partition("?")[0].rstrip("/").rpartition("/")[2]
        return last_segment if any(map(str.isdigit, last_segment)) else None
    if name is not None and " " in text and text.casefold().startswith(name.casefold()):
        remainder = text[len(name) :].strip(" -–—:|#/()[]")
        return remainder if any(map(str.isdigit, remainder)) else None
    return text or None


_SKU_LABEL = re.compile(
    r"\A(?:sku|asin|mpn|art(?:ikel)?[.-]{0,2}\s?n(?:r|o|ummer)\.?)\s?[:#]\s?", re.IGNORECASE
)


def gtin(value: Any) -> str | None:
    """Return the digits of a GTIN or ISBN without its label; None if its check digit is wrong."""
    digits = _GTIN_LABEL.sub("", _GTIN_SEPARATORS.sub("", str(value).lower()))
    if not (digits.isascii() and digits.isdigit() and len(digits) in {8, 12, 13, 14}):
        return None
    reversed_digits = [int(digit) for digit in reversed(digits)]
    total = sum(digit * (3 if index % 2 else 1) for index, digit in enumerate(reversed_digits))
    return digits if total % 10 == 0 and int(digits) else None


_GTIN_SEPARATORS = re.compile(r"[\s()\[\]{}\u2010-\u2015-]")
_GTIN_LABEL = re.compile(r"\A(?:gtin|ean|upc|isbn|jan)(?:(?:8|1[0-4])(?=\D))?\D{0,20}")


def _parse_day(value: Any) -> date | None:
    """Return the day, or None for a date before online shops existed (`1970-01-01`)."""
    moment = dates.moment(value)
    day = moment.date() if isinstance(moment, datetime) else moment
    return day if day is not None and day.year >= _MIN_OFFER_YEAR else None


_MIN_OFFER_YEAR = 1995


def _find_in_text(
    sources: Sources, page_type: PageType | None
) -> tuple[list[Node], Product] | None:
    """Return the product on a page without markup, if it shows a price and a way to buy."""
    if page_type is not None:
        return None
    if shown_price(sources, prices.find_country(sources), is_product=False) is not None:
        product = read(sources, [])
        return ([], product) if product.price is not None else None
    return ([], read(sources, [])) if _is_sold_out_product(sources) else None


def _is_sold_out_product(sources: Sources) -> bool:
    """Return True if the page shows a product's number and, in place of a price, no stock."""
    if not product_details.has_stock_class(sources):
        return False
    codes = chain(
        url_codes.asins(sources), product_details.skus(sources), product_details.gtins(sources)
    )
    return next(codes, None) is not None and product_details.is_called_unavailable(
        sources, accepts_sold_out_class=True
    )


_PRICE_TAGS = (
    "product:price:amount", "product:sale_price:amount", "og:price:amount", "og:price",
    "product:price",
)  # fmt: skip


def _declaration_weight(sources: Sources, og_type: str) -> int:
    is_declared = og_type.startswith("product") or any(tag in sources.metas for tag in _PRICE_TAGS)
    return 5 if is_declared else 0


def _adjustment(sources: Sources, product: Node, _og_type: str) -> int:
    """Lower the weight of another site's product in an article."""
    url = product.first("url")
    addresses = find_page_addresses(sources)
    articles = sources.graph.find_nodes(article.TYPES)
    if not isinstance(url, str) or not any(has_address(node, addresses) for node in articles):
        return 0
    try:
        is_other_site = registered_domain(url) != registered_domain(sources.document.url)
    except InvalidUrl:
        return 0
    return -45 if is_other_site else 0


PAGE_TYPE = PageType(
    name="product",
    record=Product,
    schema_types=TYPES,
    weight=80,
    read=read,
    og_types=("product", "og:product"),
    declaration_weight=_declaration_weight,
    adjustment=_adjustment,
    from_text=_find_in_text,
    credits_authors=False,
)
