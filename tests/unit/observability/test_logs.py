"""Log lines as JSON and as text, rotation, and output at exit."""

import json
import logging
import subprocess
import sys

import pytest

from aragog.observability.logs import JsonFormatter, format_handlers, log_url
from aragog.settings import LogSettings
from aragog.standalone.log_rotation import rotate_all

WITH_A_THREAD_AT_EXIT = """
import threading
from urlspelling import normalize
ready = threading.Event()
def run():
    normalize('/a?b=1', 'http://x.test/c')
    ready.set()
    threading.Event().wait()
threading.Thread(target=run, daemon=True).start()
ready.wait()
"""


@pytest.fixture
def lines(caplog):
    """A logger, and a function that returns its lines as JSON."""
    log = logging.getLogger("aragog.test")

    def read():
        return [json.loads(JsonFormatter().format(record)) for record in caplog.records]

    caplog.set_level(logging.INFO)
    return log, read


def test_line_about_a_url_is_an_object_with_its_request_id(lines):
    log, read = lines

    log_url(log, "fetched", "http://a.test/\n", "id-1", status=200, reason=None)

    (line,) = read()
    assert line["event"] == "fetched"
    assert line["url"] == "http://a.test/\n"
    assert line["request_id"] == "id-1"
    assert line["status"] == 200
    assert line["level"] == "INFO"
    assert "reason" not in line


def test_untrusted_input_cannot_forge_a_text_line(caplog):
    caplog.set_level(logging.INFO)

    log_url(logging.getLogger("aragog.test"), "failed", "http://a/", "x\ny", reason="\x1b[2J\nz")

    (line,) = caplog.messages
    assert line == "failed http://a/ reason=\\x1b[2J\\nz request=x\\ny"


def test_exception_is_one_line(lines):
    log, read = lines

    try:
        raise ValueError("two\nlines")
    except ValueError:
        log.exception("failed")

    formatted = JsonFormatter().format(logging.makeLogRecord({"msg": "x\ny"}))
    assert "ValueError: two\nlines" in read()[0]["error"]
    assert "\n" not in formatted


def test_handlers_keep_their_format_unless_json_is_selected():
    log, handler = logging.getLogger("aragog.test.handlers"), logging.StreamHandler()
    log.addHandler(handler)

    format_handlers(log, LogSettings())
    before = handler.formatter
    format_handlers(log, LogSettings(format="json"))
    log.removeHandler(handler)

    assert before is None
    assert isinstance(handler.formatter, JsonFormatter)


def test_oversized_log_is_rotated_while_its_process_appends(tmp_path):
    log = tmp_path / "fetch.log"
    with log.open("ab", buffering=0) as writer:
        for number in range(4):
            writer.write(b"%d" % number * 100)
            rotate_all(tmp_path, max_bytes=50, count=2)
        writer.write(b"last")

    assert log.read_bytes() == b"last"
    assert (tmp_path / "fetch.log.1").read_bytes() == b"3" * 100
    assert (tmp_path / "fetch.log.2").read_bytes() == b"2" * 100
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "fetch.log",
        "fetch.log.1",
        "fetch.log.2",
    ]
    assert (tmp_path / "fetch.log.1").stat().st_mode & 0o077 == 0


def test_small_log_is_not_rotated(tmp_path):
    (tmp_path / "a.log").write_bytes(b"x")

    rotate_all(tmp_path, max_bytes=50, count=2)

    assert [path.name for path in tmp_path.iterdir()] == ["a.log"]


def test_process_with_a_busy_thread_exits_without_a_leak_report():
    done = subprocess.run(
        [sys.executable, "-c", WITH_A_THREAD_AT_EXIT],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
