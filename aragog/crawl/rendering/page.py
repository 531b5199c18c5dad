"""
Render one page: hand it its document and what its scripts request, then read the DOM.

Only GETs of scripts and data (script, fetch, XMLHttpRequest) are answered. Style sheets are empty,
because some scripts wait for theirs. Everything else fails: frames, fonts, media, beacons, other
methods, and each navigation away from the document.
"""

from __future__ import annotations

import asyncio
import logging
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from urllib.parse import urldefrag

from playwright.async_api import Browser as Chromium
from playwright.async_api import Error, Page, Request, Route

from aragog.crawl.rendering.cors import cors_headers, is_readable, origin_of, visible_headers
from aragog.crawl.rendering.models import (
    FetchResource,
    NotRendered,
    PlainPage,
    Rendered,
    Resource,
    ResourceRequest,
)
from aragog.errors import ALL
from aragog.settings import RenderingSettings
from urlspelling.domain import origin

log = logging.getLogger(__name__)

# As many requests at once as browsers send to one host.
REQUESTS_AT_ONCE = 6
# A page that is busy when its time is over has this long to hand out its DOM.
GRACE_S = 3.0
# What CORS permits a script to set for other origins (Fetch, "CORS-safelisted request-header").
MAX_ACCEPT_CHARS = 128
ANSWERED = frozenset({"script", "xhr", "fetch"})
BOM = b"\xef\xbb\xbf"
CRASHED = NotRendered("the page crashed, such as for want of memory")
# What a page shows without scripts is no part of it now.
DOM = """(() => {
  for (const e of document.querySelectorAll("noscript")) e.remove();
  const type = document.doctype ? new XMLSerializer().serializeToString(document.doctype) : "";
  const html = type + document.documentElement.outerHTML;
  return [location.href, html.length > %d ? null : html];
})()"""


