"""
Rows in a real HBase, through proxies between aragog and its two Thrift gateways.

Input: `steps`, each a list of a verb and its arguments; `settings` of the store; `gateways`, 2 by
default. Rows are texts that belong to this input alone; values are texts, too. Verbs:

    put row value       `puts n` puts n rows `n0000`, each with its key; `delete row`
    get row, gets rows  `again row` until it responds; `big row bytes` puts a value of that size
    scan {…}            `start`, `stop`, `limit`, `reverse`: the rows; with `midway`, a list of
                        further steps after the first row
    incr row n          `check row expected value`
    crowd n             n threads, each of which reads its own row a hundred times
    cut                 closes all connections, as a restarted gateway does
    lose                closes them after the call, before its response; `keep` ends this
    silent, speak       responses are held back; they are sent again
    refuse, accept      new connections
    drip                one byte at a time
    other prefix        reads the table of another prefix

The answers: `said`, a line for each step with output: the value read, or the name of the error;
`why`, the last error; `slow`, whether a step took more than 15 s.
"""

from __future__ import annotations

import dataclasses
import itertools
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from typing import Any

from aragog.bootstrap.stores import hbase_tables
from aragog.settings import StoreSettings
from tests.reports.doors import _servers
from tests.support.tcp_proxy import TcpProxy
from tests.support.waiting import wait_until
from zengraph.errors import ZengraphError
from zengraph.tables.hbase import HBaseTables

VALUE = b"m:value"
_numbers = itertools.count(1)


@cache
def store_settings() -> StoreSettings:
    """The settings of a private HBase with tables for these reports."""
    server = _servers.hbase_server()
    settings = StoreSettings(
        engine="hbase", hbase_gateways=server.gateways, hbase_prefix="reports_",
        hbase_timeout_ms=20_000,
    )  # fmt: skip
    tables = hbase_tables(settings)
    tables.create()
    tables.close()
    return settings


class Play:
    """One key space, and the proxies in front of the gateways."""

    def __init__(self, tables: HBaseTables, proxies: Sequence[TcpProxy], settings: StoreSettings):
        self.tables, self.proxies, self.settings = tables, proxies, settings
        self.prefix = b"%06d-" % next(_numbers)
        self.said: list[str] = []
        self.why = ""
        self.slow = False
        self._at_ms = int(time.time() * 1000)

    def step(self, verb: str, *arguments: Any) -> None:
        """Do one step, and note its output."""
        started_s = time.monotonic()
        try:
            said = getattr(self, verb)(*arguments)
        except ZengraphError as error:
            said, self.why = type(error).__name__, str(error)
        self.slow = self.slow or time.monotonic() - started_s > 15
        if said is not None:
            self.said.append(said)

    @property
    def table(self) -> Any:
        return self.tables["n"]

    def _row(self, row: str) -> bytes:
        return self.prefix + row.encode("latin-1")

    def _name(self, row: bytes) -> str:
        return row[len(self.prefix) :].decode("latin-1")

    def _next_ms(self) -> int:
        self._at_ms += 1
        return self._at_ms

    def put(self, row: str, value: str) -> None:
        self.table.put(self._row(row), {VALUE: value.encode()}, at_ms=self._next_ms())

    def puts(self, count: int) -> None:
        names = [f"n{number:04}" for number in range(count)]
        items = [(self._row(name), {VALUE: name.encode()}, self._next_ms()) for name in names]
        self.table.put_many(items)

    def big(self, row: str, size: int) -> str:
        self.table.put(self._row(row), {VALUE: b"x" * size}, at_ms=self._next_ms())
        return "stored"

    def delete(self, row: str) -> None:
        self.table.delete(self._row(row), at_ms=self._next_ms())

    def get(self, row: str) -> str:
        found = self.table.get(self._row(row))
        return found[VALUE].value.decode() if found else "nothing"

    def gets(self, rows: Sequence[str]) -> str:
        found = self.table.get_many([self._row(row) for row in rows])
        return " ".join(
            f"{self._name(row)}={found[row][VALUE].value.decode()}" for row in sorted(found)
        )

    def scan(self, options: Mapping[str, Any]) -> str:
        options = dict(options)
        midway = options.pop("midway", ())
        start, stop = options.pop("start", ""), options.pop("stop", "\xff")
        rows, wrong = [], 0
        for row, cells in self.table.scan(self._row(start), self._row(stop), **options):
            rows.append(self._name(row))
            wrong += cells[VALUE].value.decode() != rows[-1]
            for verb, *arguments in midway if len(rows) == 1 else ():
                getattr(self, verb)(*arguments)
        if len(rows) > 6:
            return f"{len(rows)} rows, {len(set(rows))} different, {wrong} wrong, {rows[0]} to {rows[-1]}"
        return " ".join(rows) or "nothing"

    def incr(self, row: str, delta: int) -> str:
        return str(self.table.incr(self._row(row), b"m:count", delta))

    def check(self, row: str, expected: str, value: str) -> str:
        before = expected.encode() or None
        done = self.table.check_and_put(self._row(row), VALUE, before, value.encode())
        return "done" if done else "refused"

    def crowd(self, count: int) -> str:
        wrong: list[str] = []

        def read(number: int) -> None:
            name = f"n{number:04}"
            for _ in range(100):
                if (found := self.get(name)) != name:
                    wrong.append(f"{name}: {found}")

        threads = [threading.Thread(target=read, args=(number,)) for number in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return f"{len(wrong)} wrong"

    def other(self, prefix: str) -> str:
        settings = dataclasses.replace(self.settings, hbase_prefix=prefix)
        tables = hbase_tables(settings)
        try:
            return "something" if tables["n"].get(b"x") else "nothing"
        finally:
            tables.close()

    def cut(self) -> None:
        for proxy in self.proxies:
            proxy.cut_all()

    def lose(self) -> None:
        for proxy in self.proxies:
            proxy.cut_after = 0

    def keep(self) -> None:
        for proxy in self.proxies:
            proxy.cut_after = None

    def silent(self) -> None:
        for proxy in self.proxies:
            proxy.delay_s = 30.0

    def speak(self) -> None:
        for proxy in self.proxies:
            proxy.delay_s = 0.0
        self.cut()

    def refuse(self) -> None:
        for proxy in self.proxies:
            proxy.refuse = True
        self.cut()

    def accept(self) -> None:
        for proxy in self.proxies:
            proxy.refuse = False

    def drip(self) -> None:
        for proxy in self.proxies:
            proxy.drip = True

    def again(self, row: str) -> str:
        """Read until it responds: a gateway that was down is left out for a moment."""

        def read() -> str | None:
            try:
                return self.get(row)
            except ZengraphError:
                return None

        return str(wait_until(read, every_s=0.1))


def answer(given: Mapping[str, Any]) -> dict[str, Any]:
    """The output of the steps."""
    with ExitStack() as stack:
        targets = store_settings().hbase_gateways[: given.get("gateways", 2)]
        proxies = [stack.enter_context(TcpProxy(target)) for target in targets]
        settings = dataclasses.replace(
            store_settings(), hbase_gateways=tuple(proxy.address for proxy in proxies),
            **given.get("settings", {}),
        )  # fmt: skip
        tables = hbase_tables(settings)
        stack.callback(tables.close)
        play = Play(tables, proxies, settings)
        for verb, *arguments in given["steps"]:
            play.step(verb, *arguments)
        return {"said": play.said, "why": play.why, "slow": play.slow}
