"""
Make a folder for `bench.extraction` from pages that other projects publish as their test data.

    python -m bench.page_annotations FOLDER CLONE [CLONE ...]

CLONE is a copy of one of the repositories in `bench/page_repositories.lock` (`git clone`), which
names the commits used for the documented figures. A page's expected values are those of that
project's tests.

Each page is written twice: unchanged, and in a group whose name ends in `, text` without JSON-LD,
microdata and RDFa, and with no meta elements except those in KEPT_METAS. All values of the second
copy come from visible text; where the tests expect nothing, the page's own markup says what is
right. Neither the pages nor the annotations are part of this repository.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aragog.errors import InvalidUrl
from bench.extraction import values_of
from bench.quick import add_quick
from richpins.extraction import extract
from urlspelling.domain import registered_domain

Values = dict[str, Any]

MARKUP = frozenset({"json-ld", "microdata", "rdfa", "opengraph"})
KEPT_METAS = (
    "og:title", "og:image", "og:url", "og:type", "og:site_name", "og:locale", "og:description",
    "description", "viewport", "twitter:title", "twitter:description", "twitter:image", "twitter:card",
)  # fmt: skip
RECIPE_FIELDS = ("ingredients", "instructions", "yield", "prep", "cook", "total")
SHOP_FIELDS = ("price", "currency", "availability", "sku", "brand", "gtin", "mpn")
FIELDS = {"recipe": RECIPE_FIELDS, "shop": SHOP_FIELDS}


@dataclass(frozen=True, slots=True)
class SourcePage:
    """A page of another project, and the values that its tests expect."""

    body: bytes
    url: str
    group: str
    expected: Values


def recipe_scrapers(clone: Path) -> Iterator[SourcePage]:
    """Yield recipes. Expected values come from a parser written for each site."""
    for page in sorted(clone.glob("tests/test_data/*/*.testhtml")):
        expected = page.with_suffix(".json")
        if not expected.exists():
            continue
        labels = json.loads(expected.read_text(encoding="utf-8"))
        canonical_url = str(labels.get("canonical_url") or "")
        site = page.parent.name
        url = (
            canonical_url
            if canonical_url.startswith("http") and site in canonical_url
            else f"https://{site}/"
        )
        yield SourcePage(page.read_bytes(), url, "recipe", _recipe_values(labels))


def _recipe_values(labels: Values) -> Values:
    expected = {
        "title": labels.get("title"),
        "ingredients": labels.get("ingredients"),
        "instructions": labels.get("instructions_list"),
        "yield": re.findall(r"\d+", str(labels.get("yields") or "")),
        "prep": labels.get("prep_time"),
        "cook": labels.get("cook_time"),
        "total": labels.get("total_time"),
    }
    return {name: value for name, value in expected.items() if value}


def recipya(clone: Path) -> Iterator[SourcePage]:
    """Yield recipes without labels."""
    for page in sorted(clone.glob("internal/scraper/testdata/*.html")):
        body = page.read_bytes()
        url = _canonical(body)
        if url:
            yield SourcePage(body, url, "recipe", {})


_CANONICAL = re.compile(
    rb"<(?:link|meta)\b(?=[^>]{0,300}(?:canonical|og:url))[^>]{0,300}"
    rb"(?:href|content)\s*=\s*[\"']?(https?://[^\"'\s>]+)",
    re.IGNORECASE,
)


def _canonical(body: bytes) -> str | None:
    match = _CANONICAL.search(body)
    return match[1].decode("utf-8", "replace") if match else None


def fundus(clone: Path) -> Iterator[SourcePage]:
    """Yield news from many countries. Expected values come from a parser written for each site."""
    for info in sorted(clone.glob("tests/resources/parser/test_data/*/meta.info")):
        pages = json.loads(info.read_text(encoding="utf-8"))
        for labels in sorted(info.parent.glob("*.json")):
            names = sorted(name for name in pages if name.startswith(f"{labels.stem}_"))
            versions = json.loads(labels.read_text(encoding="utf-8")).values()
            if len(names) != len(versions):
                continue
            for name, version in zip(names, versions, strict=True):
                body = gzip.decompress((info.parent / name).read_bytes())
                yield SourcePage(body, pages[name]["url"], "news", _news_values(version))


def _news_values(labels: Values) -> Values:
    expected = {
        "title": labels.get("title"),
        "authors": labels.get("authors"),
        "published_at": str(labels.get("publishing_date") or "")[:10],
    }
    return {name: value for name, value in expected.items() if value}


def postlight_parser(clone: Path) -> Iterator[SourcePage]:
    """Yield news and blogs. Expected values were written into the tests by a person."""
    for test in sorted(clone.glob("src/extractors/custom/*/index.test.js")):
        text = test.read_text(encoding="utf-8")
        pages = re.findall(r"fixtures/([\w./-]+\.html)", text)
        url = re.search(r"url\s*=\s*'(https?://[^']+)'", text)
        if len(set(pages)) == 1 and url and (clone / "fixtures" / pages[0]).exists():
            body = (clone / "fixtures" / pages[0]).read_bytes()
            yield SourcePage(body, url[1], "news", _asserted(text))


_ASSERTED = re.compile(
    r"assert\.equal\(\s*(title|author|date_published)[^,]{0,40},\s*(?:'((?:[^'\\]|\\.)*)'|"
    r'"((?:[^"\\]|\\.)*)"|`([^`]*)`)\s*\)'
)


def _asserted(text: str) -> Values:
    names = {"title": "title", "author": "authors", "date_published": "published_at"}
    expected: Values = {}
    for name, *literals in _ASSERTED.findall(text):
        value = re.sub(r"\\(.)", r"\1", next(filter(None, literals), ""))
        expected[names[name]] = value[:10] if name == "date_published" else value
    return {name: value for name, value in expected.items() if value}


def product_benchmark(clone: Path) -> Iterator[SourcePage]:
    """Yield shop pages with price, SKU and availability as read by people."""
    for name, labels in json.loads((clone / "dataset/ground-truth.json").read_text()).items():
        body = gzip.decompress((clone / f"dataset/html/{name}.html.gz").read_bytes())
        expected = {field: labels.get(field) for field in ("price", "sku", "availability")}
        stated = {field: value for field, value in expected.items() if value}
        yield SourcePage(body, labels["url"], "shop", stated)


READERS: dict[str, Callable[[Path], Iterator[SourcePage]]] = {
    "tests/test_data/101cookbooks.com": recipe_scrapers,
    "internal/scraper/testdata": recipya,
    "tests/resources/parser/test_data/at": fundus,
    "src/extractors/custom": postlight_parser,
    "dataset/ground-truth.json": product_benchmark,
}
"""Readers by a path that only a copy of that repository has."""

_JSON_LD = re.compile(
    rb"<script\b[^>]{0,500}application/ld\+json.*?</script\s*>", re.IGNORECASE | re.DOTALL
)
_META = re.compile(rb"<meta\b[^>]*>", re.IGNORECASE)
_META_NAME = re.compile(rb"(?:property|name)\s*=\s*[\"']?([^\"'\s>]+)", re.IGNORECASE)
_CHARSET = re.compile(rb"charset", re.IGNORECASE)
_ATTRIBUTE = re.compile(
    rb"(?<=[\s\"'])(?:itemprop|itemscope|itemtype|itemid|itemref|typeof|vocab|datatype|resource|about)"
    rb"(?:\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s>]+))?(?=[\s/>])",
    re.IGNORECASE,
)
_PROPERTY = re.compile(rb"(?<=[\s\"'])property\s*=\s*(?:\"[^\"]*\"|'[^']*')", re.IGNORECASE)
_TAG = re.compile(rb"<[a-zA-Z][^<>]*>")


def without_markup(body: bytes) -> bytes:
    """Return a page without JSON-LD, microdata, RDFa and meta elements with values."""
    body = _META.sub(_kept_meta, _JSON_LD.sub(b"", body))
    return _TAG.sub(_bare_tag, body)


def _kept_meta(tag: re.Match[bytes]) -> bytes:
    name = _META_NAME.search(tag[0])
    is_kept = name is not None and name[1].decode("latin-1").lower() in KEPT_METAS
    return tag[0] if is_kept or _CHARSET.search(tag[0]) else b""


def _bare_tag(tag: re.Match[bytes]) -> bytes:
    bare = _ATTRIBUTE.sub(b"", tag[0])
    return bare if bare[:5].lower() == b"<meta" else _PROPERTY.sub(b"", bare)


def marked_values(page: SourcePage) -> Values:
    """Return the values in a page's markup, for the fields of its group."""
    pin = extract(page.body, page.url)
    values = values_of(pin)
    names = {"yield": "recipe.yields", "published_at": "page.published_at"}
    result = {}
    for field in FIELDS.get(page.group, ()):
        stored = f"recipe.{field}_minutes" if field in {"prep", "cook", "total"} else ""
        source = pin.provenance.get(stored or names.get(field) or _stored_name(page.group, field))
        if source is not None and source.syntax in MARKUP and values.get(field):
            result[field] = values[field]
    return result


