"""Find an article's picture after its heading, for pages whose markup has none."""

from __future__ import annotations

import re
from collections.abc import Iterator

from selectolax.lexbor import LexborNode

from richpins.provenance import Candidate
from richpins.structured_data.sources import Sources
from richpins.values import image_sets, images
from richpins.values.images import Image
from richpins.visible_text.places import is_in_other_content

_IMAGE_ELEMENTS = "img,amp-img"
_HERO_ELEMENTS = ",".join(
    f'[class*="{name}" i][style*="url("]' for name in ("hero", "featured", "cover")
)
_MAX_EXAMINED_IMAGES = 12
_PHOTO_URL = re.compile(r"\.(?:jpe?g|webp|avif)(?:\Z|[?#])", re.IGNORECASE)
_PICTURE_URL = re.compile(r"\.(?:jpe?g|webp|avif|png|gif)(?:\Z|[?#])", re.IGNORECASE)
_DECORATION_CLASS = re.compile(
    r"(?<![a-z])(?:logo|icon|avatar|author|byline|share|social|sponsor|banner|badge|emoji|pixel|ad)s?(?![a-z])",
    re.IGNORECASE,
)
_URL_IN_STYLE = re.compile(r"url\(\s{0,9}['\"]?([^'\"()]{1,2000})['\"]?\s{0,9}\)")
_MAX_ANCESTORS = 4


def pictures(sources: Sources) -> Iterator[tuple[Image, Candidate]]:
    """
    Yield the first picture after the h1 that is a photo or has large declared dimensions.

    Skips pictures of other articles, authors and buttons, and pictures that link to a page.
    """
    if sources.heading_end < 0:
        return
    nodes = sources.document.tree.css(f"h1,{_IMAGE_ELEMENTS},{_HERO_ELEMENTS}")
    has_several_articles = len(sources.document.tree.css("article")) > 1
    heading_index = next(
        (index for index, node in enumerate(nodes) if node.tag == "h1"), len(nodes)
    )
    for node in nodes[heading_index + 1 : heading_index + 1 + _MAX_EXAMINED_IMAGES]:
        if (
            node.tag == "h1"
            or _is_unrelated(node)
            or (has_several_articles and _is_in_another_article(node))
        ):
            continue
        image = _read_image(node, sources)
        if image is not None:
            yield image, Candidate(image.url, "html", f"{node.tag} behind the h1")
            return


def _read_image(node: LexborNode, sources: Sources) -> Image | None:
    attributes = node.attributes
    if node.tag in {"img", "amp-img"}:
        url = _largest_source_url(node, sources) or images.image_url(attributes, sources)
    else:
        match = _URL_IN_STYLE.search(attributes.get("style") or "")
        url = sources.absolute(match[1]) if match else None
    if url is None:
        return None
    image = images.image_with_size(url, attributes.get("width"), attributes.get("height"))
    sides = [side for side in (image.width, image.height) if side]
    is_large = min(sides, default=0) >= images.PRESENTABLE_PIXELS // 2
    is_photo = is_large or (not sides and _PHOTO_URL.search(url) is not None)
    return image if is_photo and images.is_presentable(image) else None


def _largest_source_url(node: LexborNode, sources: Sources) -> str | None:
    parent = node.parent
    if parent is None or parent.tag != "picture":
        return None
    srcsets = (source.attributes.get("srcset") or "" for source in parent.css("source[srcset]"))
    joined = ",".join(filter(None, srcsets))
    return sources.absolute(image_sets.largest(joined) or "") if joined else None


def _is_in_another_article(node: LexborNode) -> bool:
    ancestor: LexborNode | None = node
    while ancestor is not None and ancestor.tag != "article":
        ancestor = ancestor.parent
    return ancestor is not None and ancestor.css_first("h1") is None


def _is_unrelated(node: LexborNode) -> bool:
    ancestor: LexborNode | None = node
    for _ in range(_MAX_ANCESTORS):
        if ancestor is None or ancestor.tag in {"body", "main"}:
            break
        attributes = ancestor.attributes
        if ancestor.tag == "a" and not _PICTURE_URL.search(attributes.get("href") or ""):
            return True
        class_and_id = f"{attributes.get('class') or ''} {attributes.get('id') or ''}"
        if ancestor.tag != "article" and _DECORATION_CLASS.search(class_and_id):
            return True
        ancestor = ancestor.parent
    return is_in_other_content(node)
