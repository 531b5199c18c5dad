"""
URLs: normalized, resolved against a base, or compared.

Input: `url`, and optionally `base`; or `same`, URLs that are compared by their normalized form. The
answer has `url`, or `invalid`; `same`; `site`, the registered domain.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aragog.errors import InvalidUrl
from urlspelling import normalize
from urlspelling.domain import registered_domain


def answer(given: Mapping[str, Any]) -> dict[str, Any]:
    """The normalized URL."""
    if "same" in given:
        return {"same": len({normalize(url) for url in given["same"]}) == 1}
    try:
        url = normalize(given["url"], given.get("base"))
    except InvalidUrl:
        return {"invalid": True}
    return {"url": url, "again": normalize(url), "site": registered_domain(url)}
