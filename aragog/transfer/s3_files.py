"""
Reads and writes the results of runs and exports in S3, as files named `s3://BUCKET/KEY`.

The endpoint, region and limits come from `content.s3_*`; boto3 finds the credentials.
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
    One object, and access to its neighbors, whose keys differ only in the last component.

    Args:
        name: `s3://BUCKET/KEY`.

    Raises:
        BadInput: the name does not have that form.
        ConfigError: the bucket does not exist.
        ContentUnavailable: the bucket does not respond, or access is denied.
    """

    def __init__(self, name: str, settings: ContentSettings) -> None:
        match = _NAME.fullmatch(name)
        if match is None:
            raise BadInput(f"{name}: must have the form s3://BUCKET/KEY")
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
        """The key; its last component is the file's name."""
        return self._key

    def neighbor(self, name: str) -> str:
        """Return a neighboring file's full name."""
        return f"s3://{self._bucket}/{self._key.with_name(name)}"

    def exists(self, name: str) -> bool:
        """True if a file with that name exists next to this one."""
        with s3_errors(self.neighbor(name)):
            try:
                self._client.head_object(Bucket=self._bucket, Key=str(self._key.with_name(name)))
            except ClientError as error:
                if not is_gone(error):
                    raise
                return False
        return True

    def download(self, file: Path) -> None:
        """Download the object to a file. Creates no file if there is no object."""
        with s3_errors(self.neighbor(self._key.name)):
            try:
                self._client.download_file(self._bucket, str(self._key), str(file))
            except ClientError as error:
                if not is_gone(error):
                    raise

    def upload(self, file: Path) -> str:
        """Upload a file next to this one, atomically; returns its full name."""
        place = self.neighbor(file.name)
        with s3_errors(place):
            self._client.upload_file(str(file), self._bucket, str(self._key.with_name(file.name)))
        return place