def _stored_name(group: str, field: str) -> str:
    return f"{'product' if group == 'shop' else 'recipe'}.{field}"


def write_copies(page: SourcePage, folder: Path) -> Iterator[Values]:
    """Write the two copies of a page, and yield their lines of `pages.jsonl`."""
    stem = hashlib.sha256(page.url.encode() + page.body).hexdigest()[:16]
    known_values = {**marked_values(page), **page.expected}
    texts = {
        name: value
        for name, value in known_values.items()
        if name in FIELDS.get(page.group, known_values)
    }
    copies = (
        (page.group, page.body, page.expected),
        (f"{page.group}, text", without_markup(page.body), texts),
    )
    for number, (group, body, expected) in enumerate(copies):
        name = f"{stem}-{number}.html"
        (folder / name).write_bytes(body)
        if expected:
            row = {"file": name, "url": page.url, "group": group, "expected": expected}
            yield json.loads(json.dumps(row, default=str))


def pages_of(clone: Path) -> Iterator[SourcePage]:
    """Yield a repository's pages on registered domains, each URL and body once."""
    reader = next((READERS[path] for path in READERS if (clone / path).exists()), None)
    if reader is None:
        raise SystemExit(f"{clone}: no copy of a repository in bench/page_repositories.lock")
    for page in reader(clone):
        try:
            if registered_domain(page.url):
                yield page
        except InvalidUrl:
            continue


