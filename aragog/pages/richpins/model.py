"""The data model of Rich Pins: the typed fields of each page type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Literal

from aragog.pages.richpins.provenance import Conflict, Dropped, Provenance
from aragog.pages.richpins.values.dates import AnyDate, Moment
from aragog.pages.richpins.values.images import Image
from aragog.pages.richpins.values.instructions import Group
from aragog.pages.richpins.values.ratings import Rating
from aragog.pages.richpins.values.yields import Yield

EXTRACTOR_VERSION = 5
"""Incremented when a page may yield other fields; `aragog reextract` then renews stored ones."""

PinType = Literal[
    "recipe", "product", "movie", "app", "book", "article", "place", "video", "page"
]  # fmt: skip

Availability = Literal[
    "in_stock", "out_of_stock", "pre_order", "back_order", "limited", "online_only",
    "in_store_only", "discontinued", "sold_out", "made_to_order", "reserved",
]  # fmt: skip
Condition = Literal["new", "used", "refurbished", "damaged"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """The ingredients, steps and times of a recipe. Times are whole minutes."""

    ingredients: tuple[str, ...] = ()
    ingredient_groups: tuple[Group, ...] = ()
    instructions: tuple[str, ...] = ()
    """The steps in order, without sections."""
    instruction_groups: tuple[Group, ...] = ()
    """The same steps by section."""
    yields: Yield | None = None
    prep_minutes: int | None = None
    cook_minutes: int | None = None
    total_minutes: int | None = None
    """As declared, else the sum of the two others."""
    nutrition: dict[str, str] = field(default_factory=dict)
    """With schema.org's names, such as `calories: 143 kcal`."""
    rating: Rating | None = None
    categories: tuple[str, ...] = ()
    cuisines: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    diets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """A product. Prices are in `currency`; without a currency they are None."""

    price: Decimal | None = None
    """The current price; the lowest if there are several offers."""
    price_high: Decimal | None = None
    """The highest price of several offers or of a declared range; None if there is one price."""
    list_price: Decimal | None = None
    """The price before a reduction, if the page states it."""
    currency: str | None = None
    """ISO 4217."""
    price_valid_until: date | None = None
    availability: Availability | None = None
    condition: Condition | None = None
    brand: str | None = None
    seller: str | None = None
    sku: str | None = None
    gtin: str | None = None
    """Digits of a GTIN-8, 12, 13 or 14 with a valid check digit."""
    mpn: str | None = None
    color: str | None = None
    size: str | None = None
    material: str | None = None
    category: str | None = None
    offer_count: int | None = None
    rating: Rating | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Movie:
    """A movie or series."""

    directors: tuple[str, ...] = ()
    actors: tuple[str, ...] = ()
    genres: tuple[str, ...] = ()
    duration_minutes: int | None = None
    released_at: AnyDate | None = None
    content_rating: str | None = None
    trailer_url: str | None = None
    rating: Rating | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class App:
    """An app, its price and its store pages."""

    operating_systems: tuple[str, ...] = ()
    category: str | None = None
    version: str | None = None
    developer: str | None = None
    price: Decimal | None = None
    """0 if it is free; None without a price or its currency (0 needs none)."""
    currency: str | None = None
    ios_url: str | None = None
    """The URL of its page in the App Store."""
    android_url: str | None = None
    """The URL of its page on Google Play."""
    rating: Rating | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Book:
    """A book; its authors are an attribute of the pin."""

    isbn: str | None = None
    """ISBN-13 (or ISBN-10 as found), digits only, with a valid check digit."""
    publisher: str | None = None
    published_at: AnyDate | None = None
    pages: int | None = None
    format: str | None = None
    genres: tuple[str, ...] = ()
    rating: Rating | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Article:
    """An article; its headline, authors and dates are attributes of the pin."""

    publisher: str | None = None
    section: str | None = None
    word_count: int | None = None
    is_free: bool | None = None
    """False behind a paywall; None if the page does not state it."""
    body: str | None = None
    """The article's text, if the markup contains it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A postal address in its parts; `text` if the page gives it as one text."""

    street: str | None = None
    locality: str | None = None
    region: str | None = None
    postal_code: str | None = None
    country: str | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Coordinates:
    """Latitude and longitude in degrees, WGS 84."""

    latitude: Decimal
    longitude: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The location of a place and its contact details."""

    address: Address | None = None
    coordinates: Coordinates | None = None
    phone: str | None = None
    email: str | None = None
    price_range: str | None = None
    opening_hours: tuple[str, ...] = ()
    cuisines: tuple[str, ...] = ()
    menu_url: str | None = None
    map_url: str | None = None
    rating: Rating | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Video:
    """A video and its players."""

    duration_s: int | None = None
    duration_minutes: int | None = None
    uploaded_at: Moment | None = None
    content_url: str | None = None
    """The URL of the video file."""
    embed_url: str | None = None
    """The URL of a page with a player."""
    width: int | None = None
    height: int | None = None
    views: int | None = None


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
