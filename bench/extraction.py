"""
Score Rich Pins, trafilatura, extruct and metascraper on your own copy of annotated pages.

    python -m bench.extraction FOLDER             totals by group and field, for both halves
    python -m bench.extraction FOLDER --errors    also each wrong value of the half that may be read

FOLDER contains `pages.jsonl`, one JSON object per line: `file` (relative to the folder), `url`,
`group` (news, recipe, shop or any name) and `expected`, an object with any of

    title, authors (a list), published_at (YYYY-MM-DD), ingredients and instructions (lists),
    yield, prep, cook, total (minutes), price, currency, availability, sku, brand, gtin, mpn, type

where a list for a single value contains the accepted spellings. This repository contains no pages;
`bench.page_annotations` makes such a folder from pages that other projects publish.

For aragog and the other programs, the table shows the share of the expected values that the program
returns, the share of those that is right, and the share of all that is right.

Pages are divided by a hash of their registered domain. Rules may be derived from the half called
`read`; for the half called `score` only totals are printed. The other programs run in this
environment if installed, else in .venv-bench or in the interpreter named by BENCH_PYTHON;
metascraper runs if BENCH_NODE names a folder in which `npm install metascraper metascraper-title
metascraper-author metascraper-date` has run.
"""

from __future__ import annotations

import argparse
import hashlib
import html
import json
import os
import re
import subprocess
import sys
import tempfile
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.quick import add_quick
from richpins.extraction import extract
from richpins.rich_pins import RichPin
from urlspelling.domain import registered_domain

Values = dict[str, Any]
Score = dict[tuple[str, str, str, str], Counter[str]]
"""Counts of right, returned and expected values, by half, group, field and program."""

EMPTY: tuple[Any, ...] = (None, "", [], [None], [None, None])

MIN_ALIKE = 0.9
"""Lists of strings are right if at least this share of their words agrees (Dice coefficient)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotatedPage:
    """One page and the values that a person or another program's tests expect."""

    path: Path
    url: str
    group: str
    expected: Values

    @property
    def half(self) -> str:
        """Return `read` or `score`, depending on the site."""
        digest = hashlib.sha256(registered_domain(self.url).encode()).digest()
        return "score" if digest[0] % 2 else "read"


def load(folder: Path) -> list[AnnotatedPage]:
    """Return the pages listed in a folder's `pages.jsonl`."""
    lines = (folder / "pages.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines if line.strip()]
    return [
        AnnotatedPage(
            path=folder / row["file"], url=row["url"], group=row["group"], expected=row["expected"]
        )
        for row in rows
    ]


def own_values(page: AnnotatedPage) -> Values:
    """Return the values of a page's Rich Pin, under the names of `expected`."""
    return values_of(extract(page.path.read_bytes(), page.url))


def values_of(pin: RichPin) -> Values:
    recipe, product = pin.recipe, pin.product
    values: Values = {
        "type": pin.type,
        "title": pin.title,
        "authors": list(pin.authors),
        "published_at": _days(pin.published_at),
    }
    if recipe is not None:
        values |= {
            "ingredients": list(recipe.ingredients),
            "instructions": list(recipe.instructions),
            "yield": recipe.yields and [recipe.yields.quantity, recipe.yields.quantity_min],
            "prep": recipe.prep_minutes,
            "cook": recipe.cook_minutes,
            "total": recipe.total_minutes,
        }
    if product is not None:
        names = ("price", "currency", "availability", "sku", "brand", "gtin", "mpn")
        values |= {name: getattr(product, name) for name in names}
    return values


def _days(value: Any) -> list[str] | None:
    """Return the day as written and in UTC, because annotations use either."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return [value.date().isoformat(), value.astimezone(UTC).date().isoformat()]
    if isinstance(value, datetime):
        return [value.date().isoformat()]
    return [value.isoformat()] if isinstance(value, date) else None


def is_right(field: str, expected: Any, value: Any) -> bool:
    """Return True if `value` means the same as `expected`."""
    if value in EMPTY:
        return False
    if field in {"ingredients", "instructions"}:
        return _alike(expected, value)
    if field == "authors":
        return _names(expected) == _names(value)
    spellings = expected if isinstance(expected, list) else [expected]
    offered = value if isinstance(value, list) else [value]
    same = _SAME.get(field, _plain)
    right = {same(each) for each in spellings} - {None}
    return bool(right & {same(each) for each in offered if each is not None})


def _plain(value: Any) -> str:
    text = unicodedata.normalize("NFKC", html.unescape(str(value))).casefold()
    return "".join(char for char in text if char.isalnum())


def _number(value: Any) -> Decimal | None:
    try:
        return Decimal(str(value).replace(",", "")).normalize()
    except InvalidOperation:
        return None


_SAME: dict[str, Callable[[Any], Any]] = {
    "price": _number,
    "yield": _number,
    "gtin": lambda value: str(value).lstrip("0"),
    "published_at": lambda value: str(value)[:10],
}


def _names(value: Any) -> set[str]:
    parts = value if isinstance(value, list) else [value]
    named = (name for part in parts for name in re.split(r",|;|\band\b|&", str(part)))
    return {_plain(name) for name in named} - {""}


def _alike(expected: Any, value: Any) -> bool:
    first, other = (_words(" ".join(map(str, texts))) for texts in (expected, value))
    return 2 * (first & other).total() >= MIN_ALIKE * (first.total() + other.total())


def _words(text: str) -> Counter[str]:
    """Return the words of a text with their counts. A fraction counts as its two numbers."""
    return Counter(re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold()))


OTHERS = r"""
import json, logging, sys
logging.disable(logging.CRITICAL)
try:
    import extruct
    from trafilatura import extract_metadata
except ImportError:
    sys.exit(1)

def flat(value):
    if isinstance(value, list):
        return [text for each in value for text in flat(each)]
    if isinstance(value, dict):
        inner = value.get("itemListElement") or value.get("text") or value.get("name")
        return flat(inner or value.get("@value") or value.get("content") or [])
    return [str(value)] if value not in (None, "") else []

def items(value, depth=0):
    if depth > 6:
        return
    if isinstance(value, list):
        for each in value:
            yield from items(each, depth + 1)
    elif isinstance(value, dict):
        yield value
        for each in value.values():
            yield from items(each, depth + 1)

def follow(value, known):
    if isinstance(value, list):
        return [follow(each, known) for each in value]
    if isinstance(value, dict) and set(value) == {"@id"}:
        return known.get(value["@id"], value)
    return value

def first(value):
    values = flat(value)
    return values[0] if values else None

def minutes(value):
    import re
    match = re.fullmatch(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:\d+S)?)?", first(value) or "")
    return match and sum(int(n or 0) * w for n, w in zip(match.groups(), (1440, 60, 1))) or None

