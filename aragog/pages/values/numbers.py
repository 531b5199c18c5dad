"""
Parse decimals and counts in the notations of many countries.

Values are never guessed: a text with two readings of different value is rejected, unless the
currency decides (euros have two decimals, so `1.299` euros are thousands).
"""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal, InvalidOperation
from typing import Any

_NUMBER = re.compile(r"[-+]?\d(?:[\d.,'’ \u00a0\u202f]*\d)?|[-+]?[.,]\d+")
_MAX_DIGITS = 18
CURRENCIES = frozenset(
    "AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BOV BRL BSD BTN "
    "BWP BYN BZD CAD CDF CHE CHF CHW CLF CLP CNY COP COU CRC CUC CUP CVE CZK DJF DKK DOP DZD EGP "
    "ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HRK HTG HUF IDR ILS INR IQD IRR "
    "ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD "
    "MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR "
    "PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SLL SOS SRD SSP STN SVC SYP SZL "
    "THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD USN UYI UYU UYW UZS VED VES VND VUV WST XAF "
    "XAG XAU XCD XDR XOF XPF YER ZAR ZMW ZWL DEM FRF ITL ESP NLG BEF ATS LTL LVL EEK SKK TRL BTC "
    "CNH GGP IMP JEP XBT ETH".split()
)
"""ISO 4217 with its recent past codes, and similar codes that shops use in `priceCurrency`."""
ARABIC_MARKS = {ord("٫"): ".", ord("٬"): ",", ord("،"): ","}
"""The separators between Arabic and Persian digits, which Python reads like others."""
_THREE_DECIMALS = frozenset({"BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"})


def decimal(value: Any, currency: str | None = None) -> Decimal | None:
    """
    Return a number as Decimal, or None if there is none or it is ambiguous.

    A JSON number is used as it is. In a text, the last of two kinds of separators is the decimal
    one (`1.299,00` and `1,299.00`), a repeated separator groups digits (`1.299.000`), and a single
    separator before three digits groups them unless the currency has three decimals.
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return _finite(repr(value))
    if not isinstance(value, str) or len(value) > 200:
        return None
    if not value.isascii():
        value = unicodedata.normalize("NFKC", value).translate(ARABIC_MARKS)
    match = _NUMBER.search(value)
    return _finite(_plain(match[0], currency)) if match else None


def count(value: Any) -> int | None:
    """Return a whole number from 0 up, such as `1,234 reviews`, or None if there is none."""
    number = decimal(value)
    if number is None or number < 0 or number != number.to_integral_value():
        return None
    return int(number)


def _plain(text: str, currency: str | None) -> str:
    text = re.sub(r"['’ \u00a0\u202f]", "", text)
    dots, commas = text.count("."), text.count(",")
    if dots and commas:
        decimal_mark = "." if text.rfind(".") > text.rfind(",") else ","
        other = "," if decimal_mark == "." else "."
        if text.count(decimal_mark) > 1:
            return ""
        return text.replace(other, "").replace(decimal_mark, ".")
    mark = "." if dots else ","
    if dots + commas > 1:
        return text.replace(mark, "") if _groups(text, mark) else ""
    if dots + commas == 1 and _is_grouping(text, mark, currency):
        return text.replace(mark, "")
    return text.replace(",", ".")


def _groups(text: str, mark: str) -> bool:
    first, *rest = text.lstrip("+-").split(mark)
    return 0 < len(first) <= 3 and all(len(part) in {2, 3} for part in rest) and len(rest[-1]) == 3


def _is_grouping(text: str, mark: str, currency: str | None) -> bool:
    """
    Return True if a single separator groups thousands.

    `1,299` groups; `1.299` groups in a currency with two decimals; `0.299` never does, and neither
    does any number in a currency with three decimals.
    """
    whole, _, rest = text.lstrip("+-").partition(mark)
    if len(rest) != 3 or not whole or whole == "0" or len(whole) > 3:
        return False
    return currency not in _THREE_DECIMALS and (mark == "," or currency is not None)


def _finite(text: str) -> Decimal | None:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    if not number.is_finite() or number.adjusted() > _MAX_DIGITS or number.adjusted() < -9:
        return None
    return number
