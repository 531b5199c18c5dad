"""Reads that fetch: `GET /v1/urls` with an age or a wait."""

from __future__ import annotations

import math
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from aragog.api import reading
from aragog.api.crawling import MOST_AGE_S
from aragog.api.fetching import (
    LONGEST_WAIT_MS,
    TAKEN_DOWN,
    Fetching,
    FetchRequest,
    FetchResponse,
)
from aragog.api.http.calls import StoreCalls, tagged
from aragog.api.http.parameters import Query, refuse_cross_site
from aragog.api.json_values import from_query, record_json
from aragog.api.problems import Problem
from aragog.api.values import MOST_ITEMS
from aragog.errors import BadInput, TakenDown
from aragog.options import checked

PARAMETERS = ("max_age", "max_wait_ms")
"""A read with one of them may fetch."""


class FetchingReads:
    """
    Reads that fetch.

    Args:
        calls: runs store calls.
        fetching: the service; None: this server does not fetch and responds 501.
    """

    def __init__(self, calls: StoreCalls, fetching: Fetching | None) -> None:
        self._calls = calls
        self._fetching = fetching

    async def read(self, request: Request, query: Query) -> Response:
        """The record, fetched first if it must."""
        refuse_cross_site(request)
        include = checked(from_query(reading.GetRequest, query.texts())).include
        max_age_s, field_ages = _ages(query.get("max_age"))
        fetch = FetchRequest(
            url=query.required("url"),
            max_wait_ms=query.number("max_wait_ms", 0, least=0, most=LONGEST_WAIT_MS),
            max_age_s=max_age_s,
            field_max_age_s=field_ages,
            fields=query.names("fields"),
            request_id=query.get("request_id") or "",
        )
        response = await self._ask(fetch)
        if response.reason == TAKEN_DOWN:
            raise TakenDown(response.url)
        if response.record is None:
            raise Problem(
                404,
                response.reason or "there is no record of this URL yet",
                {"Retry-After": "1"} if response.fetching else None,
                freshness(response),
            )
        more = await self._calls.metadata(reading.extras, response.url, include) if include else {}
        shown_record = record_json(response.record, self._calls.store.formats) | {
            "freshness": freshness(response),
            **more,
        }
        return tagged(request, shown_record, response.record.version)

    async def _ask(self, fetch: FetchRequest) -> FetchResponse:
        if self._fetching is None:
            raise Problem(501, "this server does not fetch")
        return await self._fetching.fetch_now_async(fetch, self._calls.fetching)


def freshness(response: FetchResponse) -> dict[str, Any]:
    """The age of the stored data, and whether a fetch may still replace it."""
    return {
        "state": response.state,
        "age_s": response.age_s,
        "stale_fields": list(response.stale_fields),
        "fetching": response.fetching,
        "reason": response.reason,
    }


def _ages(text: str | None) -> tuple[float | None, dict[str, float]]:
    """`3600,product.price:60`: one limit for the page, and limits of fields."""
    page_s, fields = None, {}
    for part in (text or "").split(","):
        name, colon, seconds = part.rpartition(":")
        if colon:
            fields[name] = _age(f"max_age of {name[:100]}", seconds)
        elif part:
            page_s = _age("max_age", part)
    return page_s, _field_ages(fields)


def _field_ages(ages: Any) -> dict[str, float]:
    if not isinstance(ages, dict) or len(ages) > MOST_ITEMS or "" in ages:
        raise BadInput("field_max_age: must be an object of field names and seconds")
    return {name: _age(f"max_age of {name[:100]}", seconds) for name, seconds in ages.items()}


def _age(name: str, value: Any) -> float:
    """A number of seconds, or its text."""
    try:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise TypeError
        seconds = float(value)
        if math.isnan(seconds) or not 0 <= seconds <= MOST_AGE_S:
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise BadInput(f"{name}: must be seconds from 0 to {MOST_AGE_S}") from None
    return seconds
