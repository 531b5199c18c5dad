"""The usual intervals for page types and fields, used before a page's own rate is known."""

from __future__ import annotations

from collections.abc import Container

from aragog.settings import RefreshSettings, duration_s

HOUR_S = 3600.0
DAY_S = 86_400.0

SITEMAP, FEED = "sitemap", "feed"
"""The types of files that report changes to pages (`aragog.urlstore.change_signals`)."""

USUAL_S = {
    "product": 3 * DAY_S,
    "article": DAY_S,
    "app": 3 * DAY_S,
    "place": 7 * DAY_S,
    "movie": 7 * DAY_S,
    "video": 7 * DAY_S,
    "recipe": 14 * DAY_S,
    "book": 14 * DAY_S,
    "page": 7 * DAY_S,
    "product.price": 6 * HOUR_S,
    "product.price_high": 6 * HOUR_S,
    "product.list_price": 6 * HOUR_S,
    "product.availability": 6 * HOUR_S,
    "product.offer_count": 2 * DAY_S,
    "product.rating": 7 * DAY_S,
    "app.price": DAY_S,
    "app.version": 3 * DAY_S,
    "app.rating": 14 * DAY_S,
    "place.opening_hours": 3 * DAY_S,
    "video.views": 30 * DAY_S,
    "body": 7 * DAY_S,
    SITEMAP: DAY_S,
    FEED: 6 * HOUR_S,
}
"""The intervals of page types, and of fields that change at another rate; see docs/refresh.md.

`body` is the page's bytes. They count only for a page without a type, because advertisements and
tokens often change.
"""

_FIELDS_BY_TYPE = {
    page_type: tuple(name for name in USUAL_S if name.startswith(page_type + "."))
    for page_type in USUAL_S
}

_VERSIONS = {"page.extractor_version", "page.text_version", "page.rules_version"}
IGNORED_FIELDS = frozenset({*_VERSIONS, "page.markdown", "page.fingerprint"})
"""Fields that are not compared, because every new word or extractor version changes them."""


def usual_s(name: str, settings: RefreshSettings) -> float:
    """Return the usual interval of a type or a field, from the settings or the defaults above."""
    text = settings.intervals.get(name)
    if text is not None:
        return duration_s(text)
    if name in USUAL_S:
        return USUAL_S[name]
    page_type, _, field = name.partition(".")
    return usual_s(page_type, settings) if field else USUAL_S["page"]


def usual_page_interval_s(
    present: Container[str], page_type: str, settings: RefreshSettings
) -> float:
    """Return the usual interval of the page's type or, if shorter, of its fastest field."""
    prefix = page_type + "."
    candidates = (*_FIELDS_BY_TYPE.get(page_type, ()), *settings.intervals)
    intervals_s = [
        usual_s(f, settings) for f in candidates if f in present and f.startswith(prefix)
    ]
    return min([*intervals_s, usual_s(page_type, settings)])


def change_weight(
    page_type: str, changed: tuple[str, ...], page_s: float, settings: RefreshSettings
) -> float:
    """
    Return the weight of a change, 0 to 1: the highest weight of a changed field.

    A field that should change slowly weighs less: a rating that changes with each visitor is no
    reason to fetch prices every hour.
    """
    intervals_s = [
        usual_s(page_type if name.startswith("page.") else name, settings)
        for name in changed
        if name not in IGNORED_FIELDS
    ]
    return max((min(1.0, page_s / interval_s) for interval_s in intervals_s), default=0.0)
