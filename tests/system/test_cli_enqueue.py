"""`aragog enqueue` from outside: its output for valid lines, invalid lines and unreadable files."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
import redis
from click.testing import CliRunner

from aragog.cli import main
from pinlater.models import ClaimRequest, Nack
from pinlater.redis_shard import RedisShard
from tests.support.missing_parts import ORDINARY_USER, unless
from tests.support.producer import producer_home

pytestmark = pytest.mark.redis
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def contact(monkeypatch):
    """Without a contact, only loopback URLs are enqueued."""
    monkeypatch.setenv("ARAGOG_FETCH__USER_AGENT", "examplebot/1.0 (+https://example.com/bot)")


@pytest.fixture(scope="module")
def home():
    with producer_home() as home_folder:
        yield home_folder


@pytest.fixture
def enqueue(home, tmp_path):
    """Call `aragog enqueue` on a file with these bytes, or on these sources."""
    home.redis.flushall()

    def call(content=None, *sources, stdin=None):
        if content is not None:
            file = tmp_path / "urls"
            file.write_bytes(content)
            sources = (str(file), *sources)
        return CliRunner().invoke(main, ["enqueue", *sources], env=home.environ, input=stdin)

    return call


def test_valid_lines_are_counted(enqueue):
    reported = enqueue(b"http://a.test/1\nhttp://a.test/2\nhttp://A.test/1\n")

    assert reported.stdout == "2 accepted, 1 already waiting, 0 invalid\n"
    assert reported.exit_code == 0


def test_json_prints_one_result_per_line_and_the_summary_on_stderr(enqueue):
    reported = enqueue(b"http://A.test/1\nnonsense\n", "--json")

    results = [json.loads(line) for line in reported.stdout.splitlines()]
    assert [(r["input"], r["status"], r["url"]) for r in results] == [
        ("http://A.test/1", "accepted", "http://a.test/1"),
        ("nonsense", "invalid", None),
    ]
    assert set(results[0]) == {"input", "status", "url", "reason"}
    assert reported.stderr.endswith("1 accepted, 0 already waiting, 1 invalid\n")
    assert reported.exit_code == 4


def test_invalid_line_is_reported_with_file_and_number_and_skipped(enqueue, tmp_path):
    reported = enqueue(b"http://a.test/1\nnonsense\n\n# comment\nhttp://a.test/2\nftp://a.test/\n")

    assert reported.stdout == "2 accepted, 0 already waiting, 2 invalid\n"
    assert reported.exit_code == 4
    first, second = reported.stderr.splitlines()
    assert first.startswith(f"{tmp_path}/urls:2: ")
    assert first.endswith("'nonsense'")
    assert second.startswith(f"{tmp_path}/urls:6: ")


@pytest.mark.parametrize(
    ("content", "accepted", "invalid", "reason"),
    [
        (b"", 0, 0, ""),
        (b"\n\n\n", 0, 0, ""),
        (b"\xef\xbb\xbfhttp://a.test/1\r\nhttp://a.test/2\r\n", 2, 0, ""),
        (b"http://a.test/last-line-without-end", 1, 0, ""),
        (b"http://a.test/\x00\nhttp://a.test/2\n", 1, 1, "NUL"),
        (b"http://a.test/caf\xe9\nhttp://a.test/2\n", 1, 1, "UTF-8"),
        ("http://a.test/café\n".encode("utf-16"), 0, 2, "NUL"),
        (b"http://a.test/" + b"x" * 10_000_000 + b"\nhttp://a.test/2\n", 1, 1, "64 KiB"),
        (b"http://a.test/" + b"x" * 10_000_000, 0, 1, "64 KiB"),
    ],
    ids=["empty", "blank", "bom-crlf", "no-end", "nul", "latin-1", "utf-16", "long", "long-end"],
)
def test_unusual_files_are_read(enqueue, content, accepted, invalid, reason):
    reported = enqueue(content)

    assert reported.stdout == f"{accepted} accepted, 0 already waiting, {invalid} invalid\n"
    assert reported.exit_code == (4 if invalid else 0 if accepted else 2)
    assert reason in reported.stderr
    assert len(reported.stderr) < 1000


def test_binary_garbage_is_reported_as_invalid_lines(enqueue):
    reported = enqueue(random.Random(1).randbytes(200_000))

    assert reported.stdout.startswith("0 accepted, 0 already waiting, ")
    assert reported.exit_code == 4


def test_standard_input_and_urls_can_be_combined_with_files(enqueue):
    reported = enqueue(b"http://a.test/1\n", "-", "http://a.test/3", stdin="http://a.test/2\nbad\n")

    assert reported.stdout == "3 accepted, 0 already waiting, 1 invalid\n"
    assert reported.stderr.startswith("-:2: ")


def test_all_unreadable_sources_are_reported_before_anything_is_sent(enqueue, tmp_path, home):
    reported = enqueue(b"http://a.test/1\n", str(tmp_path / "none"), str(tmp_path), "example.com")

    assert reported.exit_code == 2
    lines = reported.stderr.splitlines()
    assert [f"{tmp_path}/none" in lines[0], str(tmp_path) in lines[1], "example.com" in lines[2]]
    assert "neither a file nor a URL" in lines[0]
    assert "is a folder" in lines[1]
    assert home.urls() == []


@unless(os.geteuid() != 0, ORDINARY_USER)
def test_unreadable_file_is_reported(enqueue, tmp_path):
    (tmp_path / "closed").touch(mode=0o000)

    reported = enqueue(None, str(tmp_path / "closed"))

    assert reported.exit_code == 2
    assert "cannot be read" in reported.stderr


def test_endless_line_and_forty_thousand_lines_need_little_memory(home):
    script = (
        "import re\n"
        "from aragog.cli import main\n"
        "try:\n    main(['enqueue', '-'])\n"
        "except SystemExit:\n    pass\n"
        "print(int(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1]) // 1024)"
    )

    def peak_mb(data):
        reported = subprocess.run(
            [sys.executable, "-c", script],
            env=home.environ,
            input=data,
            capture_output=True,
            check=True,
        )
        return int(reported.stdout.split()[-1])

    base = peak_mb(b"http://a.test/0\n")
    many = b"".join(b"http://h%d.test/%d\n" % (n % 50, n) for n in range(40_000))

    assert peak_mb(b"http://a.test/" + b"x" * 50_000_000 + b"\n" + many) < base + 12


def test_missing_broker_is_one_clear_error(tmp_path):
    environ = {"ARAGOG_DATA_DIR": str(tmp_path / "nobody"), "ARAGOG_SETTINGS": ""}
    reported = CliRunner().invoke(main, ["enqueue", "http://a.test/"], env=environ)

    assert reported.exit_code == 1
    assert f"aragog is not running in {tmp_path}/nobody" in reported.stderr
    assert "aragog up" in reported.stderr
    assert "Traceback" not in reported.stderr


def test_unreachable_broker_is_named_without_its_password():
    environ = {
        "ARAGOG_SETTINGS": "",
        "ARAGOG_REDIS__URL": "redis://:secret@127.0.0.1:1/0",
        "ARAGOG_BROKER__URL": "pinlater://:secret@127.0.0.1:1/1",
    }
    reported = CliRunner().invoke(main, ["enqueue", "http://a.test/"], env=environ)

    assert reported.exit_code == 1
    assert "redis.url is redis://***@127.0.0.1:1/0" in reported.stderr
    assert "secret" not in reported.stderr


@pytest.mark.parametrize("how", [["purge", "fetch", "--yes"], ["delete", "fetch", "--all"]])
def test_purged_or_deleted_urls_may_be_requested_again(enqueue, home, how):
    enqueue(b"http://a.test/1\nhttp://b.test/2\n")
    if how[0] == "delete":
        client = redis.Redis.from_url(f"{home.server.url.partition('?')[0]}?db=1")
        shard = RedisShard(client)
        claims = shard.claim("fetch", ClaimRequest(limit=10, timeout_ms=9999, worker="w")).claims
        shard.nack("fetch", [Nack(c.job_id, c.token, "fail") for c in claims])
        client.close()

    done = CliRunner().invoke(main, ["queue", *how], env=home.environ)
    reported = enqueue_again(home, b"http://a.test/1\nhttp://b.test/2\n")

    assert done.exit_code == 0, done.output
    assert reported.stdout == "2 accepted, 0 already waiting, 0 invalid\n"


DELETE_QUEUE = """
from workers.app import app
with app.connection_for_write() as connection:
    queue = app.amqp.queues["fetch"].bind(connection.default_channel)
    queue.declare()
    queue.delete()
