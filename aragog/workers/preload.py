"""One-time work of a worker before it forks or takes a message, so that no page waits for it."""

from __future__ import annotations

import gc

from aragog.urls.domain import registered_domain

# A page creates some thousand objects without cycles; by default, the garbage collector looks for
# cycles after every 700.
YOUNG_OBJECTS = 20_000


def preload() -> None:
    """
    Read the public suffix list, and exclude permanent objects from garbage collection.

    Forked children share both. Otherwise each child would read the list (50 ms) with its first
    page, and garbage collection would copy the parent's memory into each child.
    """
    registered_domain("example.com")
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, 20, 100)