class PageRun:
    """
    One page in a context of its own: no cookies, no storage, no cache of other pages.

    Args:
        settings: the limits.
        document: the page.
        fetch: fetches what its scripts request.
        user_agent: what scripts read as `navigator.userAgent`.
        max_html_bytes: of the rendered document.
    """

    def __init__(
        self,
        settings: RenderingSettings,
        document: PlainPage,
        fetch: FetchResource,
        *,
        user_agent: str,
        max_html_bytes: int,
    ) -> None:
        self._settings = settings
        self._document = document
        self._origin = origin(document.url)
        self._fetch = fetch
        self._user_agent = user_agent
        self._max_html_bytes = max_html_bytes
        self._until_s = 0.0
        self._has_document = False
        self._requests = 0
        self._bytes = 0
        self._failure: Exception | None = None

    @property
    def not_taken(self) -> bool:
        """Whether the browser failed, in time, before it asked for the page; `run` it again."""
        return not self._has_document and self._left_s() > 0

    async def run(self, chromium: Chromium) -> Rendered | NotRendered:
        """
        The rendered page.

        Raises:
            playwright's Error: the browser or the page crashed.
            TimeoutError: the page does not hand out its DOM.
            AragogError: our own infrastructure failed.
        """
        self._until_s = time.monotonic() + self._settings.deadline_s
        pool = ThreadPoolExecutor(REQUESTS_AT_ONCE, thread_name_prefix="render")
        self._pool = pool
        try:
            async with asyncio.timeout(self._left_s() + GRACE_S):
                result = await self._rendered(chromium)
        except (Error, TimeoutError) as error:
            # Without what we failed to fetch, its scripts may have waited in a loop.
            if self._failure is not None:
                raise self._failure from error
            raise
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
        if self._failure is not None:
            raise self._failure
        return result

    async def _rendered(self, chromium: Chromium) -> Rendered | NotRendered:
        context = await chromium.new_context(
            accept_downloads=False,
            service_workers="block",
            user_agent=self._user_agent,
            viewport={"width": 1280, "height": 4096},  # what loads when it is scrolled to
        )
        try:
            await context.route("**/*", self._route)
            page = await context.new_page()
            crashed = asyncio.Event()
            page.on("crash", lambda _: crashed.set())
            reading = asyncio.ensure_future(self._settled(page))
            waiting = asyncio.ensure_future(crashed.wait())
            try:
                await asyncio.wait({reading, waiting}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                waiting.cancel()
                reading.cancel()  # without effect if it is done
                await asyncio.wait({reading})
            return CRASHED if reading.cancelled() else reading.result()
        finally:
            with suppress(Error, TimeoutError):
                async with asyncio.timeout(GRACE_S):
                    await context.close()

    async def _settled(self, page: Page) -> Rendered | NotRendered:
        """The DOM once the page asks for nothing more, or when its time is over."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._left_s()):
                with suppress(Error):  # its scripts try to leave, which ends this wait
                    await page.goto(self._document.url, wait_until="load", timeout=0)
                with suppress(Error):
                    await page.wait_for_load_state("networkidle", timeout=0)
        if not self._has_document:
            return NotRendered("the browser did not ask for the page")
        session = await page.context.new_cdp_session(page)
        frame = (await session.send("Page.getFrameTree"))["frameTree"]["frame"]["id"]
        # A world of our own: the page's scripts cannot replace what is called here.
        world = await session.send("Page.createIsolatedWorld", {"frameId": frame})
        answer = await session.send(
            "Runtime.evaluate",
            {
                "expression": DOM % self._max_html_bytes,
                "contextId": world["executionContextId"],
                "returnByValue": True,
            },
        )
        url, html = answer["result"].get("value") or ("", None)
        if origin_of(url) != self._origin:
            return NotRendered("its scripts left the page")
        body = BOM + (html or "").encode(errors="replace")
        if html is None or len(body) > self._max_html_bytes:
            return NotRendered(f"the rendered page exceeds {self._max_html_bytes} bytes")
        return Rendered(body, self._requests)

    async def _route(self, route: Route, request: Request) -> None:
        with suppress(Error):  # the page is gone
            if self._is_document(request):
                self._has_document = True
                headers = visible_headers(self._document.headers)
                await route.fulfill(status=200, headers=headers, body=self._document.body)
            elif request.resource_type == "stylesheet":
                await route.fulfill(status=200, headers={"content-type": "text/css"}, body="")
            elif request.resource_type in ANSWERED and self._may_ask(request):
                await self._answer(route, request)
            else:
                await route.abort("aborted")

    def _is_document(self, request: Request) -> bool:
        return (
            not self._has_document
            and request.is_navigation_request()
            and request.frame.parent_frame is None
        )

    def _may_ask(self, request: Request) -> bool:
        self._requests += 1
        return (
            request.method == "GET"
            and request.url.startswith(("http://", "https://"))
            and self._requests <= self._settings.max_requests
            and self._failure is None
        )

    async def _answer(self, route: Route, request: Request) -> None:
        """Answer with what the fetcher got, if the page may read it."""
        resource_request = self._resource_request(request)
        loop = asyncio.get_running_loop()
        try:
            response = await loop.run_in_executor(self._pool, self._fetch, resource_request)
        except ALL as error:
            self._failure = error
            response = "our own infrastructure failed"
        except Exception:
            log.exception("a request of a page failed within aragog: %s", resource_request.url)
            response = "aragog failed"
        if (
            isinstance(response, str)
            or not self._fits(response)
            or not is_readable(response, resource_request)
        ):
            await route.abort("failed")
            return
        cors = cors_headers(resource_request.origin or self._origin)
        headers = visible_headers(response.headers) | cors
        await route.fulfill(status=response.status, headers=headers, body=response.body)

    def _resource_request(self, request: Request) -> ResourceRequest:
        url = urldefrag(request.url).url
        from_origin = request.headers.get("origin")
        if from_origin is None and request.resource_type != "script":
            from_origin = self._origin  # unlike a script, data is for pages of its own origin
        accept = request.headers.get("accept", "*/*")[:MAX_ACCEPT_CHARS]
        return ResourceRequest(url, accept, from_origin, self._until_s)

    def _fits(self, resource: Resource) -> bool:
        self._bytes += len(resource.body)
        return self._bytes <= self._settings.max_bytes

    def _left_s(self) -> float:
        return max(0.0, self._until_s - time.monotonic())
