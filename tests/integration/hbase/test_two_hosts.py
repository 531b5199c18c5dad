"""`make two-hosts`, ended in the middle, leaves nothing running."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tests.support.missing_parts import NAMESPACES, ROOT, skip_without, unless
from tests.support.waiting import wait_until

pytestmark = [
    pytest.mark.hbase,
    pytest.mark.s3,
    unless(os.geteuid() == 0 and shutil.which("ip"), ROOT),
]


def namespaces():
    return list(Path("/run/netns").glob("aragog-*"))


def processes_in(folder):
    """
    The command lines of processes whose working directory is, or was, below `folder`, by process
    ID.
    """
    commands = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if str((process / "cwd").readlink()).startswith(f"{folder}/"):
                commands[int(process.name)] = (process / "cmdline").read_bytes()
        except OSError:  # it has ended
            continue
    return commands


@pytest.fixture
def two_hosts(tmp_path, hbase_server, s3_server):
    """
    `make two-hosts` with its folder below `tmp_path`, on a machine that already has its downloads.
    """
    if subprocess.run(["unshare", "--net", "true"], check=False).returncode:
        skip_without(NAMESPACES)
    wait_until(lambda: not namespaces(), otherwise="another `make two-hosts` runs on this machine")
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            ["make", "--old-file=setup", "two-hosts"],
            env={**os.environ, "TMPDIR": str(tmp_path)},
            stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
    yield process
    for pid in processes_in(tmp_path):
        os.kill(pid, signal.SIGKILL)
    process.kill()
    process.wait()


def test_two_hosts_leave_no_process_and_no_namespace_when_terminated(two_hosts, tmp_path):
    def hbase_has_data():
        assert two_hosts.poll() is None, (tmp_path / "log").read_text()
        return list(tmp_path.glob("*/host-a/hbase/data/hbase.version"))

    # A process that has read nothing yet would end without its folder.
    wait_until(hbase_has_data)

    os.killpg(two_hosts.pid, signal.SIGTERM)  # as timeout(1) does

    assert two_hosts.wait(120) != 0
    assert processes_in(tmp_path) == {}
    assert namespaces() == []
