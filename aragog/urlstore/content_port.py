"""The interface that content stores implement. The UrlStore keeps page content in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, runtime_checkable


class ContentPut(NamedTuple):
    """An object to store."""

    key: str
    body: bytes
    meta: Mapping[str, str]


class ContentStore(Protocol):
    """
    Stores objects. A key is a SHA-256 in hex; an object has bytes and a small table of strings.

    Every method raises `ContentUnavailable` if the store does not respond.
    """

    def put(self, key: str, body: bytes, meta: Mapping[str, str]) -> None:
        """
        Replace the object's body and meta together.

        When this returns, the object survives a killed process and, in S3, a power failure. After a
        power failure, a folder may have lost or incomplete objects from the last seconds, unless
        `content.fsync` is set. Their hashes detect this.
        """

    def put_many(self, puts: Sequence[ContentPut]) -> None:
        """Put several objects; after an error some of them may be stored."""

    def get(self, key: str) -> tuple[bytes, Mapping[str, str]] | None:
        """Return body and meta from the same put, or None if the object does not exist."""

    def delete(self, key: str) -> None:
        """Delete an object. A missing object is no error."""

    def keys(self, prefix: str = "") -> Iterator[str]:
        """Yield the keys that start with `prefix`, in ascending order."""


@runtime_checkable
class Connectable(Protocol):
    """A content store or pack store on a server."""

    def connect(self) -> None:
        """Open a connection in the background, so that no reader waits for it. Never raises."""
