"""Each part of a UrlStore can be built and used without the others."""

from __future__ import annotations

from dataclasses import replace

from aragog.runtime.clock import ManualClock
from aragog.settings import StoreSettings
from aragog.urlstore.bodies import Bodies
from aragog.urlstore.content import MemoryContent
from aragog.urlstore.feed import Change, Feed, publish
from aragog.urlstore.fields import Fields
from aragog.urlstore.hosts import Hosts
from aragog.urlstore.maintenance import Maintenance
from aragog.urlstore.nodes import Nodes
from aragog.urlstore.reader import Pages
from aragog.urlstore.schedule import Schedule
from aragog.urlstore.takedowns import Takedowns
from aragog.urlstore.tombstones import Tombstones
from aragog.urlstore.write_clock import WriteClock
from aragog.urlstore.writing.alias_merger import AliasMerger
from aragog.urlstore.writing.removal import Takedown
from aragog.urlstore.writing.trust import Trust
from tests.support.stores import NAMING, NOW_MS
from zengraph import MultiGraph
from zengraph.links import Compactor, OutlinkWriter
from zengraph.links._plan import CompactionPlan, PlannedRow
from zengraph.tables.memory import MemoryTables

A = "http://a.example/"


class Parts:
    """The possible dependencies of a part, built only from tables and a clock."""

    def __init__(self) -> None:
        self.time = ManualClock(NOW_MS)
        self.clock = WriteClock(self.time)
        self.tables = MemoryTables(self.time, masking=True)
        self.zen = MultiGraph(self.tables, clock=self.time)
        self.content = Bodies(MemoryContent())
        self.compactor = Compactor(self.tables, NAMING, self.time)
        outlinks = OutlinkWriter(self.tables, NAMING, "all", self.time)
        self.merger = AliasMerger(self.zen, self.content, outlinks)
        tombstones = Tombstones(self.zen)
        takedown = Takedown(
            self.zen, self.content, outlinks, self.merger, Hosts(self.zen), self.compactor,
            tombstones,
        )  # fmt: skip
        self.takedowns = Takedowns(
            takedown, tombstones, Nodes(self.zen), self.clock, Trust(self.zen, takedown.aliases)
        )


def test_write_after_a_reported_delete_is_later_than_the_delete():
    time = ManualClock(NOW_MS)
    clock = WriteClock(time)
    clock.record_deletion(NOW_MS + 5)
    clock.record_deletion(NOW_MS - 5)
    assert clock.now_ms() == NOW_MS + 6
    time.advance_ms(1000)
    assert clock.now_ms() == NOW_MS + 1000


def put(fields, title):
    fields.put(A, {"title": title}, at_ms=None, provenance={}, if_version=None)


def test_stored_fields_are_read_through_pages():
    parts = Parts()
    fields = Fields(parts.zen, StoreSettings(), parts.takedowns, parts.clock)
    put(fields, b"x")
    assert Pages(parts.zen).get(A).fields == {"title": b"x"}


def test_fields_put_right_after_a_removal_are_visible():
    parts = Parts()
    fields = Fields(parts.zen, StoreSettings(), parts.takedowns, parts.clock)
    put(fields, b"x")
    parts.takedowns.remove(A)
    put(fields, b"y")
    assert Pages(parts.zen).get(A).fields == {"title": b"y"}


def test_schedule_claims_planned_urls():
    parts = Parts()
    schedule = Schedule(parts.zen, parts.takedowns, parts.clock)
    schedule.plan(A, NOW_MS)
    assert [due.url for due in schedule.claim_due(NOW_MS, 10, 60)] == [A]


def test_feed_returns_published_changes():
    parts = Parts()
    publish(parts.zen, [Change(A, NOW_MS, "changed")], parts.time)
    parts.time.advance_ms(10_000)
    assert [change.url for change in Feed(parts.zen, parts.clock).changes().items] == [A]


def test_maintenance_of_empty_tables_finds_nothing():
    parts = Parts()
    maintenance = Maintenance(parts.zen, parts.content, parts.merger, parts.compactor, parts.clock)
    assert maintenance.compaction_lag_ms() == 0
    assert maintenance.repair(grace_s=0).repaired == {}


def test_compaction_plan_round_trips():
    plan = CompactionPlan((PlannedRow(b"\x01k", (b"a", b"b")), PlannedRow(b"\xff")), (b"\x02",))
    for depths in (None, {}, {b"\xab": 2}):
        assert CompactionPlan.unpack(replace(plan, depths=depths).pack()).depths == depths
    assert CompactionPlan.unpack(plan.pack()) == plan


def test_compaction_plan_of_an_earlier_version_has_no_depths():
    assert CompactionPlan.unpack(b'{"rows":[["016b",["61"]]],"void":[]}') == CompactionPlan(
        (PlannedRow(b"\x01k", (b"a",)),)
    )
