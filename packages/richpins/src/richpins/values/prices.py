"""Read the prices of items with offers, from the markup or the visible text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

from ahocorasick_rs import BytesAhoCorasick, MatchKind

from richpins.provenance import Candidate
from richpins.structured_data.graph import Node
from richpins.structured_data.sources import Sources
from richpins.values import money, offers
from richpins.values.offers import NO_CURRENCY, IsPlain, Price

MAX_OFFERS = 500
_OFFER_TYPES = frozenset({"offer", "aggregateoffer", "demand", "offerforpurchase", "offerforlease"})

ShownPrice = Callable[[Sources, str | None], tuple[Decimal, str, Candidate] | None]
"""Finds the visible price, given the country. Returns amount, currency and position."""


def find_offers(nodes: list[Node]) -> Iterator[Node]:
    """Yield the offers of products and their variants, also inside aggregate offers."""
    offers_left = MAX_OFFERS
    for node in nodes:
        if node.role == "itemoffered" and node.parent is not None:
            yield node.parent
        for item in [node, *_nodes(node.all("hasvariant", "model"))]:
            for offer in _nodes(item.all("offers", "offer")):
                offers_left -= 1
                if offers_left < 0:
                    return
                yield offer
                yield from _nodes(offer.all("offers", "offer"))[: max(offers_left, 0)]


def _offers_of_address(offers: list[Node], url: str) -> list[Node]:
    """
    Return the offers of the variant that the page's URL selects with its query, or else all.

    The page's URL may have more parameters than the variant's.
    """
    path, parameters = _path_and_parameters(url)
    if not parameters:
        return offers
    selected = []
    for offer in offers:
        address = offer.first("url") or (offer.parent.first("url") if offer.parent else None)
        if isinstance(address, str):
            offer_path, offer_parameters = _path_and_parameters(address)
            is_same_path = path.endswith(offer_path)
            if is_same_path and offer_parameters and offer_parameters <= parameters:
                selected.append(offer)
    return selected or offers


def _path_and_parameters(url: str) -> tuple[str, frozenset[str]]:
    path, _, query = url.partition("#")[0].partition("?")
    path = path.partition("://")[2].removeprefix("www.") or path
    return path.rstrip("/"), frozenset(filter(None, query.split("&")))


_PRICE_PROPERTIES = frozenset({"price", "lowprice", "minprice"})


def _nodes(values: list[Any]) -> list[Node]:
    return [value for value in values if isinstance(value, Node)]


def _price_candidates(sources: Sources, nodes: list[Node]) -> Iterator[Candidate]:
    for node in nodes:
        offers = list(find_offers([node]))
        if offers:
            selected = _offers_of_address(offers, sources.document.url)
            yield Candidate(selected, node.syntax, f"{node.position}.offers")
        elif node.properties.keys() & _PRICE_PROPERTIES:
            yield Candidate([node], node.syntax, f"{node.position}.price")
    separate_offers = [n for n in sources.graph.find_nodes(_OFFER_TYPES) if n.parent is None]
    for offer in separate_offers[:1]:
        yield Candidate([offer], offer.syntax, f"{offer.position}.price")
    for prefix in ("product:sale_price", "product:price", "og:price", "product"):
        amount = sources.metas.first(f"{prefix}:amount")
        if amount:
            currency = sources.metas.first(f"{prefix}:currency", "product:price:currency")
            list_price = sources.metas.first(
                "product:original_price:amount",
                *(["product:price:amount"] if prefix == "product:sale_price" else []),
            )
            yield next(sources.meta(f"{prefix}:amount"))._replace(
                value=(amount, currency, list_price)
            )
    for meta in _price_string_metas(sources):
        yield meta._replace(value=(meta.value, sources.metas.first("product:price:currency"), None))


def _price_string_metas(sources: Sources) -> Iterator[Candidate]:
    """Yield meta elements that contain a price with its currency, such as `30,000원`."""
    yield from sources.meta("og:price", "product:price")
    for number in ("1", "2"):
        label = sources.metas.first(f"twitter:label{number}") or ""
        if label.strip().lower().rstrip(":") in _PRICE_LABELS:
            yield from sources.meta(f"twitter:data{number}")


_PRICE_LABELS = frozenset({"price", "preis", "prix", "precio", "prezzo", "preço", "prijs", "cena"})


def read_price(
    sources: Sources, nodes: list[Node], field: str
) -> tuple[Decimal, str | None] | None:
    """Return the price of an item with offers, recorded as `field`."""
    price = declared_price(sources, nodes, field)
    return (price.amount, price.currency) if price else None


def find_price(sources: Sources, nodes: list[Node], shown_price: ShownPrice) -> Price | None:
    """
    Return the price in the markup, or else in the visible text, as `product.price`.

    A declared price of zero counts only if the page shows no other, because templates print it for
    products without a price of their own, such as bundles.
    """
    field = "product.price"
    price = declared_price(sources, nodes, field)
    if price is not None and price.amount:
        return price
    visible = visible_price(sources, shown_price)
    if visible is None or price is not None or not nodes:
        return visible or price
    declared = declared_price(sources, nodes, field, currency=visible.currency)
    return declared if declared and declared.amount == visible.amount else visible


def declared_price(
    sources: Sources, nodes: list[Node], field: str, *, currency: str | None = None
) -> Price | None:
    """
    Return the price in the markup, recorded as `field`.

    `currency` is used for offers that declare none.
    """
    country = find_country(sources)

    def is_plain(text: str) -> bool:
        return not _is_grouped_in_text(sources.words.body, text)

    return sources.ledger.pick(
        field,
        lambda raw: _parse_price(raw, country, is_plain, currency),
        _price_candidates(sources, nodes),
        expected="a price",
    )


def visible_price(sources: Sources, shown_price: ShownPrice) -> Price | None:
    """Return the price in the visible text, recorded as `product.price`."""
    visible = shown_price(sources, find_country(sources))
    if visible is None:
        return None
    sources.ledger.note("product.price", visible[2])
    return Price(visible[0], visible[1], None, None)


def find_country(sources: Sources) -> str | None:
    """Return the two-letter country of a page's audience, from its locale or host."""
    locale = sources.metas.first("og:locale") or sources.document.language or ""
    region = re.split(r"[-_]", locale)[-1].lower()
    if len(region) == 2 and len(locale) == 5:
        return region
    if locale[:2].lower() in _COUNTRY_OF_LANGUAGE and len(locale) == 2:
        return _COUNTRY_OF_LANGUAGE[locale[:2].lower()]
    top_level = (
        sources.document.url.partition("://")[2].partition("/")[0].rpartition(".")[2].lower()
    )
    if len(top_level) == 2 and top_level not in _GENERIC_TOP_LEVEL_DOMAINS:
        return top_level
    return "us" if locale.lower() == "en" and _mentions_only_us_dollar(sources) else None


