"""
aragog's own pages in Flower, for URLs, domains and crawls.

Reads run in threads, so a slow server never blocks Flower's event loop. Templates escape all
values, because content from the web is untrusted.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from typing import NamedTuple
from urllib.parse import urlencode

from tornado import web

from aragog.api.json_values import to_json
from aragog.api.operations.pin_card import PinCard, pin_card
from aragog.api.operations.values import BUILT_IN
from aragog.crawl.politeness.live_overrides import OverrideChange
from aragog.crawl.stages.crawl_control import CrawlControl
from aragog.crawl.traps.host_templates import decide
from aragog.dashboard.background import finish_within
from aragog.dashboard.buttons_key import COOKIE, COOKIE_DAYS
from aragog.dashboard.components import Components
from aragog.dashboard.crawl_form import FORM_FIELDS, read_form
from aragog.dashboard.crawl_report import plain_report, plain_status, report_html, sections
from aragog.dashboard.domain_rows import DomainRow, domain_rows
from aragog.dashboard.domains import change_domain, find_domains, limiter_key, live_overrides
from aragog.dashboard.explanation import explain_url
from aragog.dashboard.flower import no_crawls, no_seeds
from aragog.dashboard.hours_plot import hours_plot
from aragog.errors import ALL, BAD_INPUT, BadInput
from aragog.observability.formatting import format_time, format_time_and_distance, to_one_line
from pinlater.flower_pages import FlowerPage

MAX_LINKS = 50
MAX_CHANGES = 20
MAX_DELETION_WAIT_S = 10.0
"""How long the browser waits for a crawl's deletion, which continues after that."""
Refresh = Callable[[str], str]
"""Enqueues a URL to be fetched now. Returns the reason if it was refused, or ""."""
EnqueueSeeds = Callable[[str, Sequence[str], int], str]
"""Enqueues seeds of a crawl with a depth. Returns the reason if some were refused, or ""."""


class DashboardPage(FlowerPage):
    """Base class for pages that need more than the queues."""

    request_errors = BAD_INPUT
    server_errors = ALL
    components: Components

    def initialize(self, components: Components, *, as_json: bool = False) -> None:
        self.components = components
        self.as_json = as_json


class UrlPage(DashboardPage):
    """Shows a page's Rich Pin, explanation and links, with a button that fetches the URL now."""

    tab = "aragog-url"
    _refresh: Refresh

    def initialize(
        self, components: Components, *, as_json: bool = False, refresh: Refresh = str
    ) -> None:
        super().initialize(components, as_json=as_json)
        self._refresh = refresh

    @web.authenticated
    async def get(self) -> None:
        url = self.query("url").strip()
        explanation, problem = (
            await self.read(lambda: explain_url(url, self.components)) if url else (None, "")
        )
        if self.as_json:
            self.show("", explanation and to_json(explanation, BUILT_IN), problem)
            return
        page, page_problem = (None, "")
        if explanation:
            page, page_problem = await self.read(
                lambda: stored_page(explanation.url, self.components)
            )
        self.show(
            "aragog_url.html", explanation, problem or page_problem,
            url=url, page=page, asked=self.query("asked") == "1",
        )  # fmt: skip

    @web.authenticated
    async def post(self) -> None:
        self.check_may_change()
        url = str(self.get_body_argument("url"))
        refusal, problem = await self.read(lambda: self._refresh(url))
        if refusal:
            self.set_status(409)
        if problem or refusal:
            self.refuse(problem or refusal or "")
        self.redirect(f"{self.reverse_url(self.tab)}?{urlencode({'url': url, 'asked': 1})}")


class StoredPage(NamedTuple):
    """The stored data that a URL's page shows in addition to the explanation."""

    card: PinCard
    links_out: list[str]
    links_in: list[str]


