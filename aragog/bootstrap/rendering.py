"""Import and start the browser when the first page must be rendered."""

from __future__ import annotations

import threading

from aragog.crawl.fetcher.user_agent import user_agent
from aragog.crawl.rendering.models import FetchResource, NotRendered, PlainPage, RenderedPage
from aragog.crawl.stages.render import PageRenderer
from aragog.crawl.stages.rendering_rule import RenderingRule
from aragog.errors import CONFIG, BrowserUnavailable, ConfigError
from aragog.runtime.extras import require
from aragog.settings import Settings

REQUIRED_BY = "rendering.hosts"


class RendererOnDemand:
    """
    Imports Playwright to render the first page, so that other workers do not need it.
    Thread-safe.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._renderer: PageRenderer | None = None

    def render(self, document: PlainPage, fetch: FetchResource) -> RenderedPage | NotRendered:
        """See `aragog.crawl.rendering.renderer.Renderer.render`."""
        with self._lock:
            if self._renderer is None:
                self._renderer = _create_renderer(self._settings)
        return self._renderer.render(document, fetch)

    def close(self) -> None:
        """Stop this thread's browser."""
        if self._renderer is not None:
            self._renderer.close()


def _create_renderer(settings: Settings) -> PageRenderer:
    try:
        require("render", REQUIRED_BY)
    except CONFIG as error:
        # The page waits until a worker with Playwright takes the message.
        raise BrowserUnavailable(REQUIRED_BY, str(error)) from error
    from aragog.crawl.rendering.renderer import Renderer  # noqa: PLC0415 - optional package

    return Renderer(
        settings.rendering,
        user_agent=user_agent(settings.fetch),
        max_html_bytes=settings.fetch.max_body_bytes,
    )


def check_rendering(settings: Settings) -> None:
    """
    Check that the pages of `rendering.hosts` can be rendered, without starting a browser.

    Raises:
        ConfigError: a name is not a host name, or Playwright or the browser is missing.
    """
    RenderingRule(settings.rendering)
    if not settings.rendering.hosts:
        return
    require("render", REQUIRED_BY)
    from aragog.crawl.rendering.browser import find_browser  # noqa: PLC0415 - optional package

    try:
        find_browser(settings.rendering)
    except BrowserUnavailable as error:
        raise ConfigError(str(error)) from error


def start_browser(settings: Settings) -> str:
    """
    Start the browser once and return its version.

    Raises:
        ConfigError: see `check_rendering`.
        BrowserUnavailable: the browser does not start.
    """
    check_rendering(settings)
    from aragog.crawl.rendering.browser import version  # noqa: PLC0415 - optional package

    return version(settings.rendering)
