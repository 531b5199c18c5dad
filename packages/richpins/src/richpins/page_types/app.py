"""The page type of an app or game."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from richpins.page_types import PageType
from richpins.provenance import Candidate, Provenance
from richpins.structured_data.graph import Node
from richpins.structured_data.sources import Sources
from richpins.values import prices, scalars
from richpins.values.ratings import Rating, read_rating


@dataclass(frozen=True, slots=True, kw_only=True)
class App:
    """An app, its price and its store pages."""

    operating_systems: tuple[str, ...] = ()
    category: str | None = None
    version: str | None = None
    developer: str | None = None
    price: Decimal | None = None
    """0 if the app is free. None if the price or its currency is missing (0 needs no currency)."""
    currency: str | None = None
    ios_url: str | None = None
    """The URL of the app's page in the App Store."""
    android_url: str | None = None
    """The URL of the app's page on Google Play."""
    rating: Rating | None = None


TYPES = frozenset(
    {
        "softwareapplication", "mobileapplication", "webapplication", "videogame",
        "runtimeplatform", "operatingsystem",
    }
)  # fmt: skip

_APPLE_ID = re.compile(r"(?:id|app-id=)?(\d{6,12})(?:\D|$)")
_ANDROID_PACKAGE = re.compile(r"\b[A-Za-z]\w*+(?:\.\w++)+")
_STORE_URLS = (
    ("ios", re.compile(r"https?://(?:apps|itunes)\.apple\.com/\S{0,500}?/?id\d\S{0,2000}+")),
    (
        "android",
        re.compile(r"https?://play\.google\.com/store/apps/details\?\S{0,500}id=\S{1,2000}+"),
    ),
)


def read(sources: Sources, nodes: list[Node]) -> App:
    """Return the app that `nodes`, App Links or a Twitter app card describe."""
    pick = sources.ledger.pick
    price, currency = _find_price(sources, nodes)
    return App(
        operating_systems=pick(
            "app.operating_systems",
            scalars.words,
            sources.lists(nodes, "operatingsystem", "operatingsystems", "gameplatform"),
        )
        or (),
        category=pick(
            "app.category",
            _parse_category,
            sources.scalars(nodes, "applicationcategory", "applicationsubcategory", "genre"),
        ),
        version=pick(
            "app.version", scalars.text, sources.scalars(nodes, "softwareversion", "version")
        ),
        developer=pick(
            "app.developer",
            scalars.name,
            sources.scalars(nodes, "author", "creator", "publisher", "provider"),
            expected="a name",
        ),
        price=price,
        currency=currency,
        ios_url=links(sources, nodes).get("ios"),
        android_url=links(sources, nodes).get("android"),
        rating=read_rating(sources, "app.rating", nodes),
    )  # fmt: skip


def _find_price(sources: Sources, nodes: list[Node]) -> tuple[Decimal | None, str | None]:
    price = prices.read_price(sources, nodes, "app.price")
    if price is not None:
        return price
    is_free = sources.ledger.pick("app.price", _is_free, _free_candidates(sources, nodes))
    return (Decimal(0), None) if is_free else (None, None)


def _free_candidates(sources: Sources, nodes: list[Node]) -> Iterator[Candidate]:
    for node in nodes:
        for offer in node.all("offers"):
            if isinstance(offer, Node):
                yield from sources.scalars([offer], "price")
            else:
                yield Candidate(offer, node.syntax, f"{node.position}.offers")
        yield from sources.scalars([node], "price", "isaccessibleforfree")


def _is_free(value: Any) -> bool | None:
    text = scalars.text(value) or ("true" if value is True else "")
    return True if re.fullmatch(r"(?i)free|0+(?:[.,]0+)?|true", text) else None


def _parse_category(value: Any) -> str | None:
    category = scalars.text(value)
    return category.rpartition("/")[2] if category and "schema.org/" in category else category


def links(sources: Sources, nodes: list[Node]) -> dict[str, str]:
    """Return the app's URLs in app stores, with the keys `ios` and `android`."""
    urls: dict[str, str] = {}
    for system, candidate in _link_candidates(sources, nodes):
        if system not in urls:
            urls[system] = candidate.value
            sources.ledger.provenance[f"app.{system}_url"] = Provenance(
                candidate.syntax, candidate.position
            )
    return urls


def _link_candidates(sources: Sources, nodes: list[Node]) -> Iterator[tuple[str, Candidate]]:
    for candidate in sources.scalars(nodes, "installurl", "downloadurl", "url", "sameas"):
        for system, pattern in _STORE_URLS:
            if isinstance(candidate.value, str) and pattern.match(candidate.value):
                yield system, candidate
    for candidate in sources.meta(
        "al:ios:app_store_id", "al:iphone:app_store_id", "al:ipad:app_store_id",
        "twitter:app:id:iphone", "twitter:app:id:ipad", "apple-itunes-app",
    ):  # fmt: skip
        app_id = _APPLE_ID.search(candidate.value)
        if app_id:
            url = f"https://apps.apple.com/app/id{app_id[1]}"
            yield "ios", candidate._replace(value=url)
    for candidate in sources.meta(
        "al:android:package", "twitter:app:id:googleplay", "google-play-app"
    ):
        package = _ANDROID_PACKAGE.search(candidate.value.removeprefix("app-id="))
        if package:
            url = f"https://play.google.com/store/apps/details?id={package[0]}"
            yield "android", candidate._replace(value=url)


def _declaration_weight(sources: Sources, _og_type: str) -> int:
    return 2 if (sources.metas.first("twitter:card") or "").lower() == "app" else 0


PAGE_TYPE = PageType(
    name="app",
    record=App,
    schema_types=TYPES,
    weight=72,
    read=read,
    og_types=("app", "game"),
    declaration_weight=_declaration_weight,
    credits_authors=False,
)