TYPES = {"recipe": ("Recipe",), "shop": ("Product", "ProductGroup")}
def values(group, html, url):
    data = extruct.extract(html, base_url=url, errors="ignore", uniform=True,
                           syntaxes=["json-ld", "microdata", "opengraph"])
    known = {i["@id"]: i for i in items(data["json-ld"]) if isinstance(i.get("@id"), str) and len(i) > 1}
    wanted = TYPES.get(group, ())
    def is_wanted(item):
        names = flat(item.get("@type"))
        return any(n in wanted or (not wanted and n.endswith(("Article", "BlogPosting"))) for n in names)
    every = [i for s in ("json-ld", "microdata") for i in items(data[s]) if is_wanted(i)]
    og = data["opengraph"][0] if data["opengraph"] else {}
    item = {k: follow(v, known) for k, v in every[0].items()} if every else {}
    offers = item.get("offers") or {}
    offer = offers[0] if isinstance(offers, list) and offers else offers
    offer = offer if isinstance(offer, dict) else {}
    pick = lambda *names: next((first(item[n]) for n in names if first(item.get(n))), None)
    import re
    count = re.search(r"\d+", pick("recipeYield") or "")
    stock = (first(offer.get("availability")) or "").rpartition("/")[2]
    return {
        "title": pick("headline", "name") or first(og.get("og:title")),
        "authors": flat(item.get("author")),
        "published_at": (pick("datePublished") or first(og.get("article:published_time")) or "")[:10],
        "ingredients": flat(item.get("recipeIngredient") or item.get("ingredients")),
        "instructions": flat(item.get("recipeInstructions")),
        "yield": count and count[0],
        "prep": minutes(item.get("prepTime")), "cook": minutes(item.get("cookTime")),
        "total": minutes(item.get("totalTime")),
        "price": first(offer.get("price") or offer.get("lowPrice")) or first(og.get("product:price:amount")),
        "currency": first(offer.get("priceCurrency")) or first(og.get("product:price:currency")),
        "availability": stock, "sku": pick("sku", "productID"), "brand": pick("brand"),
        "gtin": pick("gtin13", "gtin", "gtin12", "gtin14", "gtin8"), "mpn": pick("mpn"),
    }

for line in sys.stdin:
    path, url, group = json.loads(line)
    body = open(path, "rb").read()
    results = {}
    try:
        results["extruct"] = values(group, body.decode("utf-8", "replace"), url)
    except Exception:
        results["extruct"] = {}
    if group == "news":
        try:
            meta = extract_metadata(body, default_url=url)
            results["trafilatura"] = {"title": meta.title, "published_at": meta.date,
                                    "authors": (meta.author or "").split("; ")} if meta else {}
        except Exception:
            results["trafilatura"] = {}
    print(json.dumps(results))
