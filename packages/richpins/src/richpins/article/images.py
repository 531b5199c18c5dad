"""
Find images that may belong to a page's main text, and the text next to each.

trafilatura can keep images, but then it also keeps more teasers and captions: the main text's F1
score falls by 1.5 points. Therefore an image is added later, if the text next to it was selected.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from richpins.article.page_texts import INLINE
from urlspelling import resolve as parse_url

_SOURCES = ("data-src", "data-original", "data-lazy-src", "src")
_SOURCE_SETS = ("data-srcset", "srcset")
_EXCLUDED_TAGS = ("aside", "nav", "footer", "menu", "form", "header")
_DECORATION = re.compile(
    r"(?<![a-z])(?:logo|icon|sprite|avatar|spacer|pixel|badge|button|emoji)s?(?![a-z])",
    re.IGNORECASE,
)
_WRAPPERS = frozenset({"figure", "picture", "noscript"})
_TEXT_BLOCKS = ("p", "li", "dd", "blockquote", "h2", "h3", "h4")
_MAX_CLIMB = 5
_MAX_SEARCHED = 200
_MAX_IMAGES = 5_000


@dataclass(frozen=True, slots=True)
class ArticleImage:
    """An image that may belong to the main text."""

    element: Any
    source: str
    """An absolute http(s) URL."""
    alt: str
    """The alternative text on one line; may be empty."""
    alone: bool
    """True if the image is between text blocks, not within a line."""
    near: Any
    """The text block that contains the image or is next to it."""
    caption: Any = None
    """The caption of the image's figure, if the figure has no other image."""


def images_of(tree: Any, base_url: str) -> list[ArticleImage]:
    """Return the images of a tree, each URL once."""
    images: dict[str, ArticleImage] = {}
    for element in islice(tree.iter("img"), _MAX_IMAGES):
        source = image_source(element.attrib, base_url)
        image = _image(element, source) if source is not None and source not in images else None
        if image is not None:
            images[image.source] = image
    return list(images.values())


def _image(element: Any, source: str) -> ArticleImage | None:
    alt = " ".join((element.get("alt") or "").split())
    wrapper, caption = _captioned_box(element) or (_wrapper(element), _caption(element))
    if wrapper is element:
        block = next(
            (ancestor for ancestor in element.iterancestors() if ancestor.tag not in INLINE), None
        )
        return ArticleImage(element, source, alt, alone=False, near=block)
    near = None if _is_decoration(element) else _neighbor(wrapper)
    if near is None:
        return None
    return ArticleImage(element, source, alt, alone=True, near=near, caption=caption)


def _captioned_box(image: Any) -> tuple[Any, Any] | None:
    """
    Return the element that contains only an image and its caption, and the element of the caption.

    Their names say so, as in WordPress (`wp-caption`).
    """
    for _, box in zip(range(_MAX_CLIMB), image.iterancestors(), strict=False):
        text = _shown_text(box)
        if not text or box.tag in _PARTS_OF_TABLES:
            continue
        if len(text) > _MAX_CAPTION_CHARS or box.tag not in _BOXES:
            return None
        if box.find(".//figcaption") is not None:
            return None
        others = list(box.iter("td") if box.tag == "table" else box)
        others = [each for each in others if _has_text(each)]
        caption = others[0] if len(others) == 1 and not (box.text or "").strip() else box
        names = f"{_names(box)} {_names(caption)}"
        is_named = _CAPTION_NAMES.search(names) and not _OTHER_NAMES.search(names)
        if not is_named or _mostly_linked(caption) or len(list(box.iter("img"))) != 1:
            return None
        return box, caption
    return None