def stored_page(url: str, components: Components) -> StoredPage | None:
    """Return the stored data, with up to `MAX_LINKS` links in each direction, or None."""
    store = components.store()
    record = store.get(url, info=True)
    if record is None:
        return None
    fields = {name: store.formats.to_value(name, data) for name, data in record.fields.items()}
    [confirmed_at_ms] = store.pages.seen_at_ms([url])
    return StoredPage(
        pin_card(fields, record.info, confirmed_at_ms, components.clock.now_ms()),
        [link.url for link in store.links.outlinks(url, limit=MAX_LINKS).items],
        [link.url for link in store.links.inlinks(url, limit=MAX_LINKS).items],
    )


class DomainsPage(DashboardPage):
    """Shows all domains, or one domain with its history and the buttons that change its rate."""

    tab = "aragog-domains"

    @web.authenticated
    async def get(self) -> None:
        domain, search = self.query("domain").strip(), self.query("q").strip()
        sort, cursor = self.query("sort", "backlog"), self.query("cursor") or None
        contents, problem = await self.read(lambda: self._read(domain, search, sort, cursor))
        rows, next_cursor, changes = contents or ([], None, [])
        if self.as_json:
            data = {"domains": [asdict(row) for row in rows], "cursor": next_cursor}
            self.show("", data, problem)
            return
        if not (domain or search or cursor):
            self.set_auto_refresh()
        now_ms = self.components.clock.now_ms()
        self.show(
            "aragog_domains.html", rows, problem,
            domain=domain, search=search, sort=sort, cursor=cursor, following=next_cursor,
            changes=changes, at=format_time,
            moment=lambda ms: format_time_and_distance(ms, now_ms),
        )  # fmt: skip

    def _read(
        self, domain: str, search: str, sort: str, cursor: str | None
    ) -> tuple[list[DomainRow], str | None, list[OverrideChange]]:
        components = self.components
        live = live_overrides(components)
        if domain:
            key = limiter_key(domain, components)
            return domain_rows([key], components), None, live.history(MAX_CHANGES, key)
        rows, next_cursor = find_domains(components, sort, search, cursor)
        return rows, next_cursor, live.history(MAX_CHANGES)

    @web.authenticated
    async def post(self) -> None:
        self.check_may_change()
        form = [
            str(self.get_body_argument(name, "")) for name in ("domain", "action", "rate", "reason")
        ]
        key, problem = await self.read(lambda: self._act(*form))
        if problem:
            self.refuse(problem)
        self.redirect(f"{self.reverse_url(self.tab)}?domain={key}")

    def _act(self, domain: str, action: str, rate: str, reason: str) -> str:
        qps = _parse_rate(rate) if action == "rate" else None
        action = "rate" if action == "reset" else action
        return change_domain(
            self.components, domain, action, user_name=self.user_name(), reason=reason, qps=qps
        )


