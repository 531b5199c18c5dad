"""The private S3 server: the settings that it prints work, and it leaves no process behind."""

import re
import shlex
import subprocess
import sys
from itertools import takewhile

import pytest

from aragog.settings import load_settings
from aragog.urlstore.content import open_content
from deploy.s3.server import binary
from tests.support.documented import ROOT, blocks, recipe
from tests.support.missing_parts import S3
from tests.support.s3_server import start_s3
from tests.support.servers import start_or_skip
from tests.support.standalone import free_port

pytestmark = pytest.mark.s3


def test_server_started_before_its_block_is_started_once(tmp_path):
    server = start_s3(tmp_path)
    started = server._process

    with server as running:
        inside = running._process

    assert inside is started
    assert started.returncode is not None


def test_settings_printed_by_make_s3_work(tmp_path, monkeypatch):
    (command,) = blocks("docs/deployment.md#page-content-in-s3", "sh")
    _, *arguments = shlex.split(recipe(command))
    arguments += ["--folder", str(tmp_path), "--port", str(free_port())]
    start_or_skip(binary, S3)
    process = subprocess.Popen(
        [sys.executable, *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    try:
        printed = "".join(takewhile(lambda line: "Ctrl-C" not in line, process.stdout))
        environ = dict(re.findall(r"([A-Z_0-9]+)=(\S+)", printed))
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        content = open_content(load_settings(environ=environ).content, tmp_path)
        content.put("00" * 32, b"A", {})

        assert content.get("00" * 32) == (b"A", {})
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()
