"""
Compression dictionaries in packs. A dictionary contains what records have in common, and is stored
once, at the start of a pack.

The format is that of "Zstandard Compression for WARC Files 1.0": a skippable frame with the magic
number 0x184D2A5D contains the compressed dictionary (RFC 8878, section 5), and every frame of the
file has the dictionary's id. A pack with data to erase is rewritten with a new dictionary, because
the old one may have a copy of the data. A shared dictionary (`shared_dictionaries`) is erased from
all packs.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import cached_property
from secrets import randbelow
from typing import TypeVar

import zstandard

from aragog.errors import CorruptContent
from aragog.urlstore import zstd

T = TypeVar("T")

MAGIC = (0x184D2A5D).to_bytes(4, "little")
HEAD_BYTES = 8
"""The header of a dictionary frame: the magic number and the length."""
LEVEL = 3
_PARAMETERS = zstandard.ZstdCompressionParameters.from_level(
    LEVEL, hash_log=15, chain_log=14, write_checksum=1, write_content_size=1, write_dict_id=1
)
"""zstd copies the dictionary's tables for each page. With the tables of level 3, which are four
times as large as these, it takes 10% more CPU time and saves only 0.5% of the bytes."""
MAX_BYTES = 112_640
SEGMENT_BYTES = 2048
"""Size of the segments that a dictionary takes from the samples. With 512 bytes, as zstd recommends
for small records, pages are 1.5% larger."""
STORED_LEVEL = 9
"""The zstd level for dictionaries themselves. It takes 3 ms per dictionary and saves 10%."""
SAMPLES = 64
"""Number of records to train a dictionary on. Training takes 10 to 30 ms of CPU per pack."""
FIRST_READ_BYTES = 65_536
"""Number of bytes that a reader requests first, enough for nearly every dictionary."""
_MAX_STORED_BYTES = 8_388_608
"""Maximum size of a dictionary, compressed or not, from the specification."""
_FORMATTED = b"\x37\xa4\x30\xec"
_FIRST_ID, _IDS = 32_768, 2**31 - 32_768
"""The range of dictionary ids for private use (RFC 8878)."""


class Dictionary:
    """A dictionary with its codecs; threads may share it."""

    def __init__(self, data: bytes) -> None:
        self._made = zstandard.ZstdCompressionDict(data, dict_type=zstandard.DICT_TYPE_FULLDICT)
        self._threads = threading.local()
        self._lock = threading.Lock()
        self._is_prepared = False
        self._frames: dict[bytes, bytes] = {}

    @classmethod
    def train(cls, records: Sequence[bytes], max_bytes: int = MAX_BYTES) -> Dictionary | None:
        """Train a dictionary on records (`sampled`); None if they have too little in common."""
        samples: list[bytes | bytearray | memoryview] = [*records]
        size = min(max_bytes, sum(map(len, samples)) // 4)
        try:
            made = zstandard.train_dictionary(
                size, samples, k=SEGMENT_BYTES, d=8, f=18, accel=10, level=LEVEL,
                dict_id=_FIRST_ID + randbelow(_IDS),
            )  # fmt: skip
        except zstandard.ZstdError:
            return None
        return cls(made.as_bytes())

    @classmethod
    def read(cls, stored: bytes) -> Dictionary:
        """
        Read a dictionary from a dictionary frame's data, without the frame's header.

        Raises:
            CorruptContent: the data is damaged, larger than 8 MB, or not in the specified format.
        """
        data = stored
        try:
            if stored.startswith(zstd.MAGIC):
                if zstandard.frame_content_size(stored) > _MAX_STORED_BYTES:
                    raise CorruptContent("", "has a dictionary of more than 8 MB")
                data = zstd.decompress(stored)
            if not data.startswith(_FORMATTED):
                raise CorruptContent("", "does not start with a dictionary")
            found = cls(data)
            found._decompressor()
            return found
        except zstandard.ZstdError as error:
            raise CorruptContent("", f"has a damaged dictionary: {error}") from error

    @property
    def id(self) -> int:
        """The id in its frames, more than 0."""
        return self._made.dict_id()

    @cached_property
    def stored(self) -> bytes:
        return zstd.compress(self._made.as_bytes(), STORED_LEVEL, checksum=True)

    def frame(self) -> bytes:
        """Return the dictionary as the frame at the start of a pack."""
        return MAGIC + len(self.stored).to_bytes(4, "little") + self.stored

    def frame_of(self, constant: bytes) -> bytes:
        """Like `compress`, but cached, for bytes that occur in many records."""
        if (frame := self._frames.get(constant)) is None:
            frame = self._frames[constant] = self.compress(constant)
        return frame

    def compress(self, record: bytes) -> bytes:
        if (codec := getattr(self._threads, "compressor", None)) is None:
            with self._lock:  # zstandard replaces the prepared tables, which threads are sharing
                if not self._is_prepared:
                    self._made.precompute_compress(compression_params=_PARAMETERS)
                    self._is_prepared = True
            codec = self._threads.compressor = zstandard.ZstdCompressor(
                dict_data=self._made, compression_params=_PARAMETERS
            )
        # Copy the bytes, because zstandard's result keeps a buffer of the input's size alive.
        return bytes(memoryview(codec.compress(record)))

    def decompress(self, frame: bytes) -> bytes:
        """
        Decompress the record in a frame.

        Raises:
            zstd.ZstdError: the frame is damaged, or needs another dictionary.
        """
        return self._decompressor().decompress(frame)

    def _decompressor(self) -> zstandard.ZstdDecompressor:
        """Return this thread's decompressor. Raises ZstdError if the dictionary is damaged."""
        codec: zstandard.ZstdDecompressor | None = getattr(self._threads, "decompressor", None)
        if codec is None:
            codec = self._threads.decompressor = zstandard.ZstdDecompressor(dict_data=self._made)
        return codec


