"""Stores finished files of the crawl log in a folder or S3."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any, Protocol

from aragog.errors import ContentUnavailable
from aragog.runtime.extras import require
from aragog.settings import ContentSettings, CrawlLogSettings


class LogFiles(Protocol):
    """Storage for finished files."""

    def put(self, name: str, source: Path) -> None:
        """
        Store a finished local file durably, replacing any file of that name.

        Raises:
            ContentUnavailable: the file was not stored. An old file of that name remains.
        """

    def check(self) -> None:
        """Check access by writing and removing a small file. Raises the same errors as `put`."""


class FolderFiles:
    """Files in a folder. Creates subfolders."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, name: str, source: Path) -> None:
        target = self.folder / name
        # Spark and other readers skip files whose names begin with a dot.
        temporary_file = target.with_name(f".{target.name}.{os.getpid()}")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with source.open("rb") as data, temporary_file.open("wb") as file:
                shutil.copyfileobj(data, file)
                file.flush()
                os.fsync(file.fileno())
            temporary_file.replace(target)
            _sync(target.parent)
            for leftover in target.parent.glob(f".{target.name}.*"):  # left by killed writers
                leftover.unlink(missing_ok=True)
        except OSError as error:
            temporary_file.unlink(missing_ok=True)
            raise ContentUnavailable(str(self.folder), error.strerror or str(error)) from error

    def check(self) -> None:
        probe = self.folder / ".aragog-check"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            probe.write_bytes(b"")
            probe.unlink()
        except OSError as error:
            raise ContentUnavailable(str(self.folder), error.strerror or str(error)) from error


def _sync(folder: Path) -> None:
    """Make renames in a folder durable (fsync(2))."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class S3Files:
    """
    Objects in a bucket, with the endpoint, region and time limits of `[content]`.

    Raises:
        ConfigError: boto3 is not installed, or the endpoint is invalid.
    """

    def __init__(self, settings: CrawlLogSettings, content: ContentSettings) -> None:
        require("s3", 'crawl_log.engine = "s3"')
        from aragog.urlstore import s3_connection  # noqa: PLC0415 - boto3 takes 0.3 s to import

        self._bucket, self._prefix = settings.s3_bucket, settings.s3_prefix
        self._errors, self._delete = s3_connection.s3_errors, s3_connection.delete_object
        self._where = f"S3 bucket {self._bucket} at {content.s3_endpoint or 'AWS'}"
        self._client: Any = s3_connection.s3_client(content)

    def put(self, name: str, source: Path) -> None:
        with self._errors(self._where):
            self._client.upload_file(str(source), self._bucket, self._prefix + name)

    def check(self) -> None:
        key = f"{self._prefix}.aragog-check"
        with self._errors(self._where):
            self._client.put_object(Bucket=self._bucket, Key=key, Body=b"")
            self._delete(self._client, self._bucket, key)


def log_files(settings: CrawlLogSettings, content: ContentSettings, data_dir: Path) -> LogFiles:
    """
    Return the storage chosen in the settings.

    Raises:
        ConfigError: a required package is not installed.
    """
    require("parquet", f'crawl_log.engine = "{settings.engine}"')
    if settings.engine == "s3":
        return S3Files(settings, content)
    return FolderFiles(settings.folder or data_dir / "crawl-log")
