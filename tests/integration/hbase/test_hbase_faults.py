"""
HBase is killed in the middle of work: nothing acknowledged is lost, and every read is correct.
"""

from __future__ import annotations

import dataclasses
import threading

import pytest

from aragog.bootstrap.stores import hbase_tables
from aragog.errors import StoreUnavailable
from tests.support.waiting import wait_until

pytestmark = pytest.mark.hbase


class Writer(threading.Thread):
    """Puts numbered rows and reads each one back, until stopped."""

    def __init__(self, tables, name):
        super().__init__()
        self._tables = tables
        self._name = name
        self._ended = threading.Event()
        self.acknowledged: list[bytes] = []
        self.failed = 0
        self.wrong: list[bytes] = []

    def run(self):
        number = 0
        while not self._ended.is_set():
            number += 1
            row = b"%s-%06d" % (self._name, number)
            try:
                self._tables["n"].put(row, {b"m:a": row}, at_ms=number)
                self.acknowledged.append(row)
                if self._tables["n"].get(row)[b"m:a"].value != row:
                    self.wrong.append(row)
            except StoreUnavailable:
                self.failed += 1
                self._ended.wait(0.05)

    def end(self):
        self._ended.set()
        self.join()

    def wait_for(self, more):
        """Return after that many more rows were acknowledged."""
        goal = len(self.acknowledged) + more
        wait_until(lambda: len(self.acknowledged) >= goal or not self.is_alive())

    def lost(self):
        rows = self._tables["n"].get_many(self.acknowledged)
        return [row for row in self.acknowledged if row not in rows]


def test_failure_of_one_of_two_gateways_goes_unnoticed(
    hbase_server, hbase_settings, all_hbase_tables
):
    tables = hbase_tables(hbase_settings)
    writers = [Writer(tables, name) for name in (b"dead-a", b"dead-b")]
    for writer in writers:
        writer.start()
    writers[0].wait_for(50)

    hbase_server.kill_gateway(1)
    for writer in writers:
        writer.wait_for(200)
    hbase_server.start_gateway(1)
    hbase_server.wait_until_ready(1)
    for writer in writers:
        writer.wait_for(200)
        writer.end()

    assert [writer.failed for writer in writers] == [0, 0]
    assert [writer.wrong + writer.lost() for writer in writers] == [[], []]
    tables.close()


def test_failure_of_the_only_gateway_is_reported_and_its_return_detected(
    hbase_server, hbase_settings
):
    settings = dataclasses.replace(
        hbase_settings, hbase_gateways=hbase_server.gateways[1:], hbase_timeout_ms=500
    )
    tables = hbase_tables(settings)
    writer = Writer(tables, b"stop")
    writer.start()
    writer.wait_for(50)

    hbase_server.pause_gateway(1)
    wait_until(lambda: writer.failed)
    hbase_server.resume_gateway(1)
    writer.wait_for(100)
    writer.end()

    assert writer.wrong == []
    assert writer.lost() == []
    tables.close()


def test_restarted_cluster_has_all_acknowledged_rows(
    hbase_server, hbase_settings, all_hbase_tables
):
    tables = hbase_tables(hbase_settings)
    writer = Writer(tables, b"kill")
    writer.start()
    writer.wait_for(300)

    hbase_server.kill()
    wait_until(lambda: writer.failed)
    hbase_server.start()
    writer.wait_for(50)
    writer.end()

    assert writer.wrong == []
    assert writer.lost() == []
    tables.close()
