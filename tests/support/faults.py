"""Tables and content that fail between any two writes, like those of a killed process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

from aragog.runtime.clock import ManualClock
from aragog.settings import StoreSettings
from aragog.urlstore.content import MemoryContent
from aragog.urlstore.store import UrlStore
from tests.support.hooked_tables import HookedTables
from tests.support.stores import NOW_MS, Harness
from zengraph.links import ListLimits
from zengraph.tables.memory import MemoryTables

# Every group is divided, every list has segments, and each of their lines is a row.
SHORT_LISTS = ListLimits(group_lines=1, inline_lines=1, chunk_lines=1, many_deltas=1, large_lines=0)

Step = Callable[[Harness], None]


class Killed(BaseException):
    """The process was killed. A BaseException, so that no handler of aragog catches it."""


class Fuse:
    """Lets `left` writes pass, then raises Killed; None for never."""

    def __init__(self) -> None:
        self.left: int | None = None
        self.passed = 0

    def burn(self) -> None:
        if self.left is not None:
            if self.left == 0:
                raise Killed
            self.left -= 1
        self.passed += 1


class MortalContent:
    """A content store behind a fuse."""

    def __init__(self, inner, fuse: Fuse) -> None:
        self._inner = inner
        self._fuse = fuse

    def put(self, key, body, meta):
        self._fuse.burn()
        self._inner.put(key, body, meta)

    def put_many(self, puts):
        for put in puts:
            self.put(*put)

    def delete(self, key):
        self._fuse.burn()
        self._inner.delete(key)

    def get(self, key):
        return self._inner.get(key)

    def keys(self, prefix=""):
        return self._inner.keys(prefix)


def mortal_harness(fuse: Fuse) -> Harness:
    """Return an empty UrlStore whose writes all go through the fuse. Its clock stands still."""
    clock = ManualClock(NOW_MS)
    tables = HookedTables(MemoryTables(clock), fuse.burn)
    content = MortalContent(MemoryContent(), fuse)
    store = UrlStore(tables, content, StoreSettings(), clock, lists=SHORT_LISTS)
    return Harness(store, tables, content, clock)


def unharmed(*steps: Step) -> Harness:
    """Return a harness after these steps, none of them killed."""
    harness = mortal_harness(Fuse())
    for step in steps:
        step(harness)
    return harness


def every_kill_point(*before: Step, step: Step) -> Iterator[tuple[int, Harness]]:
    """
    Kill `step` before its first write, its second, and so on, until it completes.

    After each kill, yields how many writes had passed, and the harness. Each time it is a new harness in
    which `before` was done.
    """
    for point in count():
        fuse = Fuse()
        harness = mortal_harness(fuse)
        for done in before:
            done(harness)
        fuse.left = point
        try:
            step(harness)
        except Killed:
            fuse.left = None
            yield point, harness
        else:
            return
