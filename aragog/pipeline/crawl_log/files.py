"""Where the files of the crawl log go: a folder, or S3. A file appears whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Protocol

from aragog.errors import ContentUnavailable
from aragog.extras import require
from aragog.settings import ContentSettings, CrawlLogSettings


class LogFiles(Protocol):
    """A place for finished files."""

    def put(self, name: str, source: Path) -> None:
        """
        Put a finished local file there, replacing one of the same name; it is durable afterward.

        Raises:
            ContentUnavailable: it is not there; the old one is, if there was one.
        """

    def check(self) -> None:
        """Write and remove a small file. Raises as `put`."""


class FolderFiles:
    """Files in a folder, whose subfolders are created."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, name: str, source: Path) -> None:
        target = self.folder / name
        part = target.with_name(f".{target.name}.{os.getpid()}")  # Spark ignores such names
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            data = source.read_bytes()
            with part.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            part.replace(target)
            _sync(target.parent)
            for left_behind in target.parent.glob(f".{target.name}.*"):  # by killed writers
                left_behind.unlink(missing_ok=True)
        except OSError as error:
            part.unlink(missing_ok=True)
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
    """A rename is in the folder's data (fsync(2))."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class S3Files:
    """
    Objects of a bucket; the endpoint, region and time limits are those of `[content]`.

    Raises:
        ConfigError: boto3 is not installed, or the endpoint cannot be used.
    """

    def __init__(self, settings: CrawlLogSettings, content: ContentSettings) -> None:
        require("s3", 'crawl_log.engine = "s3"')
        from aragog.urlstore.content import s3  # noqa: PLC0415 - boto3 takes 0.3 s to import

        self._bucket, self._prefix = settings.s3_bucket, settings.s3_prefix
        self._errors = s3.s3_errors
        self._where = f"S3 bucket {self._bucket} at {content.s3_endpoint or 'AWS'}"
        self._client: Any = s3.s3_client(content)

    def put(self, name: str, source: Path) -> None:
        with self._errors(self._where):
            self._client.upload_file(str(source), self._bucket, self._prefix + name)

    def check(self) -> None:
        key = f"{self._prefix}.aragog-check"
        with self._errors(self._where):
            self._client.put_object(Bucket=self._bucket, Key=key, Body=b"")
            self._client.delete_object(Bucket=self._bucket, Key=key)


def log_files(settings: CrawlLogSettings, content: ContentSettings, data_dir: Path) -> LogFiles:
    """
    Where the settings place the files of the crawl log.

    Raises:
        ConfigError: a package that it needs is not installed.
    """
    require("parquet", f'crawl_log.engine = "{settings.engine}"')
    if settings.engine == "s3":
        return S3Files(settings, content)
    return FolderFiles(settings.folder or data_dir / "crawl-log")
