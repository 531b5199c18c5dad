"""
Group commit: stores the records of many batches as one pack, with one request.

Records are added to an open pack; there is one per dictionary. A pack closes when it is full, some
time after its first record, when the process ends, and at once if a caller is waiting or no more
records will come. Callers that added records wait until the pack is stored, and then get their
pointers. If a process is killed before that, their batches run again elsewhere and write another
pack.

A pack is recorded in the catalog before it is stored. When all of its batches have written their
pages, it is settled: marked there as complete. If a pack is never settled, `pack_upkeep` finds the
records that no page uses.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from secrets import token_hex
from typing import NamedTuple

from aragog.errors import TRANSIENT, ContentUnavailable
from aragog.runtime.clock import Clock
from aragog.urlstore import cdxj
from aragog.urlstore.node_ids import host_of
from aragog.urlstore.pack_files import PackFiles
from aragog.urlstore.pack_index import index_bytes
from aragog.urlstore.packs.catalog import PackCatalog
from aragog.urlstore.packs.dictionaries import Dictionary
from aragog.urlstore.packs.frames import SUFFIXES, Compression
from aragog.urlstore.packs.pack_record import PackRecord
from aragog.urlstore.packs.pointers import PackPointer
from aragog.urlstore.warc_records import warcinfo_record

LATE_S = 300.0
"""Seconds that a batch has to write its pages after its pack was stored. Records without a page are
deleted only in packs older than twice this time."""


MAX_BEFORE_URGENT = 1_048_576
"""An urgent batch joins the open pack if that is at most this large. Otherwise it is stored alone,
because storing 8 MB takes ten times as long."""


MAX_OPEN = 4
"""Maximum number of open packs at a time. There are two while the shared dictionary changes, and
otherwise one."""


@dataclass(slots=True, eq=False)
class _Pack:
    opened_s: float
    records: list[PackRecord] = field(default_factory=list)
    size: int = 0
    tickets: int = 0
    urls: int = 0
    name: str = ""
    pointers: list[PackPointer] = field(default_factory=list)
    error: BaseException | None = None
    put: threading.Event = field(default_factory=threading.Event)
    put_s: float = 0.0
    unsettled: bool = False
    dictionary: Dictionary | None = None
    is_grouped: bool = False
    """True if `pack_upkeep` created the pack, with records already grouped by host."""


class _Part(NamedTuple):
    """A batch's records in one pack."""

    pack: _Pack
    first: int
    """The index in the pack of the first of these records."""
    places: Sequence[int]


class PackTicket:
    """A batch's records in packs that are open or being stored, usually in a single pack."""

    def __init__(self, writer: PackWriter, parts: Sequence[_Part]) -> None:
        self._writer = writer
        self._parts = parts

    def wait(self) -> list[PackPointer]:
        """
        Wait until the packs are stored. Returns pointers to the batch's records, in order.

        Raises:
            ContentUnavailable: a pack could not be stored; add the records again.
        """
        found: dict[int, PackPointer] = {}
        for pack, first, places in self._parts:
            pack.put.wait()
            if pack.error is not None:
                _raise(pack.error)
            found.update(zip(places, pack.pointers[first : first + len(places)], strict=True))
        return [found[place] for place in range(len(found))]

    def check_age(self) -> None:
        """
        Check that there is still time to write the pages.

        Raises:
            ContentUnavailable: a pack is so old that its records without a page may soon be
                deleted.
        """
        if time.monotonic() - min(part.pack.put_s for part in self._parts) > self._writer.late_s:
            raise ContentUnavailable("packs", "a batch wrote its pages too late; it runs again")

    def settle(self) -> None:
        """Record that the pages of these records are written, or will not be."""
        for part in self._parts:
            self._writer.settle(part.pack)

    def leave(self) -> None:
        """Leave the packs unsettled, because some pages may not be written."""
        for part in self._parts:
            part.pack.unsettled = True


def _raise(error: BaseException) -> None:
    if isinstance(error, TRANSIENT) or not isinstance(error, Exception):
        raise ContentUnavailable("packs", f"a pack was not put: {error}") from error
    raise error


