"""
Check, without labels, that the values of a page come from the page.

    python -m bench.value_invariants FOLDER ...    every *.html and *.testhtml below the folders
    python -m bench.value_invariants --quick       a page of the project itself

Each check reads one page and returns what is wrong, or None if the page has nothing to check, which
does not count as passed. The checks read the page by other means than aragog does. If a folder has
a `pages.jsonl`, as written by `bench.page_annotations`, it has the URLs of its pages. Exits with 1
if a check fails.
"""

from __future__ import annotations

import argparse
import html
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from bench.quick import add_quick
from richpins import document
from richpins.extraction import extract
from richpins.rich_pins import RichPin
from richpins.values import dates, money

MAX_BYTES = 4_000_000
QUICK = (
    b"<title>Pot</title><h1>Pot</h1><p>by Ann Lee</p><script type='application/ld+json'>"
    b'{"@type":"Product","sku":"P-7","offers":{"price":"1.25E2","priceCurrency":"EUR"}}</script>'
    b"<meta property=product:price:amount content=125><meta property=product:price:currency content=EUR>"
)


class Violation(NamedTuple):
    """A value of a page that violates an invariant."""

    field: str
    detail: str


Check = Callable[[bytes, str], "list[Violation] | None"]


class _Page:
    """The contents of a page, in the forms in which a value may be compared with it."""

    def __init__(self, body: bytes, url: str) -> None:
        decoded = document.parse(body, url=url).body.decode("utf-8", "replace")
        text = f"{html.unescape(html.unescape(decoded))} {url}"
        text = re.sub(r"\\u([0-9a-fA-F]{4})", lambda m: chr(int(m[1], 16)), text).replace("\\", "")
        self.text = text
        self.joined = re.sub(r"<[^<>]{0,2000}>|\s", "", text)
        # A value may be in an attribute, or in text split by elements.
        self.letters = f"{_letters(self.joined)} {_letters(text)}"
        numbers = re.findall(r"\d[\d.,'\u2019\s\u00a0]*", text) + re.findall(
            r"[\d.,'\u2019]+", self.joined
        )
        self.numbers = {_significant(number) for number in numbers}
        self.numbers |= {_significant(part) for part in re.findall(r"\d+(?:[.,]\d+)?", text)}


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


def _significant(number: str) -> str:
    return "".join(filter(str.isdigit, number)).strip("0")


def occurs_in_page(body: bytes, url: str, pin: RichPin | None = None) -> list[Violation] | None:
    """
    Check that each price, date, author and SKU of `pin` (by default the page's) is in
    the page.
    """
    pin, page = pin or extract(body, url), _Page(body, url)
    checked = [(field, value, test(value, page)) for field, value, test in _checked_values(pin)]
    if not checked:
        return None
    return [
        Violation(field, f"{value} is not in the page")
        for field, value, is_found in checked
        if not is_found
    ]


def _checked_values(pin: RichPin) -> Iterator[tuple[str, Any, Callable[[Any, _Page], bool]]]:
    for name in ("price", "price_high", "list_price"):
        amount = getattr(pin.details, name, None)
        if isinstance(amount, Decimal) and amount:
            yield f"{pin.type}.{name}", amount, _has_number
    for name in ("sku", "mpn"):
        if code := getattr(pin.details, name, None):
            yield f"{pin.type}.{name}", code, _has_text
    for moment in (pin.published_at, pin.modified_at):
        if isinstance(moment, date):
            yield "page.published_at or modified_at", moment, _has_day
    for author in pin.authors:
        yield "page.authors", author, _has_words


def _has_number(amount: Decimal, page: _Page) -> bool:
    return _significant(f"{amount:f}") in page.numbers


def _has_text(code: str, page: _Page) -> bool:
    return _letters(code) in page.letters


def _has_words(name: str, page: _Page) -> bool:
    return _letters(name) in page.letters or all(_letters(w) in page.letters for w in name.split())


def _has_day(moment: date, page: _Page) -> bool:
    """Return True if the page contains year and day, or the seconds since 1970."""
    if isinstance(moment, datetime) and moment.tzinfo and str(int(moment.timestamp())) in page.text:
        return True
    days = {f"{moment.day}", f"{moment.day:02}", f"{moment:%Y%m%d}"}
    # `24:00` is the next day.
    days |= {f"{max(1, moment.day - 1):02}"} if "24:00" in page.text else set()
    parts = set(re.findall(r"\d+", page.text)) | {
        t[:8] for t in re.findall(r"\d{12,14}", page.text)
    }
    return str(moment.year) in page.text and not days.isdisjoint(parts)


def repeated_values_agree(
    body: bytes, url: str, pin: RichPin | None = None
) -> list[Violation] | None:
    """
    Check that a value agrees with what two sources state, or is reported as a conflict.

    The sources are JSON-LD, meta elements, microdata and the visible text of a property's element.
    Only a source with exactly one value counts. Other visible text does not count, because it may
    be a former price or the date of another article.
    """
    pin = pin or extract(body, url)
    tree = LexborHTMLParser(body)
    reported = {conflict.field for conflict in pin.conflicts}
    violations: list[Violation] = []
    checked = False
    for field, value_of_page, others in _repeated_values(pin, tree):
        if len(others) < 2:
            continue
        checked = True
        disagreeing = {other for other in others if other != value_of_page}
        if disagreeing and field not in reported:
            violations.append(
                Violation(field, f"{value_of_page}, but also {sorted(map(str, disagreeing))[:3]}")
            )
    return violations if checked else None


