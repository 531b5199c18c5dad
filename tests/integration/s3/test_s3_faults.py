"""S3 that is down, answers 500 and 503, truncates bodies, or is misconfigured."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import urllib3

from aragog.errors import ContentUnavailable, CorruptContent
from aragog.urlstore.content.s3 import S3Content
from aragog.urlstore.s3_connection import FOREIGN

pytestmark = pytest.mark.s3

# Wrong use of boto3's own interfaces, or parts of it that are not used here.
MISUSE = {
    "FatalError", "InvalidSubscriberMethodError", "MissingServiceIdError", "S3CopyFailedError",
    "S3DownloadFailedError", "S3ValidationError", "UndefinedModelAttributeError",
}  # fmt: skip

KEY = hashlib.sha256(b"x").hexdigest()


class FaultyFront:
    """An HTTP front of an S3 server that answers the next requests with `faults`, in order."""

    def __init__(self, target: str) -> None:
        self.faults: list[int | str] = []
        self.requests = 0
        front, pool = self, urllib3.PoolManager()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args):
                """Log nothing."""

            def _any(self):
                front.requests += 1
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                fault = front.faults.pop(0) if front.faults else None
                if isinstance(fault, int):
                    self._answer(fault, {}, b"<Error><Code>SlowDown</Code></Error>")
                    return
                headers = dict(self.headers)
                answer = pool.request(
                    self.command, target + self.path, body=body, headers=headers,
                    retries=False, decode_content=False,
                )  # fmt: skip
                self._answer(answer.status, dict(answer.headers), answer.data, cut=fault == "cut")

            def _answer(self, status, headers, body, *, cut=False):
                self.send_response_only(status)
                for name, value in headers.items():
                    if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                        self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body[: len(body) // 2] if cut else body)
                self.close_connection = cut

            do_GET = do_PUT = do_HEAD = do_DELETE = do_POST = _any  # noqa: N815

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        # The host header is signed, so it is passed on as received.
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def front(s3_server):
    a_front = FaultyFront(s3_server.endpoint)
    yield a_front
    a_front.close()


@pytest.fixture
def content(s3_settings, front):
    return S3Content(dataclasses.replace(s3_settings, s3_endpoint=front.endpoint, s3_attempts=3))


@pytest.mark.parametrize("status", [500, 503])
def test_one_or_two_errors_are_retried(content, front, status):
    front.faults = [status]
    content.put(KEY, b"body", {"a": "b"})
    front.faults = [status, status]

    assert content.get(KEY) == (b"body", {"a": "b"})


@pytest.mark.parametrize("status", [500, 503])
def test_endless_errors_raise_content_unavailable(s3_settings, front, status):
    content = S3Content(dataclasses.replace(s3_settings, s3_endpoint=front.endpoint, s3_attempts=2))
    content.put(KEY, b"old", {})
    for call in (
        lambda: content.put(KEY, b"new", {}),
        lambda: content.get(KEY),
        lambda: content.delete(KEY),
        lambda: list(content.keys("")),
    ):
        front.requests, front.faults = 0, [status] * 2
        with pytest.raises(ContentUnavailable, match="SlowDown"):
            call()
        assert front.requests == 2
    assert content.get(KEY) == (b"old", {})


def test_truncated_body_is_requested_again(content, front):
    content.put(KEY, b"body" * 1000, {})
    front.faults = ["cut"]

    assert content.get(KEY) == (b"body" * 1000, {})


def test_endlessly_truncated_bodies_raise_content_unavailable(content, front):
    content.put(KEY, b"body" * 1000, {})
    front.faults = ["cut"] * 6

    with pytest.raises(ContentUnavailable):
        content.get(KEY)


def test_unreachable_server_raises_content_unavailable_until_it_returns(
    own_s3_server, s3_credentials, s3_settings
):
    own_s3_server.create_bucket("pages")
    content = S3Content(
        dataclasses.replace(
            s3_settings, s3_endpoint=own_s3_server.endpoint, s3_bucket="pages", s3_attempts=1
        )
    )
    content.put(KEY, b"body", {})

    own_s3_server.stop()
    with pytest.raises(ContentUnavailable, match="pages"):
        content.get(KEY)
    own_s3_server.start()

    assert content.get(KEY) == (b"body", {})


def test_missing_bucket_is_reported_with_its_remedy(s3_settings):
    content = S3Content(dataclasses.replace(s3_settings, s3_bucket="nowhere"))

    with pytest.raises(
        ContentUnavailable, match=r"the bucket does not exist: create it, or set content\.s3_bucket"
    ):
        content.get(KEY)


def test_wrong_credentials_are_reported_with_their_remedy(s3_settings, monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")

    with pytest.raises(ContentUnavailable, match="check the credentials"):
        S3Content(s3_settings).put(KEY, b"x", {})


def test_object_changed_by_others_is_detected(s3_settings, s3_server):
    content = S3Content(s3_settings)
    content.put(KEY, b"body", {})
    name = f"pages/{KEY[:2]}/{KEY}"
    client = s3_server.client()
    metadata = client.head_object(Bucket=s3_settings.s3_bucket, Key=name)["Metadata"]

    client.put_object(Bucket=s3_settings.s3_bucket, Key=name, Body=b"else", Metadata=metadata)
    with pytest.raises(CorruptContent):
        content.get(KEY)

    client.put_object(Bucket=s3_settings.s3_bucket, Key=name, Body=b"else")
    with pytest.raises(CorruptContent):
        content.get(KEY)


def test_foreign_keys_are_not_listed(s3_settings, s3_server):
    content = S3Content(s3_settings)
    content.put(KEY, b"body", {})
    for name in ("pages/readme.txt", f"pages/{KEY}", f"else/{KEY[:2]}/{KEY}"):
        s3_server.client().put_object(Bucket=s3_settings.s3_bucket, Key=name, Body=b"")

    assert list(content.keys("")) == [KEY]


def test_forked_process_has_its_own_connections(s3_content):
    s3_content.put(KEY, b"body", {})

    child = os.fork()
    if child == 0:
        os._exit(0 if s3_content.get(KEY) == (b"body", {}) else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert s3_content.get(KEY) == (b"body", {})


def test_every_boto3_exception_is_mapped_or_a_misuse():
    import boto3.exceptions
    import botocore.exceptions
    import s3transfer.exceptions

    unmapped = {
        name
        for module in (boto3.exceptions, botocore.exceptions, s3transfer.exceptions)
        for name, member in vars(module).items()
        if isinstance(member, type)
        and issubclass(member, Exception)
        and member.__module__ == module.__name__
        and not issubclass(member, (*FOREIGN, Warning))
    }

    assert unmapped == MISUSE