"""


@pytest.mark.parametrize(
    "how",
    [["-m", "celery", "-A", "workers.app", "purge", "-f", "-Q", "fetch"], ["-c", DELETE_QUEUE]],
    ids=["celery purge", "queue.delete"],
)
def test_urls_purged_or_deleted_by_celery_may_be_requested_again(enqueue, home, how):
    enqueue(b"http://a.test/1\nhttp://b.test/2\n")

    done = subprocess.run(
        [sys.executable, *how],
        env={**os.environ, **home.environ}, cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    reported = enqueue_again(home, b"http://a.test/1\nhttp://b.test/2\n")

    assert done.returncode == 0, done.stderr
    assert reported.stdout == "2 accepted, 0 already waiting, 0 invalid\n"


def test_full_redis_is_reported_as_full_with_the_remedy(enqueue, home):
    home.redis.config_set("maxmemory", 1)
    try:
        reported = enqueue(b"http://a.test/1\n")
    finally:
        home.redis.config_set("maxmemory", 0)

    assert reported.exit_code == 1
    assert "its memory is full: raise its maxmemory" in reported.stderr
    assert "nothing answers" not in reported.stderr


def enqueue_again(home, content):
    return CliRunner().invoke(main, ["enqueue", "-"], env=home.environ, input=content)
