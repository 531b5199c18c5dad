"""
Extend Flower with pinlater's queues, aragog's own pages and its metrics.

Flower has no interface for this, so this module changes its route list, its settings and its broker
factory in place before Flower starts. Tested with 2.x. If another version differs from what is
expected, Flower runs without the missing extensions and the log reports it.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from aragog.dashboard.components import Components
from aragog.dashboard.exposure import guard_address, guard_hosts
from aragog.pinlater import flower_broker

log = logging.getLogger(__name__)

MAJOR = "2"


def install(
    components: Components | None = None, allowed_hosts: Sequence[str] = (), host: str = "127.0.0.1"
) -> bool:
    """
    Call this in Flower's process, before Flower starts; a second call changes nothing.

    Args:
        components: what the pages and metrics read from. None: no pages, only pinlater's queues,
            which is right for an application that only uses the broker.
        allowed_hosts: names that Flower accepts in the Host header, besides localhost and IP
            addresses.
        host: where Flower listens if it is given no address.

    Returns:
        True if every extension was installed.
    """
    try:
        import flower  # noqa: PLC0415 - only in Flower's process

        if flower.__version__.partition(".")[0] != MAJOR:
            log.warning("Flower %s is not %s.x: it stays as it is", flower.__version__, MAJOR)
            return False
        flower_broker.install()
        if components is not None:
            guard_hosts(allowed_hosts)
            guard_address(host)
            _add_pages(components)
    except Exception:  # Flower without our pages is better than none
        log.warning("Flower is not as expected: some pages are missing", exc_info=True)
        return False
    return True


def _add_pages(components: Components) -> None:
    from flower.urls import handlers, settings  # noqa: PLC0415 - only in Flower's process
    from prometheus_client import REGISTRY  # noqa: PLC0415
    from tornado.web import url  # noqa: PLC0415

    from aragog.dashboard import handlers as pages  # noqa: PLC0415
    from aragog.dashboard.domain_pages import DomainsPage  # noqa: PLC0415
    from aragog.dashboard.metrics import MetricsCollector  # noqa: PLC0415
    from aragog.dashboard.templating import Loader  # noqa: PLC0415

    if isinstance(settings.get("template_loader"), Loader):
        return
    routes = []
    for name, page in (
        ("queues", pages.QueuesPage),
        ("jobs", pages.JobsPage),
        ("domains", DomainsPage),
        ("url", pages.UrlPage),
    ):
        routes.append(
            url(rf"/aragog/{name}", page, {"components": components}, name=f"aragog-{name}")
        )
        routes.append(
            url(rf"/aragog/{name}\.json", page, {"components": components, "as_json": True})
        )
    handlers[-1:-1] = routes  # the last route matches every path
    settings["template_loader"] = Loader(settings["template_path"])
    REGISTRY.register(MetricsCollector(components))
