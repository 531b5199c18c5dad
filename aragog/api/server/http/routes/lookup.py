"""
The look-up page at `/`, which shows everything that is known about a URL. The
Content-Security-Policy forbids scripts, frames, and forms that are sent to other sites. Tokens are
sent in the form's body, never in a URL.
"""

from __future__ import annotations

from functools import partial
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from aragog.api.operations.crawls import get_token_crawl
from aragog.api.operations.fetching import FetchRequest
from aragog.api.operations.operation import Pool
from aragog.api.operations.pin_card import pin_card
from aragog.api.operations.scopes import READ, WRITE, Token
from aragog.api.problems import Overloaded, Problem, to_problem
from aragog.api.server.http.calls import StoreCalls
from aragog.api.server.http.pages.frame import notice
from aragog.api.server.http.pages.lookup_page import address, card, explanation, links, lookup_page
from aragog.api.server.http.parameters import Query, refuse_cross_site
from aragog.api.server.http.services import Services
from aragog.api.server.tokens import Tokens
from aragog.errors import ALL
from aragog.runtime.clock import SystemClock
from aragog.urlstore.store import UrlStore
from urlspelling import normalize

REFRESH_WAIT_MS = 10_000
MAX_LINKS = 50
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; img-src https: http:; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


class Lookup:
    """
    The page at `/`.

    Args:
        calls: runs store calls.
        services: fetches and explains URLs.
        tokens: decides who may look up and refresh.
    """

    def __init__(self, calls: StoreCalls, services: Services, tokens: Tokens) -> None:
        self._calls = calls
        self._services = services
        self._tokens = tokens

    async def get(self, request: Request) -> Response:
        """Respond to `GET /` with the form and, if `url` is given, the URL's stored data."""
        form = {"url": Query(request).get("url") or ""}
        return await self._respond(request, form, refresh=False)

    async def post(self, request: Request) -> Response:
        """Respond to `POST /`, which looks up a URL with a token, or fetches it now."""
        refuse_cross_site(request)
        try:
            body = (await request.body()).decode("ascii")
            form = dict(parse_qsl(body, errors="strict", max_num_fields=8))
        except ValueError as error:
            raise Problem(400, f"the form cannot be read: {error}") from error
        return await self._respond(request, form, refresh="refresh" in form)

    async def _respond(self, request: Request, form: dict[str, str], *, refresh: bool) -> Response:
        url, token = form.get("url", "").strip(), form.get("token", "").strip()
        parts: list[str] = []
        status = 200
        if url:
            header = f"Bearer {token}" if token else request.headers.get("authorization")
            try:
                known_token = self._tokens.check(header, WRITE if refresh else READ)
                if refresh:
                    parts.append(await self._refresh(url, known_token))
                parts += await self._parts(url)
            except (*ALL, Problem, TimeoutError, Overloaded) as error:
                problem = to_problem(error)
                status = problem.status
                parts.append(notice(problem.detail))
        page = lookup_page(url, token, parts, tokens=self._tokens.required)
        return HTMLResponse(page, status, headers=HEADERS)

    async def _refresh(self, url: str, token: Token | None) -> str:
        fetching = self._services.fetching
        if fetching is None:
            raise Problem(501, "this server does not fetch")
        fetch = FetchRequest(
            url=url,
            max_wait_ms=REFRESH_WAIT_MS,
            max_age_s=0,
            fields=(),
            crawl=partial(get_token_crawl, token, self._services.crawls),
        )
        response = await fetching.fetch_now_async(fetch, self._calls.fetching)
        if response.fetching:
            return notice("The URL is being fetched; see below what it is waiting for.")
        return notice(response.reason or "The URL was just fetched.")

    async def _parts(self, url: str) -> list[str]:
        normalized = normalize(url)
        page = await self._calls.metadata(_stored_page, normalized)
        explain = self._services.explain
        url_explanation = None
        if explain is not None:
            url_explanation = await self._calls.runner(Pool.EXPLAIN)(lambda: explain(url))
        return [
            address(normalized),
            page["card"] if page else notice("Nothing is stored for this URL."),
            explanation(url_explanation) if url_explanation else "",
            links("Links from this page", page["out"]) + links("Links to this page", page["in"])
            if page
            else "",
        ]


def _stored_page(store: UrlStore, url: str) -> dict[str, Any] | None:
    record = store.get(url, info=True)
    if record is None:
        return None
    values = {name: store.formats.to_value(name, data) for name, data in record.fields.items()}
    [confirmed_at_ms] = store.pages.seen_at_ms([url])
    return {
        "card": card(pin_card(values, record.info, confirmed_at_ms, SystemClock().now_ms())),
        "out": store.links.outlinks(url, limit=MAX_LINKS).items,
        "in": store.links.inlinks(url, limit=MAX_LINKS).items,
    }
