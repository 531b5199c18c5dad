"""Handle the URLs in a batch request. Some may be invalid or taken down."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from aragog.errors import InvalidUrl, TakenDown
from aragog.urlstore.store import UrlStore
from urlspelling import normalize

T = TypeVar("T")


def normalize_urls(urls: Sequence[str]) -> tuple[list[str], dict[int, InvalidUrl]]:
    """Return the valid URLs, normalized, and the error of each invalid URL by its position."""
    try:
        return [normalize(url) for url in urls], {}
    except InvalidUrl:
        pass
    valid: list[str] = []
    errors: dict[int, InvalidUrl] = {}
    for position, url in enumerate(urls):
        try:
            valid.append(normalize(url))
        except InvalidUrl as error:
            errors[position] = error
    return valid, errors


def replace_taken_down(
    store: UrlStore, urls: Sequence[str], results: Sequence[Any]
) -> Sequence[Any]:
    """
    Replace None with `TakenDown` for URLs that were taken down. If any result is None, this costs
    one small read and one multi-get.

    Args:
        store: the store that returned the results.
        urls: a normalized URL for each result.
        results: a result for each URL, or None if nothing is stored for it.
    """
    if None not in results:
        return results
    missing = [url for url, result in zip(urls, results, strict=True) if result is None]
    taken_down = store.takedowns.refused(missing)
    if not taken_down:
        return results
    return [
        TakenDown(url) if result is None and url in taken_down else result
        for url, result in zip(urls, results, strict=True)
    ]


def check_present(store: UrlStore, url: str, result: T | None) -> T | None:
    """
    Return the result of reading a URL.

    Raises:
        TakenDown: the result is None because the URL was taken down.
    """
    if result is None:
        [missing] = replace_taken_down(store, [normalize(url)], [None])
        if missing is not None:
            raise missing
    return result
