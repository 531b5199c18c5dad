"""Collect the images that represent a page, and choose the best one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from selectolax.lexbor import LexborNode

from richpins.provenance import Candidate
from richpins.structured_data.graph import Node
from richpins.structured_data.sources import Sources
from richpins.values import image_sets, numbers


@dataclass(frozen=True, slots=True)
class Image:
    """An image with its size in pixels. The size is None if the page does not declare it."""

    url: str
    """The absolute URL, not normalized, because image servers may sign or parse their URLs."""
    width: int | None = None
    height: int | None = None
    alt: str | None = None

    @property
    def pixels(self) -> int:
        """Return the declared width times height, or 0 if unknown."""
        return (self.width or 0) * (self.height or 0)


MAX_IMAGES = 20
MAX_EXAMINED = 100
PRESENTABLE_PIXELS = 400
SMALL_PIXELS = 200
"""An image whose longer declared side is below this is an icon."""


def read(value: Any, sources: Sources) -> list[Image]:
    """Return the images in a URL, an ImageObject, or a list of these."""
    result: list[Image] = []
    for item in value if isinstance(value, list) else [value]:
        image = _read_image(item, sources)
        if image is not None and len(result) < MAX_IMAGES:
            result.append(image)
    return result


def _read_image(value: Any, sources: Sources) -> Image | None:
    if isinstance(value, str):
        url = sources.absolute(value.split(",http")[0])
        return _with_size_from_url(Image(url)) if url else None
    if not isinstance(value, Node):
        return None
    url = next(
        (
            absolute
            for raw in value.all("url", "contenturl", "image", "src", "thumbnailurl")
            + value.all("contenturl")
            + ([value.id] if value.id and not value.properties and "#" not in value.id else [])
            if isinstance(raw, str) and (absolute := sources.absolute(raw))
        ),
        None,
    )
    if url is None:
        return None
    return _with_size_from_url(
        Image(url, _parse_pixels(value.first("width")), _parse_pixels(value.first("height")))
    )


_RELATIVE_UNIT = re.compile(r"(?:%|em|vw|vh)\s*\Z", re.IGNORECASE)
"""Units relative to the window or the font."""


def _parse_pixels(value: Any) -> int | None:
    if isinstance(value, Node):
        value = value.first("value", "name")
    if isinstance(value, str) and _RELATIVE_UNIT.search(value):
        return None
    number = numbers.decimal(
        value.strip().lower().removesuffix("px") if isinstance(value, str) else value
    )
    return int(number) if number is not None and 0 < number < 100_000 else None


def from_open_graph(sources: Sources) -> Iterator[tuple[Image, Candidate]]:
    """Yield each og:image. The properties after it (`og:image:width`) describe it."""
    url: str | None = None
    properties: dict[str, str] = {}
    for name, content in [*sources.metas.order, ("og:image", "")]:
        is_start_of_image = name == "og:image:secure_url" and url is None
        if name in {"og:image", "og:image:url"} or is_start_of_image:
            if name != "og:image" and url == content:
                continue
            if url:
                yield from _read_open_graph_image(url, properties, sources)
            url, properties = content, {}
        elif name.startswith("og:image:"):
            properties.setdefault(name.removeprefix("og:image:"), content)


def _read_open_graph_image(
    url: str, properties: dict[str, str], sources: Sources
) -> Iterator[tuple[Image, Candidate]]:
    absolute = sources.absolute(url) or sources.absolute(properties.get("secure_url", ""))
    if absolute is None:
        return
    secure = sources.absolute(properties.get("secure_url", ""))
    if absolute.startswith("http:") and secure and secure.startswith("https:"):
        absolute = secure
    image = Image(
        absolute,
        _parse_pixels(properties.get("width")),
        _parse_pixels(properties.get("height")),
        properties.get("alt"),
    )
    yield _with_size_from_url(image), Candidate(url, "opengraph", "og:image")


def visible_images(sources: Sources) -> Iterator[tuple[Image, Candidate]]:
    """
    Yield the first image whose alt text resembles the page's heading or title.

    If there is none, yields the first image with a large declared size, or else an article's first
    figure. Used if the markup has no image, or only an icon.
    """
    if b"<im" not in sources.words.lowered:  # the parser treats `image` as `img`
        return
    words = _split_words(sources.document.heading or sources.document.title)
    large_image: Image | None = None
    for node in sources.document.tree.tags("img")[:MAX_EXAMINED]:
        attributes = node.attributes
        shared_words = words & _split_words(attributes.get("alt"))
        resembles_page = len(shared_words) >= 2 or (bool(shared_words) and len(words) == 1)
        if not resembles_page and (large_image is not None or not attributes.get("width")):
            continue
        url = image_url(attributes, sources)
        if url is None:
            continue
        image = _with_size_from_url(
            Image(
                url, _parse_pixels(attributes.get("width")), _parse_pixels(attributes.get("height"))
            )
        )
        if not is_presentable(image) or _is_logo(node, attributes):
            continue
        if resembles_page:
            yield image, Candidate(url, "html", "img")
            return
        if (
            large_image is None
            and min(image.width or 0, image.height or 0) >= PRESENTABLE_PIXELS // 2
        ):
            large_image = image
    large_image = large_image or _find_article_image(sources)
    if large_image is not None:
        yield large_image, Candidate(large_image.url, "html", "img")


def _find_article_image(sources: Sources) -> Image | None:
    tree = sources.document.tree
    articles = tree.css("article")
    container = articles[0] if len(articles) == 1 else tree.css_first("main")
    for node in container.css("figure img")[:MAX_EXAMINED] if container is not None else ():
        attributes = node.attributes
        url = image_url(attributes, sources)
        image = (
            _with_size_from_url(
                Image(
                    url,
                    _parse_pixels(attributes.get("width")),
                    _parse_pixels(attributes.get("height")),
                )
            )
            if url
            else None
        )
        if image is not None and is_presentable(image) and not _is_logo(node, attributes):
            return image
    return None


def image_url(attributes: dict[str, str | None], sources: Sources) -> str | None:
    """Return an `img` element's absolute URL: lazy-loading attributes first, `srcset` last."""
    for name in ("data-src", "data-lazy-src", "src"):
        if url := sources.absolute(attributes.get(name) or ""):
            return url
    for name in ("data-srcset", "data-lazy-srcset", "srcset"):
        if url := sources.absolute(image_sets.largest(attributes.get(name) or "") or ""):
            return url
    return None


