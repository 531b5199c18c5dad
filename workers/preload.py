"""What a worker does once, before it forks or takes a message, so that no page pays for it."""

from __future__ import annotations

import gc

from aragog.urls.domain import registered_domain

# A page makes some thousand objects that live together and have no cycles; the default looks for
# cycles every 700.
YOUNG_OBJECTS = 20_000


def preload() -> None:
    """
    Read the public suffix list, and keep what lives for ever out of the collector's sight.

    Children of a fork share both; without it each would read the list (50 ms) with its first page,
    and copy the parent's memory by looking for garbage in it.
    """
    registered_domain("example.com")
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, 20, 100)