"""


def other_values(pages: list[AnnotatedPage]) -> list[dict[str, Values]]:
    """Return the other programs' values, page by page; empty if they are not installed."""
    lines = "".join(json.dumps([str(p.path), p.url, p.group]) + "\n" for p in pages)
    found = _in_python(lines) or [{} for _ in pages]
    for page, values, more in zip(
        pages, found, _in_node(lines) or [None] * len(pages), strict=True
    ):
        if more is not None and page.group.startswith("news"):
            values["metascraper"] = more
    return found


def _in_node(lines: str) -> list[Values]:
    """Return the values of metascraper; empty if it is not installed."""
    folder = os.environ.get("BENCH_NODE")
    if not folder:
        return []
    script = Path(__file__).with_name("metascraper.mjs")
    run = subprocess.run(
        ["node", script, folder], input=lines, capture_output=True, text=True, check=True
    )
    return [json.loads(line) for line in run.stdout.splitlines()]


def _in_python(lines: str) -> list[dict[str, Values]]:
    """Return the values of extruct and trafilatura; empty if they are not installed."""
    beside = Path(__file__).parents[1] / ".venv-bench" / "bin" / "python"
    for python in (os.environ.get("BENCH_PYTHON", ""), sys.executable, str(beside)):
        if python and Path(python).exists():
            run = subprocess.run(
                [python, "-c", OTHERS], input=lines, capture_output=True, text=True, check=False
            )
            if run.returncode == 0:
                return [json.loads(line) for line in run.stdout.splitlines()]
    return []


def score(pages: list[AnnotatedPage], *, errors: bool) -> Score:
    """Count each program's values. With `errors`, print the wrong ones of the `read` half."""
    scores: Score = defaultdict(Counter)
    for page, others in zip(pages, other_values(pages), strict=True):
        for program, values in {"aragog": own_values(page), **others}.items():
            for field, expected in page.expected.items():
                right = is_right(field, _aliases(field, expected), values.get(field))
                given = values.get(field) not in EMPTY
                counts = scores[page.half, page.group, field, program]
                counts.update(right=right, given=given, all=1)
                if errors and not right and program == "aragog" and page.half == "read":
                    place = f"{page.group} {field} {page.path.name} {page.url}"
                    actual = str(values.get(field))[:300]
                    print(f"{place}\n  expected {str(expected)[:300]}\n  found    {actual}")
    return scores


def _aliases(field: str, expected: Any) -> Any:
    if field != "availability":
        return expected
    return [_AVAILABILITIES.get(_plain(each), each) for each in _listed(expected)] + _listed(
        expected
    )


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


_AVAILABILITIES = {"instock": "in_stock", "outofstock": "out_of_stock", "preorder": "pre_order"}


def table_of(scores: Score) -> Table:
    """Return shares in percent by half, group and field, and the total of each group."""
    programs = ["aragog", *sorted({key[3] for key in scores} - {"aragog"})]
    table = Table("half", "group", "field", "values", "given", "right if given", *programs)
    for half, group in sorted({key[:2] for key in scores}):
        fields = sorted({key[2] for key in scores if key[:2] == (half, group)})
        for field in [*fields, "all"]:
            names = fields if field == "all" else [field]
            counted = {
                program: sum((scores[half, group, n, program] for n in names), Counter[str]())
                for program in programs
            }
            own = counted["aragog"]
            shares = (_share(counts["right"], counts["all"]) for counts in counted.values())
            given = _share(own["given"], own["all"]), _share(own["right"], own["given"])
            table.add_row(half, group, field, str(own["all"]), *given, *shares)
        table.add_section()
    return table


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}" if whole else "-"


def one_page(folder: Path) -> Path:
    """Fill the folder with one annotated page, and return it."""
    (folder / "page.html").write_text("<title>A page</title><h1>A page</h1>")
    expected = {"file": "page.html", "url": "http://a.example/", "group": "news"}
    (folder / "pages.jsonl").write_text(json.dumps({**expected, "expected": {"title": "A page"}}))
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(description="Score extractors on annotated pages.")
    parser.add_argument("folder", nargs="?", type=Path, help="with pages.jsonl and the pages")
    parser.add_argument("--errors", action="store_true", help="print each wrong value")
    add_quick(parser)
    options = parser.parse_args()
    if options.folder is None and not options.quick:
        parser.error("FOLDER: the annotated pages")
    with tempfile.TemporaryDirectory() as made:
        pages = load(options.folder or one_page(Path(made)))
        scores = score(pages, errors=options.errors)
    Console(width=100).print(table_of(scores))


if __name__ == "__main__":
    main()
