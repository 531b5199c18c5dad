"""The images that a page offers for itself, and the best of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from aragog.pages.richpins import numbers
from aragog.pages.richpins.graph import Node
from aragog.pages.richpins.provenance import Candidate
from aragog.pages.richpins.sources import Sources

MAX_IMAGES = 20
SMALL_PIXELS = 200
"""A declared side under this is an icon, taken only when there is nothing else."""


@dataclass(frozen=True, slots=True)
class Image:
    """One image; sizes are pixels as declared, None when they are not."""

    url: str
    """Absolute, otherwise as written: image servers often sign or parse their addresses."""
    width: int | None = None
    height: int | None = None
    alt: str | None = None

    @property
    def pixels(self) -> int:
        """Declared width times height; 0 when unknown."""
        return (self.width or 0) * (self.height or 0)


def read(value: Any, sources: Sources) -> list[Image]:
    """The images in a value: a URL, an ImageObject, or a list of them."""
    found: list[Image] = []
    for each in value if isinstance(value, list) else [value]:
        image = _image(each, sources)
        if image is not None and len(found) < MAX_IMAGES:
            found.append(image)
    return found


def _image(value: Any, sources: Sources) -> Image | None:
    if isinstance(value, str):
        url = sources.absolute(value.split(",http")[0])
        return Image(url) if url else None
    if not isinstance(value, Node):
        return None
    url = next(
        (
            absolute
            for raw in value.all("url", "contenturl", "image", "src", "thumbnailurl")
            + value.all("contenturl")
            + ([value.id] if value.id and not value.properties else [])
            if isinstance(raw, str) and (absolute := sources.absolute(raw))
        ),
        None,
    )
    if url is None:
        return None
    return Image(url, _side(value.first("width")), _side(value.first("height")))


def _side(value: Any) -> int | None:
    if isinstance(value, Node):
        value = value.first("value", "name")
    number = numbers.decimal(re.sub(r"(?i)\s*px$", "", value) if isinstance(value, str) else value)
    return int(number) if number is not None and 0 < number < 100_000 else None


def from_open_graph(sources: Sources) -> Iterator[tuple[Image, Candidate]]:
    """og:image with the structured properties that follow each one."""
    url: str | None = None
    facts: dict[str, str] = {}
    for name, content in [*sources.metas.order, ("og:image", "")]:
        if name in {"og:image", "og:image:url"}:
            if name == "og:image:url" and url == content:
                continue
            if url:
                yield from _open_graph_image(url, facts, sources)
            url, facts = content, {}
        elif name.startswith("og:image:"):
            facts.setdefault(name.removeprefix("og:image:"), content)


def _open_graph_image(
    url: str, facts: dict[str, str], sources: Sources
) -> Iterator[tuple[Image, Candidate]]:
    absolute = sources.absolute(url) or sources.absolute(facts.get("secure_url", ""))
    if absolute is None:
        return
    secure = sources.absolute(facts.get("secure_url", ""))
    if absolute.startswith("http:") and secure and secure.startswith("https:"):
        absolute = secure
    image = Image(absolute, _side(facts.get("width")), _side(facts.get("height")), facts.get("alt"))
    yield image, Candidate(url, "opengraph", "og:image")


def best(images: Iterable[Image]) -> Image | None:
    """
    The largest by declared size; the first where sizes are unknown or equal.

    An image of unknown size beats one that is declared to be an icon, and is beaten by none else.
    """
    chosen: Image | None = None
    for image in images:
        if chosen is None or (is_small(chosen) and not is_small(image)):
            chosen = image
        elif chosen.pixels and image.pixels > chosen.pixels:
            chosen = image
    return chosen


def is_small(image: Image) -> bool:
    """True when it is declared to be an icon."""
    sides = [side for side in (image.width, image.height) if side]
    return bool(sides) and min(sides) < SMALL_PIXELS
