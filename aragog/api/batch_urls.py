"""Normalize the URLs of a batch, some of which may be invalid. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from aragog.errors import InvalidUrl
from aragog.urls.normalize import normalize


def normalized(urls: Sequence[str]) -> tuple[list[str], dict[int, InvalidUrl]]:
    """The valid URLs, normalized, and the errors of the others by their places, ascending."""
    try:
        return [normalize(url) for url in urls], {}
    except InvalidUrl:
        pass
    valid: list[str] = []
    refused: dict[int, InvalidUrl] = {}
    for place, url in enumerate(urls):
        try:
            valid.append(normalize(url))
        except InvalidUrl as error:
            refused[place] = error
    return valid, refused
