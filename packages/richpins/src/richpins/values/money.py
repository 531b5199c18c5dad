"""
Parse prices as people write them: which number is the price, and in which currency.

A symbol or code counts only next to a number or alone, so `after` does not contain the currency
`ft`. Percentages, quantities, former prices and prices for several pieces are not current prices. A
price that is understood only in part is rejected.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from richpins._plain_text import clean
from richpins.values import currencies, numbers
from richpins.values.currencies import MARKS, WORDS

MAX_CHARS = 200

_NUMBER = numbers.DIGITS
_POWERS = {
    word: factor
    for words, factor in (
        ("k thousand tsd tys тыс rb ribu 千 천", 10**3),
        ("万 萬 만", 10**4),
        ("lakh lakhs lac", 10**5),
        ("mio mln млн jt juta million millions millionen millones millón", 10**6),
        ("milhões milhão milioni miljoen", 10**6),
        ("crore crores", 10**7),
        ("億 亿 억", 10**8),
    )
    for word in words.split()
}
"""Words and letters that multiply the number before them, but not the ambiguous `M`."""
_MULTIPLIER = (
    r"(?P<power>[kKM](?![^\W\d_])|[eE][+-]?\d{1,3}(?![\w,.])|\s?[万萬만億亿억千천](?!\d)|"
    r"\s?(?i:thousand|lakhs?|lac|crores?|millionen|millions?|millones|millón|milh[õã][eo]s?|milioni|"
    r"miljoen|tsd|tys|тыс|mio|mln|млн|rb|ribu|jt|juta)(?![^\W\d_])\.?)"
)
_CHANGES_VALUE = re.compile(
    r"[eE][+-]?\d|'\d|\x20\d\d\Z|[mbB](?![^\W\d_])|mm(?![^\W\d_])|\s?[万萬만億亿억千천]|\s?[KMB](?![^\W\d_])|"
    r"\s?(?i:mil|bn|mrd|milliarden?|billion(?:en|s)?)(?![^\W\d_])|[½¼¾⅓⅔⅛]"
)
"""A number before one of these is not the whole price: `£1.2m`, `5 mil`, `1½`."""
_CODE = r"[A-Z]{3}"
_BEFORE = re.compile(
    rf"(?<![^\W\d_])(?:(?P<mark>(?i:{MARKS}))|(?P<code>{_CODE}))\s?"
    rf"(?P<number>{_NUMBER})(?:{_MULTIPLIER})?"
)
_AFTER = re.compile(
    rf"(?P<number>{_NUMBER})(?:{_MULTIPLIER})?\s?"
    rf"(?:(?P<mark>(?i:{MARKS}))|(?P<code>{_CODE}))(?![^\W\d_])"
)
_PLAIN = re.compile(rf"(?P<number>{_NUMBER})(?:{_MULTIPLIER})?")
_SUFFIXES = "|".join(
    map(re.escape, ("€", "zł", "kč", "руб.", "руб", "₽", "лв.", "лв", "грн", "lei"))
)
_CENTS_AFTER_SYMBOL = re.compile(
    rf"(?<=\d)\s?(?:(?i:{_SUFFIXES})|(?<=\d)[€$£])\s?(\d\d)"
    rf"(?:\s?(?i:cents?|ct|c|gr|коп|kop|bani))?\.?(?=[\s)/*]*\Z|\s?[/(*])"
)
"""Decimals after the symbol at the end of a string: `5€99`, `5 € 99`, `12 zł 50 gr`."""
_ONLY_CENTS = re.compile(r"([1-9]\d?)\s?(¢|p)(?:\s?each)?")
"""A price below one dollar or pound."""
_NO_DECIMALS = re.compile(r"(?<=\d)(?:[,.]\s?[-–—−]{1,2}|/-)(?![\d-])")
"""Signs in place of the decimals: `49,- Kč`, `500/-`, `12.–`."""
_ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})")
_FORMER = re.compile(
    r"\b(?:(?:was|rrp|msrp|list|regular|original|normal|former|previous|full|retail|est(?:imated)?\.?)"
    r"(?:\s(?:retail\s)?(?:price|value))?|value|instead\sof|before|old(?:\sprice)?|compare(?:\sat)?|"
    r"statt|uvp|normalpreis|listenpreis|neupreis|avant|ancien\sprix|prix\s(?:public|conseillé|barré)|"
    r"prima|prezzo\s(?:originale|di\slistino|consigliato)|antes|"
    r"precio\s(?:anterior|original|normal|habitual)|preço\s(?:anterior|original|normal)|"
    r"adviesprijs|oude\sprijs|ord(?:inarie|\.)?\s?pris|förpris|cena\s(?:regularna|katalogowa)|"
    r"původní\scena|старая\sцена|save|off|you\ssave)\b[\s:.]{0,3}\Z",
    re.IGNORECASE,
)
_PAYMENTS = re.compile(
    r"(?:\b\d{1,2}\s?(?:x|×|vezes)\s?(?:de|of|à|a|da|von|por|po)?|"
    r"\b(?:payments?|instal?lments?)\s(?:of|at)|raten\s(?:à|zu|von)|cuotas?\sde|rate\sda|"
    r"parcelas?\sde|mensualités?\sde|termijnen\svan|rat\spo|splát\w{1,4}\spo)\s?\Z",
    re.IGNORECASE,
)
"""Text before an installment."""
_PERIOD = re.compile(
    r"[^\w/]{0,3}(?:[€$£]|[^\W\d_]{1,3}\.?)?\s?"
    r"(?:/\s?(?:mo(?:nth|nat|is)?|mes|mese|mnd|maand|mån|měs|miesiąc|mies|мес|ay|kk|month|week|wk)\b|"
    r"/\s?[月월]|(?:per|a|each|every)\s(?:month|week)|p/?m\b|monthly|pro\smonat|im\smonat|monatlich|"
    r"mtl\b|par\smois|al\smes|mensual|por\smes|por\smês|ao\smês|al\smese|mensili|per\smaand|"
    r"per\smånad|měsíčně|mesačne|miesięcznie|в\sмесяц|на\sмісяць|kuukaudessa|aylık)",
    re.IGNORECASE,
)
"""Text after a price that is paid every week or month."""
_PERIOD_CHARS = 30
_CURRENT_PRICE = re.compile(
    r"\b(?:now|sale|only|our\sprice|jetzt|nur|ahora|maintenant|ora|por)\b[\s:.]{0,3}\Z",
    re.IGNORECASE,
)
_FOR_SEVERAL = re.compile(
    r"(?<![\w.,])[2-9]\d?\s?(?:(?:pairs?|pieces|pcs|packs|items|stück|paar|paires?|pares)\s)?(?:for|für|pour|per|za)\s{0,2}\Z|[万萬만億亿억千천]\s?\Z",
    re.IGNORECASE,
)
"""Text before a price for several pieces, or before the rest of a number: `1億2000万円`."""
_MEASURED = re.compile(
    r"\s?(?:%|¢|(?:lit(?:er|re)s?|l|ml|cl|kg|g|gr|lbs?|oz|packs?|pcs|pieces?|x|cm|mm|m|inch(?:es)?|in|"
    r"stück|stk|gb|tb|w|v|reviews?|ratings?|stars?|cents?|ct|cts|c|p|pence|коп|groszy|øre|öre)\b)",
    re.IGNORECASE,
)
_LABEL_CHARS = 20
_MINUS_BEFORE = re.compile(rf"-[$€£ ]*|(?:(?i:{MARKS})|{_CODE})\s?-\s?")


@dataclass(frozen=True, slots=True)
class _Amount:
    start: int
    """The start of the number, or of the currency before it."""
    end: int
    """The end of the number and its multiplier."""
    number: str
    power: str
    code: str | None

    def value(self, text: str, currency: str | None) -> Decimal | None:
        """Return the value; None if the surrounding text may change it."""
        if _CHANGES_VALUE.match(text, self.end) or _FOR_SEVERAL.search(
            text[max(0, self.start - _LABEL_CHARS) : self.start]
        ):
            return None
        power = self.power.strip().rstrip(".")
        if power[:1] in {"e", "E"}:
            return numbers.decimal(f"{self.number}{power}")
        number = numbers.decimal(self.number, None if power else currency)
        if number is None or not power:
            return number
        times = 10**6 if power == "M" else _POWERS.get(power.lower())
        return number * times if times else None


def find_currency(value: Any, country: str | None = None) -> str | None:
    """
    Return the ISO 4217 code of the currency that is the whole string, or is next to a number.

    `country` (two letters) decides what `$`, `kr` or `Rs` means; without it, these are ignored.
    """
    if not isinstance(value, str) or len(value) > MAX_CHARS:
        return None
    text = _normalize_text(value)
    code = currencies.parse_currency(text, country)
    return code or next((a.code for a in _find_amounts(text, country) if a.code), None)


def find_amount(value: Any, currency: str | None = None) -> Decimal | None:
    """
    Return the price in a JSON number or a string, or None if it is absent or ambiguous.

    Numbers next to a currency take precedence. Without a currency, percentages and quantities are
    skipped. Of several prices, the current one is returned; a former price only if it is alone.
    """
    if not isinstance(value, str):
        return numbers.decimal(value, currency)
    if len(value) > MAX_CHARS:
        return None
    text = _normalize_text(value)
    amounts = _find_amounts(text, None) or list(_find_bare_amounts(text))
    if not amounts:
        return None
    chosen = _choose_amount(text, amounts)
    amount = chosen.value(text, currency)
    return -amount if amount is not None and _is_negative(text, chosen.start) else amount


def count_amounts(text: str) -> int:
    """Return how many different numbers in a string have a currency next to them."""
    amounts = _find_amounts(_normalize_text(text[:MAX_CHARS]), None)
    return len({each.number.replace(" ", "").replace("'", "") for each in amounts})


def text_around_amount(text: str) -> tuple[str, str]:
    """Return the texts before and after the only price in a string; empty if there are several."""
    text = _normalize_text(text[:MAX_CHARS])
    amounts = _find_amounts(text, None)
    return (text[: amounts[0].start], text[amounts[0].end :]) if len(amounts) == 1 else ("", "")


def find_current_amount(text: str, currency: str | None = None) -> Decimal | None:
    """Return the price that is neither former nor an installment; None unless exactly one is."""
    text = _normalize_text(text[:MAX_CHARS])
    current = [
        amount
        for amount in _find_amounts(text, None)
        if not _FORMER.search(_label(text, amount)) and not _is_installment(text, amount)
    ]
    return current[0].value(text, currency) if len(current) == 1 else None


def are_installments(text: str) -> bool:
    """Return True if all prices in a string are paid several times: `$25/month`, `3 x 20 €`."""
    text = _normalize_text(text[:MAX_CHARS])
    amounts = _find_amounts(text, None)
    return bool(amounts) and all(_is_installment(text, amount) for amount in amounts)


def _label(text: str, amount: _Amount) -> str:
    return text[max(0, amount.start - _LABEL_CHARS) : amount.start]


def _is_installment(text: str, amount: _Amount) -> bool:
    label = _label(text, amount)
    after = text[amount.end : amount.end + _PERIOD_CHARS]
    return _PAYMENTS.search(label) is not None or _PERIOD.match(after) is not None


def _normalize_text(value: str) -> str:
    """Return a string without escapes and tags, and with decimals moved before the symbol."""
    if "\\u" in value:
        value = _ESCAPED.sub(lambda match: chr(int(match[1], 16)), value)
    text = _NO_DECIMALS.sub("", numbers.normalize_signs(clean(value)))
    cents = _ONLY_CENTS.fullmatch(text)
    if cents is not None:
        return f"{'$' if cents[2] == '¢' else '£'}0.{int(cents[1]):02}"
    return _CENTS_AFTER_SYMBOL.sub(_move_cents, text)


def _move_cents(match: re.Match[str]) -> str:
    mark = match[0].partition(match[1])[0].strip()
    return f".{match[1]} {mark}"


def _choose_amount(text: str, amounts: list[_Amount]) -> _Amount:
    if len(amounts) == 1:
        return amounts[0]
    whole = [amount for amount in amounts if not _is_installment(text, amount)]
    amounts = whole or amounts
    labels = [_label(text, candidate) for candidate in amounts]
    for label, amount in zip(labels, amounts, strict=True):
        if _CURRENT_PRICE.search(label):
            return amount
    current_amounts = [
        amount for label, amount in zip(labels, amounts, strict=True) if not _FORMER.search(label)
    ]
    return (current_amounts or amounts)[0]


def _is_negative(text: str, position: int) -> bool:
    return _MINUS_BEFORE.fullmatch(text[:position]) is not None


def _find_bare_amounts(text: str) -> Iterator[_Amount]:
    for match in _PLAIN.finditer(text):
        if not _MEASURED.match(text, match.end("number")):
            yield _make_amount(match, None)


def _find_amounts(text: str, country: str | None) -> list[_Amount]:
    """
    Return the numbers next to a currency, in order.

    A symbol between two numbers belongs to the number that it touches: `2 $50`.
    """
    result: dict[int, _Amount] = {}
    touching_symbols: set[int] = set()
    for match in _BEFORE.finditer(text):
        mark = "mark" if match["code"] is None else "code"
        if match.end(mark) == match.start("number"):
            touching_symbols.add(match.start(mark))
        _add_amount(result, match, text, country)
    for match in _AFTER.finditer(text):
        position = match.start("mark" if match["code"] is None else "code")
        if position not in touching_symbols or text[position - 1] != " ":
            _add_amount(result, match, text, country)
    return [result[end] for end in sorted(result)]


def _add_amount(
    result: dict[int, _Amount], match: re.Match[str], text: str, country: str | None
) -> None:
    """Store a match's amount by the number's end, unless the code is unknown or just a word."""
    code = match["code"]
    if code is None:
        name = currencies.currency_by_symbol(match["mark"], country)
    else:
        name = currencies.currency_by_code(code)
        if name is None or (code in WORDS and len(match[0]) < len(text)):
            return
    result.setdefault(match.end("number"), _make_amount(match, name))


def _make_amount(match: re.Match[str], code: str | None) -> _Amount:
    power = match["power"] or ""
    end = match.end("power") if power else match.end("number")
    return _Amount(match.start(), end, match["number"], power, code)
