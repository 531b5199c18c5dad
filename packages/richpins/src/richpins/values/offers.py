"""
Read an offer's price: the amount, the currency, and the price before a reduction.

An offer has its price in a property, in a monetary amount, or in price specifications. Fees, unit
prices, partial prices, and prices for members or larger quantities are not the price of one piece.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import ROUND_DOWN, Decimal
from typing import Any

from richpins.structured_data.graph import Node
from richpins.structured_data.microdata_rdfa import FORMER_PRICE
from richpins.values import money, numbers, scalars
from richpins.values.availability import Availability, availability, normalize_term, rank

_PRICES = ("price", "lowprice", "minprice")
_HIGH_PRICES = ("highprice", "maxprice")
_CURRENCIES = ("pricecurrency", "currency", "currencycode")
_FEES = frozenset({"deliverychargespecification", "paymentchargespecification"})
_LIST_PRICE_TYPES = frozenset(
    {"listprice", "strikethroughprice", "msrp", "srp", "suggestedretailprice", "regularprice"}
)
_NOT_CONSUMER_PRICES = frozenset({"invoiceprice", "minimumadvertisedprice"})
_SPECIAL_CONDITIONS = ("pricecomponenttype", "validformembertier", "membershippointsearned")
_PIECE_UNITS = frozenset(
    {"c62", "ea", "h87", "pce", "pcs", "nmp", "pr", "set", "unit", "piece", ""}
)
"""Unit codes and words for pieces."""
_RENTAL_FUNCTIONS = frozenset({"leaseout", "rent", "lease", "offerforlease"})
_MAX_CLIMB = 4

NO_CURRENCY = "XXX"
"""ISO 4217's code for no currency."""


@dataclass(frozen=True, slots=True)
class Price:
    """The price of one offer, or of the best offer."""

    amount: Decimal
    currency: str | None
    high: Decimal | None
    """The highest price, if the offers differ."""
    list_price: Decimal | None
    offer: Node | None = field(default=None, compare=False)
    """The offer with this price; None if the price is from another source."""
    other_offers: tuple[Node, ...] = field(default=(), compare=False)
    """The offers whose prices were not chosen."""


IsPlain = Callable[[str], bool]
"""Decides whether the point in an amount such as `3.350` is a decimal point."""


def _is_never_plain(_: str) -> bool:
    return False


def read_offer_price(
    offer: Node,
    country: str | None,
    *,
    is_plain: IsPlain = _is_never_plain,
    currency: str | None = None,
) -> Price | None:
    """
    Return an offer's price; None if it has no amount or an uncertain currency.

    `is_plain` decides how to read ambiguous amounts. `currency` is used if the offer has none.
    """
    specifications = _nodes(offer.all("pricespecification"))
    code = _find_currency(offer, specifications, country) or currency
    amount, high = (
        _first_amount(offer, names, code, is_plain) for names in (_PRICES, _HIGH_PRICES)
    )
    list_price = None
    for specification in specifications:
        kind = normalize_term(specification.first("pricetype") or "")
        if kind in _LIST_PRICE_TYPES:
            list_price = list_price or _first_amount(specification, _PRICES, code, is_plain)
        elif (
            amount is None
            and kind not in _NOT_CONSUMER_PRICES
            and _is_single_piece_price(specification)
        ):
            amount = _first_amount(specification, _PRICES, code, is_plain)
            high = high or _first_amount(specification, _HIGH_PRICES, code, is_plain)
    former_price = _first_amount(offer, (FORMER_PRICE,), code, is_plain)
    amount = next(
        (candidate for candidate in (amount, high, former_price) if candidate is not None), None
    )
    if former_price is not None and amount is not None and former_price > amount:
        list_price = list_price or former_price
    if amount is None or code is None or amount < 0:
        return None
    return Price(amount, code, high, list_price, offer)


def offer_availability(offer: Node) -> Availability | None:
    """Return the availability that the offer itself declares."""
    return availability(offer.first("availability"))


def offer_rank(offer: Node) -> int:
    """Return how hard it is for one buyer to get one piece: 0 (easy) to 3 (hard)."""
    has_conditions = (
        any(offer.all(name) for name in _SPECIAL_CONDITIONS) or _min_quantity(offer) > 1
    )
    is_rent = (
        normalize_term(offer.first("businessfunction") or "").rpartition("#")[2]
        in _RENTAL_FUNCTIONS
    )
    return 3 if has_conditions or is_rent else rank(offer_availability(offer))