def _mentions_only_us_dollar(sources: Sources) -> bool:
    body = sources.words.body
    return not any(_OTHER_DOLLAR.match(body, offset) for offset in _dollar_offsets(body))


def _dollar_offsets(body: bytes) -> Iterator[int]:
    """
    Yield offsets at which another country's dollar may be mentioned. The regular expression alone
    would take 1 ms for 60 KB.
    """
    for start in range(0, len(body), _CHUNK_BYTES):
        piece = body[start : start + _CHUNK_BYTES + _MAX_PRICE_BYTES]
        for _, offset, _ in _OTHER_DOLLAR_NAMES.find_matches_as_indexes(piece):
            yield start + offset


_CODES = ("AUD", "CAD", "NZD", "HKD", "SGD", "TWD", "MXN", "ARS", "CLP", "COP")
_COUNTRIES = ("Australia", "Canada", "Canadian", "New Zealand", "Singapore", "Hong Kong")
_SYMBOLS = ("A$", "AU$", "C$", "CA$", "NZ$", "HK$", "S$")
_OTHER_DOLLAR_NAMES = BytesAhoCorasick(
    [name.encode() for name in (*_CODES, *_COUNTRIES, *_SYMBOLS)],
    matchkind=MatchKind.LeftmostLongest,
)
_MAX_PRICE_BYTES = 20
_CHUNK_BYTES = 262_144
_OTHER_DOLLAR = re.compile(
    rf"\b(?:{'|'.join((*_CODES, *_COUNTRIES))})\b"
    rf"|\b(?:{'|'.join(map(re.escape, _SYMBOLS))})(?=\s?\d)".encode()
)


