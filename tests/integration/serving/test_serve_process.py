"""
`aragog serve` as a process: alone, several on one port, and beside another that uses the port.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import contextmanager

import pytest

from aragog.bootstrap.stores import url_store
from aragog.settings import Settings
from tests.support.standalone import free_port
from tests.support.waiting import wait_until

pytestmark = pytest.mark.redis
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@contextmanager
def serving(redis_server, folder, port, **environ):
    """`aragog serve`, once it answers or has exited."""
    process = subprocess.Popen(
        [sys.executable, "-m", "aragog.cli", "serve"],
        env={
            **{k: v for k, v in os.environ.items() if not k.startswith("ARAGOG_")},
            "ARAGOG_DATA_DIR": str(folder),
            "ARAGOG_REDIS__URL": redis_server.url,
            "ARAGOG_BROKER__URL": f"redis+socket://{redis_server.socket}?virtual_host=7",
            "ARAGOG_REDIS__PREFIX": f"serving-{port}:",
            "ARAGOG_SERVING__HTTP_PORT": str(port),
            "ARAGOG_SERVING__THRIFT_PORT": "0",
            **environ,
        },
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_until(lambda: process.poll() is not None or answers(port))
        yield process
    finally:
        process.terminate()
        process.wait(120)
        process.stderr.close()


def answers(port):
    try:
        with OPENER.open(f"http://127.0.0.1:{port}/readyz", timeout=5) as reply:
            return reply.status == 200
    except OSError:
        return False


@pytest.mark.parametrize("processes", [1, 2])
def test_serve_answers_on_http_and_thrift_and_exits_with_0_on_sigterm(
    redis_server, tmp_path, processes, apache
):
    port, thrift_port = free_port(), free_port()
    more = {
        "ARAGOG_SERVING__PROCESSES": str(processes),
        "ARAGOG_SERVING__THRIFT_PORT": str(thrift_port),
    }
    with serving(redis_server, tmp_path, port, **more) as process:
        assert all(answers(port) for _ in range(20))
        assert_urls_are_enqueued(port)
        assert_thrift_is_served(port, thrift_port, apache, processes)
        if processes == 2:  # which share the ports
            assert_ports_are_reported_as_in_use(redis_server, tmp_path, port, thrift_port)
        with apache.client(thrift_port) as client:
            client.get("http://h0.example/", ["n"], apache.types.ReadOptions())
            process.send_signal(signal.SIGTERM)
            code = process.wait(120)

    assert code == 0
    assert not answers(port)


def assert_urls_are_enqueued(port):
    url = f"http://h{port}.example/"
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/v1/enqueue",
        json.dumps({"urls": [url, url.upper(), "nonsense"], "priority": 1}).encode(),
        {"Content-Type": "application/json"},
    )
    with OPENER.open(request, timeout=120) as reply:
        code, reported = reply.status, json.load(reply)

    assert code == 202
    assert [result["status"] for result in reported["results"]] == [
        "accepted",
        "already waiting",
        "invalid",
    ]
    assert reported["results"][1]["url"] == url
    assert reported["results"][2]["reason"]


def assert_thrift_is_served(port, thrift_port, apache, processes):
    for n in range(10):
        with apache.client(thrift_port) as client:
            url = f"http://h{n}.example/"
            client.put(url, {"n": b"1"}, apache.types.PutOptions())
            assert client.get(url, ["n"], apache.types.ReadOptions()).fields == {"n": b"1"}
    with OPENER.open(f"http://127.0.0.1:{port}/metrics", timeout=120) as reply:
        reported = reply.read().decode()
    assert "aragog_http_requests_total" in reported
    if processes == 1:
        assert 'aragog_thrift_calls_total{method="put",outcome="ok"} 10.0' in reported
    assert "aragog_thrift_connections" in reported
    with apache.client(thrift_port, "Fetcher") as client:
        [result] = client.enqueue(["nonsense"], apache.types.EnqueueOptions())
        assert result.status == "invalid"
    with (
        apache.client(thrift_port, "PinLater") as client,
        # The broker of this test is Celery's own.
        pytest.raises(apache.types.BadInput, match="not pinlater"),
    ):
        client.dequeue("mine", 1, apache.types.DequeueOptions())


def assert_ports_are_reported_as_in_use(redis_server, folder, port, thrift_port):
    """Start both at once: each needs a second for its imports."""
    with (
        serving(redis_server, folder, port) as on_http,
        serving(
            redis_server,
            folder / "other",
            free_port(),
            ARAGOG_SERVING__THRIFT_PORT=str(thrift_port),
        ) as on_thrift,
    ):
        codes = [on_http.wait(120), on_thrift.wait(120)]
        reported, of_thrift = on_http.stderr.read(), on_thrift.stderr.read()

    assert codes == [1, 1]
    assert f"serving.http_port: cannot listen on 127.0.0.1:{port}" in reported
    assert f"serving.thrift_port: cannot listen on 127.0.0.1:{thrift_port}" in of_thrift
    assert "Traceback" not in reported


def test_hung_s3_delays_neither_other_reads_nor_the_shutdown(redis_server, tmp_path):
    url = "http://slow.example/"
    settings = Settings(data_dir=tmp_path)
    store = url_store(settings)
    store.put_content(url, b"<p>", {})
    store.close()
    port = free_port()
    with socket.create_server(("127.0.0.1", 0)) as silent:  # accepts connections and sends nothing
        more = {
            "ARAGOG_CONTENT__ENGINE": "s3",
            "ARAGOG_CONTENT__S3_BUCKET": "b",
            "ARAGOG_CONTENT__S3_ENDPOINT": f"http://127.0.0.1:{silent.getsockname()[1]}",
            "ARAGOG_CONTENT__S3_READ_TIMEOUT_S": "600",
            "ARAGOG_SERVING__CONTENT_DEADLINE_MS": "300",
            "ARAGOG_SERVING__CONTENT_THREADS": "1",
            "ARAGOG_SERVING__DEADLINE_MS": "30000",
            "AWS_ACCESS_KEY_ID": "a",
            "AWS_SECRET_ACCESS_KEY": "b",
        }
        with serving(redis_server, tmp_path, port, **more) as process:
            codes = [
                status(port, f"/v1/{what}?url={url}")
                for what in ("content", "urls", "content", "links")
            ]
            process.send_signal(signal.SIGTERM)
            code = process.wait(120)

    assert codes == [504, 200, 504, 200]
    assert code == 0


def status(port, path):
    try:
        with OPENER.open(f"http://127.0.0.1:{port}{path}", timeout=120) as reply:
            return reply.status
    except urllib.error.HTTPError as error:
        return error.code
