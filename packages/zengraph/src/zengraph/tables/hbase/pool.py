"""
A connection pool for one or several HBase Thrift gateways.

The rules (each has a test):

- A connection serves one call at a time. If a call ends without a normal response (an error, a
  timeout, a signal), its connection is closed.
- An idle connection is not used if it has been idle for 45 s (the gateway drops it after 60) or if
  there is something to read on it.
- Gateways are used in round-robin order. A gateway that does not respond is skipped for half a
  second, then for twice as long each time, up to 30 s. If all are skipped, the pool tries the one
  whose wait ends first.
- A repeatable call is repeated once, on a new connection, to another gateway if there is one. Other
  calls (check-and-put, increment) are repeated only if nothing has been sent.
- A forked process opens its own connections.

Times are seconds of a monotonic clock.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from thriftpy2.protocol.cybin import ProtocolError  # type: ignore[attr-defined] # compiled
from thriftpy2.thrift import TException

from zengraph._remedies import DEFAULT, Remedies
from zengraph.errors import InvalidArgument, StoreUnavailable
from zengraph.tables.hbase.breaker import Breaker
from zengraph.tables.hbase.connection import GatewayConnection, thrift_api

T = TypeVar("T")

MAX_IDLE_S = 45.0
FIRST_WAIT_S = 0.5
MAX_WAIT_S = 30.0

# HBase's own error responses: retrying at once does not help.
_HBASE_ERRORS = (thrift_api.IOError, thrift_api.IllegalArgument, thrift_api.AlreadyExists)
# Thrift's own errors are TExceptions, with one exception: bytes that are not Thrift make the
# compiled protocol allocate a negative size (SystemError) or an enormous one.
TRANSPORT_ERRORS = (
    TException,
    ProtocolError,
    OSError,
    EOFError,
    MemoryError,
    OverflowError,
    SystemError,
)

_REMEDIES = {
    "TableNotFoundException": "a table is missing: {words.create}",
    "TableNotDisabled": "a table is not in the state that this needs",
    "TableNotEnabled": "a table is disabled: enable it in the hbase shell",
    "NoSuchColumnFamily": "a column family is missing: {words.check}",
    "CallQueueTooBig": "HBase is overloaded",
    "RegionTooBusy": "HBase is overloaded: a region temporarily accepts no writes",
}


@contextmanager
def translate_errors(where: str, words: Remedies = DEFAULT) -> Iterator[None]:
    """
    Translate all exceptions of happybase and thriftpy2.

    Raises:
        StoreUnavailable: no response, a malformed one, or an HBase error, with a remedy if known.
        InvalidArgument: HBase rejects the arguments, such as a cell over 10 MiB.
    """
    try:
        yield
    except thrift_api.IllegalArgument as error:
        raise InvalidArgument(f"{where}: {_first_line(error)}") from error
    except _HBASE_ERRORS as error:
        text = _first_line(error)
        remedy = next((remedy for name, remedy in _REMEDIES.items() if name in text), None)
        remedy = remedy and remedy.format(words=words)
        raise StoreUnavailable(where, f"{remedy} ({text})" if remedy else text) from error
    except TRANSPORT_ERRORS as error:
        raise StoreUnavailable(where, _first_line(error)) from error


def _first_line(error: BaseException) -> str:
    """Return an error's message without HBase's Java stack trace."""
    text = getattr(error, "message", None) or str(error) or type(error).__name__
    if isinstance(text, bytes):
        text = text.decode(errors="replace")
    return str(text).partition("\n")[0][:300]


@dataclass(slots=True)
class Gateway:
    """The state of one gateway."""

    address: str
    idle: list[GatewayConnection] = field(default_factory=list)
    breaker: Breaker = field(default_factory=partial(Breaker, 1, FIRST_WAIT_S, MAX_WAIT_S))


class HBasePool:
    """
    At most `size` connections across all `gateways` (`host:port`). Thread-safe; may be used across
    a fork.

    Args:
        timeout_s: limit for one call, and for waiting for a free connection.
        now_s: the monotonic clock.
        words: names of commands and settings for error messages.
    """

    def __init__(
        self,
        gateways: Sequence[str],
        *,
        size: int,
        timeout_s: float,
        now_s: Callable[[], float] = time.monotonic,
        words: Remedies = DEFAULT,
    ) -> None:
        self._words = words
        self.size = size
        self.timeout_s = timeout_s
        self._now_s = now_s
        self._gateways = [Gateway(address) for address in gateways]
        self._where = "HBase at " + ", ".join(gateways)
        self._start()

    def _start(self) -> None:
        self._pid = os.getpid()
        self._changed = threading.Condition()
        self._turn = 0
        self._all: set[GatewayConnection] = set()
        self._opening = 0

    def call(self, method: str, *arguments: Any, repeatable: bool = True) -> Any:
        """
        Make one call of the Thrift interface and return its result.

        Raises:
            StoreUnavailable: no response. If the call is not `repeatable`, it may have been
                executed.
            InvalidArgument: HBase rejected the arguments.
        """
        return self.run(lambda client: getattr(client, method)(*arguments), repeatable=repeatable)

    def run(self, use: Callable[[Any], T], *, repeatable: bool = True) -> T:
        """Call `use` with a reserved Thrift client; raises the errors of `call`."""
        with translate_errors(self._where, self._words):
            try:
                return self._run_once(use, fresh=False)
            except _HBASE_ERRORS:
                raise
            except TRANSPORT_ERRORS:
                if not repeatable:
                    raise
            return self._run_once(use, fresh=True)

    def close(self) -> None:
        """Close idle connections. Those in use are closed on an error or at process exit."""
        with self._changed:
            for gateway in self._gateways:
                self._drop_idle(gateway)

    def _run_once(self, use: Callable[[Any], T], *, fresh: bool) -> T:
        gateway, connection = self._acquire(fresh=fresh)
        try:
            result = use(connection.client)
        except BaseException as error:
            # The response may still arrive, even after KeyboardInterrupt or a soft time limit, so
            # the connection cannot be used again.
            failed = isinstance(error, TRANSPORT_ERRORS) and not isinstance(error, _HBASE_ERRORS)
            self._discard(gateway, connection, failed=failed)
            raise
        self._give_back(gateway, connection)
        return result

    def _acquire(self, *, fresh: bool) -> tuple[Gateway, GatewayConnection]:
        """Return an idle or a new connection. Fails only after trying every gateway."""
        if os.getpid() != self._pid:
            self._reset_after_fork()
        tried: set[str] = set()
        while True:
            gateway, connection = self._reserve(tried, fresh=fresh)
            if connection is not None:
                return gateway, connection
            try:
                return gateway, self._open(gateway)
            except TRANSPORT_ERRORS:
                tried.add(gateway.address)
                if len(tried) == len(self._gateways):
                    raise

    def _reserve(self, tried: set[str], *, fresh: bool) -> tuple[Gateway, GatewayConnection | None]:
        """Return a gateway and an idle connection, or None if the caller may open one."""
        until_s = self._now_s() + self.timeout_s
        with self._changed:
            while True:
                gateway = self._next_gateway(tried)
                connection = None if fresh else self._pop_idle(gateway)
                if connection is not None:
                    return gateway, connection
                if len(self._all) + self._opening >= self.size:
                    self._drop_one_idle()
                if len(self._all) + self._opening < self.size:
                    self._opening += 1
                    return gateway, None
                left_s = until_s - self._now_s()
                if left_s <= 0 or not self._changed.wait(left_s):
                    raise StoreUnavailable(
                        self._where,
                        f"all {self.size} connections stayed in use for {self.timeout_s:.1f} s; "
                        f"raise {self._words.pool_size}",
                    )

    def _next_gateway(self, tried: set[str]) -> Gateway:
        """Return the next gateway in rotation, or else the one whose wait ends first."""
        self._turn += 1
        count = len(self._gateways)
        order = [self._gateways[(self._turn + n) % count] for n in range(count)]
        rest = [gateway for gateway in order if gateway.address not in tried]
        now_s = self._now_s()
        for gateway in rest:
            if gateway.breaker.may_call(now_s):
                return gateway
        return min(rest, key=lambda gateway: gateway.breaker.probe_at_s)

    def _pop_idle(self, gateway: Gateway) -> GatewayConnection | None:
        while gateway.idle:
            connection = gateway.idle.pop()
            idle_s = self._now_s() - connection.used_at_s
            if idle_s <= MAX_IDLE_S and connection.is_quiet():
                return connection
            self._close_connection(connection)
        return None

    def _drop_one_idle(self) -> None:
        """Close the connection that has been idle longest."""
        with_idle = [gateway for gateway in self._gateways if gateway.idle]
        if with_idle:
            oldest = min(with_idle, key=lambda gateway: gateway.idle[0].used_at_s)
            self._close_connection(oldest.idle.pop(0))

    def _open(self, gateway: Gateway) -> GatewayConnection:
        try:
            connection = GatewayConnection(gateway.address, timeout_s=self.timeout_s)
        except BaseException as error:
            with self._changed:
                self._opening -= 1
                if isinstance(error, TRANSPORT_ERRORS):
                    self._record_failure(gateway)
                self._changed.notify()
            raise
        with self._changed:
            self._opening -= 1
            self._all.add(connection)
        return connection

    def _give_back(self, gateway: Gateway, connection: GatewayConnection) -> None:
        with self._changed:
            connection.used_at_s = self._now_s()
            if not gateway.breaker.is_healthy:
                gateway.breaker.record_answer()
            gateway.idle.append(connection)
            self._changed.notify()

    def _discard(self, gateway: Gateway, connection: GatewayConnection, *, failed: bool) -> None:
        with self._changed:
            self._close_connection(connection)
            if failed:
                self._record_failure(gateway)
            self._changed.notify()

    def _record_failure(self, gateway: Gateway) -> None:
        gateway.breaker.record_failure(self._now_s())
        self._drop_idle(gateway)

    def _drop_idle(self, gateway: Gateway) -> None:
        while gateway.idle:
            self._close_connection(gateway.idle.pop())

    def _close_connection(self, connection: GatewayConnection) -> None:
        self._all.discard(connection)
        with suppress(OSError):
            connection.close()

    def _reset_after_fork(self) -> None:
        """Forget the parent's connections without closing them in the parent."""
        inherited = self._all
        self._start()
        for gateway in self._gateways:
            gateway.idle.clear()
            gateway.breaker.record_answer()
        for connection in inherited:
            connection.disown()