def write(folder: Path, clones: list[Path]) -> Counter[str]:
    """Write the pages of the repositories. Returns the number of pages per group."""
    folder.mkdir(parents=True, exist_ok=True)
    groups: Counter[str] = Counter()
    with (folder / "pages.jsonl").open("w", encoding="utf-8") as index:
        for clone in clones:
            for page in pages_of(clone):
                for row in write_copies(page, folder):
                    index.write(json.dumps(row) + "\n")
                    groups[row["group"]] += 1
    return groups


def make_clone(folder: Path) -> Path:
    """Make a folder like a copy of the product benchmark, with one page."""
    page = '<h1>Pot</h1><script type="application/ld+json">{"@type":"Product","sku":"7"}</script>'
    (folder / "dataset" / "html").mkdir(parents=True)
    (folder / "dataset" / "html" / "1.html.gz").write_bytes(gzip.compress(page.encode()))
    labels = {"1": {"url": "http://a.example/pot", "sku": ["7"]}}
    (folder / "dataset" / "ground-truth.json").write_text(json.dumps(labels))
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(description="Annotated pages from other projects' test data.")
    parser.add_argument("folder", type=Path, nargs="?", help="where to write; it is created")
    parser.add_argument("clones", type=Path, nargs="*", help="copies of the repositories")
    add_quick(parser)
    options = parser.parse_args()
    if not options.clones and not options.quick:
        parser.error("FOLDER CLONE: where to write, and copies of the repositories")
    with tempfile.TemporaryDirectory() as temporary:
        clones = options.clones or [make_clone(Path(temporary) / "clone")]
        groups = write(options.folder or Path(temporary) / "pages", clones)
    for group, count in sorted(groups.items()):
        print(f"{group}: {count} pages")


if __name__ == "__main__":
    main()
