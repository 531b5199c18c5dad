"""Pure functions of the HBase adapter."""

from __future__ import annotations

from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from zengraph.tables.hbase.pages import MAX_PAGE_BYTES, MAX_PAGE_ROWS, next_page_rows
from zengraph.tables.hbase.pool import FIRST_WAIT_S, MAX_WAIT_S, Gateway
from zengraph.tables.hbase.table import _key_before


@given(st.binary(min_size=1, max_size=6), st.binary(max_size=6))
def test_previous_key_is_smaller_and_excludes_no_key_of_the_range(key, other):
    before = _key_before(key)

    if before is None:
        assert key == b"\0"
    else:
        assert before < key
        # A backward scan ends before `before`, so every key of the range must be greater.
        assert not other >= key or other > before


def test_empty_key_has_no_previous_key():
    assert _key_before(b"") is None


@given(st.integers(1, MAX_PAGE_ROWS), st.lists(st.integers(0, 3_000_000), max_size=4))
def test_pages_grow_with_small_rows_and_shrink_with_large_ones(size, values):
    page = [SimpleNamespace(columns={b"l:v": SimpleNamespace(value=bytes(n))}) for n in values]

    after = next_page_rows(size, page)

    assert 1 <= after <= max(MAX_PAGE_ROWS, size)
    if sum(values) > MAX_PAGE_BYTES:
        assert after <= size


def test_gateway_is_ejected_for_longer_each_time_and_restored_immediately():
    breaker, waits = Gateway("there:9090").breaker, []

    for _ in range(20):
        breaker.record_failure(100.0)
        waits.append(breaker.probe_at_s - 100.0)

    assert waits[:3] == [FIRST_WAIT_S, 2 * FIRST_WAIT_S, 4 * FIRST_WAIT_S]
    assert waits[-1] == MAX_WAIT_S
    breaker.record_answer()
    assert breaker.may_call(101.0)
