"""
Read a page's metadata, links and text in one call. No I/O.

    page = read(body, url="https://example.com/soup", content_type="text/html")
    page.pin.type, page.pin.title, page.pin.recipe.total_minutes
    page.pin.provenance["recipe.total_minutes"], page.links, page.markdown

`read` parses the page once. Each attribute is computed from the parsed tree on first access.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import orjson

from richpins import canonical_evidence, documents, extraction, links, rich_pins
from richpins.compared_text import sketch
from richpins.document import Document
from richpins.fingerprint import fingerprint_of
from richpins.links import Link
from richpins.main_text import MARKDOWN, TEXT, find
from richpins.provenance import Provenance
from richpins.rich_pins import RichPin
from urlspelling.canonical import Decision, Redirect, decide


class Page:
    """
    The metadata, links and text of one page. Not thread-safe while an attribute is first computed.

    It keeps the parsed tree in memory, about ten times the size of the body. To save memory, keep
    only `pin` and `links`.
    """

    def __init__(self, parsed: Document) -> None:
        self.document = parsed
        """The parsed page: its tree, encoding, head, and its body in UTF-8."""

    @cached_property
    def pin(self) -> RichPin:
        """The typed metadata of the page: title, images, dates, and the record of its type."""
        return extraction.extract_from(self.document)

    @property
    def type(self) -> str:
        """The page's type: `page`, or one of `page_types.NAMES`."""
        return self.pin.type

    @cached_property
    def fields(self) -> dict[str, Any]:
        """The pin's fields as JSON values, by names such as `page.title` or `recipe.yields`."""
        stored, _ = rich_pins.to_fields(self.pin)
        return {name: orjson.loads(value) for name, value in stored.items()}

    @property
    def provenance(self) -> dict[str, Provenance]:
        """The source of each field of the pin (syntax and position), by field name."""
        return dict(self.pin.provenance)

    @cached_property
    def links(self) -> tuple[Link, ...]:
        """The page's links as absolute, normalized URLs without duplicates; at most 1,000."""
        return links.extract(self.document)

    @cached_property
    def text(self) -> str:
        """
        The main text without menus, teasers and comments; empty if there is none.

        Raises:
            MissingExtra: the extra `text` is not installed.
        """
        return find(self.document, TEXT)

    @cached_property
    def markdown(self) -> str:
        """The main text as Markdown, with its headings, links, tables and images; see `text`."""
        return find(self.document, MARKDOWN)

    @cached_property
    def sketch(self) -> str:
        """
        A sketch for near-duplicate detection: `are_near_same(page.sketch, other.sketch)`.

        It has 88 characters, or is empty if the text is too short to compare.
        """
        return sketch(self.document)

    @property
    def fingerprint(self) -> str:
        """A 64-bit fingerprint in hex, to find near duplicates among many pages (`fingerprint`)."""
        return fingerprint_of(self.sketch)

    @property
    def problems(self) -> tuple[str, ...]:
        """Descriptions of what was cut off or could not be read."""
        return self.pin.problems

    def canonical(
        self,
        *,
        requested_url: str | None = None,
        status: int = 200,
        redirects: tuple[Redirect, ...] = (),
        headers: canonical_evidence.Headers = (),
    ) -> Decision:
        """
        Decide the page's canonical URL from its declarations and the fetch.

        Args:
            requested_url: the URL from which redirects led to the page's URL, if any.
            status: the response's status; the tags of an error page are ignored.
            redirects: the hops from `requested_url`, in order.
            headers: the response's headers, for `Link: <…>; rel=canonical`.
        """
        url = self.document.url
        evidence = canonical_evidence.collect(
            self.document,
            url=requested_url or url,
            final_url=url,
            status=status,
            redirects=redirects,
            headers=headers,
        )
        return decide(evidence)


def read(body: bytes, *, url: str, content_type: str | None = None, agent: str = "") -> Page:
    """
    Parse a page. Bad markup never raises.

    For a page of 57 KB with 185 links, parsing takes 0.4 ms, its pin 1.0 ms and its links 0.4 ms.

    >>> body = (
    ...     b'<title>Leek Soup</title><a href="/stew">Stew</a><script type="application/ld+json">'
    ...     b'{"@type": "Recipe", "name": "Leek Soup", "totalTime": "PT1H10M"}</script>'
    ... )
    >>> page = read(body, url="https://pot.example/soup", content_type="text/html")
    >>> page.type, page.pin.title, page.pin.recipe.total_minutes
    ('recipe', 'Leek Soup', 70)
    >>> [link.url for link in page.links]
    ['https://pot.example/stew']

    Args:
        body: without its content encoding (gzip, br). Long bodies are cut off; see `problems`.
        url: the page's URL after redirects, and the base for relative URLs.
        content_type: the header as sent. Plain text and PDF (needs the extra `pdf`) have a title, a
            language and a text. Other types are not read.
        agent: the product token of a crawler, to read directives such as `<meta name=examplebot>`.
            Without one, `document.robots` has only the directives for all crawlers.

    Raises:
        TypeError: the body is a str. Pass bytes; `read` determines the encoding.
    """
    if not isinstance(body, bytes | bytearray | memoryview):
        raise TypeError("body: must be the bytes of the page as they were sent, not a str")
    return Page(documents.parse(body, url=url, content_type=content_type, agent=agent))