def sampled(records: Sequence[T], most: int = SAMPLES) -> Sequence[T]:
    """Return at most `most` records, evenly spaced."""
    count = min(most, len(records))
    return [records[at * len(records) // count] for at in range(count)]


def begins_with_dictionary(pack: bytes) -> bool:
    """Return True if a pack starts with a dictionary."""
    return pack.startswith(MAGIC)


def frame_bytes(head: bytes) -> int:
    """Return the size of the dictionary frame, given the first eight bytes of its pack."""
    return HEAD_BYTES + int.from_bytes(head[4:HEAD_BYTES], "little")


def dictionary_of(pack: bytes) -> Dictionary | None:
    """
    Return the dictionary at the start of a pack, or None.

    Raises:
        CorruptContent: the dictionary is damaged or truncated.
    """
    if not begins_with_dictionary(pack):
        return None
    stored = pack[HEAD_BYTES : frame_bytes(pack)]
    if len(pack) < HEAD_BYTES or len(stored) != frame_bytes(pack) - HEAD_BYTES:
        raise CorruptContent("", "is truncated in its dictionary")
    return Dictionary.read(stored)


class PackDictionaries:
    """A cache of the dictionaries of recently read packs; threads share it."""

    KEPT = 32
    """Number of cached dictionaries; each takes about 0.3 MB."""

    def __init__(self, read: Callable[[str, int, int], bytes | None]) -> None:
        self._read = read
        self._kept: OrderedDict[str, Dictionary] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, pack: str) -> Dictionary:
        """
        Return a pack's dictionary. Takes a request if it is not cached, or two if it is large.

        Raises:
            CorruptContent: the pack does not exist or has no dictionary.
        """
        with self._lock:
            if (kept := self._kept.get(pack)) is not None:
                self._kept.move_to_end(pack)
                return kept
        begin = self._read(pack, 0, FIRST_READ_BYTES) or b""
        size = frame_bytes(begin)
        if begins_with_dictionary(begin) and len(begin) < size <= _MAX_STORED_BYTES + HEAD_BYTES:
            begin += self._read(pack, len(begin), size - len(begin)) or b""
        found = dictionary_of(begin)
        if found is None:
            raise CorruptContent(pack, "has no dictionary, which its records need")
        with self._lock:
            self._kept[pack] = found
            while len(self._kept) > self.KEPT:
                self._kept.popitem(last=False)
        return found
