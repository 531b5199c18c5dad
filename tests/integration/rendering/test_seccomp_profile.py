"""Chromium under the render worker's seccomp profile: it starts with its sandbox."""

import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from aragog.crawl.rendering.browser import NO_NETWORK_FLAGS, NO_OUTPUT_FLAGS
from tests.support import seccomp
from tests.support.chromium import chromium_or_skip
from tests.support.missing_parts import LINUX, NAMESPACES, SECCOMP, skip_without, unless

PROFILE = Path(__file__).parents[3] / "deploy" / "docker" / "seccomp-render.json"
PAGE = "data:text/html,<title>a</title><script>document.title = 'ran' + (1 + 1)</script>"

pytestmark = unless(sys.platform == "linux", LINUX)


@pytest.fixture
def confined():
    """Runs a command as an ordinary user under a profile."""
    try:
        ctypes.CDLL(seccomp.LIBRARY)
    except OSError:
        skip_without(SECCOMP)
    with TemporaryDirectory(dir="/tmp") as home:  # the path of a socket in it must be short
        if os.geteuid() == 0:
            os.chown(home, seccomp.NOBODY, seccomp.NOBODY)

        def run(*command, also=()):
            profile = json.loads(PROFILE.read_text())
            profile["syscalls"][0]["names"] += also
            path = Path(home, "profile.json")
            path.write_text(json.dumps(profile))
            return subprocess.run(
                [sys.executable, seccomp.__file__, str(path), *command],
                capture_output=True, text=True, timeout=120, cwd=home, check=False,
                env={"HOME": home, "TMPDIR": home, "PATH": os.environ["PATH"]},
            )  # fmt: skip

        if run("unshare", "--user", "true").returncode:
            skip_without(NAMESPACES)
        yield run


def chromium():
    """The command that prints the page after its script ran, with the sandbox on."""
    return [
        chromium_or_skip(),
        "--headless",
        *NO_NETWORK_FLAGS,
        *NO_OUTPUT_FLAGS,
        "--dump-dom",
        PAGE,
    ]


@pytest.mark.parametrize("before", [(), ("unshare", "--user", "--net", "--map-current-user", "--")])
def test_chromium_renders_in_its_sandbox(confined, before):
    shown = confined(*before, *chromium())

    assert "<title>ran2</title>" in shown.stdout, shown.stderr


def test_chromium_exits_if_its_sandbox_cannot_be_created(confined):
    """So the test above really detects a sandbox."""
    shown = confined(*chromium(), also=["chroot"])

    assert "ran2" not in shown.stdout


@pytest.mark.parametrize("family", ["AF_ALG", "AF_VSOCK"])
def test_sockets_to_the_kernel_and_the_host_are_refused(confined, family):
    """A page that broke out of the renderer could reach both."""
    code = f"import socket; socket.socket(socket.{family}, socket.SOCK_SEQPACKET)"
    others = "import socket; socket.socketpair(); socket.socket(); socket.socket(socket.AF_INET6)"

    assert "Errno 1]" in confined("/usr/bin/python3", "-c", code).stderr
    assert confined("/usr/bin/python3", "-c", others).returncode == 0


def test_files_of_another_process_cannot_be_taken(confined):
    code = (
        "import ctypes, os; libc = ctypes.CDLL(None, use_errno=True); "
        "own = os.pidfd_open(os.getpid()); libc.syscall(438, own, 1, 0); print(ctypes.get_errno())"
    )

    assert confined("/usr/bin/python3", "-c", code).stdout.split() == ["1"]


def test_user_namespace_gives_no_permission_to_mount(confined):
    refused = confined("unshare", "--user", "--map-root-user", "--mount", "true")

    assert refused.returncode != 0
    assert "Operation not permitted" in refused.stderr
