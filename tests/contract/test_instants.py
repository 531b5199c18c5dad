"""Times from callers and other machines: none may block a value forever."""

import logging

import pytest

from aragog.errors import BadInput
from aragog.settings import StoreSettings
from aragog.transfer.bulk_writer import BulkWriter
from aragog.transfer.json_lines import UrlRecord
from aragog.urlstore.records import OutLink
from aragog.urlstore.write_clock import MAX_AHEAD_MS, WriteClock
from tests.support.stores import NOW_MS

A, B = "http://a.example/", "http://b.example/"
WRONG = (1 << 62, -1, NOW_MS + MAX_AHEAD_MS + 1)


@pytest.mark.parametrize("at_ms", WRONG)
def test_every_write_refuses_a_time_in_the_future_or_below_0(harness, at_ms):
    store = harness.store
    store.put(A, {"t": b"1"})
    for write in (
        lambda: store.put(A, {"t": b"2"}, at_ms=at_ms),
        lambda: store.delete_fields(A, ["t"], at_ms=at_ms),
        lambda: store.put_content(A, b"2", at_ms=at_ms),
        lambda: store.aliases.merge(A, B, at_ms=at_ms),
        lambda: store.schedule.watch(A, "shop", at_ms=at_ms),
        lambda: store.schedule.unwatch(A, "shop", at_ms=at_ms),
    ):
        with pytest.raises(BadInput, match="at_ms"):
            write()
    harness.clock.advance_ms(5)
    store.put(A, {"t": b"3"})

    assert store.get(A).fields == {"t": b"3"}
    assert store.content(A) is None
    assert store.resolve(A) == A
    assert store.schedule.watchers(A) == []


def test_time_up_to_a_minute_ahead_is_stored(harness):
    harness.store.put(A, {"t": b"1"}, at_ms=NOW_MS + MAX_AHEAD_MS)

    assert harness.store.get(A, info=True).info["t"].at_ms == NOW_MS + MAX_AHEAD_MS


@pytest.mark.parametrize("due_at_ms", [-1, 1 << 62])
def test_due_time_out_of_range_is_refused(harness, due_at_ms):
    with pytest.raises(BadInput, match="due_at_ms"):
        harness.store.schedule.plan(A, due_at_ms)


def test_import_reports_records_with_future_times_by_number(harness):
    writer = BulkWriter(harness.store, harness.store.zen, StoreSettings(), harness.clock)
    problems = {}
    records = [
        UrlRecord(url=A, fields={"t": b"1"}, at_ms={"t": NOW_MS + 10**9}),
        UrlRecord(url=B, canonical_url=A, canonical_at_ms=NOW_MS + 10**9),
        UrlRecord(url=A, fields={"t": b"2"}, at_ms={"t": NOW_MS}, links=[OutLink(B)]),
    ]

    assert writer.write(list(enumerate(records, 1)), problems.__setitem__) == 1

    assert sorted(problems) == [1, 2]
    assert harness.store.get(A).fields == {"t": b"2"}


def test_future_time_of_another_machine_is_capped_and_logged(harness, caplog):
    clock = WriteClock(harness.clock)

    with caplog.at_level(logging.WARNING):
        assert clock.capped(NOW_MS + 5000, "fetch of x") == NOW_MS + 5000
        assert not caplog.records
        assert clock.capped(NOW_MS + 10**10, "fetch of x") == NOW_MS

    assert "fetch of x: its time is 10000000 s ahead" in caplog.text
