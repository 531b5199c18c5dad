"""
Page content in S3: `<prefix><first two digits>/<key>` in one bucket, one S3 object per page.

Meta is stored as JSON in one metadata header, and the body's SHA-256 in another. S3 allows 2 KB of
metadata. Larger meta (some sites send 8 KB of headers) is stored as a JSON line before the body, as
in the folder store; a metadata header marks this. In both cases, a single PUT replaces everything.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import wait

from aragog.errors import CorruptContent
from aragog.urlstore.content.object_format import (
    KEY,
    StoredContent,
    check_body,
    check_key,
    check_prefix,
    digest,
    header,
    unframe,
)
from aragog.urlstore.content.s3_bucket import S3Bucket
from aragog.urlstore.content_port import ContentPut

SHA256 = "aragog-sha256"
META = "aragog-meta"
FRAMED = "aragog-framed"

# S3 limits all names and values of user metadata to 2 KB in total. The hash takes 80 bytes of
# that.
MAX_META_BYTES = 1800


class S3Content(S3Bucket):
    """Implements the `ContentStore` port in an S3 bucket."""

    def put(self, key: str, body: bytes, meta: Mapping[str, str]) -> None:
        """See `ContentStore.put`. After an error the object is either unchanged or replaced."""
        name = self._name(key)
        described = _described(meta)
        if described is None:
            body, metadata = header(body, meta) + body, {FRAMED: "1"}
        else:
            metadata = {SHA256: digest(body), META: described}
        with self._translate_errors():
            if len(body) < self._settings.s3_multipart_bytes:
                self._client().put_object(
                    Bucket=self._bucket, Key=name, Body=body, Metadata=metadata
                )
            else:
                self._client().upload_fileobj(
                    io.BytesIO(body), self._bucket, name,
                    ExtraArgs={"Metadata": metadata}, Config=self._transfer,
                )  # fmt: skip

    def put_many(self, puts: Sequence[ContentPut]) -> None:
        """
        Put several objects in parallel, because a PUT takes 2 ms of CPU and 10 to 100 ms of
        waiting.

        Waits for all PUTs, then raises the first error.
        """
        if len(puts) < 2:
            for put in puts:
                self.put(*put)
            return
        self._client()  # after a fork, recreates the client and the threads
        futures = [self._threads.submit(self.put, *put) for put in puts]
        wait(futures)
        for future in futures:
            future.result()

    def get(self, key: str) -> StoredContent | None:
        name = self._name(key)
        with self._translate_errors():
            stored = self.read_object(name)
        if stored is None:
            return None
        body, metadata = stored
        if FRAMED in metadata:
            return unframe(key, body)
        try:
            meta = json.loads(metadata[META])
            sha256 = metadata[SHA256]
        except (KeyError, ValueError):
            raise CorruptContent(key, "its metadata cannot be read") from None
        check_body(key, body, sha256)
        return StoredContent(body, meta)

    def delete(self, key: str) -> None:
        """Delete an object. Some servers return 404 for a missing object; that is not an error."""
        name = self._name(key)
        with self._translate_errors():
            self.delete_whole(name)

    def keys(self, prefix: str = "") -> Iterator[str]:
        """
        See `ContentStore.keys`. A request returns 1,000 keys.

        Raises:
            ContentUnavailable: the server does not respond, gives no next page, or repeats an
                earlier page; the keys yielded so far are then incomplete.
        """
        check_prefix(prefix)
        start = self._settings.s3_prefix + (f"{prefix[:2]}/{prefix}" if len(prefix) > 1 else prefix)
        for item in self.list_objects(start):
            key = item["Key"].rpartition("/")[2]
            if KEY.fullmatch(key) and item["Key"] == self._name(key):
                yield key

    def _name(self, key: str) -> str:
        return f"{self._settings.s3_prefix}{check_key(key)[:2]}/{key}"


def _described(meta: Mapping[str, str]) -> str | None:
    """Return meta as JSON for a header, or None if it is too large."""
    text = json.dumps(dict(meta), separators=(",", ":"))
    # Escape what JSON leaves unescaped but headers do not preserve, such as runs of spaces and DEL.
    text = text.replace("  ", "\\u0020\\u0020").replace("\x7f", "\\u007f")
    return text if len(text) <= MAX_META_BYTES else None
