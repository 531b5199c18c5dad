"""
Compresses bodies with a dictionary that all processes of a store share.

While a crawl fetches few sites, `dictionary_upkeep` trains a dictionary on its first packs. Fetch
processes compress bodies with it, so that packs need not be recompressed later. A process that
reads such a body before it is in a pack gets the dictionary from the store.

A dictionary is erased when a page that it was trained on is taken down. Bodies in the spool
(fetched but not stored yet) can then no longer be read, and their pages are fetched again.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict

from aragog.errors import TRANSIENT, CorruptContent
from aragog.urlstore import compression
from aragog.urlstore.packs.dictionaries import Dictionary
from aragog.urlstore.packs.dictionary_records import DictionaryRecords
from aragog.urlstore.zstd import ZstdError

REFRESH_S = 30.0
"""Seconds until a process checks again which dictionary is in use."""
KEPT = 8
"""Number of cached dictionaries; each takes about 0.5 MB."""


class SharedDictionaries:
    """
    The shared dictionaries of a store, cached; threads may share it.

    Args:
        records: the records of the dictionaries.
        is_on: False if new bodies are compressed without a dictionary.
    """

    def __init__(self, records: DictionaryRecords, *, is_on: bool) -> None:
        self.records = records
        self.is_on = is_on
        self._in_use = 0
        self._next_s = 0.0
        self._kept: OrderedDict[int, Dictionary] = OrderedDict()
        self._lock = threading.Lock()

    def refresh(self) -> None:
        self._next_s = 0.0

    def in_use(self) -> Dictionary | None:
        """
        Return the dictionary to compress new bodies with, or None. Never raises.

        Reads two records, at most every 30 seconds. While the store isn't responding, the result
        stays the same.
        """
        if not self.is_on:
            return None
        try:
            if time.monotonic() >= self._next_s:
                self._next_s = time.monotonic() + REFRESH_S
                self._in_use = self.records.in_use()
            return self.of(self._in_use) if self._in_use else None
        except (*TRANSIENT, CorruptContent):
            return self._kept.get(self._in_use)

    def of(self, wanted: int) -> Dictionary | None:
        """
        Return the dictionary with this id, or None if it is unknown or erased.

        Raises:
            CorruptContent: it is damaged.
            StoreUnavailable: the store does not respond.
        """
        with self._lock:
            if (kept := self._kept.get(wanted)) is not None:
                self._kept.move_to_end(wanted)
                return kept
        data = self.records.data(wanted)
        if data is None:
            return None
        found = Dictionary.read(data)
        with self._lock:
            # Another thread may have read it; all threads share the prepared tables of one object.
            found = self._kept.setdefault(wanted, found)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return found

    def of_frame(self, frame: bytes) -> Dictionary | None:
        """
        Return the dictionary that a body needs, or None if it needs none.

        Raises:
            CorruptContent: the dictionary is unknown or erased, or the body is damaged.
            StoreUnavailable: the store does not respond.
        """
        if not (wanted := compression.dictionary_id(frame)):
            return None
        if (found := self.of(wanted)) is None:
            raise CorruptContent("", f"needs the dictionary {wanted}, which was erased")
        return found

    def compress(self, body: bytes) -> bytes:
        """Compress a body with the dictionary in use, if any."""
        dictionary = self.in_use()
        return compression.compress(body) if dictionary is None else dictionary.compress(body)

    def decompress(self, frame: bytes) -> bytes:
        """
        Decompress the output of `compress`.

        Raises:
            CorruptContent: it is damaged, or its dictionary is unknown or erased.
            StoreUnavailable: the store does not respond.
        """
        dictionary = self.of_frame(frame)
        if dictionary is None:
            return compression.decompress(frame)
        try:
            return dictionary.decompress(frame)
        except ZstdError as error:
            raise CorruptContent("", f"cannot be decompressed: {error}") from error
