"""The page type of a book."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from richpins.page_types import PageType
from richpins.provenance import Candidate
from richpins.structured_data.graph import Node
from richpins.structured_data.sources import Sources
from richpins.values import dates, numbers, scalars
from richpins.values.dates import AnyDate
from richpins.values.ratings import Rating, read_rating


@dataclass(frozen=True, slots=True, kw_only=True)
class Book:
    """A book. Its authors are an attribute of the pin."""

    isbn: str | None = None
    """The first valid ISBN-13 or ISBN-10 on the page, without hyphens."""
    publisher: str | None = None
    published_at: AnyDate | None = None
    pages: int | None = None
    format: str | None = None
    genres: tuple[str, ...] = ()
    rating: Rating | None = None


TYPES = frozenset(
    {"book", "audiobook", "bookseries", "comicissue", "comicstory", "atlas", "sequentialart"}
)


def read(sources: Sources, nodes: list[Node]) -> Book:
    """Return the book that `nodes`, their editions or Open Graph's book tags describe."""
    pick = sources.ledger.pick
    editions = [
        edition
        for node in nodes
        for edition in node.all("workexample", "workexamples")[:100]
        if isinstance(edition, Node)
    ]
    nodes_and_editions = [*nodes, *editions]

    def isbns() -> Iterator[Candidate]:
        yield from sources.scalars(nodes_and_editions, "isbn")
        yield from sources.meta("book:isbn", "books:isbn", "og:isbn", "citation_isbn")
        yield from sources.scalars(nodes_and_editions, "gtin13", "identifier")

    def publication_dates() -> Iterator[Candidate]:
        yield from sources.scalars(nodes_and_editions, "datepublished")
        yield from sources.meta("book:release_date", "books:release_date")

    return Book(
        isbn=pick("book.isbn", isbn, isbns(), expected="an ISBN"),
        publisher=pick(
            "book.publisher",
            scalars.name,
            sources.scalars(nodes_and_editions, "publisher"),
            expected="a name",
        ),
        published_at=dates.pick(
            sources.ledger,
            "book.published_at",
            publication_dates(),
            language=sources.document.language,
        ),
        pages=pick(
            "book.pages", numbers.count, sources.scalars(nodes_and_editions, "numberofpages")
        ),
        format=pick(
            "book.format", _parse_format, sources.scalars(nodes_and_editions, "bookformat")
        ),
        genres=pick("book.genres", scalars.words, sources.lists(nodes, "genre")) or (),
        rating=read_rating(sources, "book.rating", nodes),
    )


def isbn(value: Any) -> str | None:
    """Return the digits of an ISBN-10 or ISBN-13, or None if the check digit is wrong."""
    if isinstance(value, Node):
        value = value.first("value", "name") or value.id
    text = re.sub(r"^(?:urn:)?(?:isbn)?[-: ]*(?:1[03][: ])?", "", str(value).strip().lower())
    digits = re.sub(r"[\s\-\u2010-\u2015]", "", text).upper()
    if re.fullmatch(r"\d{13}", digits):
        total = sum(int(digit) * (3 if index % 2 else 1) for index, digit in enumerate(digits))
        return digits if total % 10 == 0 and digits[:3] in {"978", "979"} else None
    if re.fullmatch(r"\d{9}[\dX]", digits):
        total = sum(
            (10 - index) * (10 if digit == "X" else int(digit))
            for index, digit in enumerate(digits)
        )
        return digits if total % 11 == 0 else None
    return None


def _parse_format(value: Any) -> str | None:
    if isinstance(value, Node):
        value = value.id or value.first("name", "url")
    text = scalars.text(value)
    return text.rpartition("/")[2] if text else None


def _declaration_weight(_sources: Sources, og_type: str) -> int:
    return 4 if og_type.startswith("book") else 0


PAGE_TYPE = PageType(
    name="book",
    record=Book,
    schema_types=TYPES,
    weight=70,
    read=read,
    og_types=("book", "books.book"),
    declaration_weight=_declaration_weight,
)
