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
    Stores objects, each by a SHA-256 in hex as its key. An object has bytes and a small table of
    strings.

    Every method raises `ContentUnavailable` if the store does not respond.
    """

    def put(self, key: str, body: bytes, meta: Mapping[str, str]) -> None:
        """
        Replace the object's body and meta together.

        When this returns, readers find the object even if a process is killed. After a power
        failure, S3 still has it. In a folder, objects from the last seconds may be lost or
        incomplete, unless `content.fsync` makes every put wait for the disk. The hash detects this.
        """

    def put_many(self, puts: Sequence[ContentPut]) -> None:
        """Put several objects; after an error some of them may be stored."""

    def get(self, key: str) -> tuple[bytes, Mapping[str, str]] | None:
        """Return the object's body and meta, both from the same put; None if it does not exist."""

    def delete(self, key: str) -> None:
        """Delete the object; it is no error if it does not exist."""

    def keys(self, prefix: str = "") -> Iterator[str]:
        """Yield the keys that start with `prefix`, in ascending order."""


@runtime_checkable
class Connectable(Protocol):
    """A content store or pack store on a server."""

    def connect(self) -> None:
        """Open a connection in the background, so that no reader waits for it. Never raises."""
