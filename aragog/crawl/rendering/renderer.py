"""
Renders pages from ordinary threads. Each thread has its own event loop and browser.

A page that hangs or crashes its browser does not affect other threads. A thread starts its browser
for the first page, and replaces it after `rendering.pages_per_browser` pages and after each failed
page. The browser exits even if the worker is killed: Chromium exits when its pipe to the driver
closes, and the driver when its pipe to the worker closes.
"""

from __future__ import annotations

import asyncio
import logging
import threading

from playwright.async_api import Error

from aragog.crawl.rendering.browser import Browser, first_line
from aragog.crawl.rendering.models import FetchResource, NotRendered, PlainPage, RenderedPage
from aragog.crawl.rendering.page import PageRun
from aragog.settings import RenderingSettings

log = logging.getLogger(__name__)


class Renderer:
    """
    Renders pages. Thread-safe. Must not be used across a fork.

    Args:
        user_agent: the value of `navigator.userAgent`.
        max_html_bytes: limit on a rendered document.
    """

    def __init__(
        self, settings: RenderingSettings, *, user_agent: str, max_html_bytes: int
    ) -> None:
        self._settings = settings
        self._user_agent = user_agent
        self._max_html_bytes = max_html_bytes
        self._thread = threading.local()

    def render(self, document: PlainPage, fetch: FetchResource) -> RenderedPage | NotRendered:
        """
        Render a page. Blocks for at most `rendering.deadline_s` plus a few seconds.

        Raises:
            BrowserUnavailable: no browser can be started.
            AragogError: raised by `fetch`.
        """
        page = PageRun(
            self._settings,
            document,
            fetch,
            user_agent=self._user_agent,
            max_html_bytes=self._max_html_bytes,
        )
        return self._loop().run(self._render(page))

    def close(self) -> None:
        """Stop the calling thread's browser."""
        with self._loop() as loop:
            loop.run(self._stop())
        del self._thread.loop

    def _loop(self) -> asyncio.Runner:
        if not hasattr(self._thread, "loop"):
            self._thread.loop, self._thread.browser = asyncio.Runner(), None
        loop: asyncio.Runner = self._thread.loop
        return loop

    async def _render(self, page: PageRun) -> RenderedPage | NotRendered:
        browser = await self._browser()
        was_used = browser.page_count > 0
        result = await self._run(page, browser)
        if was_used and page.can_be_repeated:
            # The browser exited before this page, so try again with a new one.
            result = await self._run(page, await self._browser())
        return result

    async def _run(self, page: PageRun, browser: Browser) -> RenderedPage | NotRendered:
        browser.page_count += 1
        has_succeeded = False
        try:
            result = await page.run(browser.chromium)
            has_succeeded = isinstance(result, RenderedPage)
        except TimeoutError:
            result = NotRendered(f"its scripts did not end within {self._settings.deadline_s:g} s")
        except Error as error:
            result = NotRendered(f"the browser failed: {first_line(error)}")
        finally:
            if not has_succeeded or browser.page_count >= self._settings.pages_per_browser:
                await self._stop()
        return result

    async def _browser(self) -> Browser:
        """Return this thread's browser. Starts a new one if it has exited."""
        browser: Browser | None = self._thread.browser
        if browser is not None and browser.chromium.is_connected():
            return browser
        await self._stop()
        self._thread.browser = new_browser = await Browser.start(self._settings)
        return new_browser

    async def _stop(self) -> None:
        browser, self._thread.browser = self._thread.browser, None
        if browser is not None:
            await browser.stop()
