"""
aragog's own pages in Flower. Reads run in threads, so a slow server never stops Flower's loop.

Templates escape all values, because content from the web is untrusted.
"""

from __future__ import annotations

from tornado import web

from aragog.dashboard.components import Components
from aragog.dashboard.explanation import explain_url
from aragog.pinlater.flower.pages import FlowerPage


class DashboardPage(FlowerPage):
    """Base class of the pages that read more than queues."""

    components: Components

    def initialize(self, components: Components, *, as_json: bool = False) -> None:
        """Called by tornado with the route's arguments."""
        self.components = components
        self.as_json = as_json


class UrlPage(DashboardPage):
    """The explanation of a URL."""

    tab = "aragog-url"

    @web.authenticated
    async def get(self) -> None:
        url = self.query("url").strip()
        explanation, problem = (
            await self.read(lambda: explain_url(url, self.components)) if url else (None, "")
        )
        told = explanation.as_dict() if explanation and self.as_json else explanation
        self.show("aragog_url.html", told, problem, url=url)
