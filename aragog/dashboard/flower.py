"""Adds the pages and metrics of aragog and pinlater to Flower."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from aragog.crawl.stages.crawl_control import CrawlControl
from aragog.dashboard.buttons_key import KEY_NEEDED, OPEN_URL_PATH, install_key_check
from aragog.dashboard.components import Components
from aragog.dashboard.exposure import guard_address, guard_hosts
from aragog.dashboard.waiting import queue_notes
from aragog.errors import BadInput
from pinlater.admin import Admin
from pinlater.errors import InvalidArgument
from pinlater.flower import ACTIONS_OFF
from pinlater.flower import install as install_pinlater


def install(
    components: Components,
    refresh: Callable[[str], str],
    allowed_hosts: Sequence[str] = (),
    host: str = "127.0.0.1",
    *,
    crawls: Callable[[], CrawlControl] | None = None,
    enqueue: Callable[[str, Sequence[str], int], str] | None = None,
    key: str = "",
) -> bool:
    """
    Install the extensions in Flower's process, before Flower starts. A second call changes nothing.

    Args:
        components: the data sources of the pages and metrics.
        refresh: enqueues a URL to be fetched now. Returns the reason if it was refused, or "".
        allowed_hosts: names that Flower accepts in the Host header, in addition to localhost and IP
            addresses.
        host: the address on which Flower listens if its options contain none.
        crawls: returns the crawl control, always the same object; None if there are no crawls.
        enqueue: enqueues seeds of a crawl with a depth. Returns the reason if some were refused, or
            "". None if there are no crawls.
        key: the key that enables the buttons (`buttons_key`). If empty, they need a login.

    Returns:
        True if every extension was installed.
    """

    def get_admin(_: Any) -> Admin:
        if components.admin is None:
            raise InvalidArgument("this broker does not report its queues; use pinlater://")
        return components.admin

    def install_pages() -> tuple[list[Any], Traversable]:
        guard_hosts(allowed_hosts)
        guard_address(host)
        install_key_check(key)
        _add_metrics(components)
        crawl_parts = {"control": crawls or no_crawls, "enqueue": enqueue or no_seeds}
        return _page_routes(components, refresh, crawl_parts, key), files(
            "aragog.dashboard"
        ) / "templates"

    locked_message = KEY_NEEDED if key else ACTIONS_OFF
    return install_pinlater(
        get_admin, install_pages, lambda: queue_notes(components), locked=locked_message
    )


def no_crawls() -> CrawlControl:
    """
    The function for `crawls` on systems without crawls.

    Raises:
        BadInput: always.
    """
    raise BadInput("this system has no crawls")


def no_seeds(_name: str, _seeds: Sequence[str], _depth: int) -> str:
    """
    The function for `enqueue` on systems without crawls.

    Raises:
        BadInput: always.
    """
    raise BadInput("this system has no crawls")


def _page_routes(
    components: Components,
    refresh: Callable[[str], str],
    crawl_parts: Mapping[str, Any],
    key: str,
) -> list[Any]:
    from tornado.web import url  # noqa: PLC0415 - only in Flower's process

    from aragog.dashboard.handlers import (  # noqa: PLC0415
        CrawlsPage,
        DomainsPage,
        OpenButtonsPage,
        UrlPage,
    )
    from pinlater.flower_pages import page_routes  # noqa: PLC0415

    arguments = {"components": components}
    return [
        *page_routes("aragog-domains", r"/aragog/domains", DomainsPage, arguments),
        *page_routes("aragog-crawls", r"/aragog/crawls", CrawlsPage, {**arguments, **crawl_parts}),
        url(OPEN_URL_PATH, OpenButtonsPage, {"key": key}, name="aragog-open"),
        *page_routes("aragog-url", r"/aragog/url", UrlPage, {**arguments, "refresh": refresh}),
    ]


def _add_metrics(components: Components) -> None:
    from prometheus_client import REGISTRY  # noqa: PLC0415 - only in Flower's process

    from aragog.dashboard.scraped_metrics import MetricsCollector  # noqa: PLC0415

    if not _registered_collectors:
        _registered_collectors.append(MetricsCollector(components))
        REGISTRY.register(_registered_collectors[0])


_registered_collectors: list[Any] = []
"""This process's collector, once it is registered."""
