"""
An S3 bucket, for content stores and packs.

The server needs only basic S3 features: lists in key order, but no conditional writes. In a bucket
with versioning, a delete removes all versions of an object, because none of them may keep content
that was taken down.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any

from boto3.s3.transfer import TransferConfig
from botocore.exceptions import ClientError

from aragog.errors import ConfigError, ContentUnavailable
from aragog.runtime.clock import SystemClock
from aragog.settings import ContentSettings
from aragog.urlstore.s3_connection import (
    FOREIGN,
    delete_object,
    is_gone,
    s3_client,
    s3_code,
    s3_errors,
)

log = logging.getLogger(__name__)

# botocore's own retries end before a body is read, so repeat the request if that read fails.
BODY_READS = 2
VERSIONING_FRESH_S = 60.0
"""How long to cache the server's response on bucket versioning."""
_NO_OBJECT = "connect"
"""No object has this name. Reading it opens a connection."""
_NO_VERSIONS = ("NotImplemented", "MethodNotAllowed", "NoSuchVersioningConfiguration")


class S3Bucket:
    """
    A bucket. Threads and forked processes may share it; each process has its own connections.

    Connects on the first call, or in advance with `connect`; boto3 finds the credentials.

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
        self._versions: tuple[float, bool] | None = None
        self._start()

    def connect(self) -> None:
        """
        Create the client and open a connection in the background.

        Takes one request and 0.1 s of CPU time, on a busy machine up to a second. An error is only
        logged; if it persists, the next call raises it.
        """
        threading.Thread(target=self._connect, name="s3-connect", daemon=True).start()

    def read_object(
        self, name: str, part: tuple[int, int] | None = None
    ) -> tuple[bytes, dict[str, str]] | None:
        """
        Return an object's body and metadata, or None if it does not exist.

        Args:
            name: the object's name.
            part: the first byte and the number of bytes; None for the whole object.
        """
        wanted = {} if part is None else {"Range": f"bytes={part[0]}-{part[0] + part[1] - 1}"}
        reads_left = BODY_READS
        while True:
            reads_left -= 1
            try:
                response = self._client().get_object(Bucket=self._bucket, Key=name, **wanted)
            except ClientError as error:
                if is_gone(error):
                    return None
                if s3_code(error) in ("InvalidRange", "416"):
                    return b"", {}
                raise
            try:
                return response["Body"].read(), _by_name(response["Metadata"])
            except FOREIGN:
                if not reads_left:
                    raise

    def delete_whole(self, name: str) -> None:
        """Delete an object with all its versions. A missing object is no error."""
        delete_object(self._client(), self._bucket, name)
        if self._has_versions():
            for version in list(self._versions_of(name)):
                self._client().delete_object(Bucket=self._bucket, Key=name, VersionId=version)

    def list_objects(self, prefix: str) -> Iterator[dict[str, Any]]:
        """
        Yield the objects whose names start with `prefix`, in order. A request returns 1,000.

        Raises:
            ContentUnavailable: the server does not respond, gives no next page, or repeats an
                earlier page; the objects yielded so far are then incomplete.
        """
        tokens = _Tokens(self._where)
        token: dict[str, str] = {}
        while True:
            with self._translate_errors():
                page = self._client().list_objects_v2(Bucket=self._bucket, Prefix=prefix, **token)
            yield from page.get("Contents", ())
            if not page.get("IsTruncated"):
                return
            token = {"ContinuationToken": tokens.following(page.get("NextContinuationToken"))}

    def _connect(self) -> None:
        try:
            self.read_object(self._settings.s3_prefix + _NO_OBJECT)
        except (*FOREIGN, ConfigError) as error:
            log.info("%s: cannot connect in advance: %s", self._where, error)

    def _has_versions(self) -> bool:
        now_s = SystemClock().monotonic_s()
        if self._versions is None or now_s - self._versions[0] > VERSIONING_FRESH_S:
            self._versions = now_s, self._ask_for_versions()
        return self._versions[1]

    def _ask_for_versions(self) -> bool:
        try:
            answer = self._client().get_bucket_versioning(Bucket=self._bucket)
        except ClientError as error:
            if is_gone(error) or s3_code(error) in _NO_VERSIONS:
                return False
            if s3_code(error) == "AccessDenied":
                log.warning(
                    "%s: s3:GetBucketVersioning is denied, so the bucket may keep old versions of "
                    "deleted content; allow it, and s3:ListBucketVersions and "
                    "s3:DeleteObjectVersion",
                    self._where,
                )
                return False
            raise
        return answer.get("Status") in ("Enabled", "Suspended")

    def _versions_of(self, name: str) -> Iterator[str]:
        marks: dict[str, str] = {}
        while True:
            page = self._client().list_object_versions(Bucket=self._bucket, Prefix=name, **marks)
            for item in (*page.get("Versions", ()), *page.get("DeleteMarkers", ())):
                if item["Key"] == name:
                    yield item["VersionId"]
            if not page.get("IsTruncated"):
                return
            marks = {
                "KeyMarker": page["NextKeyMarker"],
                "VersionIdMarker": page["NextVersionIdMarker"],
            }

    def _client(self) -> Any:
        # A client per process: threads may share a client, but processes must not share sockets.
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

    def _translate_errors(self) -> AbstractContextManager[None]:
        return s3_errors(self._where)


class _Tokens:
    """
    Checks a list's continuation tokens: if a server repeated them, the list would never end.

    Remembers the last token, and an older one that is replaced after 1, 2, 4, ... pages (Brent's
    algorithm). This detects cycles of any length.
    """

    def __init__(self, where: str) -> None:
        self._where = where
        self._last = self._remembered = ""
        self._pages, self._replaced_after = 0, 1

    def following(self, token: str | None) -> str:
        """
        Return the token of the next page.

        Raises ContentUnavailable if it is missing or repeated.
        """
        if not token:
            raise ContentUnavailable(
                self._where, "a list is truncated but has no token for its next page"
            )
        if token in (self._last, self._remembered):
            raise ContentUnavailable(self._where, f"a list repeats the page {token[:60]!r}")
        self._last = token
        self._pages += 1
        if self._pages == self._replaced_after:
            self._remembered = token
            self._pages, self._replaced_after = 0, self._replaced_after * 2
        return token


def _by_name(metadata: Mapping[str, str]) -> dict[str, str]:
    """Return metadata by lower-case name; servers differ in header case (RFC 9110, 5.1)."""
    return {name.lower(): value for name, value in metadata.items()}
