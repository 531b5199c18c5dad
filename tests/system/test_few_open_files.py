"""
A system that may open few files still fetches from many hosts, and doctor explains why it is slow.
"""

import os
import subprocess
import sys

import pytest

from tests.support.standalone import free_port

pytestmark = [pytest.mark.redis, pytest.mark.slow]

URLS = [f"http://site{n}.test/{path}" for n in range(200) for path in "ab"]


def limited(environ, *arguments):
    """Run a command that, like its children, may open 256 files."""
    shell = ["sh", "-c", 'ulimit -n 256; exec "$0" "$@"']
    return subprocess.run(
        [*shell, sys.executable, "-m", "aragog.cli", *arguments],
        env=environ,
        capture_output=True,
        text=True,
        timeout=180,
        stdin=subprocess.DEVNULL,
        check=False,
    )


@pytest.fixture
def environ(plain_origin, tmp_path):
    ours = {k: v for k, v in os.environ.items() if not k.startswith("ARAGOG_")}
    return ours | {
        "ARAGOG_DATA_DIR": str(tmp_path / "var"),
        "ARAGOG_SETTINGS": "",
        "ARAGOG_SERVING__HTTP_PORT": str(free_port()),
        "ARAGOG_SERVING__THRIFT_PORT": "0",
        "ARAGOG_SERVING__FLOWER_PORT": str(free_port()),
        "ARAGOG_FETCH__HOST_MAP": f"*.test={plain_origin.address}",
        "ARAGOG_FETCH__ALLOWED_NETWORKS": "127.0.0.0/8",
        "ARAGOG_FETCH__USER_AGENT": "aragog-test/1.0 (+http://127.0.0.1/)",
        "COLUMNS": "200",
    }


def test_pages_of_200_hosts_are_stored_with_256_open_files_per_process(environ, tmp_path):
    urls = tmp_path / "urls.txt"
    urls.write_text("\n".join(URLS), "ascii")
    run = limited(environ, "run", str(urls), "--stop")
    assert run.returncode == 0, run.stderr
    assert "400 stored" in run.stdout + run.stderr


def test_doctor_warns_about_a_limit_that_reduces_concurrency(environ):
    doctor = limited(environ, "doctor", "--no-workers")
    [line] = [line for line in doctor.stdout.splitlines() if "open files:" in line]
    assert line.startswith("warn")
    assert "may only open 256" in line
