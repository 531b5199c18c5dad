"""
Renders one page: passes the document and its resources to a browser, then reads the DOM.

Only GET requests for scripts and data (script, fetch, XMLHttpRequest) get a response. Style sheets
are empty, because some scripts wait for them. All other requests fail: frames, fonts, media,
beacons, other methods, and navigation away from the document.
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
    RenderedPage,
    Resource,
    ResourceRequest,
)
from aragog.errors import ALL
from aragog.settings import RenderingSettings
from urlspelling.domain import origin

log = logging.getLogger(__name__)

# As many concurrent requests as browsers send to one host.
MAX_CONCURRENT_REQUESTS = 6
# A page that is busy at its deadline gets this much more time to return its DOM.
GRACE_PERIOD_S = 3.0
# A script's request with a longer Accept header needs CORS ("CORS-safelisted request-header" in
# Fetch).
MAX_ACCEPT_CHARS = 128
SERVED_TYPES = frozenset({"script", "xhr", "fetch"})
BOM = b"\xef\xbb\xbf"
PAGE_CRASHED = NotRendered("the page crashed, for example because it ran out of memory")
# `noscript` elements are removed, because browsers show them only if scripts are disabled.
READ_DOM_SCRIPT = """(() => {
  for (const e of document.querySelectorAll("noscript")) e.remove();
  const type = document.doctype ? new XMLSerializer().serializeToString(document.doctype) : "";
  const html = type + document.documentElement.outerHTML;
  return [location.href, html.length > %d ? null : html];
})()"""


class PageRun:
    """
    Renders one page in a separate browser context, without other pages' cookies, storage or cache.

    Args:
        fetch: fetches resources for the page's scripts.
        user_agent: the value of `navigator.userAgent`.
        max_html_bytes: limit on the rendered document.
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
        self._deadline_s = 0.0
        self._has_document = False
        self._request_count = 0
        self._resource_bytes = 0
        self._failure: Exception | None = None

    @property
    def can_be_repeated(self) -> bool:
        """True if the browser failed before it requested the page, so `run` can be repeated."""
        return not self._has_document and self._remaining_s() > 0

    async def run(self, chromium: Chromium) -> RenderedPage | NotRendered:
        """
        Render the page.

        Raises:
            playwright's Error: the browser or the page crashed.
            TimeoutError: the page does not return its DOM.
            AragogError: our own infrastructure failed.
        """
        self._deadline_s = time.monotonic() + self._settings.deadline_s
        pool = ThreadPoolExecutor(MAX_CONCURRENT_REQUESTS, thread_name_prefix="render")
        self._pool = pool
        try:
            async with asyncio.timeout(self._remaining_s() + GRACE_PERIOD_S):
                result = await self._render(chromium)
        except (Error, TimeoutError) as error:
            # If our fetch failed, a missing DOM is not the page's fault: a script may have waited
            # for the resource in a loop.
            if self._failure is not None:
                raise self._failure from error
            raise
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
        if self._failure is not None:
            raise self._failure
        return result

    async def _render(self, chromium: Chromium) -> RenderedPage | NotRendered:
        context = await chromium.new_context(
            accept_downloads=False,
            service_workers="block",
            user_agent=self._user_agent,
            viewport={"width": 1280, "height": 4096},  # tall, so that content below the fold loads
        )
        try:
            await context.route("**/*", self._route)
            page = await context.new_page()
            crashed = asyncio.Event()
            page.on("crash", lambda _: crashed.set())
            reading_task = asyncio.ensure_future(self._read_when_idle(page))
            crash_task = asyncio.ensure_future(crashed.wait())
            try:
                await asyncio.wait({reading_task, crash_task}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                crash_task.cancel()
                reading_task.cancel()  # no effect if it is done
                await asyncio.wait({reading_task})
            return PAGE_CRASHED if reading_task.cancelled() else reading_task.result()
        finally:
            with suppress(Error, TimeoutError):
                async with asyncio.timeout(GRACE_PERIOD_S):
                    await context.close()

    async def _read_when_idle(self, page: Page) -> RenderedPage | NotRendered:
        """Read the DOM when the page sends no more requests, or at its deadline."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._remaining_s()):
                with suppress(Error):  # raised if scripts try to navigate away
                    await page.goto(self._document.url, wait_until="load", timeout=0)
                with suppress(Error):
                    await page.wait_for_load_state("networkidle", timeout=0)
        if not self._has_document:
            return NotRendered("the browser did not request the page")
        session = await page.context.new_cdp_session(page)
        frame = (await session.send("Page.getFrameTree"))["frameTree"]["frame"]["id"]
        # In an isolated world, the page's scripts cannot replace the functions called here.
        world = await session.send("Page.createIsolatedWorld", {"frameId": frame})
        reply = await session.send(
            "Runtime.evaluate",
            {
                "expression": READ_DOM_SCRIPT % self._max_html_bytes,
                "contextId": world["executionContextId"],
                "returnByValue": True,
            },
        )
        url, html = reply["result"].get("value") or ("", None)
        if origin_of(url) != self._origin:
            return NotRendered("its scripts navigated to another site")
        body = BOM + (html or "").encode(errors="replace")
        if html is None or len(body) > self._max_html_bytes:
            return NotRendered(f"the rendered page exceeds {self._max_html_bytes} bytes")
        return RenderedPage(body, self._request_count)

    async def _route(self, route: Route, request: Request) -> None:
        with suppress(Error):  # the page has been closed
            if self._is_document(request):
                self._has_document = True
                headers = visible_headers(self._document.headers)
                await route.fulfill(status=200, headers=headers, body=self._document.body)
            elif request.resource_type == "stylesheet":
                await route.fulfill(status=200, headers={"content-type": "text/css"}, body="")
            elif request.resource_type in SERVED_TYPES and self._admit_request(request):
                await self._respond(route, request)
            else:
                await route.abort("aborted")

    def _is_document(self, request: Request) -> bool:
        return (
            not self._has_document
            and request.is_navigation_request()
            and request.frame.parent_frame is None
        )

    def _admit_request(self, request: Request) -> bool:
        self._request_count += 1
        return (
            request.method == "GET"
            and request.url.startswith(("http://", "https://"))
            and self._request_count <= self._settings.max_requests
            and self._failure is None
        )

    async def _respond(self, route: Route, request: Request) -> None:
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
            or not self._is_within_size_limit(response)
            or not is_readable(response, resource_request)
        ):
            await route.abort("failed")
            return
        cors = cors_headers(resource_request.origin or self._origin)
        headers = visible_headers(response.headers) | cors
        await route.fulfill(status=response.status, headers=headers, body=response.body)

    def _resource_request(self, request: Request) -> ResourceRequest:
        url = urldefrag(request.url).url
        request_origin = request.headers.get("origin")
        if request_origin is None and request.resource_type != "script":
            request_origin = self._origin  # data from other origins needs CORS, unlike scripts
        accept = request.headers.get("accept", "*/*")[:MAX_ACCEPT_CHARS]
        return ResourceRequest(url, accept, request_origin, self._deadline_s)

    def _is_within_size_limit(self, resource: Resource) -> bool:
        self._resource_bytes += len(resource.body)
        return self._resource_bytes <= self._settings.max_bytes

    def _remaining_s(self) -> float:
        return max(0.0, self._deadline_s - time.monotonic())
