"""
Pages cannot control the terminal through any command: control characters are printed as escapes.
"""

import ast
import os
import pty
import subprocess
import sys
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner

from aragog.bootstrap.stores import url_store
from aragog.cli import main
from aragog.cli.terminal import one_line, printable
from aragog.runtime.clock import ManualClock
from aragog.settings import load_settings
from aragog.urlstore.compression import compress
from aragog.urlstore.records import ContentWrite, OutLink
from aragog.urlstore.refresh_policy import Seen
from pinlater.admin import Admin
from pinlater.models import NewJob
from tests.support.documented import ROOT
from tests.support.stores import NOW_MS, page

pytestmark = pytest.mark.redis

HOSTILE = "title \x1b]0;owned\x07 \x1b[2J \x9b31m \x90q\x9c \x7f \x00 \u202etxt\u2066 [red]markup[/] \r\nforged"
BODY = f"<html><title>{HOSTILE}</title></html>".encode()
URL, OTHER = "http://hostile.example/", "http://other.example/"
STEERING = [chr(c) for c in (*range(9), *range(11, 32), *range(0x7F, 0xA0), 0x202E, 0x2066)]

COMMANDS = [
    ["show", URL],
    ["show", URL, "--json"],
    ["links", URL],
    ["links", URL, "--json"],
    ["links", "--in", OTHER],
    ["changes"],
    ["changes", "--json"],
    ["explain", URL],
    ["explain", URL, "--json"],
    ["due", URL],
    ["status"],
    ["store", "list", "hostile.example"],
    ["queue", "jobs", "fetch", "--state", "pending"],
    ["queue", "jobs", "fetch", "--state", "pending", "--json"],
    ["queue", "list"],
    ["show", f"http://unknown.example/{HOSTILE}"],
    ["show", HOSTILE],
    ["explain", HOSTILE],
    ["enqueue", f"http://{HOSTILE}"],
    ["watch", HOSTILE, "--owner", "o"],
    ["store", "lift-takedown", HOSTILE],
]


@pytest.fixture
def hostile(cli_environ):
    """
    A store whose only page has hostile text in every possible place, and a job that has it too.
    """
    store = url_store(load_settings(), ManualClock(NOW_MS))
    for at_ms, text in ((NOW_MS, "before"), (NOW_MS + 9, HOSTILE)):
        seen = Seen(outcome="Fetched", fetched_at_ms=at_ms, page_type="product")
        store.write_pages(
            [
                page(
                    URL,
                    at_ms,
                    seen=seen,
                    fields={name: orjson.dumps(text) for name in ("product.price", "page.title")},
                    facts={"page_type": "product", "reason": text, "server": text},
                    content=ContentWrite(compress(BODY), length_bytes=len(BODY), meta={}),
                )
            ]
        )
    store.links.add(URL, [OutLink(OTHER, HOSTILE)])
    while store.maintenance.compact_links(1000).left:
        pass
    store.close()
    job = NewJob(HOSTILE.encode(), name=HOSTILE)
    Admin.connect(load_settings().resolved().broker.url).cluster.enqueue("fetch", [job])


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda a: " ".join(a)[:24])
def test_hostile_page_cannot_control_the_terminal(hostile, arguments):
    ran = CliRunner().invoke(main, arguments)

    assert not isinstance(ran.exception, UnicodeError)
    controls = {c for c in ran.output if c in STEERING}
    assert controls == set(), ran.output
    assert "Traceback" not in ran.output


def test_newline_in_page_text_starts_no_new_line(hostile):
    for arguments in (["changes"], ["links", URL], ["store", "list", "hostile.example"]):
        ran = CliRunner().invoke(main, arguments)

        assert not any(line.startswith("forged") for line in ran.output.splitlines())


def test_page_has_hostile_text_in_every_place(hostile):
    for arguments in (["links", URL], ["links", "--in", OTHER], ["changes"], ["show", URL]):
        assert "\\x1b]0;owned" in CliRunner().invoke(main, arguments).output.replace(
            "\\u001b", "\\x1b"
        )


def test_markup_of_a_page_is_printed_literally(hostile):
    assert "[red]markup[/]" in CliRunner().invoke(main, ["show", URL]).output


def test_content_is_raw_in_a_pipe_and_printable_on_a_terminal(hostile):
    command = [sys.executable, "-m", "aragog.cli", "content", URL]
    piped = subprocess.run(command, capture_output=True, check=True, timeout=120).stdout
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "wb") as out:
        subprocess.run(command, stdout=out, check=True, timeout=120)
        shown = os.read(ours, 65_536)
    os.close(ours)

    assert piped == BODY
    assert b"\x1b" not in shown
    assert b"\\x1b]0;owned" in shown


@pytest.mark.parametrize("character", STEERING)
def test_control_character_is_printed_as_its_escape(character):
    assert printable(f"a{character}b") == f"a\\x{ord(character):02x}b" or ord(character) > 0xFF
    assert character not in printable(character)


def test_ordinary_text_is_unchanged():
    text = "Żółw — 漢字 🐢 e\u0301 עברית"

    assert printable(text) == one_line(text) == text
    assert (printable("a\n\tb"), one_line("a\n\tb")) == ("a\n\tb", "a\\x0a\\x09b")


def test_every_command_prints_through_one_module():
    pinlater = Path(ROOT, "packages", "pinlater", "src", "pinlater")
    one = Path(ROOT, "aragog", "cli", "terminal.py")
    for path in {*Path(ROOT, "aragog", "cli").rglob("*.py"), pinlater / "cli.py"} - {one}:
        for node in ast.walk(ast.parse(path.read_text())):
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            assert called not in {"click.echo", "click.secho", "print", "Console"}, path
