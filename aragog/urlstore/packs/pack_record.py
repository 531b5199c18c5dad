"""A compressed record and its index line."""

from __future__ import annotations

from aragog.urlstore.cdxj import Capture
from aragog.urlstore.packs import frames
from aragog.urlstore.packs.dictionaries import Dictionary
from aragog.urlstore.packs.frames import Compression
from aragog.urlstore.warc_records import RecordHead, capture_of, read_beginning


class PackRecord:
    """A compressed record to add to a pack, and its index line."""

    __slots__ = ("capture", "dictionary", "parts")

    def __init__(
        self, record: bytes, compression: Compression, dictionary: Dictionary | None = None
    ) -> None:
        frame = (
            frames.compress(record, compression)
            if dictionary is None
            else dictionary.compress(record)
        )
        self.parts: tuple[bytes, ...] = (frame,)
        self.dictionary = dictionary
        self.capture = capture_of(read_beginning(record)[0], 0, len(frame), "")

    @classmethod
    def around(
        cls,
        head: RecordHead,
        body: bytes,
        compression: Compression,
        dictionary: Dictionary | None = None,
    ) -> PackRecord:
        """Return a record with an already compressed body (`compress_around`)."""
        made = cls.__new__(cls)
        made.dictionary = dictionary
        made.parts = frames.compress_around(head, body, compression, dictionary)
        made.capture = head.capture(sum(map(len, made.parts)))
        return made

    @classmethod
    def moved(cls, frame: bytes, capture: Capture) -> PackRecord:
        """Return a record from another pack, possibly recompressed."""
        made = cls.__new__(cls)
        made.dictionary = None
        made.parts = (frame,)
        made.capture = capture._replace(length=len(frame))
        return made

    @property
    def size(self) -> int:
        return self.capture.length

    @property
    def frame(self) -> bytes:
        """The compressed record in one piece."""
        return b"".join(self.parts)
