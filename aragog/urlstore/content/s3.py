"""
Page content in S3: `<prefix><first two digits>/<key>` in one bucket, one object each.

Meta travels as JSON in one metadata header, and so does the body's SHA-256. S3 allows 2 KB of
metadata; where meta is larger (some sites send 8 KB of headers) the object is framed as in the
folder store, a JSON line before the body, and states this in its metadata. Either way one PUT
replaces all of it at once.

boto3 costs about 2 ms of CPU a call: nothing on the way of a metadata read comes here. Plain S3
only: no conditional writes, no versions, no lists but in key order.
"""

from __future__ import annotations

import io
import json
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from typing import Any

from boto3.s3.transfer import TransferConfig
from botocore.exceptions import ClientError

from aragog.errors import ContentUnavailable, CorruptContent
from aragog.settings import ContentSettings
from aragog.urlstore.content.checksums import (
    KEY,
    StoredContent,
    check_body,
    check_key,
    check_prefix,
    digest,
    header,
    unframe,
)
from aragog.urlstore.content_port import ContentPut
from aragog.urlstore.s3_connection import (
    FOREIGN,
    delete_object,
    is_gone,
    s3_client,
    s3_errors,
)

SHA256 = "aragog-sha256"
META = "aragog-meta"
FRAMED = "aragog-framed"

# S3 counts names and values of all user metadata, 2 KB together; the hash takes 80 bytes of it.
MAX_META_BYTES = 1800

# Bodies are read after botocore's own retries are over, so a broken one is asked for once more.
BODY_READS = 2


class S3Content:
    """
    The `ContentStore` port over a bucket. Threads may share it, and forks: each process has its own
    connections. Nothing is connected to before the first call; credentials are boto3's to find.

    Raises:
        ConfigError: endpoint, region or profile cannot be used.
    """

    def __init__(self, settings: ContentSettings) -> None:
        self._settings = settings
        self._bucket = settings.s3_bucket
        where = settings.s3_endpoint or "AWS"
        self._where = f"S3 bucket {self._bucket} at {where}"
        self._transfer = TransferConfig(
            multipart_threshold=settings.s3_multipart_bytes,
            multipart_chunksize=settings.s3_multipart_bytes,
            max_concurrency=4,
        )
        self._made: Any = None
        self._start()

    def put(self, key: str, body: bytes, meta: Mapping[str, str]) -> None:
        """Safe to repeat; after an error the object is the old one or the new one, whole."""
        name = self._name(key)
        described = _described(meta)
        if described is None:
            body, metadata = header(body, meta) + body, {FRAMED: "1"}
        else:
            metadata = {SHA256: digest(body), META: described}
        with self._our_errors():
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
        Several at a time: a PUT is 2 ms of CPU and 10 to 100 ms of waiting.

        All have ended when this returns or raises; the first error is raised.
        """
        if len(puts) < 2:
            for put in puts:
                self.put(*put)
            return
        self._client()  # made anew after a fork, and the threads with it
        futures = [self._threads.submit(self.put, *put) for put in puts]
        wait(futures)
        for future in futures:
            future.result()

    def get(self, key: str) -> StoredContent | None:
        name = self._name(key)
        with self._our_errors():
            stored = self._read(name)
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
        """Safe to repeat: some servers answer 404 for what is gone, which is the aim."""
        name = self._name(key)
        with self._our_errors():
            delete_object(self._client(), self._bucket, name)

    def keys(self, prefix: str = "") -> Iterator[str]:
        """
        The keys in order; a request returns 1,000.

        Raises:
            ContentUnavailable: also when the server names no next page, or one that it named
                before; the keys until then are not all.
        """
        check_prefix(prefix)
        start = self._settings.s3_prefix + (f"{prefix[:2]}/{prefix}" if len(prefix) > 1 else prefix)
        tokens = _Tokens(self._where)
        token: dict[str, str] = {}
        while True:
            with self._our_errors():
                page = self._client().list_objects_v2(Bucket=self._bucket, Prefix=start, **token)
            for item in page.get("Contents", ()):
                key = item["Key"].rpartition("/")[2]
                if KEY.fullmatch(key) and item["Key"] == self._name(key):
                    yield key
            if not page.get("IsTruncated"):
                return
            token = {"ContinuationToken": tokens.following(page.get("NextContinuationToken"))}

    def _read(self, name: str) -> tuple[bytes, dict[str, str]] | None:
        reads_left = BODY_READS
        while True:
            reads_left -= 1
            try:
                response = self._client().get_object(Bucket=self._bucket, Key=name)
            except ClientError as error:
                if is_gone(error):
                    return None
                raise
            try:
                return response["Body"].read(), _by_name(response["Metadata"])
            except FOREIGN:
                if not reads_left:
                    raise

    def _name(self, key: str) -> str:
        return f"{self._settings.s3_prefix}{check_key(key)[:2]}/{key}"

    def _client(self) -> Any:
        # Threads may share a client, but processes must not share its sockets.
        if os.getpid() != self._pid:
            self._start()
        with self._lock:
            if self._made is None:
                self._made = s3_client(self._settings)
            return self._made

    def _start(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._made = None
        self._threads = ThreadPoolExecutor(self._settings.s3_parallel, "s3-put")

    def _our_errors(self) -> AbstractContextManager[None]:
        return s3_errors(self._where)


class _Tokens:
    """
    The continuation tokens of one list, checked: a server that repeats them would list without end.

    Besides the last one, one is remembered and replaced after 1, 2, 4, ... pages (Brent's
    algorithm). That finds a cycle of any length without keeping all tokens of a large bucket.
    """

    def __init__(self, where: str) -> None:
        self._where = where
        self._last = self._remembered = ""
        self._pages, self._replaced_after = 0, 1

    def following(self, token: str | None) -> str:
        """The token of the next page; raises ContentUnavailable if it leads nowhere."""
        if not token:
            raise ContentUnavailable(self._where, "a list is cut off and names no next page")
        if token in (self._last, self._remembered):
            raise ContentUnavailable(self._where, f"a list repeats its page {token[:60]!r}")
        self._last = token
        self._pages += 1
        if self._pages == self._replaced_after:
            self._remembered = token
            self._pages, self._replaced_after = 0, self._replaced_after * 2
        return token


def _by_name(metadata: Mapping[str, str]) -> dict[str, str]:
    """Metadata by lower-case name: servers spell header names as they like (RFC 9110, 5.1)."""
    return {name.lower(): value for name, value in metadata.items()}


def _described(meta: Mapping[str, str]) -> str | None:
    """Meta as one header value, plain ASCII; None when it is too large for one."""
    text = json.dumps(dict(meta), separators=(",", ":"))
    # Headers do not preserve all that JSON leaves unescaped, such as runs of spaces and DEL.
    text = text.replace("  ", "\\u0020\\u0020").replace("\x7f", "\\u007f")
    return text if len(text) <= MAX_META_BYTES else None
