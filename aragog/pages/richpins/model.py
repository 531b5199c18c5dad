"""The Rich Pin: what one page is about, typed."""

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
"""Grows when the same page may give other fields; stored pages are then extracted again."""

PinType = Literal[
    "recipe", "product", "movie", "app", "book", "article", "place", "video", "page"
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class RichPin:
    """
    Typed metadata of one page. What the page does not tell is None or empty, never guessed.

    The facts that all pages have stand here; those of its type in the attribute of that name, and
    the other such attributes are None.
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
    """All that were offered, the most trusted first."""
    published_at: AnyDate | None = None
    modified_at: Moment | None = None
    keywords: tuple[str, ...] = ()
    icon_url: str | None = None
    oembed_url: str | None = None
    """Where the page's oEmbed answer can be fetched."""
    app_links: Mapping[str, str] = field(default_factory=dict)
    """Store pages of the site's app by `ios` and `android`."""
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
    """What of the page could not be read at all."""
    extractor_version: int = EXTRACTOR_VERSION

    @property
    def author(self) -> str | None:
        """All authors in one text."""
        return ", ".join(self.authors) or None
