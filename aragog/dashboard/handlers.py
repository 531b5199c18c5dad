"""
aragog's own pages in Flower. Reads run in threads, so a slow server never stops Flower's loop.

Templates escape all values, because content from the web is untrusted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import urlencode

from tornado import web

from aragog.dashboard.components import Components
from aragog.dashboard.explanation import explain_url
from aragog.pinlater.flower_pages import FlowerPage
from aragog.urlstore.pin_card import PinCard, pin_card

MOST_LINKS = 50
Refresh = Callable[[str], str]
"""Enqueues a URL to be fetched now; returns why it was refused, or an empty text."""


class DashboardPage(FlowerPage):
    """Base class of the pages that read more than queues."""

    components: Components

    def initialize(self, components: Components, *, as_json: bool = False) -> None:
        """Called by tornado with the route's arguments."""
        self.components = components
        self.as_json = as_json


class UrlPage(DashboardPage):
    """A URL in any spelling: its card, its explanation and its links; fetch it now."""

    tab = "aragog-url"
    _refresh: Refresh

    def initialize(
        self, components: Components, *, as_json: bool = False, refresh: Refresh = str
    ) -> None:
        """Called by tornado with the route's arguments."""
        super().initialize(components, as_json=as_json)
        self._refresh = refresh

    @web.authenticated
    async def get(self) -> None:
        url = self.query("url").strip()
        explanation, problem = (
            await self.read(lambda: explain_url(url, self.components)) if url else (None, "")
        )
        if self.as_json:
            self.show("", explanation and explanation.as_dict(), problem)
            return
        page, unread = (None, "")
        if explanation:
            page, unread = await self.read(lambda: stored_page(explanation.url, self.components))
        self.show(
            "aragog_url.html", explanation, problem or unread,
            url=url, page=page, asked=self.query("asked") == "1", may_change=self.may_change(),
        )  # fmt: skip

    @web.authenticated
    async def post(self) -> None:
        self.check_may_change()
        url = str(self.get_body_argument("url"))
        refused, problem = await self.read(lambda: self._refresh(url))
        if refused:
            self.set_status(409)
        if problem or refused:
            self.refuse(problem or refused or "")
        self.redirect(f"{self.reverse_url(self.tab)}?{urlencode({'url': url, 'asked': 1})}")


class StoredPage(NamedTuple):
    """The stored data on the page of a URL; the explanation is separate."""

    card: PinCard
    links_out: list[str]
    links_in: list[str]


def stored_page(url: str, components: Components) -> StoredPage | None:
    """The card and up to `MOST_LINKS` links in each direction; None: nothing is stored."""
    store = components.store()
    record = store.get(url, info=True)
    if record is None:
        return None
    fields = {name: store.formats.to_value(name, data) for name, data in record.fields.items()}
    return StoredPage(
        pin_card(fields, record.info, components.clock.now_ms()),
        [link.url for link in store.links.outlinks(url, limit=MOST_LINKS).items],
        [link.url for link in store.links.inlinks(url, limit=MOST_LINKS).items],
    )
