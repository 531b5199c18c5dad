"""Servers that store the checksum framing (`aws-chunked`) as part of the body."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from aragog.cli.doctor.data import check_content
from aragog.cli.doctor.finding import CheckedSystem
from aragog.errors import ContentUnavailable, CorruptContent
from aragog.settings import ContentSettings, Settings
from aragog.settings.in_use import SettingsInUse
from aragog.urlstore.content.s3 import S3Content
from tests.support.tls import authority, server_context

KEY = "ab" * 32


class KeepsFrames:
    """
    A TLS server that stores request bytes as received, as some gateways do.

    `forbidden` are the methods that it refuses with AccessDenied.
    """

    def __init__(self) -> None:
        self.objects: dict[str, tuple[bytes, dict[str, str]]] = {}
        self.forbidden: set[str] = set()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args):
                """Log nothing."""

            def answer(self, status, body=b"", headers=()):
                self.send_response(status)
                for name, value in headers:
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def refused(self):
                if self.command in server.forbidden:
                    self.answer(403, b"<Error><Code>AccessDenied</Code></Error>")
                return self.command in server.forbidden

            def received(self):
                if "chunked" not in self.headers.get("Transfer-Encoding", ""):
                    return self.rfile.read(int(self.headers.get("Content-Length") or 0))
                chunks = []
                while size := int(self.rfile.readline().split(b";")[0], 16):
                    chunks.append(self.rfile.read(size + 2)[:-2])
                while self.rfile.readline() not in (b"\r\n", b""):
                    pass
                return b"".join(chunks)

            def do_PUT(self):
                if self.headers.get("Expect") == "100-continue":
                    pass  # BaseHTTPRequestHandler has responded
                body = self.received()
                meta = {
                    n: v for n, v in self.headers.items() if n.lower().startswith("x-amz-meta-")
                }
                if not self.refused():
                    server.objects[self.path] = body, meta
                    self.answer(200, headers=[("ETag", '"x"')])

            def do_GET(self):
                if self.refused():
                    return
                if "list-type=2" in self.path:
                    self.answer(200, b"<ListBucketResult></ListBucketResult>")
                elif stored := server.objects.get(self.path):
                    self.answer(200, stored[0], stored[1].items())
                else:
                    self.answer(404, b"<Error><Code>NoSuchKey</Code></Error>")

            def do_DELETE(self):
                if not self.refused():
                    server.objects.pop(self.path, None)
                    self.answer(204)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.socket = server_context("localhost").wrap_socket(
            self._server.socket, server_side=True
        )
        self.endpoint = f"https://localhost:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def server(s3_credentials, monkeypatch, tmp_path):
    bundle = tmp_path / "ca.pem"
    authority().cert_pem.write_to_path(bundle)
    monkeypatch.setenv("AWS_CA_BUNDLE", str(bundle))
    server = KeepsFrames()
    yield server
    server.close()


def settings_of(server, **changes):
    return ContentSettings(
        engine="s3",
        s3_bucket="pages",
        s3_endpoint=server.endpoint,
        s3_region="us-east-1",
        s3_attempts=1,
        **changes,
    )


def findings(content, tmp_path):
    settings = Settings(data_dir=tmp_path, content=content)
    return list(check_content(CheckedSystem(SettingsInUse(settings))))


def test_body_on_a_server_that_stores_framing_is_read_back(server):
    content = S3Content(settings_of(server))
    content.put(KEY, b"page", {"url": "http://a.test/"})
    assert content.get(KEY).body == b"page"


def test_large_body_is_read_back_too(server):
    content = S3Content(settings_of(server))
    content.put(KEY, b"page" * 250_000, {})
    assert content.get(KEY).body == b"page" * 250_000


def test_server_without_checksum_support_stores_the_framing(server):
    content = S3Content(settings_of(server, s3_checksums=True))
    content.put(KEY, b"page", {})
    with pytest.raises(CorruptContent):
        content.get(KEY)


def test_doctor_detects_a_server_that_returns_other_bytes(server, tmp_path):
    (found,) = findings(settings_of(server, s3_checksums=True), tmp_path)
    assert not found.ok
    assert "set content.s3_checksums to false" in found.text
    assert server.objects == {}


def test_doctor_leaves_no_object(server, tmp_path):
    (found,) = findings(settings_of(server), tmp_path)
    assert found.ok
    assert server.objects == {}


@pytest.mark.parametrize("method", ["PUT", "GET", "DELETE"])
def test_doctor_detects_a_missing_permission(server, tmp_path, method):
    server.forbidden.add(method)
    with pytest.raises(ContentUnavailable, match="the credentials need Get, Put, Delete"):
        findings(settings_of(server), tmp_path)


def test_checksums_are_sent_to_aws_by_default():
    assert ContentSettings().sends_checksums
    assert not ContentSettings(s3_endpoint="http://127.0.0.1").sends_checksums
    assert ContentSettings(s3_endpoint="http://127.0.0.1", s3_checksums=True).sends_checksums
    assert not ContentSettings(s3_checksums=False).sends_checksums
