"""
Extend Flower, in its own process, with pages for a pinlater broker.

An application calls `install()` before Flower starts. This adds queues to the Broker page, and the
pages Queues and Jobs. Flower has no plugin interface, so `install` changes Flower's routes,
settings and broker factory in place. Tested with 2.x.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from tornado import template, web
from tornado.httputil import HTTPHeaders

from pinlater.admin import Admin

log = logging.getLogger(__name__)
SUPPORTED_MAJOR = "2"
NAVIGATION, LINKS = "navbar.html", "links.html"
# The end of the Broker item in Flower's navigation, after which our items are inserted.
BROKER_ITEM_END = ">Broker</a>\n        </li>\n"
ACTIONS_OFF = (
    "Actions are off: they need a login (FLOWER_BASIC_AUTH or FLOWER_AUTH), or, on this "
    "machine only, FLOWER_UNAUTHENTICATED_API=true."
)
"""Shown where Flower's API refuses changes."""
BASE_PAGE, TASKS_PAGE = "base.html", "tasks.html"
TASKS_NOTE = "tasks_note.html"
CONTAINER_BLOCK = "{% block container %}"
STOCK_ACTIONS = '{% module Template("pinlater_stock_actions.html") %}\n'
"""Template code that disables Flower's buttons where its API would refuse them, and shows why."""
GetAdmin = Callable[[Any], Admin]
"""
Returns the broker's admin for a request's handler; raises `InvalidArgument` for other brokers.
"""


def install(
    admin_of: GetAdmin | None = None,
    more: Callable[[], tuple[Sequence[Any], Traversable]] | None = None,
    notes: Callable[[], Sequence[str]] | None = None,
    *,
    locked: str = ACTIONS_OFF,
) -> bool:
    """
    Add the pages to Flower. Call this in Flower's process before Flower starts. Idempotent.

    Args:
        admin_of: returns the `Admin` whose queues the pages show. None means the `Admin` of
            Flower's own application.
        more: returns routes and the template folder of an application's own pages.
        notes: returns sentences to show above the queues, such as what jobs are waiting for. Called
            in a thread for each view of the page.
        locked: the text to show where a missing login prevents changes.

    Returns:
        True if everything was installed. An unsupported Flower runs without the missing pages, and
        the log reports that.
    """
    try:
        import flower  # noqa: PLC0415 - only in Flower's process

        if flower.__version__.partition(".")[0] != SUPPORTED_MAJOR:
            log.warning(
                "Flower %s is not %s.x: pinlater pages are not installed",
                flower.__version__,
                SUPPORTED_MAJOR,
            )
            return False
        from pinlater import flower_pages  # noqa: PLC0415

        flower_pages.install()
        _add(
            flower_pages.routes(admin_of or flower_pages.admin_of_application, notes),
            *(more() if more else ((), None)),
            locked=locked,
        )
    except Exception:  # Flower without our pages is better than no Flower
        log.warning("Flower has an unexpected structure: some pages are missing", exc_info=True)
        return False
    return True


def _add(
    routes: Iterable[Any], more_routes: Sequence[Any], folder: Traversable | None, *, locked: str
) -> None:
    from flower.urls import handlers, settings  # noqa: PLC0415 - only in Flower's process

    if isinstance(settings.get("template_loader"), Loader):
        return
    handlers[-1:-1] = [*routes, *more_routes]  # before the last route, which matches every path
    folders = [files("pinlater") / "templates", *([folder] if folder else [])]
    settings["template_loader"] = Loader(settings["template_path"], folders, locked)
    settings["actions_locked"] = locked
    settings["transforms"] = [*settings.get("transforms", ()), FrameBlocker]


class FrameBlocker(web.OutputTransform):
    """Forbids frames in Flower's responses, to prevent clickjacking."""

    def transform_first_chunk(
        self,
        status_code: int,
        headers: HTTPHeaders,
        chunk: bytes,
        finishing: bool,  # noqa: ARG002
    ) -> tuple[int, HTTPHeaders, bytes]:
        """Called by tornado with each response's headers."""
        headers["X-Frame-Options"] = "DENY"
        headers["Content-Security-Policy"] = "frame-ancestors 'none'"
        return status_code, headers, chunk


class Loader(template.Loader):
    """
    Looks for a template in `folders`, then in Flower's own folder.

    A folder may have a `links.html` with items for Flower's navigation, and a `tasks_note.html` for
    the top of Flower's task list.
    """

    def __init__(
        self, root: str, folders: Sequence[Traversable], locked: str = ACTIONS_OFF
    ) -> None:
        super().__init__(root, namespace={"actions_locked": locked})
        self._folders = folders

    def _create_template(self, name: str) -> template.Template:
        overrides = [folder / name for folder in self._folders if (folder / name).is_file()]
        source = (overrides[0] if overrides else Path(self.root) / name).read_text("utf-8")
        if name == NAVIGATION:
            links = [folder / LINKS for folder in self._folders if (folder / LINKS).is_file()]
            source = add_links(source, "".join(path.read_text("utf-8") for path in links))
        if name == TASKS_PAGE and any((folder / TASKS_NOTE).is_file() for folder in self._folders):
            source = source.replace(
                CONTAINER_BLOCK, f'{CONTAINER_BLOCK}{{% module Template("{TASKS_NOTE}") %}}', 1
            )
        if name == BASE_PAGE:
            source = source.replace("</body>", f"{STOCK_ACTIONS}</body>")
        return template.Template(source, name=name, loader=self)


def add_links(navigation: str, links: str) -> str:
    """Return Flower's navigation with our items; unchanged if the markup is not as expected."""
    before, item_end, after = navigation.partition(BROKER_ITEM_END)
    return f"{before}{item_end}{links}{after}" if item_end else navigation
