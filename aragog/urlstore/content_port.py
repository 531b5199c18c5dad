"""The port for content stores: the interface that the UrlStore needs for page content."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol


class ContentPut(NamedTuple):
    """An object to be put."""

    key: str
    body: bytes
    meta: Mapping[str, str]


class ContentStore(Protocol):
    """
    Objects of bytes under a SHA-256 in hex, each with a small table of strings.

    Every method raises `ContentUnavailable` when the store does not answer.
    """

    def put(self, key: str, body: bytes, meta: Mapping[str, str]) -> None:
        """
        Replace the object, body and meta together. When this returns a reader finds it, whatever
        process is killed. Power loss: S3 keeps it; a folder may lose the last seconds, or hold
        torn bytes that their hash betrays, unless `content.fsync` has every put wait for the disk.
        """

    def put_many(self, puts: Sequence[ContentPut]) -> None:
        """Each of them as by `put`; after an error some may be there."""

    def get(self, key: str) -> tuple[bytes, Mapping[str, str]] | None:
        """Body and meta of one put, or None."""

    def delete(self, key: str) -> None:
        """Remove the object; nothing happens if it does not exist."""

    def keys(self, prefix: str = "") -> Iterator[str]:
        """Keys that begin with `prefix`, in order."""
