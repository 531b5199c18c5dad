"""The size limits of the spool, from the settings and the memory of its server."""

import pytest

from aragog.crawl.pipeline.spool import spool_bounds

MB = 2**20


@pytest.mark.parametrize(
    ("setting", "maxmemory", "machine", "expected"),
    [
        (7_000_000, 200 * MB, 8 << 30, 7_000_000),
        (None, 200 * MB, 8 << 30, 50 * MB),
        (None, 0, 2 << 30, 32 * MB),
        (None, 0, 64 << 30, 128 * MB),
        (None, 64 << 30, 64 << 30, 128 * MB),
    ],
)
def test_default_limit_is_a_share_of_the_server_memory(setting, maxmemory, machine, expected):
    bounds = spool_bounds(setting, {"maxmemory": maxmemory, "total_system_memory": machine})

    assert bounds.max_bytes == expected
    marks = bounds.low_bytes, bounds.high_bytes, bounds.max_claimed_bytes, bounds.max_fetch_bytes
    assert sorted({*marks, bounds.max_bytes}) == [*marks, bounds.max_bytes]