_BOXES = frozenset({"div", "span", "section", "p", "dl", "figure", "table"})
_PARTS_OF_TABLES = frozenset({"tbody", "tr"})
_CAPTION_NAMES = re.compile(
    r"caption|legend|credit|figure|(?<![a-z])(?:img|image|photo|picture|bild|foto|media|hero)",
    re.IGNORECASE,
)
_OTHER_NAMES = re.compile(
    r"author|byline|avatar|profile|(?<![a-z])(?:bio|ads?|brand|logo|card|teaser|promo|related|share|social|product|user)"
    r"(?![a-z])",
    re.IGNORECASE,
)


def _names(element: Any) -> str:
    return f"{element.get('class') or ''} {element.get('id') or ''}"


def _has_text(element: Any) -> bool:
    return bool(_shown_text(element) or (element.tail or "").strip())


def _shown_text(element: Any) -> str:
    """Return the text of an element without that of buttons, such as `Enlarge`."""
    if element.tag == "button":
        return ""
    texts = element.xpath(".//text()[not(ancestor::button)]")
    return "".join(texts).strip()


def _mostly_linked(caption: Any) -> bool:
    linked = sum(len(link.text_content()) for link in caption.iter("a"))
    return 2 * linked > len(caption.text_content())


def image_source(attributes: Any, base_url: str) -> str | None:
    """Return the absolute http(s) URL of an image, or None. Lazy-loading attributes come first."""
    if {attributes.get("width"), attributes.get("height")} & {"0", "1"}:
        return None  # it is a tracking pixel
    sources = [attributes.get(name) for name in _SOURCES]
    sources += [_first_of_set(attributes.get(name)) for name in _SOURCE_SETS]
    for source in sources:
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
    """Return the outermost element that has no text but the image's captions, or else the image."""
    wrapper = image
    for _, element in zip(range(_MAX_CLIMB), image.iterancestors(), strict=False):
        if element.tag in {"body", "html", "td", "th"}:
            break
        if element.tag in _WRAPPERS or not _shown_text(element):
            wrapper = element
        elif wrapper.tag != "img" or element.tag in _TEXT_BLOCKS:
            break
    return (
        wrapper
        if wrapper.tag not in {"a", "span"} or wrapper.getparent() is None
        else _in_line(wrapper, image)
    )


def _caption(image: Any) -> Any:
    figure = next(image.iterancestors("figure"), None)
    captions = [] if figure is None else list(figure.iter("figcaption"))
    if figure is None or len(captions) != 1 or len(list(figure.iter("img"))) != 1:
        return None
    return captions[0] if len(captions[0].text_content()) <= _MAX_CAPTION_CHARS else None


_MAX_CAPTION_CHARS = 500


def _is_decoration(image: Any) -> bool:
    """Return True for a decoration, or an image outside the main text."""
    if any(_DECORATION.search(image.get(name) or "") for name in ("src", "class", "id", "alt")):
        return True
    excluded = next(image.iterancestors(*_EXCLUDED_TAGS), None)
    return excluded is not None and (
        excluded.tag != "header" or next(excluded.iterancestors("article"), None) is None
    )


def _in_line(wrapper: Any, image: Any) -> Any:
    """Return the image if it, or the link or span around it, is in a line; else the wrapper."""
    parent = wrapper.getparent()
    return image if parent.tag in _TEXT_BLOCKS and parent.text_content().strip() else wrapper


def _neighbor(wrapper: Any) -> Any:
    element = wrapper
    for _ in range(_MAX_CLIMB):
        before = element.getprevious()
        if before is not None and before.tag in _TEXT_BLOCKS and before.text_content().strip():
            return before
        after = next(_blocks_of(element.itersiblings()), None)
        if after is not None:
            return after
        element = element.getparent()
        if element is None or element.tag in {"body", "html", "article", "main"}:
            return None
    return None


def _blocks_of(elements: Iterator[Any]) -> Iterator[Any]:
    for sibling in islice(elements, 3):
        for element in islice(sibling.iter(*_TEXT_BLOCKS), _MAX_SEARCHED):
            if element.text_content().strip() and "caption" not in (element.get("class") or ""):
                yield element
