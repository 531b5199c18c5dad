"""
Connects to S3 with the content store's settings, and translates boto3's errors.

Importing this module imports boto3, which takes 0.3 s.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3
import botocore.session
import urllib3
from boto3.exceptions import Boto3Error
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from s3transfer.exceptions import RetriesExceededError, S3UploadFailedError, TransferNotDoneError

from aragog.errors import ConfigError, ContentUnavailable
from aragog.settings import ContentSettings

FOREIGN = (
    BotoCoreError,
    ClientError,
    Boto3Error,
    RetriesExceededError,
    S3UploadFailedError,
    TransferNotDoneError,
    urllib3.exceptions.HTTPError,
    OSError,
)

REMEDIES = {
    "NoSuchBucket": "the bucket does not exist: create it, or set content.s3_bucket",
    "AccessDenied": "access denied: the credentials need Get, Put, Delete and ListBucket",
    "InvalidAccessKeyId": "the server does not know the access key: check the credentials",
    "SignatureDoesNotMatch": "the secret key does not match the access key: check the credentials",
    "NoCredentialsError": "no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a "
    "profile, or a role",
}


_descriptions: list[Any] = []
"""botocore's loader for the S3 service descriptions; empty before the first client."""
_descriptions_lock = threading.Lock()


def s3_client(settings: ContentSettings) -> Any:
    """
    Return a boto3 client with the configured endpoint, region and limits.

    It connects at the first call. A process's first client takes about 0.1 s of CPU and 13 MB;
    later ones take 10 ms and 0.3 MB.

    Raises:
        ConfigError: endpoint, region or profile cannot be used.
    """
    checksums = "when_supported" if settings.sends_checksums else "when_required"
    try:
        client = _session().client(
            "s3",
            endpoint_url=settings.s3_endpoint or None,
            region_name=settings.s3_region or None,
            config=Config(
                connect_timeout=settings.s3_connect_timeout_s,
                read_timeout=settings.s3_read_timeout_s,
                retries={"mode": "standard", "total_max_attempts": settings.s3_attempts},
                # Enough connections for `put_many` and for concurrent reads by threads.
                max_pool_connections=settings.s3_parallel + 24,
                request_checksum_calculation=checksums,
                response_checksum_validation=checksums,
                # Use paths: a host name per bucket needs DNS, which self-hosted servers often lack.
                s3={"addressing_style": "path" if settings.s3_endpoint else "auto"},
            ),
        )
    except (BotoCoreError, ValueError) as error:
        raise ConfigError(f"content.s3_endpoint, content.s3_region: {error}") from error
    # Runs after botocore's own handlers, one of which adds the header to every PUT.
    client.meta.events.register("before-call.s3", _without_expect)
    return client


def _session() -> boto3.session.Session:
    """Return a session with its own credentials. All sessions share the service descriptions."""
    core = botocore.session.get_session()
    with _descriptions_lock:
        if _descriptions:
            core.register_component("data_loader", _descriptions[0])
        else:
            _descriptions.append(core.get_component("data_loader"))
    return boto3.session.Session(botocore_session=core)


def _without_expect(params: dict[str, Any], **_: Any) -> None:
    """
    Send the body without asking first (`Expect: 100-continue`, RFC 9110, section 10.1.1).

    botocore would wait for the server's response, or for a second if a server or proxy sends none.
    """
    params["headers"].pop("Expect", None)


@contextmanager
def s3_errors(where: str) -> Iterator[None]:
    """Convert boto3's errors to ContentUnavailable, with a remedy if known."""
    try:
        yield
    except FOREIGN as error:
        code = s3_code(error)
        message = str(error)[:300]
        remedy = next((text for name, text in REMEDIES.items() if name in (code, message)), None)
        raise ContentUnavailable(where, f"{remedy} ({message})" if remedy else message) from error


def s3_code(error: BaseException) -> str:
    """Return S3's error code if the server responded, otherwise the exception's class name."""
    if isinstance(error, ClientError):
        return str(error.response.get("Error", {}).get("Code"))
    return type(error).__name__


def is_gone(error: ClientError) -> bool:
    """Return True if the object does not exist. If a 404 has no body, the code is the status."""
    return s3_code(error) in ("NoSuchKey", "404")


def delete_object(client: Any, bucket: str, name: str) -> None:
    """
    Delete an object; a missing object is no error.

    S3 returns 204 for it, other servers 404.
    """
    try:
        client.delete_object(Bucket=bucket, Key=name)
    except ClientError as error:
        if not is_gone(error):
            raise
