"""A takedown between the reads and the writes of a writer that is then killed."""

from contextlib import suppress
from itertools import count

import pytest

from aragog.runtime.clock import ManualClock
from aragog.settings import StoreSettings
from aragog.urlstore.content import MemoryContent
from aragog.urlstore.store import UrlStore
from tests.support.faults import SHORT_LISTS, Killed
from tests.support.hooked_tables import HookedTables
from tests.support.stores import NOW_MS, Harness, body, node_id, page
from zengraph.links._outlinks import unpack
from zengraph.tables.memory import MemoryTables

GONE, ELSEWHERE = "https://gone.example/a/page", "https://else.example/copy"
TARGET = "https://other.example/"
SECRET = b"secret words"
TAKEDOWNS = {"url": GONE}, {"host": "gone.example"}


class Writer:
    """Counts a writer's writes: `act` runs before write `act_at`, and it is killed at `kill_at`."""

    def __init__(self, act, act_at, kill_at):
        self._act, self._act_at, self._kill_at = act, act_at, kill_at
        self.count, self.has_acted, self.is_writing = 0, False, False

    def before_write(self):
        if not self.is_writing:
            return
        if self.count == self._act_at and not self.has_acted:
            self.has_acted, self.is_writing = True, False
            self._act()
            self.is_writing = True
        if self.count == self._kill_at:
            self.is_writing = False
            raise Killed
        self.count += 1


def write(store, canonical):
    parts = {"canonical_url": canonical, "provisional": canonical != GONE, "links": [TARGET]}
    store.write_pages(
        [page(GONE, fields={"title": SECRET}, content=body(SECRET.decode()), **parts)]
    )


def overtaken(what, canonical, act_at, kill_at):
    """
    Write a page, take it down before write `act_at`, and kill the writer before write `kill_at`.

    Returns the harness and the writer's counts.
    """
    clock = ManualClock(NOW_MS)
    tables, content = MemoryTables(clock), MemoryContent()

    def opened(over):
        return UrlStore(over, content, StoreSettings(), clock, lists=SHORT_LISTS)

    def take_down():
        clock.advance_ms(3)
        opened(tables).takedowns.take_down(**what)
        clock.advance_ms(3)

    writer = Writer(take_down, act_at, kill_at)
    store = opened(HookedTables(tables, writer.before_write))
    writer.is_writing = True
    with suppress(Killed):
        write(store, canonical)
    writer.is_writing = False
    return Harness(opened(tables), tables, content, clock), writer


def secrets(harness):
    """Tables with the page's text, whether its URL has links, and the sources of its target."""
    cells = [
        (name, key, cell.value)
        for name in "neodhiuf"
        for key, row in harness.tables[name].scan(b"", None)
        for cell in row.values()
    ]
    found = {name for name, _, value in cells if SECRET in value}
    links = {key for name, key, value in cells if name == "o" and unpack(value).compressed}
    return found, node_id(GONE) in links, GONE in harness.sources(TARGET)


@pytest.mark.parametrize("canonical", [GONE, ELSEWHERE])
@pytest.mark.parametrize("what", TAKEDOWNS)
def test_repeated_write_deletes_what_a_killed_write_stored_of_a_page_taken_down(what, canonical):
    kills = 0
    for act_at in range(0, 9, 2):
        for kill_at in count(act_at):
            harness, writer = overtaken(what, canonical, act_at, kill_at)
            if not writer.has_acted:
                break
            harness.clock.advance_ms(1000)

            write(harness.store, canonical)

            harness.clock.advance_ms(3_600_000)
            harness.compact()
            assert secrets(harness) == (set(), False, False), (act_at, kill_at)
            assert harness.store.get(GONE) is None
            kills += 1
            if writer.count < kill_at:
                break
    assert kills > 20
