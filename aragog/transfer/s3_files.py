"""
Files in S3 that people name, `s3://BUCKET/KEY`: results of runs and exports.

Endpoint, region and limits are those of `content.s3_*`, credentials boto3's to find.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

from botocore.exceptions import ClientError

from aragog.errors import BadInput, ConfigError
from aragog.settings import ContentSettings
from aragog.urlstore.s3_connection import is_gone, s3_client, s3_errors

_NAME = re.compile(r"s3://([^/]+)/(.+[^/])")


class S3File:
    """
    One object, and those beside it.

    Args:
        name: `s3://BUCKET/KEY`.

    Raises:
        BadInput: it has another form.
        ConfigError: the bucket does not exist.
        ContentUnavailable: it does not answer, or may not be used.
    """

    def __init__(self, name: str, settings: ContentSettings) -> None:
        match = _NAME.fullmatch(name)
        if match is None:
            raise BadInput(f"{name}: name it s3://BUCKET/KEY")
        self._bucket, self._key = match[1], PurePosixPath(match[2])
        self._client = s3_client(settings)
        self._find_bucket()

    def _find_bucket(self) -> None:
        place = f"s3://{self._bucket}"
        with s3_errors(place):
            try:
                self._client.head_bucket(Bucket=self._bucket)
            except ClientError as error:
                if not is_gone(error):
                    raise
                raise ConfigError(f"{place}: the bucket does not exist") from error

    @property
    def path(self) -> PurePosixPath:
        """The key; its last part is the file's name."""
        return self._key

    def beside(self, name: str) -> str:
        """The whole name of a file beside this one."""
        return f"s3://{self._bucket}/{self._key.with_name(name)}"

    def exists(self, name: str) -> bool:
        """Whether there is a file of that name beside this one."""
        with s3_errors(self.beside(name)):
            try:
                self._client.head_object(Bucket=self._bucket, Key=str(self._key.with_name(name)))
            except ClientError as error:
                if not is_gone(error):
                    raise
                return False
        return True

    def download(self, file: Path) -> None:
        """Copy the object to a file; no file if it does not exist."""
        with s3_errors(self.beside(self._key.name)):
            try:
                self._client.download_file(self._bucket, str(self._key), str(file))
            except ClientError as error:
                if not is_gone(error):
                    raise

    def upload(self, file: Path) -> str:
        """Copy a file beside this one, under its own name, whole or not at all; returns where."""
        place = self.beside(file.name)
        with s3_errors(place):
            self._client.upload_file(str(file), self._bucket, str(self._key.with_name(file.name)))
        return place
