"""Read an item's price from its offers in the markup, or from the visible text."""

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
"""Takes the country and returns the visible price: its amount, currency and source."""


def find_offers(nodes: list[Node]) -> Iterator[Node]:
    """Yield the offers of products and their variants, including those in aggregate offers."""
    offers_left = MAX_OFFERS
    for node in nodes:
        if node.role == "itemoffered" and node.parent is not None:
            yield node.parent
        for item in [node, *_filter_nodes(node.all("hasvariant", "model"))]:
            for offer in _filter_nodes(item.all("offers", "offer")):
                offers_left -= 1
                if offers_left < 0:
                    return
                yield offer
                yield from _filter_nodes(offer.all("offers", "offer"))[: max(offers_left, 0)]


_PRICE_PROPERTIES = frozenset({"price", "lowprice", "minprice"})


def _filter_nodes(values: list[Any]) -> list[Node]:
    return [value for value in values if isinstance(value, Node)]


def _find_price_candidates(sources: Sources, nodes: list[Node]) -> Iterator[Candidate]:
    for node in nodes:
        node_offers = list(find_offers([node]))
        if node_offers:
            yield Candidate(node_offers, node.syntax, f"{node.position}.offers")
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
    """Return the amount and currency of an item's price; record their source as `field`."""
    price = declared_price(sources, nodes, field)
    return (price.amount, price.currency) if price else None


def declared_price(sources: Sources, nodes: list[Node], field: str) -> Price | None:
    """Return the price in the markup, and record its source as `field`."""
    country = find_country(sources)

    def is_plain(text: str) -> bool:
        return not _is_grouped_in_text(sources.words.body, text)

    return sources.ledger.pick(
        field,
        lambda raw: _parse_price(raw, country, is_plain),
        _find_price_candidates(sources, nodes),
        expected="a price",
    )


def visible_price(sources: Sources, shown_price: ShownPrice) -> Price | None:
    """Return the price in the visible text, and record its source as `product.price`."""
    visible = shown_price(sources, find_country(sources))
    if visible is None:
        return None
    amount, currency, candidate = visible
    sources.ledger.note("product.price", candidate)
    return Price(amount, currency, None, None)


def find_country(sources: Sources) -> str | None:
    """Return the two-letter country of a page's audience, from its locale or host."""
    locale = sources.metas.first("og:locale") or sources.document.language or ""
    region = re.split(r"[-_]", locale)[-1].lower()
    if len(region) == 2 and len(locale) == 5:
        return region
    if locale[:2].lower() in _LANGUAGE_COUNTRIES and len(locale) == 2:
        return _LANGUAGE_COUNTRIES[locale[:2].lower()]
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
    Yield the offsets of possible mentions of another country's dollar.

    The regular expression alone would take 1 ms for 60 KB.
    """
    for start in range(0, len(body), _CHUNK_BYTES):
        chunk = body[start : start + _CHUNK_BYTES + _MAX_PRICE_BYTES]
        for _, offset, _ in _OTHER_DOLLAR_NAMES.find_matches_as_indexes(chunk):
            yield start + offset


_OTHER_DOLLAR_CODES = ("AUD", "CAD", "NZD", "HKD", "SGD", "TWD", "MXN", "ARS", "CLP", "COP")
_OTHER_DOLLAR_COUNTRIES = (
    "Australia",
    "Canada",
    "Canadian",
    "New Zealand",
    "Singapore",
    "Hong Kong",
)
_OTHER_DOLLAR_SYMBOLS = ("A$", "AU$", "C$", "CA$", "NZ$", "HK$", "S$")
_OTHER_DOLLAR_NAMES = BytesAhoCorasick(
    [
        name.encode()
        for name in (*_OTHER_DOLLAR_CODES, *_OTHER_DOLLAR_COUNTRIES, *_OTHER_DOLLAR_SYMBOLS)
    ],
    matchkind=MatchKind.LeftmostLongest,
)
_MAX_PRICE_BYTES = 20
_CHUNK_BYTES = 262_144
_OTHER_DOLLAR = re.compile(
    rf"\b(?:{'|'.join((*_OTHER_DOLLAR_CODES, *_OTHER_DOLLAR_COUNTRIES))})\b"
    rf"|\b(?:{'|'.join(map(re.escape, _OTHER_DOLLAR_SYMBOLS))})(?=\s?\d)".encode()
)


_LANGUAGE_COUNTRIES = {
    "ja": "jp", "sv": "se", "da": "dk", "nb": "no", "nn": "no", "no": "no", "hi": "in",
}  # fmt: skip
"""Languages used in one country only, for pages that declare no region."""
_GENERIC_TOP_LEVEL_DOMAINS = frozenset(
    {"io", "co", "me", "tv", "ai", "to", "ly", "gg", "eu", "fm", "cc", "ws"}
)
"""Country top-level domains that sites from all countries use."""


def _is_grouped_in_text(body: bytes, text: str) -> bool:
    """Return True if the page groups the digits of `text`: `1.290,00` for the markup's `1.290`."""
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


def _parse_price(raw: Any, country: str | None, is_plain: IsPlain) -> Price | None:
    if isinstance(raw, tuple):
        return _parse_meta_price(raw, country, is_plain)
    return _best_price(raw, country, is_plain)


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


def _best_price(raw: list[Node], country: str | None, is_plain: IsPlain) -> Price | None:
    """
    Return the lowest price among the offers with the best rank.

    Sold-out offers rank after offers in stock. If both exist, sold-out ones affect only the highest
    price. The currency is that of the first offer with the best rank.
    """
    prices = ((offer, offers.read_offer_price(offer, country, is_plain=is_plain)) for offer in raw)
    offers_with_price = [(offer, price) for offer, price in prices if price]
    if not offers_with_price:
        return None
    ids_with_availability = {
        id(offer) for offer, _ in offers_with_price if offers.offer_availability(offer)
    }
    ranked = [
        (offers.offer_rank(offer), price)
        for offer, price in offers_with_price
        if not any(
            id(part) in ids_with_availability
            for part in _filter_nodes(offer.all("offers", "offer"))
        )
    ]
    best_rank = min(rank for rank, _ in ranked)
    best_prices = [price for rank, price in ranked if rank == best_rank]
    same_currency = [price for price in best_prices if price.currency == best_prices[0].currency]
    lowest = min(same_currency, key=lambda price: price.amount)
    comparable_prices = [
        price
        for offer, price in offers_with_price
        if offers.offer_rank(offer) < _WORST_RANK and price.currency == lowest.currency
    ] or same_currency
    high = max(max(price.amount, price.high or price.amount) for price in comparable_prices)
    list_prices = [price.list_price for price in (lowest, *same_currency) if price.list_price]
    return replace(
        lowest,
        high=high if high > lowest.amount else None,
        list_price=next((amount for amount in list_prices if amount > lowest.amount), None),
        other_offers=tuple(offer for offer, _ in offers_with_price if offer is not lowest.offer),
    )
