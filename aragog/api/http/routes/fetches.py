"""Fetches for callers who wait: `POST /v1/fetch`, and `GET /v1/urls` with an age or a wait."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from aragog.api import crawling
from aragog.api.fetching import LONGEST_WAIT_MS, Fetching, FetchRequest, FetchResponse
from aragog.api.http import views
from aragog.api.http.calls import StoreCalls, json_response, tagged
from aragog.api.http.parameters import (
    MOST_FIELDS,
    Query,
    json_object,
    refuse_cross_site,
)
from aragog.api.http.routes.operations import OperationRoutes
from aragog.api.json_values import request_of, to_json
from aragog.api.problems import Problem
from aragog.api.values import FetchedPage
from aragog.errors import BadInput

DEFAULT_WAIT_MS = 10_000
"""How long `POST /v1/fetch` waits by default."""
MOST_AGE_S = 10**10


class Fetches:
    """
    Routes that fetch.

    Args:
        calls: runs store calls.
        fetching: the service; None: this server does not fetch and responds 501.
        operations: makes the fetches of `POST /v1/fetch`.
    """

    def __init__(
        self, calls: StoreCalls, fetching: Fetching | None, operations: OperationRoutes
    ) -> None:
        self._operations = operations
        self._calls = calls
        self._fetching = fetching

    async def post(self, request: Request) -> Response:
        """`POST /v1/fetch`: fetch a URL politely, within `max_wait_ms`; 202 if it takes longer."""
        made = request_of(crawling.FetchNowRequest, await json_object(request))
        page: FetchedPage = await self._operations.run(crawling.fetch, made, request)
        shown = to_json(page, self._calls.store.formats)
        shown["fetch"] = shown.pop("report")
        if page.content is None:
            del shown["content"]
        return json_response(shown, 202 if page.fetching else 200)

    async def read(self, request: Request, query: Query, include: Sequence[str]) -> Response:
        """`GET /v1/urls` with `max_age` or `max_wait_ms`: the record, fetched first if it must."""
        refuse_cross_site(request)
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
        if response.record is None:
            raise Problem(
                404,
                response.reason or "there is no record of this URL yet",
                {"Retry-After": "1"} if response.fetching else None,
                freshness(response),
            )
        shown_record = views.record(self._calls.store, response.record) | {
            "freshness": freshness(response)
        }
        if include:
            shown_record |= await self._calls.metadata(views.extras, response.url, include)
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
    if not isinstance(ages, dict) or len(ages) > MOST_FIELDS or "" in ages:
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
