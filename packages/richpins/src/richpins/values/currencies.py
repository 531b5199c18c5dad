"""
Identify currencies by ISO 4217 codes and by the symbols, words and short names that pages use.

A symbol such as `$`, `kr`, `¥` or `Rs.` is ambiguous without a country.
"""

from __future__ import annotations

import re

CURRENCIES = frozenset(
    "AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BOV BRL BSD BTN "
    "BWP BYN BZD CAD CDF CHE CHF CHW CLF CLP CNY COP COU CRC CUC CUP CVE CZK DJF DKK DOP DZD EGP "
    "ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HRK HTG HUF IDR ILS INR IQD IRR "
    "ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD "
    "MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR "
    "PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SLL SOS SRD SSP STN SVC SYP SZL "
    "THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD USN UYI UYU UYW UZS VED VES VND VUV WST XAF "
    "XAG XAU XCD XCG XDR XOF XPF YER ZAR ZMW ZWG ZWL DEM FRF ITL ESP NLG BEF ATS LTL LVL EEK SKK "
    "TRL BTC CNH GGP IMP JEP XBT ETH".split()
)
"""The codes of ISO 4217, some retired ones, and other codes used in `priceCurrency`."""
OTHER_CODES = {"RUR": "RUB", "RMB": "CNY", "NIS": "ILS", "NTD": "TWD", "UKP": "GBP"}
"""Maps unofficial codes that shops use to ISO codes."""
WORDS = frozenset("ALL ANG BAM COD COP CUP ETH GEL IMP LAK MAD MOP NIS PEN RON SOS TOP TRY".split())
"""Codes that are also words. In text, they count only alone or next to a number."""

SYMBOLS = {
    "€": "EUR", "£": "GBP", "円": "JPY", "₹": "INR", "₽": "RUB", "₩": "KRW", "원": "KRW",
    "₺": "TRY", "tl": "TRY", "₪": "ILS", 'ש"ח': "ILS", "ש״ח": "ILS", "₫": "VND", "đ": "VND",
    "vnđ": "VND", "₴": "UAH", "грн": "UAH", "грн.": "UAH", "zł": "PLN", "kč": "CZK", "ft": "HUF",
    "r$": "BRL", "us$": "USD", "u$s": "USD", "us $": "USD", "usd$": "USD", "usd $": "USD",
    "u.s. $": "USD", "u.s.$": "USD",
    "a$": "AUD", "au$": "AUD", "aud$": "AUD", "c$": "CAD", "ca$": "CAD", "cad$": "CAD",
    "cdn$": "CAD", "nz$": "NZD", "hk$": "HKD", "nt$": "TWD", "s$": "SGD", "mx$": "MXN",
    "rd$": "DOP", "cn¥": "CNY", "jp¥": "JPY", "人民币": "CNY", "人民幣": "CNY", "日元": "JPY",
    "fr.": "CHF", "sfr.": "CHF", "лв": "BGN", "лв.": "BGN", "฿": "THB", "บาท": "THB", "₦": "NGN",
    "₱": "PHP", "₸": "KZT", "тг": "KZT", "тг.": "KZT", "тенге": "KZT", "₡": "CRC", "₲": "PYG",
    "₵": "GHS", "₼": "AZN", "₾": "GEL", "৳": "BDT", "₮": "MNT", "֏": "AMD", "ksh": "KES",
    "rm": "MYR", "rp": "IDR", "rp.": "IDR", "kn": "HRK", "kd": "KWD", "s/": "PEN", "s/.": "PEN",
    "د.ك": "KWD", "ر.س": "SAR", "د.إ": "AED", "ج.م": "EGP",
    "euro": "EUR", "euros": "EUR", "евро": "EUR", "ευρώ": "EUR", "yen": "JPY", "yuan": "CNY",
    "renminbi": "CNY", "złotych": "PLN", "złoty": "PLN", "forint": "HUF", "reais": "BRL",
    "ringgit": "MYR", "rupiah": "IDR", "shekel": "ILS", "shekels": "ILS", "гривень": "UAH",
    "гривен": "UAH", "us dollar": "USD", "us dollars": "USD", "u.s. dollars": "USD",
    "canadian dollars": "CAD", "australian dollars": "AUD", "pounds sterling": "GBP",
    "pound sterling": "GBP", "british pounds": "GBP", "swiss francs": "CHF", "franken": "CHF",
    "korun": "CZK",
}  # fmt: skip
"""Symbols, words and short names of exactly one currency, in lower case."""
_AMBIGUOUS_SYMBOLS = {
    "$": {
        "us": "USD", "au": "AUD", "ca": "CAD", "nz": "NZD", "hk": "HKD", "sg": "SGD", "mx": "MXN",
        "ar": "ARS", "cl": "CLP", "co": "COP", "tw": "TWD", "uy": "UYU",
    },
    "kr": {"se": "SEK", "no": "NOK", "dk": "DKK", "is": "ISK"},
    "rs": {"in": "INR", "pk": "PKR", "lk": "LKR", "np": "NPR", "mu": "MUR"},
    "元": {"cn": "CNY", "tw": "TWD"},
    "¥": {"jp": "JPY", "cn": "CNY"},
    "руб": {"ru": "RUB", "by": "BYN"},
    "lei": {"ro": "RON", "md": "MDL"},
    "r": {"za": "ZAR"},
    "bs": {"bo": "BOB", "ve": "VES"},
    "dh": {"ae": "AED", "ma": "MAD"},
    "din": {"rs": "RSD", "dz": "DZD"},
}  # fmt: skip
"""Symbols that several currencies share, each with its currency in each country."""
_DEFAULT_CURRENCIES = {"руб": "RUB", "lei": "RON"}
"""The currency if the page's country is unknown or not listed."""
_SYMBOL_ALIASES = {
    "kr.": "kr", "kronor": "kr", "kroner": "kr", "rs.": "rs", "₨": "rs", "rupees": "rs", ":-": "kr",
    "dollars": "$", "dollar": "$", "руб.": "руб", "рублей": "руб", "рубля": "руб",
    "рубль": "руб", "р.": "руб", "bs.": "bs", "dhs": "dh", "dhs.": "dh", "dh.": "dh",
    "din.": "din", "дин": "din", "дин.": "din", "圆": "元", "块": "元",
}  # fmt: skip
MARKS = "|".join(
    re.escape(symbol)
    for symbol in sorted({*SYMBOLS, *_AMBIGUOUS_SYMBOLS, *_SYMBOL_ALIASES}, key=len, reverse=True)
)
"""A pattern that matches each symbol and name in lower case, but no codes."""