def is_used(offer: Node) -> bool:
    """Return True if the offer is for a used, refurbished or damaged piece."""
    kind = normalize_term(offer.first("itemcondition") or "").removesuffix("condition")
    return kind in _NOT_NEW


_NOT_NEW = frozenset({"used", "refurbished", "damaged"})


def _is_single_piece_price(specification: Node) -> bool:
    """Return False for a fee, a partial or unit price, or a price for members or in bulk."""
    if specification.is_a(_FEES) or any(specification.all(name) for name in _SPECIAL_CONDITIONS):
        return False
    reference = specification.first("referencequantity")
    unit = specification.first("unitcode", "unittext")
    if isinstance(reference, Node):
        # With a `valueReference`, the value only describes how the unit price is computed.
        if not reference.all("valuereference"):
            unit = reference.first("unitcode", "unittext") or unit
        else:
            unit = None
    return normalize_term(unit or "") in _PIECE_UNITS and _min_quantity(specification) <= 1


def _min_quantity(node: Node) -> Decimal:
    quantity = node.first("eligiblequantity")
    if isinstance(quantity, Node):
        quantity = quantity.first("minvalue", "value")
    return numbers.decimal(quantity) or Decimal(1)


def _nodes(values: list[Any]) -> list[Node]:
    return [value for value in values if isinstance(value, Node)]


def _find_currency(offer: Node, specifications: list[Node], country: str | None) -> str | None:
    """Return an offer's currency; None if the price's text and the currency property differ."""
    declared = next(_declared_currencies(offer, specifications, country), None)
    texts = [text for name in _PRICES if isinstance(text := offer.first(name), str)]
    text_currency = next((code for text in texts if (code := money.find_currency(text))), None)
    if declared and text_currency and declared != text_currency:
        return None
    guesses = (money.find_currency(text, country) for text in texts)
    return declared or text_currency or next(filter(None, guesses), None)


def _declared_currencies(
    offer: Node, specifications: list[Node], country: str | None
) -> Iterator[str]:
    for node in [offer, *_nodes(offer.all(*_PRICES)), *specifications, *_ancestors(offer)]:
        raw = node.first(*_CURRENCIES)
        code = money.find_currency(scalars.text(raw), country) if raw is not None else None
        if code:
            yield code


def _ancestors(offer: Node) -> Iterator[Node]:
    node = offer.parent
    for _ in range(_MAX_CLIMB):
        if node is None:
            return
        yield node
        node = node.parent


def _first_amount(
    node: Node, names: tuple[str, ...], currency: str | None, is_plain: IsPlain
) -> Decimal | None:
    """Return the amount of the first of `names` whose values agree; None if there is none."""
    for name in names:
        amounts = (_read_value(value, currency, is_plain) for value in node.all(name))
        amount = _common_amount([candidate for candidate in amounts if candidate is not None])
        if amount is not None:
            return amount
    return None


def _read_value(value: Any, currency: str | None, is_plain: IsPlain) -> Decimal | None:
    currency_text: Any = value if isinstance(value, str) else None
    if isinstance(value, Node):
        currency_text, value = value.first(*_CURRENCIES), value.first("price", "value", "minvalue")
    code = money.find_currency(currency_text)
    if code and currency and code != currency:
        return None
    return read_amount(value, currency or NO_CURRENCY, is_plain)


def read_amount(value: Any, currency: str, is_plain: IsPlain) -> Decimal | None:
    """Return an amount; `is_plain` decides if a point before three digits is a decimal point."""
    plain = numbers.decimal_with_point(value, currency)
    amount = plain if plain is not None and is_plain(value) else money.find_amount(value, currency)
    return numbers.round_excess_decimals(amount, currency) if amount is not None else None


def _common_amount(amounts: list[Decimal]) -> Decimal | None:
    """
    Return the amount on which all values agree, or None.

    Zeros are ignored, because templates print 0 for an unset value. If values differ only in cents
    (`19` and `19.99`), whole ones are ignored.
    """
    distinct = list(dict.fromkeys(amount for amount in amounts if amount)) or amounts[:1]
    if len(distinct) > 1:
        whole_amounts = {amount.to_integral_value(ROUND_DOWN) for amount in distinct}
        distinct = [
            amount for amount in distinct if len(whole_amounts) > 1 or amount not in whole_amounts
        ]
    return distinct[0] if len(distinct) == 1 else None