def _is_logo(node: LexborNode, attributes: dict[str, str | None]) -> bool:
    """Return True for an image in the header, footer or menus, or with `logo` in an attribute."""
    if any("logo" in (attributes.get(name) or "").lower() for name in ("class", "id", "alt")):
        return True
    ancestor = node.parent
    for _ in range(_MAX_ANCESTORS):
        if ancestor is None or ancestor.tag in {"article", "main", "body"}:
            return False
        if (
            ancestor.tag in _SITE_FRAME_TAGS
            or "logo" in (ancestor.attributes.get("class") or "").lower()
        ):
            return ancestor.tag != "header" or ancestor.css_first("h1") is None
        ancestor = ancestor.parent
    return False


def image_with_size(url: str, width: Any, height: Any) -> Image:
    """Return an image with its declared size, or else the size in its URL."""
    return _with_size_from_url(Image(url, _parse_pixels(width), _parse_pixels(height)))


_WORD = re.compile(r"\w{3,}+")
_SITE_FRAME_TAGS = frozenset({"header", "nav", "footer"})
_MAX_ANCESTORS = 8


def _split_words(text: str | None) -> set[str]:
    return set(_WORD.findall(text.lower())) if text else set()


def best(images: Iterable[Image]) -> Image | None:
    """
    Return the largest image by its declared size or the size in its URL.

    Among images of equal size, those with https URLs come first, then those from more trusted
    sources. Icons and logos are used only if there is nothing else.
    """
    ranked = [(_rank(image), -index, image) for index, image in enumerate(images)]
    return max(ranked, key=lambda entry: entry[:2])[2] if ranked else None


def _rank(image: Image) -> tuple[bool, int, bool]:
    return not is_icon(image), image.pixels, image.url.startswith("https:")


_ICON_NAME = re.compile(
    r"(?:^|[/._-])(?:favicon|apple-touch-icon|icon|logo|spacer|placeholder|default-image)"
    r"(?:[/._?-]|$)",
    re.IGNORECASE,
)
_SIZE_IN_NAME = re.compile(r"(?:^|\D)(\d{3,4})[xX](\d{3,4})(?:\D|$)")
_WIDTH_IN_QUERY = re.compile(r"[?&,](?:w|width|wid)=(\d{3,4})(?:\D|$)", re.IGNORECASE)
_HEIGHT_IN_QUERY = re.compile(r"[?&,](?:h|height|hei)=(\d{3,4})(?:\D|$)", re.IGNORECASE)


def is_icon(image: Image) -> bool:
    """Return True for an image whose declared size is small, or named like an icon or logo."""
    sides = [side for side in (image.width, image.height) if side]
    if sides and max(sides) < SMALL_PIXELS:
        return True
    return bool(
        _ICON_NAME.search(image.url.partition("://")[2].partition("/")[2].partition("?")[0])
    )


def is_presentable(image: Image) -> bool:
    """Return True unless the image is an icon, or its declared size too small for a page."""
    sides = [side for side in (image.width, image.height) if side]
    return not is_icon(image) and (not sides or max(sides) >= PRESENTABLE_PIXELS)


def _with_size_from_url(image: Image) -> Image:
    if image.width and image.height:
        return image
    match = _SIZE_IN_NAME.search(image.url)
    if match:
        return replace(image, width=int(match[1]), height=int(match[2]))
    width, height = _WIDTH_IN_QUERY.search(image.url), _HEIGHT_IN_QUERY.search(image.url)
    if width and height:
        return replace(image, width=int(width[1]), height=int(height[1]))
    return image