_CURRENCY_URL = re.compile(
    r"(?:https?://|urn:|[a-z][\w-]{1,20}:)\S{0,200}?(?:[/:#])?([A-Za-z]{3})/?"
)
_CODE_OR_SYMBOL = re.compile(
    rf"(?<![^\W\d_])(?:(?P<code>[A-Z]{{3}})|(?i:(?P<mark>{MARKS})))(?![^\W\d_])"
)
_MAX_NAME_CHARS = 40


def currency_by_symbol(mark: str, country: str | None = None) -> str | None:
    """Return the code for a symbol or name. If ambiguous, `country` (two letters) decides."""
    mark = mark.lower()
    if mark in SYMBOLS:
        return SYMBOLS[mark]
    name = _SYMBOL_ALIASES.get(mark, mark)
    return _AMBIGUOUS_SYMBOLS.get(name, {}).get(country or "") or _DEFAULT_CURRENCIES.get(name)


def currency_by_code(code: str) -> str | None:
    """Return the ISO 4217 code for a three-letter text, or None."""
    code = code.upper()
    return code if code in CURRENCIES else OTHER_CODES.get(code)


def parse_currency(text: str, country: str | None = None) -> str | None:
    """
    Return the currency in a string without numbers: `eur`, `http://schema.org/EUR`, `US$`.

    Returns None if the string names two currencies. `EUR (€)` names one.
    """
    code = currency_by_code(text) or currency_by_symbol(text, country)
    if code:
        return code
    url = _CURRENCY_URL.fullmatch(text)
    if url:
        return currency_by_code(url[1])
    if len(text) > _MAX_NAME_CHARS or any(map(str.isdigit, text)):
        return None
    codes = {_get_currency(match, country) for match in _CODE_OR_SYMBOL.finditer(text)} - {None}
    return codes.pop() if len(codes) == 1 else None


def _get_currency(match: re.Match[str], country: str | None) -> str | None:
    code = match["code"]
    if code is None:
        return currency_by_symbol(match["mark"], country)
    return None if code in WORDS else currency_by_code(code)
