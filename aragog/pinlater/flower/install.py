"""
Extend Flower, in its own process, with what it lacks on a pinlater broker.

Flower has no interface for this, so `install` changes its routes, its settings and its broker
factory in place before it starts. Tested with 2.x.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from aragog.pinlater.admin import Admin

log = logging.getLogger(__name__)

MAJOR = "2"

AdminOf = Callable[[Any], Admin]
"""Returns the admin of the broker for a request's handler; raises `BadInput` if it is another."""


def install(
    admin_of: AdminOf | None = None,
    more: Callable[[], tuple[Sequence[Any], Traversable]] | None = None,
) -> bool:
    """
    Call this in Flower's process, before Flower starts; a second call changes nothing.

    Args:
        admin_of: where the pages read the queues. None: the broker of Flower's own application.
        more: returns further routes, and the folder of their templates, for an application's own
            pages.

    Returns:
        True if everything was installed. If Flower differs from what is expected, it runs without
        the missing pages, and the log reports it.
    """
    try:
        import flower  # noqa: PLC0415 - only in Flower's process

        if flower.__version__.partition(".")[0] != MAJOR:
            log.warning("Flower %s is not %s.x: it stays as it is", flower.__version__, MAJOR)
            return False
        from aragog.pinlater.flower import broker, pages  # noqa: PLC0415

        broker.install()
        _add(
            pages.routes(admin_of or pages.admin_of_application), *(more() if more else ((), None))
        )
    except Exception:  # Flower without our pages is better than none
        log.warning("Flower is not as expected: some pages are missing", exc_info=True)
        return False
    return True


def _add(own: Iterable[Any], others: Sequence[Any], folder: Traversable | None) -> None:
    from flower.urls import handlers, settings  # noqa: PLC0415 - only in Flower's process

    from aragog.pinlater.flower.templating import Loader  # noqa: PLC0415

    if isinstance(settings.get("template_loader"), Loader):
        return
    handlers[-1:-1] = [*own, *others]  # the last route matches every path
    folders = [files("aragog.pinlater.flower") / "templates", *([folder] if folder else [])]
    settings["template_loader"] = Loader(settings["template_path"], folders)
