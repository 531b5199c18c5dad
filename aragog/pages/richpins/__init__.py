"""Typed metadata of a page, each value with its provenance. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from aragog.pages.document import Document, parse

EXTRACTOR_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RichPin:
    """What a page is about."""

    type: str = "page"
    title: str | None = None


def extract(html: bytes, url: str, content_type: str | None = None) -> RichPin:
    """The Rich Pin of a page's bytes."""
    return extract_from(parse(html, url=url, content_type=content_type))


def extract_from(document: Document) -> RichPin:
    """The Rich Pin of a parsed page."""
    return RichPin(title=document.title)


def to_fields(pin: RichPin) -> tuple[dict[str, bytes], dict[str, str]]:
    """Fields by name."""
    return {}, {}
