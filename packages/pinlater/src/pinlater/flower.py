"""
Extend Flower, in its own process, with what it lacks on a pinlater broker.

An application's module calls `install()` before Flower starts: its queues are on the Broker page,
and there are the pages Queues and Jobs. Flower has no interface for this, so `install` changes its
routes, its settings and its broker factory in place. Tested with 2.x.
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
MAJOR = "2"
NAVIGATION, LINKS = "navbar.html", "links.html"
# The end of the Broker item, after which our items are inserted in Flower's navigation.
BEHIND = ">Broker</a>\n        </li>\n"
LOCKED = (
    "Actions are off: they need a login (FLOWER_BASIC_AUTH or FLOWER_AUTH), or on this machine "
    "alone FLOWER_UNAUTHENTICATED_API=true."
)
"""What Flower says where its API is closed."""
BASE, TASKS = "base.html", "tasks.html"
NOTE = "tasks_note.html"
CONTAINER = "{% block container %}"
STOCK_ACTIONS = '{% module Template("pinlater_stock_actions.html") %}\n'
"""Disables Flower's own buttons, with the reason, where its API refuses what they ask for."""
AdminOf = Callable[[Any], Admin]
"""Returns the admin of the broker for a request's handler; raises `InvalidArgument` for another."""


def install(
    admin_of: AdminOf | None = None,
    more: Callable[[], tuple[Sequence[Any], Traversable]] | None = None,
    notes: Callable[[], Sequence[str]] | None = None,
    *,
    locked: str = LOCKED,
) -> bool:
    """
    Call this in Flower's process, before Flower starts; a second call changes nothing.

    Args:
        admin_of: where the pages read the queues. None: the broker of Flower's own application.
        more: returns further routes, and the folder of their templates, for an application's own
            pages.
        notes: returns sentences to show above the queues, such as what the jobs in them wait for;
            called in a thread, at each view of the page.
        locked: what pages say where nothing can be changed for want of a login.

    Returns:
        True if everything was installed. If Flower differs from what is expected, it runs without
        the missing pages, and the log reports it.
    """
    try:
        import flower  # noqa: PLC0415 - only in Flower's process

        if flower.__version__.partition(".")[0] != MAJOR:
            log.warning("Flower %s is not %s.x: it stays as it is", flower.__version__, MAJOR)
            return False
        from pinlater import flower_pages  # noqa: PLC0415

        flower_pages.install()
        _add(
            flower_pages.routes(admin_of or flower_pages.admin_of_application, notes),
            *(more() if more else ((), None)),
            locked=locked,
        )
    except Exception:  # Flower without our pages is better than none
        log.warning("Flower is not as expected: some pages are missing", exc_info=True)
        return False
    return True


def _add(
    own: Iterable[Any], others: Sequence[Any], folder: Traversable | None, *, locked: str
) -> None:
    from flower.urls import handlers, settings  # noqa: PLC0415 - only in Flower's process

    if isinstance(settings.get("template_loader"), Loader):
        return
    handlers[-1:-1] = [*own, *others]  # the last route matches every path
    folders = [files("pinlater") / "templates", *([folder] if folder else [])]
    settings["template_loader"] = Loader(settings["template_path"], folders, locked)
    settings["actions_locked"] = locked
    settings["transforms"] = [*settings.get("transforms", ()), Unframed]


class Unframed(web.OutputTransform):
    """Keeps every response of Flower out of frames: its buttons could be clicked through one."""

    def transform_first_chunk(
        self,
        status_code: int,
        headers: HTTPHeaders,
        chunk: bytes,
        finishing: bool,  # noqa: ARG002
    ) -> tuple[int, HTTPHeaders, bytes]:
        """Called by tornado with the head of each response."""
        headers["X-Frame-Options"] = "DENY"
        headers["Content-Security-Policy"] = "frame-ancestors 'none'"
        return status_code, headers, chunk


class Loader(template.Loader):
    """
    Looks for a template in `folders`, then in Flower's.

    Each folder may have a `links.html` with items for Flower's navigation, and a `tasks_note.html`
    to be shown above Flower's list of tasks.
    """

    def __init__(self, root: str, folders: Sequence[Traversable], locked: str = LOCKED) -> None:
        super().__init__(root, namespace={"actions_locked": locked})
        self._folders = folders

    def _create_template(self, name: str) -> template.Template:
        ours = [folder / name for folder in self._folders if (folder / name).is_file()]
        source = (ours[0] if ours else Path(self.root) / name).read_text("utf-8")
        if name == NAVIGATION:
            links = [folder / LINKS for folder in self._folders if (folder / LINKS).is_file()]
            source = with_links(source, "".join(path.read_text("utf-8") for path in links))
        if name == TASKS and any((folder / NOTE).is_file() for folder in self._folders):
            source = source.replace(CONTAINER, f'{CONTAINER}{{% module Template("{NOTE}") %}}', 1)
        if name == BASE:
            source = source.replace("</body>", f"{STOCK_ACTIONS}</body>")
        return template.Template(source, name=name, loader=self)


def with_links(navigation: str, links: str) -> str:
    """Flower's navigation with our items added; unchanged if its markup is not as expected."""
    before, parts, after = navigation.partition(BEHIND)
    return f"{before}{parts}{links}{after}" if parts else navigation
