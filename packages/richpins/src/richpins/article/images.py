"""
Put one character of text where an image stands, so that the library keeps what is near it.

trafilatura can keep images itself. It then keeps more teasers and captions: F1 of the main text
falls by 1.5 points. A character changes nothing in its choice, and shows afterward which images
stand in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from urlspelling import resolve as parse_url

_FIRST, _LAST = 0x30000, 0x3134A
"""CJK Extension G: ideographs that are printable, and in hardly any page."""
_SOURCES = ("data-src", "data-original", "data-lazy-src", "src")
_SETS = ("data-srcset", "srcset")
_APART = ("aside", "nav", "footer", "menu", "form", "header")
_NO_PICTURE = re.compile(
    r"(?<![a-z])(?:logo|icon|sprite|avatar|spacer|pixel|badge|button|emoji)s?(?![a-z])",
    re.IGNORECASE,
)
_WRAPPERS = frozenset({"figure", "picture", "noscript"})
_TEXT_BLOCKS = ("p", "li", "dd", "blockquote", "h2", "h3", "h4")
_MAX_CLIMB = 5
_MAX_SEARCHED = 200


@dataclass(frozen=True, slots=True)
class ArticleImage:
    """An image that may stand in the main text."""

    source: str
    """Absolute, http(s)."""
    alt: str
    """Its alternative text on one line; may be empty."""
    alone: bool
    """It stands between blocks of text and not within a line."""
    caption: str = ""
    """The caption of its figure on one line, if that has no other picture."""


def place_images(tree: Any, base_url: str, markup: str) -> dict[str, ArticleImage]:
    """Replace the images of a tree by characters that `markup` does not contain."""
    free = (c for c in map(chr, range(_FIRST, _LAST + 1)) if c not in markup)
    images: dict[str, ArticleImage] = {}
    for image in list(islice(tree.iter("img"), _LAST - _FIRST)):
        source = image_source(image.attrib, base_url)
        sign = next(free, None) if source is not None else None
        if source is None or sign is None:
            continue
        alt = " ".join((image.get("alt") or "").split())
        wrapper = _wrapper(image)
        if wrapper is not image and _is_decoration(image):
            continue
        place = image if wrapper is image else _neighbor(wrapper)
        if place is None:
            continue
        alone = wrapper is not image
        images[sign] = ArticleImage(source, alt, alone, _caption(image) if alone else "")
        if wrapper is image:
            _put_after(image, sign)
        else:
            block, at_start = place
            _put_into(block, sign, at_start=at_start)
    return images


def image_source(attributes: Any, base_url: str) -> str | None:
    """Return the absolute http(s) address of an image, the one loaded lazily first; else None."""
    if {attributes.get("width"), attributes.get("height")} & {"0", "1"}:
        return None  # counts readers
    offered = [attributes.get(name) for name in _SOURCES]
    offered += [_first_of_set(attributes.get(name)) for name in _SETS]
    for source in offered:
        if source and source.strip()[:5].lower() != "data:":
            try:
                url = parse_url(source.strip(), base_url)
            except ValueError:
                continue
            if url.startswith(("http://", "https://")):
                return url
    return None


def _first_of_set(sources: str | None) -> str | None:
    match = re.match(r"\s*(\S*[^\s,])", sources or "")
    return match[1] if match else None


def _wrapper(image: Any) -> Any:
    """The outermost element around an image that has no text but captions; the image in a line."""
    found = image
    for _, element in zip(range(_MAX_CLIMB), image.iterancestors(), strict=False):
        if element.tag in {"body", "html", "td", "th"}:
            break
        if element.tag in _WRAPPERS or not element.text_content().strip():
            found = element
        elif found.tag != "img" or element.tag in _TEXT_BLOCKS:
            break
    return (
        found
        if found.tag not in {"a", "span"} or found.getparent() is None
        else _in_line(found, image)
    )


def _caption(image: Any) -> str:
    figure = next(image.iterancestors("figure"), None)
    captions = [] if figure is None else list(figure.iter("figcaption"))
    if figure is None or len(captions) != 1 or len(list(figure.iter("img"))) != 1:
        return ""
    text = " ".join(" ".join(captions[0].itertext()).split())
    return text if len(text) <= _MAX_CAPTION_CHARS else ""


_MAX_CAPTION_CHARS = 500


def _is_decoration(image: Any) -> bool:
    """Return True for an image beside the text that is no picture, or not one of the text."""
    if any(_NO_PICTURE.search(image.get(name) or "") for name in ("src", "class", "id", "alt")):
        return True
    apart = next(image.iterancestors(*_APART), None)
    return apart is not None and (
        apart.tag != "header" or next(apart.iterancestors("article"), None) is None
    )


def _in_line(found: Any, image: Any) -> Any:
    """A link or span without a text is no wrapper if text stands beside it."""
    parent = found.getparent()
    return image if parent.tag in _TEXT_BLOCKS and parent.text_content().strip() else found


def _neighbor(wrapper: Any) -> tuple[Any, bool] | None:
    """The block of text next to an element, and whether its start is nearer."""
    element = wrapper
    for _ in range(_MAX_CLIMB):
        before = element.getprevious()
        if before is not None and before.tag in _TEXT_BLOCKS and before.text_content().strip():
            return before, False
        after = next(_blocks_of(element.itersiblings()), None)
        if after is not None:
            return after, True
        element = element.getparent()
        if element is None or element.tag in {"body", "html", "article", "main"}:
            return None
    return None


def _blocks_of(elements: Iterator[Any]) -> Iterator[Any]:
    for sibling in islice(elements, 3):
        for element in islice(sibling.iter(*_TEXT_BLOCKS), _MAX_SEARCHED):
            if element.text_content().strip():
                yield element


def _put_after(image: Any, sign: str) -> None:
    image.tail = f" {sign} {image.tail or ''}"


def _put_into(block: Any, sign: str, *, at_start: bool) -> None:
    if at_start:
        block.text = f"{sign} {block.text or ''}"
    elif len(block):
        block[-1].tail = f"{block[-1].tail or ''} {sign}"
    else:
        block.text = f"{block.text or ''} {sign}"
