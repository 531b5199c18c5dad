"""How long the transactions of a log wait until they are moved into its file."""

import os

from support.waiting import wait_until

from zengraph.tables.sqlite import SqliteTables
from zengraph.tables.sqlite.checkpoints import CheckpointTimes, log_use

MB = 1024 * 1024


def test_a_log_may_have_a_sixteenth_of_its_file_between_two_limits():
    times = CheckpointTimes(past_bytes=4 * MB, large_past_bytes=16 * MB)

    found = [times.most_left(size * MB) // MB for size in (0, 1, 64, 128, 256, 10_000)]

    assert found == [4, 4, 4, 8, 16, 16]


def test_a_longer_limit_for_all_files_is_kept():
    times = CheckpointTimes(past_bytes=64 * MB, large_past_bytes=16 * MB)

    assert times.most_left(0) == times.most_left(10_000 * MB) == 64 * MB


def test_the_log_of_a_large_file_is_moved_less_often(tmp_path):
    checkpoints = CheckpointTimes(every_s=0.01, past_bytes=10_000)
    tables = SqliteTables(tmp_path / "t", shards=1, checkpoints=checkpoints)
    tables["n"].put(b"large", {b"m:a": os.urandom(2_000_000)}, at_ms=1)
    shards = tables["n"]._shards
    with shards.reading(0) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    for number in range(5):
        tables["n"].put(b"%d" % number, {b"m:a": os.urandom(15_000)}, at_ms=1)
        assert wait_until(lambda: not any(shards._checkpoints.written))

    use = log_use(tmp_path / "t" / "00.db-wal")
    assert use.frames * use.frame_bytes > 5 * 15_000  # a log that is moved entirely starts again
    tables.close()
