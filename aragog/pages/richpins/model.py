"""Data model of the Rich Pin: what one page is about, as typed fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from aragog.pages.richpins.provenance import Conflict, Dropped, Provenance
from aragog.pages.richpins.types.app import App
from aragog.pages.richpins.types.article import Article
from aragog.pages.richpins.types.book import Book
from aragog.pages.richpins.types.movie import Movie
from aragog.pages.richpins.types.place import Place
from aragog.pages.richpins.types.product import Product
from aragog.pages.richpins.types.recipe import Recipe
from aragog.pages.richpins.types.video import Video
from aragog.pages.richpins.values.dates import AnyDate, Moment
from aragog.pages.richpins.values.images import Image

EXTRACTOR_VERSION = 3
"""Incremented when the same page may yield other fields; stored pages are then extracted again."""

PinType = Literal[
    "recipe", "product", "movie", "app", "book", "article", "place", "video", "page"
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class RichPin:
    """
    Typed metadata of one page. Values that the page does not state are None or empty, never
    guessed.

    Facts common to all pages are attributes of this class. Facts of the page's type are in the
    attribute named after that type; the attributes of all other types are None.
    """

    type: PinType
    types: tuple[str, ...] = ()
    """schema.org's own names for the subject, such as `NewsArticle`."""
    url: str
    title: str | None = None
    description: str | None = None
    canonical_url: str | None = None
    """
    As the page declares it, absolute; `aragog.urls.canonical.decision` decides whether it is right.
    """
    site_name: str | None = None
    language: str | None = None
    authors: tuple[str, ...] = ()
    image: Image | None = None
    """The best of `images`."""
    images: tuple[Image, ...] = ()
    """All images that the page offers, most trusted first."""
    published_at: AnyDate | None = None
    modified_at: Moment | None = None
    keywords: tuple[str, ...] = ()
    icon_url: str | None = None
    oembed_url: str | None = None
    """The URL of the page's oEmbed response."""
    app_links: Mapping[str, str] = field(default_factory=dict)
    """Store pages of the site's app, with the keys `ios` and `android`."""
    recipe: Recipe | None = None
    product: Product | None = None
    movie: Movie | None = None
    app: App | None = None
    book: Book | None = None
    article: Article | None = None
    place: Place | None = None
    video: Video | None = None
    provenance: Mapping[str, Provenance] = field(default_factory=dict)
    """By field name, such as `recipe.yields`."""
    conflicts: tuple[Conflict, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    problems: tuple[str, ...] = ()
    """Descriptions of the parts of the page that could not be read."""
    extractor_version: int = EXTRACTOR_VERSION

    @property
    def author(self) -> str | None:
        """Return all authors in one text."""
        return ", ".join(self.authors) or None