class CrawlsPage(DashboardPage):
    """
    Shows all crawls, a form that starts one, or a report on one crawl with buttons to pause,
    resume, cancel and delete it.
    """

    tab = "aragog-crawls"
    _control: Callable[[], CrawlControl]
    _enqueue: EnqueueSeeds

    def initialize(
        self,
        components: Components,
        *,
        as_json: bool = False,
        control: Callable[[], CrawlControl] = no_crawls,
        enqueue: EnqueueSeeds = no_seeds,
    ) -> None:
        super().initialize(components, as_json=as_json)
        self._control, self._enqueue = control, enqueue

    @web.authenticated
    async def get(self) -> None:
        name = self.query("crawl").strip()
        if name:
            await self._show_one(name)
            return
        if self.query("new") == "1":
            self.show("aragog_crawl_form.html", None, "")
            return
        statuses, problem = await self.read(lambda: self._control().all())
        if self.as_json:
            self.show("", [plain_status(status) for status in statuses or ()], problem)
            return
        self.set_auto_refresh()
        self.show(
            "aragog_crawls.html",
            statuses or [],
            problem,
            crawl=None,
            sections=(),
            at=format_time,
            plot=None,
        )

    async def _show_one(self, name: str) -> None:
        report, problem = await self.read(lambda: self._control().report(name))
        if report is not None and self.query("format") == "html":
            self.set_header("Content-Disposition", f'attachment; filename="{name}.html"')
            self.write(report_html(report))
        elif self.as_json:
            self.show("", report and plain_report(report), problem)
        else:
            self.show(
                "aragog_crawls.html", [report.status] if report else [], problem, at=format_time,
                crawl=report, sections=list(sections(report)) if report else (),
                plot=hours_plot(report.hours) if report and report.hours else None,
            )  # fmt: skip

    @web.authenticated
    async def post(self) -> None:
        self.check_may_change()
        name, action, reason = (
            str(self.get_body_argument(field_name, ""))
            for field_name in ("crawl", "action", "reason")
        )
        host, template = (
            str(self.get_body_argument(field_name, "")) for field_name in ("host", "template")
        )
        if action == "delete":
            await self._delete(name)
            return
        act = partial(self._act, name, action, reason)
        if action == "start":
            act = partial(self._start, self._form())
        elif host or template:
            act = partial(self._decide, host, template, action)
        refusal, problem = await self.read(act)
        if refusal:
            self.set_status(409)
        if problem or refusal:
            self.refuse(problem or refusal or "")
        self.redirect(f"{self.reverse_url(self.tab)}?{urlencode({'crawl': name.strip()})}")

    def _form(self) -> dict[str, str]:
        return {name: str(self.get_body_argument(name, "")) for name in FORM_FIELDS}

    def _start(self, values: dict[str, str]) -> str:
        """Start a crawl and enqueue its seeds. Returns why some were refused, or ""."""
        crawl = read_form(values)
        status = self._control().start(crawl.name, crawl.options)
        if not crawl.seeds:
            return ""
        return self._enqueue(crawl.name, crawl.seeds, status.record.depth)

    async def _delete(self, name: str) -> None:
        """
        Delete a crawl if the form repeats its name.

        The deletion reads all nodes of the store. After `MAX_DELETION_WAIT_S`, it continues in the
        background, and the crawl's page shows that it is being deleted.
        """
        if str(self.get_body_argument("confirm", "")).strip() != name:
            raise web.HTTPError(400, "confirm: must be the name of the crawl")
        deletion = self.read(lambda: self._control().delete(name))
        result = await finish_within(deletion, MAX_DELETION_WAIT_S, f"deletion of the crawl {name}")
        if result and result[1]:
            self.refuse(result[1])
        query = "" if result else f"?{urlencode({'crawl': name})}"
        self.redirect(f"{self.reverse_url(self.tab)}{query}")

    def _decide(self, host: str, template: str, state: str) -> str:
        if not host or not template:
            raise BadInput("host, template: both are needed")
        traps = self._control().traps
        if traps is None:
            raise BadInput("this system has no URL templates")
        decide(traps, host, template, state)
        return ""

    def _act(self, name: str, action: str, reason: str) -> str:
        control = self._control()
        match action:
            case "pause":
                control.pause(name)
            case "resume":
                control.resume(name)
            case "cancel":
                user_name = to_one_line(self.user_name())
                control.cancel(
                    name, f"{to_one_line(reason)} ({user_name})" if reason else f"by {user_name}"
                )
            case _:
                raise BadInput(f"{action!r}: must be start, pause, resume, cancel or delete")
        return ""


class OpenButtonsPage(FlowerPage):
    """The page to which `aragog up` prints a link. Stores the key for the buttons in a cookie."""

    _key: str

    def initialize(self, key: str) -> None:
        self._key = key

    def get(self) -> None:
        """Redirect to the crawls, with the buttons enabled. Returns 403 for a wrong key."""
        key = str(self.get_query_argument("key", ""))
        if not self._key or not hmac.compare_digest(key.encode(), self._key.encode()):
            raise web.HTTPError(403, "This link belongs to another system, or to an earlier run.")
        self.set_cookie(
            COOKIE, self._key, expires_days=COOKIE_DAYS, httponly=True, samesite="Strict", path="/"
        )
        self.redirect(self.reverse_url(CrawlsPage.tab))


def _parse_rate(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise BadInput(f"rate: must be a number of requests/s, got {text!r}") from error
