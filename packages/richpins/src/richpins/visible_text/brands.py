"""
Find a product's brand next to a label, in a link or in a picture.

These brands are used only if the product's markup has none.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from selectolax.lexbor import LexborNode

from richpins.document import normalize_space
from richpins.provenance import Candidate
from richpins.structured_data.shop_texts import BRAND_LABELS, LABELS, MAKER_LABELS
from richpins.structured_data.sources import Sources
from richpins.visible_text.places import matches_after_heading
from richpins.visible_text.product_details import OUTSIDE_TAGS, labeled_values

_MAX_NAME_CHARS = 40
_MAX_NAME_WORDS = 5
_NON_BRAND_WORDS = frozenset(
    "unbranded generic other others various none no-name noname markenlos unknown all yes".split()
)
_COMPANY_OR_ADDRESS = re.compile(
    r"\d|,|@|\b(?:gmbh|ag|kg|ltd|limited|inc|llc|corp|co|s\.?r\.?o|s\.?p\.?a|s\.?r\.?l|oy|ab|a/s|b\.?v)\b\.?",
    re.IGNORECASE,
)


def brands(sources: Sources) -> Iterator[Candidate]:
    """Yield labeled brands, then labeled manufacturers, then brands in pictures and links."""
    for candidate in labeled_values(sources, BRAND_LABELS):
        if _may_be_brand(candidate.value):
            yield candidate
    for candidate in labeled_values(sources, MAKER_LABELS):
        if _may_be_brand(candidate.value) and not _COMPANY_OR_ADDRESS.search(candidate.value):
            yield candidate
    yield from _brands_in_pictures(sources)
    yield from _brands_in_links(sources)
    yield from _brands_after_heading(sources)


def _brands_after_heading(sources: Sources) -> Iterator[Candidate]:
    """Yield the brand in links to brand pages soon after the first h1, if there is only one."""
    start = max(0, sources.heading_end)
    site_frame = _SITE_FRAME.search(sources.words.lowered, start, start + _MAX_BYTES_AFTER_HEADING)
    max_bytes = site_frame.start() - start if site_frame else _MAX_BYTES_AFTER_HEADING
    links = matches_after_heading(sources, _BRAND_LINK, max_bytes)
    texts = (html.unescape(link[1].decode("utf-8", "replace")) for link in links)
    names = {
        name.casefold(): name
        for text in texts
        if (name := _BRAND_LINK_WORDS.sub("", normalize_space(text)).strip(" -:›»>"))
    }
    name = next(iter(names.values())) if len(names) == 1 else ""
    if name and _may_be_brand(name):
        yield Candidate(name, "html", "link to a brand behind the h1")


_BRAND_LINK = re.compile(
    rb"<a\s[^<>]{0,300}href=[\"']?[^\"'<>\s]{0,200}/(?:brands?|marken?|marques?|marcas?|merk(?:en)?|"
    rb"stores|vendors?|manufacturers?|hersteller)/[^<>]{0,400}>([^<>]{2,80})</a",
    re.IGNORECASE,
)
_MAX_BYTES_AFTER_HEADING = 3_000
_SITE_FRAME = re.compile(rb"<(?:nav|footer|aside)[\s>]")


def _brands_in_links(sources: Sources) -> Iterator[Candidate]:
    """Yield the only brand linked near the first h1, if the title or description mentions it."""
    if not any(word.encode() in sources.words.lowered for word in _BRAND_WORDS):
        return
    nodes = sources.document.tree.css(f"h1,{_BRAND_LINKS}")
    heading_index = next((index for index, node in enumerate(nodes) if node.tag == "h1"), 0)
    start = max(0, heading_index - _MAX_LINKS_BEFORE_HEADING)
    nearby_nodes = nodes[start : heading_index + _MAX_EXAMINED_ELEMENTS]
    names = {
        text.casefold(): text
        for node in nearby_nodes
        if node.tag != "h1" and not _is_in_site_frame(node)
        if (text := _BRAND_LINK_WORDS.sub("", normalize_space(node.text())).strip(" -:›»>"))
        if _may_be_brand(text) and _mentions(sources, text)
    }
    if len(names) == 1:
        yield Candidate(next(iter(names.values())), "html", "link to a brand")


_BRAND_WORDS = ("brand", "marke", "marque", "marca", "manufacturer", "hersteller")
_BRAND_LINKS = ",".join(
    f'a[href*="/{word}" i],a[class*="{word}" i],[class*="{word}" i] a' for word in _BRAND_WORDS
)
_MAX_LINKS_BEFORE_HEADING = 3
_BRAND_LINK_WORDS = re.compile(
    r"\A(?:visit\sthe|shop\s(?:all|the)|(?:view|see|show)\s(?:all|more)(?:\s(?:from|by|of))?|more\s(?:from|by|of)|by|"
    r"brand|mehr\s(?:von|aus)|alle\s(?:artikel|produkte)\svon|von|marke|marca|marque|merk|"
    r"tous\sles\sproduits|voir\splus\sde|par|plus\sde|(?:bekijk\s)?(?:alle|meer)\s(?:producten\s)?van|"
    r"(?:ver\s)?(?:todos\slos\sproductos|más)\sde|(?:vedi\s)?(?:tutti\si\sprodotti|altro)\s(?:di|da))"
    r"\s?:?\s|\s(?:store|shop)\Z",
    re.IGNORECASE,
)


def _brands_in_pictures(sources: Sources) -> Iterator[Candidate]:
    """Yield the alt text of the only brand picture, if the title or description mentions it."""
    if b"brand" not in sources.words.lowered or b"<im" not in sources.words.lowered:
        return
    nodes = sources.document.tree.css(f"h1,{_BRAND_PICTURES}")
    names = {
        text.casefold(): text
        for node in nodes[:_MAX_EXAMINED_ELEMENTS]
        if node.tag == "img" and not _is_in_site_frame(node)
        if (text := _remove_logo_words(node.attributes.get("alt") or ""))
    }
    name = next(iter(names.values()), "") if len(names) == 1 else ""
    if name and _may_be_brand(name) and _mentions(sources, name):
        yield Candidate(name, "html", "img of a brand")


def _remove_logo_words(text: str) -> str:
    return _LOGO_WORD.sub("", normalize_space(text)).strip(" -:")


def _mentions(sources: Sources, brand: str) -> bool:
    document = sources.document
    texts = (
        document.title,
        document.heading,
        sources.metas.first("og:title"),
        document.description,
    )
    return any(brand.casefold() in text.casefold() for text in texts if text)


_BRAND_PICTURES = (
    '[class*="brand" i] img[alt],img[class*="brand" i][alt],a[href*="/brand" i] img[alt]'
)
_MAX_EXAMINED_ELEMENTS = 40
_LOGO_WORD = re.compile(r"\b(?:logo|brand|marke|marque)\b", re.IGNORECASE)


def _is_in_site_frame(node: LexborNode) -> bool:
    ancestor = node.parent
    while ancestor is not None and ancestor.tag != "body":
        if ancestor.tag in OUTSIDE_TAGS:
            return True
        ancestor = ancestor.parent
    return False


def _may_be_brand(text: str) -> bool:
    is_short = len(text) <= _MAX_NAME_CHARS and len(text.split()) <= _MAX_NAME_WORDS
    return (
        is_short and text.lower() not in _NON_BRAND_WORDS and text.lower() not in _LOWERCASE_LABELS
    )


_LOWERCASE_LABELS = frozenset(map(str.lower, LABELS))
