"""Find an article's picture after its heading, for pages whose markup has none."""

from __future__ import annotations

import re
from collections.abc import Iterator

from selectolax.lexbor import LexborNode

from richpins.provenance import Candidate
from richpins.structured_data.sources import Sources
from richpins.values import image_sets, images
from richpins.values.images import Image
from richpins.visible_text.places import is_elsewhere

_PICTURES = "img,amp-img"
_HEROES = ",".join(f'[class*="{name}" i][style*="url("]' for name in ("hero", "featured", "cover"))
_MAX_SEEN = 12
"""Maximum pictures examined after the heading. The first suitable one is used."""
_PHOTO = re.compile(r"\.(?:jpe?g|webp|avif)(?:\Z|[?#])", re.IGNORECASE)
_PICTURE_FILE = re.compile(r"\.(?:jpe?g|webp|avif|png|gif)(?:\Z|[?#])", re.IGNORECASE)
_DECORATION = re.compile(
    r"(?<![a-z])(?:logo|icon|avatar|author|byline|share|social|sponsor|banner|badge|emoji|pixel|ad)s?(?![a-z])",
    re.IGNORECASE,
)
_URL_IN_STYLE = re.compile(r"url\(\s{0,9}['\"]?([^'\"()]{1,2000})['\"]?\s{0,9}\)")
_MAX_CLIMB = 4


def pictures(sources: Sources) -> Iterator[tuple[Image, Candidate]]:
    """
    Yield the first picture after the h1 that is a photo or has large declared dimensions.

    Skips pictures of other articles, authors and buttons, and pictures that link to other pages.
    """
    if sources.heading_end < 0:
        return
    nodes = sources.document.tree.css(f"h1,{_PICTURES},{_HEROES}")
    are_several = len(sources.document.tree.css("article")) > 1
    first = next((n for n, node in enumerate(nodes) if node.tag == "h1"), len(nodes))
    for node in nodes[first + 1 : first + 1 + _MAX_SEEN]:
        if node.tag == "h1" or _is_beside(node) or (are_several and _is_in_another_article(node)):
            continue
        image = _image(node, sources)
        if image is not None:
            yield image, Candidate(image.url, "html", f"{node.tag} behind the h1")
            return


def _image(node: LexborNode, sources: Sources) -> Image | None:
    attributes = node.attributes
    if node.tag in {"img", "amp-img"}:
        url = _largest_source(node, sources) or images.address(attributes, sources)
    else:
        match = _URL_IN_STYLE.search(attributes.get("style") or "")
        url = sources.absolute(match[1]) if match else None
    if url is None:
        return None
    image = images.sized(url, attributes.get("width"), attributes.get("height"))
    sides = [side for side in (image.width, image.height) if side]
    is_large = min(sides, default=0) >= images.PRESENTABLE_PIXELS // 2
    may_be = is_large or (not sides and _PHOTO.search(url) is not None)
    return image if may_be and images.is_presentable(image) else None


def _largest_source(node: LexborNode, sources: Sources) -> str | None:
    """Return the largest URL among the `source` elements of a `picture`."""
    parent = node.parent
    if parent is None or parent.tag != "picture":
        return None
    named = (each.attributes.get("srcset") or "" for each in parent.css("source[srcset]"))
    sets = ",".join(filter(None, named))
    return sources.absolute(image_sets.largest(sets) or "") if sets else None


def _is_in_another_article(node: LexborNode) -> bool:
    """Return True if the picture is in an article that does not contain the page's h1."""
    at: LexborNode | None = node
    while at is not None and at.tag != "article":
        at = at.parent
    return at is not None and at.css_first("h1") is None


def _is_beside(node: LexborNode) -> bool:
    """Return True for a decoration, or a picture in comments or in a link to another page."""
    at: LexborNode | None = node
    for _ in range(_MAX_CLIMB):
        if at is None or at.tag in {"body", "main"}:
            break
        attributes = at.attributes
        if at.tag == "a" and not _PICTURE_FILE.search(attributes.get("href") or ""):
            return True
        named = f"{attributes.get('class') or ''} {attributes.get('id') or ''}"
        if at.tag != "article" and _DECORATION.search(named):
            return True
        at = at.parent
    return is_elsewhere(node)