def _repeated_values(pin: RichPin, tree: LexborHTMLParser) -> Iterator[tuple[str, Any, list[Any]]]:
    """Yield a field, its value, and the value in each source that has exactly one."""
    price = getattr(pin.details, "price", None)
    if pin.type == "product" and isinstance(price, Decimal):
        values, texts = _microdata(tree, "price", _OFFERS)
        sources = [
            _single(_json_ld(tree, "price")),
            _single(_metas(tree, "product:price:amount")),
            _single(values),
            _single(texts),
        ]
        amounts = (money.find_amount(raw, "XXX") for raw in sources if raw is not None)
        yield "product.price", price, [amount for amount in amounts if amount is not None]
    if isinstance(pin.published_at, date):
        values, texts = _microdata(tree, "datePublished", _ARTICLES)
        sources = [
            _single(_json_ld(tree, "datePublished")),
            _single(_metas(tree, "article:published_time")),
            _single(values),
            _single(texts),
        ]
        value_of_page = _day(pin.published_at)
        days = [_day(dates.moment(raw)) for raw in sources if raw is not None]
        yield (
            "page.published_at",
            value_of_page,
            [_ignore_time_zone(day, value_of_page) for day in days if day],
        )


def _ignore_time_zone(day: date, value_of_page: date | None) -> date:
    """Return the chosen day if `day` is adjacent to it, as it may be in another time zone."""
    return value_of_page if value_of_page and abs((day - value_of_page).days) <= 1 else day


_OFFERS = ("offer", "aggregateoffer", "product")
_ARTICLES = ("article", "newsarticle", "blogposting", "recipe", "webpage", "techarticle")


def _microdata(
    tree: LexborHTMLParser, name: str, types: tuple[str, ...]
) -> tuple[list[str], list[str]]:
    """Return the marked values and the visible texts of a property in items of these types."""
    values: list[str] = []
    texts: list[str] = []
    for node in tree.css(f'[itemprop~="{name}"]'):
        if _item_type(node) in types:
            text = " ".join(node.text(separator=" ").split())
            stated = node.attributes.get("content") or node.attributes.get("datetime")
            values += [stated or text] if stated or text else []
            texts += [text] if stated and text else []
    return values, texts


def _item_type(node: LexborNode) -> str:
    """Return the last part of the type of an element's item, in lower case."""
    item = node.parent
    while item is not None and "itemscope" not in item.attributes:
        item = item.parent
    type_name = (item.attributes.get("itemtype") or "") if item is not None else ""
    return type_name.strip().rstrip("/").rpartition("/")[2].lower()


def _day(moment: Any) -> date | None:
    return (
        moment.date()
        if isinstance(moment, datetime)
        else moment
        if isinstance(moment, date)
        else None
    )


def _single(values: list[Any]) -> Any:
    return values[0] if len(set(map(str, values))) == 1 else None


def _metas(tree: LexborHTMLParser, name: str) -> list[Any]:
    nodes = tree.css(f'meta[property="{name}"],meta[name="{name}"]')
    return [content for node in nodes if (content := node.attributes.get("content"))]


def _json_ld(tree: LexborHTMLParser, name: str) -> list[Any]:
    values: list[Any] = []
    for node in tree.css('script[type="application/ld+json"]'):
        try:
            _collect(json.loads(node.text(), strict=False), name, values)
        except (ValueError, RecursionError):
            return []
    return values


def _collect(value: Any, name: str, values: list[Any]) -> None:
    if isinstance(value, list):
        for member in value:
            _collect(member, name, values)
    elif isinstance(value, dict):
        for key, member in value.items():
            if key == name and isinstance(member, str | int | float):
                values.append(member)
            _collect(member, name, values)


CHECKS: dict[str, Check] = {
    "a price, date, author or SKU occurs in the page": occurs_in_page,
    "values stated twice agree or are a conflict": repeated_values_agree,
}


def pages_of(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield the pages below a folder with their URLs."""
    url_list = folder / "pages.jsonl"
    rows = url_list.read_text(encoding="utf-8").splitlines() if url_list.exists() else []
    urls = {row["file"]: row["url"] for row in map(json.loads, rows)}
    for path in sorted([*folder.rglob("*.html"), *folder.rglob("*.testhtml")]):
        if path.stat().st_size <= MAX_BYTES:
            name = path.relative_to(folder).as_posix()
            yield path, urls.get(name, f"https://pages.example/{name}")


def run(pages: Iterator[tuple[str, bytes, str]], show: int) -> int:
    """Check pages (name, body, URL) and print the counts. Returns how many checks failed."""
    applicable, failed = Counter[str](), Counter[str]()
    for name, body, url in pages:
        for invariant, check in CHECKS.items():
            violations = check(body, url)
            applicable[invariant] += violations is not None
            failed[invariant] += bool(violations)
            if violations and failed[invariant] <= show:
                print(f"{name}: {violations[0].field}: {violations[0].detail}")
    for invariant in CHECKS:
        print(f"{invariant}: {failed[invariant]} of {applicable[invariant]} pages fail")
    return failed.total()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--show", type=int, default=10, help="examples of each violation")
    add_quick(parser)
    options = parser.parse_args()
    pages = (
        (str(path), path.read_bytes(), url)
        for folder in options.folders
        for path, url in pages_of(folder)
    )
    quick = iter([("quick", QUICK, "https://pot.example/pot")])
    sys.exit(1 if run(pages if options.folders else quick, options.show) else 0)


if __name__ == "__main__":
    main()