_COUNTRY_OF_LANGUAGE = {
    "ja": "jp", "sv": "se", "da": "dk", "nb": "no", "nn": "no", "no": "no", "hi": "in",
}  # fmt: skip
"""The countries of languages used in one country only, for pages that declare no region."""
_GENERIC_TOP_LEVEL_DOMAINS = frozenset(
    {"io", "co", "me", "tv", "ai", "to", "ly", "gg", "eu", "fm", "cc", "ws"}
)
"""Country top-level domains that sites from all countries use."""


def _is_grouped_in_text(body: bytes, text: str) -> bool:
    """Return True if the visible text has the markup's `1.290` as `1.290,00`, `1,290` or `1290`."""
    whole, _, rest = text.strip().encode().partition(b".")
    gap = rb"(?:[.,' ]|\xc2\xa0|\xe2\x80\xaf|&nbsp;|)"
    pattern = (
        rb">[^<>\"{}]{0,40}?(?<![\d.,])"
        + re.escape(whole)
        + gap
        + re.escape(rest)
        + rb"(?![\d]|[.,]\d{3})"
    )
    return re.search(pattern, body) is not None


def _parse_price(
    raw: Any, country: str | None, is_plain: IsPlain, currency: str | None
) -> Price | None:
    if isinstance(raw, tuple):
        return _parse_meta_price(raw, country, is_plain)
    return _best_price(raw, country, is_plain, currency)


def _parse_meta_price(
    raw: tuple[Any, Any, Any], country: str | None, is_plain: IsPlain
) -> Price | None:
    amount, currency, list_price_text = raw
    declared, text_currency = money.find_currency(currency), money.find_currency(amount)
    if declared and text_currency and declared != text_currency:
        return None
    code = declared or money.find_currency(amount, country)
    number = offers.read_amount(amount, code or NO_CURRENCY, is_plain)
    if number is None or number < 0 or code is None:
        return None
    list_price = offers.read_amount(list_price_text, code, is_plain)
    return Price(number, code, None, list_price if list_price and list_price > number else None)


_WORST_RANK = 3


def _best_price(
    raw: list[Node], country: str | None, is_plain: IsPlain, currency: str | None
) -> Price | None:
    """
    Return the lowest price among the offers with the best rank.

    If there are offers in stock, sold-out offers affect only the highest price. If there are new
    pieces of the best rank, used pieces affect neither price. The currency is that of the first
    offer with the best rank.
    """
    prices = (
        (offer, offers.read_offer_price(offer, country, is_plain=is_plain, currency=currency))
        for offer in raw
    )
    offers_with_price = [(offer, price) for offer, price in prices if price]
    if not offers_with_price:
        return None
    with_availability = {
        id(offer) for offer, _ in offers_with_price if offers.offer_availability(offer)
    }
    ranked = [
        ((offers.offer_rank(offer), offers.is_used(offer)), price)
        for offer, price in offers_with_price
        if not any(id(part) in with_availability for part in _nodes(offer.all("offers", "offer")))
    ]
    best_rank = min(rank for rank, _ in ranked)
    best = [price for rank, price in ranked if rank == best_rank]
    same_currency = [price for price in best if price.currency == best[0].currency]
    lowest = min(same_currency, key=lambda price: price.amount)
    comparable = [
        price
        for offer, price in offers_with_price
        if offers.offer_rank(offer) < _WORST_RANK
        and price.currency == lowest.currency
        and (best_rank[1] or not offers.is_used(offer))
    ] or same_currency
    high = max(max(price.amount, price.high or price.amount) for price in comparable)
    list_prices = [price.list_price for price in (lowest, *same_currency) if price.list_price]
    return replace(
        lowest,
        high=high if high > lowest.amount else None,
        list_price=next((amount for amount in list_prices if amount > lowest.amount), None),
        other_offers=tuple(offer for offer, _ in offers_with_price if offer is not lowest.offer),
    )