class PackWriter:
    """
    Writes packs. Threads may share it, and each forked process gets its own open pack.

    Args:
        files: stores the packs.
        catalog: records the packs.
        clock: for names and dates.
        max_bytes: a pack closes at this size.
        wait_s: a pack also closes this long after its first record.
        compression: compression of each record.
        notes_hosts: record each host's bytes, so that `pack_upkeep` can create dictionaries.
    """

    def __init__(
        self,
        files: PackFiles,
        catalog: PackCatalog,
        clock: Clock,
        *,
        max_bytes: int,
        wait_s: float,
        compression: Compression,
        notes_hosts: bool = False,
    ) -> None:
        self.compression: Compression = compression
        self._notes_hosts = notes_hosts
        self.late_s = LATE_S
        self._files = files
        self._catalog = catalog
        self._clock = clock
        self._max_bytes = max_bytes
        self._wait_s = wait_s
        self._open: dict[int, _Pack] = {}
        self._closer: threading.Thread | None = None
        self._is_put_at_exit = False
        self._start()

    def add(self, records: Sequence[PackRecord], *, now: bool = False, urls: int = 0) -> PackTicket:
        """
        Add a batch's records to an open pack.

        With `now`, a caller is waiting, so the pack closes at once; if the open pack is large, the
        records become a pack of their own.

        `urls` is how many of the batch's URLs are waiting for the pack. Never raises; if the pack
        cannot be stored, the ticket raises the error.
        """
        if os.getpid() != self._pid:
            self._start()
        parts: list[_Part] = []
        for dictionary, places in _by_dictionary(records).items():
            some = [records[place] for place in places]
            pack, first = self._add(some, dictionary, now=now, urls=0 if parts else urls)
            parts.append(_Part(pack, first, places))
        return PackTicket(self, parts)

    def _add(
        self, records: Sequence[PackRecord], dictionary: Dictionary | None, *, now: bool, urls: int
    ) -> tuple[_Pack, int]:
        """Return the pack, and the index of the first record in it."""
        before = self._open.get(_key(dictionary))
        if now and before is not None and before.size > MAX_BEFORE_URGENT:
            alone = _Pack(time.monotonic(), list(records), tickets=1, dictionary=dictionary)
            self._put(alone)
            return alone, 0
        full: list[_Pack] = []
        with self._changed:
            pack = self._open.get(_key(dictionary))
            if pack is None:
                if len(self._open) == MAX_OPEN:
                    full.append(self._open.pop(min(self._open, key=self._opened_s)))
                pack = self._open[_key(dictionary)] = _Pack(time.monotonic(), dictionary=dictionary)
                self._changed.notify()
                self._put_at_exit()
            first = len(pack.records)
            pack.records += records
            pack.size += sum(record.size for record in records)
            pack.tickets += 1
            pack.urls += urls
            if now or pack.size >= self._max_bytes:
                full.append(self._open.pop(_key(dictionary)))
            elif self._closer is None:
                self._closer = threading.Thread(target=self._close_in_time, daemon=True)
                self._closer.start()
        for one in full:
            self._put(one)
        return pack, first

    def _opened_s(self, key: int) -> float:
        return self._open[key].opened_s

    def put_together(
        self, records: Sequence[PackRecord], dictionary: Dictionary | None = None
    ) -> PackTicket:
        """
        Store records as a separate pack that starts with their dictionary.

        `pack_upkeep` uses this. Never raises; if the pack cannot be stored, the ticket raises the
        error.
        """
        pack = _Pack(time.monotonic(), list(records), tickets=1, dictionary=dictionary)
        pack.is_grouped = True
        return self._put_alone(pack)

    def waiting_urls(self) -> int:
        """Return the number of URLs waiting for open packs."""
        if os.getpid() != self._pid:
            return 0
        with self._changed:
            return sum(pack.urls for pack in self._open.values())

    def put_open(self) -> None:
        """Store the open packs, because no more records will come."""
        with self._changed:
            packs, self._open = self._open, {}
            self._changed.notify_all()
        for pack in packs.values():
            self._put(pack)

    def settle(self, pack: _Pack) -> None:
        with self._changed:
            pack.tickets -= 1
            is_last = pack.tickets == 0 and not pack.unsettled and pack.error is None
        if is_last and pack.name:
            self._catalog.record_settled(pack.name)

    def _put_at_exit(self) -> None:
        """Store the open pack if the process ends without calling `close`."""
        if not self._is_put_at_exit:
            atexit.register(self.close)
            self._is_put_at_exit = True

    def close(self) -> None:
        """
        Store the open packs and stop the thread. Also called when the process ends.

        The writer can be used afterward, but must then be closed again.
        """
        if os.getpid() != self._pid:
            return
        with self._changed:
            packs, self._open = self._open, {}
            self._closer = None
            self._changed.notify_all()
            # Otherwise the handler would keep the writer and its tables alive until the process
            # ends.
            atexit.unregister(self.close)
            self._is_put_at_exit = False
        for pack in packs.values():
            self._put(pack)

    def _start(self) -> None:
        self._pid = os.getpid()
        self._changed = threading.Condition()
        self._open = {}
        self._closer = None

    def _close_in_time(self) -> None:
        me = threading.current_thread()
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._open or self._closer is not me)
                if self._closer is not me:
                    return
                pack = self._open[min(self._open, key=self._opened_s)]
                left_s = max(0.0, pack.opened_s + self._wait_s - time.monotonic())
                if self._changed.wait_for(partial(self._is_over, pack, me), left_s):
                    continue
                del self._open[_key(pack.dictionary)]
            self._put(pack)

    def _is_over(self, pack: _Pack, closer: threading.Thread) -> bool:
        """Return True if this thread need not store the pack."""
        is_open = self._open.get(_key(pack.dictionary)) is pack
        return not is_open or self._closer is not closer

    def _put_alone(self, pack: _Pack) -> PackTicket:
        count = len(pack.records)
        self._put(pack)
        return PackTicket(self, [_Part(pack, 0, range(count))])

    def _put(self, pack: _Pack) -> None:
        """Errors are raised by the pack's tickets."""
        try:
            name = self._new_name()
            data, pointers, index = self._contents(name, pack)
            notes_hosts = self._notes_hosts and not pack.is_grouped
            hosts = _bytes_of_hosts(pack.records) if notes_hosts else {}
            shared = 0 if pack.is_grouped else _key(pack.dictionary)
            self._catalog.record_open(name, sum(map(len, data)), hosts, shared)
            self._files.put(name, data, index)
            pack.name, pack.pointers, pack.put_s = name, pointers, time.monotonic()
        except BaseException as error:
            pack.error = error
            if not isinstance(error, Exception):
                raise
        finally:
            pack.records = []
            pack.put.set()

    def _contents(self, name: str, pack: _Pack) -> tuple[list[bytes], list[PackPointer], bytes]:
        """Return a pack's bytes in parts, the pointers to its records, and its index."""
        info = warcinfo_record(name, self._clock.now_ms())
        first = PackRecord(info, self.compression, pack.dictionary).frame
        if pack.dictionary is not None:
            first = pack.dictionary.frame() + first
        parts, pointers, lines = [first], [], []
        offset, file = len(first), name.rpartition("/")[2]
        for record in pack.records:
            parts += record.parts
            pointers.append(PackPointer.of(name, offset, *record.parts))
            lines.append(cdxj.line(record.capture.moved(offset, file)))
            offset += record.size
        return parts, pointers, index_bytes(lines)

    def _new_name(self) -> str:
        at = datetime.fromtimestamp(self._clock.now_ms() / 1000, UTC)
        return f"{at:%Y%m%d}/{at:%H%M%S}-{token_hex(8)}{SUFFIXES[self.compression]}"


def _by_dictionary(records: Sequence[PackRecord]) -> dict[Dictionary | None, list[int]]:
    """Return the positions of the records, grouped by their dictionary."""
    found: dict[Dictionary | None, list[int]] = {}
    for place, record in enumerate(records):
        found.setdefault(record.dictionary, []).append(place)
    return found


def _key(dictionary: Dictionary | None) -> int:
    return 0 if dictionary is None else dictionary.id


def _bytes_of_hosts(records: Sequence[PackRecord]) -> dict[bytes, int]:
    found: dict[bytes, int] = {}
    for record in records:
        host = host_of(record.capture.url.encode())
        found[host] = found.get(host, 0) + record.size
    return found
