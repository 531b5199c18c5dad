"""`aragog up`, `down`, `run` from outside, and kills of every process in the middle of work."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from aragog.bootstrap.stores import url_store
from aragog.client import Aragog
from aragog.errors import BrokerUnavailable
from aragog.settings import Settings, load_settings
from aragog.settings.in_use import running_pid
from aragog.standalone import leftovers
from tests.support.documented import agrees, examples
from tests.support.standalone import free_port
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.redis, pytest.mark.slow]

HOSTS, PAGES = 30, 5


@dataclass
class Machine:
    """A data folder and the commands of a user."""

    folder: Path
    environ: dict[str, str]
    settings: Settings

    def aragog(self, *arguments):
        argv = [sys.executable, "-m", "aragog.cli", *arguments]
        return subprocess.run(
            argv, env=self.environ, capture_output=True, text=True, timeout=150, check=False
        )

    def up(self):
        """Start it; returns what the command printed."""
        reported = self.aragog("up", "-d")
        assert reported.returncode == 0, reported.stderr + self.logs()
        return reported

    def adapted(self, expected):
        """Output from a page with this machine's folder, process and ports filled in."""
        serving = self.settings.serving
        for text, ours in (
            ("/home/me/aragog/var", self.folder),
            ("4711", self.pid()),
            ("8100", serving.http_port),
            ("5555", serving.flower_port),
        ):
            expected = expected.replace(text, str(ours))
        return expected

    def pid(self):
        return running_pid(self.folder / "run")

    def children(self):
        lines = (self.folder / "run" / "children").read_text().splitlines()
        return [int(line.split()[0]) for line in lines]

    def named(self, word):
        """The process IDs of the children whose command line contains `word`."""
        commands = []
        for pid in self.children():
            with contextlib.suppress(OSError):
                if word in Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " "):
                    commands.append(pid)
        return commands

    def finish(self, urls):
        """Wait until nothing waits; returns the outcomes of `urls` in the store."""
        wait_until(lambda: not self.in_flight(), 240, every_s=0.2, otherwise=self.logs)
        store = url_store(self.settings)
        records = store.get_many(urls)
        store.close()
        return Counter(r.facts["outcome"] if r else None for r in records)

    def in_flight(self):
        """The number of URLs in flight; all URLs while the redis-server restarts."""
        try:
            with Aragog(self.settings) as client:
                return client.in_flight()
        except BrokerUnavailable:
            return HOSTS * PAGES

    def logs(self):
        logs = sorted((self.folder / "logs").glob("*.log"))
        return "\n".join(f"== {p.name}\n{p.read_text(errors='replace')[-1500:]}" for p in logs)

    def enqueue(self, name):
        """Enqueue new URLs of hosts whose robots.txt is known; returns the URLs."""
        urls = [f"http://host{h}.test/{name}/{p}" for h in range(HOSTS) for p in range(PAGES)]
        with Aragog(self.settings) as client:
            client.enqueue(urls)
        return urls

    def stored(self, at_least):
        """Wait until that many of the last enqueued URLs are stored."""
        wait_until(lambda: self.in_flight() <= HOSTS * PAGES - at_least, otherwise=self.logs)


@pytest.fixture(scope="module")
def machine(demo_web):
    with tempfile.TemporaryDirectory(prefix="ar") as folder:
        environ = {k: v for k, v in os.environ.items() if not k.startswith("ARAGOG_")}
        environ |= {
            **demo_web,
            "ARAGOG_DATA_DIR": folder,
            "ARAGOG_SETTINGS": "",
            "ARAGOG_BROKER__CLAIM_TIMEOUT_S": "5",
            "ARAGOG_SERVING__HTTP_PORT": str(free_port()),
            "ARAGOG_SERVING__THRIFT_PORT": "0",
            "ARAGOG_SERVING__FLOWER_PORT": str(free_port()),
        }
        a_machine = Machine(Path(folder), environ, load_settings(environ=environ))
        a_machine.up()
        a_machine.finish(a_machine.enqueue("first"))
        yield a_machine
        if a_machine.pid():
            a_machine.aragog("down")
        leftovers.end(a_machine.folder / "run" / "children")


def gone(pids):
    return wait_until(lambda: not any(leftovers._start_time(pid) for pid in pids))


def test_second_up_reports_that_one_is_running(machine):
    for arguments in (["up"], ["up", "-d"]):
        reported = machine.aragog(*arguments)

        assert reported.returncode == 1
        assert reported.stderr.startswith(
            f"aragog: data_dir: aragog is already running in {machine.folder}"
        )
        assert "aragog down" in reported.stderr


def test_run_uses_the_running_system_and_prints_plain_lines_without_a_terminal(machine, tmp_path):
    urls = [f"http://run{n}.test/" for n in range(20)]
    (tmp_path / "urls").write_text("\n".join([*urls, "nonsense"]))

    reported = machine.aragog("run", str(tmp_path / "urls"))

    assert reported.returncode == 4, reported.stderr
    assert "20 accepted, 0 already waiting, 1 invalid" in reported.stdout
    assert f"{tmp_path}/urls:21: " in reported.stdout
    assert "0 waiting" in reported.stdout
    assert " show 'http://run0.test/'" in reported.stdout
    assert machine.finish(urls) == {"Gone": 20}
    assert machine.pid()


@pytest.fixture
def later(machine):
    """
    URLs that wait for an hour; they are removed after the test, because other tests wait for all
    URLs.
    """
    urls = [f"http://later{n}.test/" for n in range(3)]
    with Aragog(machine.settings) as client:
        client.enqueue(urls, run_after=int(1000 * (time.time() + 3600)))
    yield urls
    machine.aragog("queue", "purge", "fetch", "--yes")


def test_run_waits_only_for_its_own_urls_and_reports_those_not_stored(machine, later, tmp_path):
    pages = [f"http://www.shop.test/?run={n}" for n in range(3)]
    (tmp_path / "urls").write_text("\n".join([*pages, "http://127.0.0.1:9/", "http://run0.test/"]))

    reported = machine.aragog("run", str(tmp_path / "urls"), "--stop")
    (tmp_path / "urls").write_text("\n".join(pages))
    again = machine.aragog("run", str(tmp_path / "urls"), "--stop")

    assert machine.in_flight() == len(later)
    assert reported.returncode == 0, reported.stderr
    rows = {line.split()[0]: line for line in reported.stdout.splitlines() if "http" in line[:5]}
    assert rows.keys() == {"http://127.0.0.1:9/", "http://run0.test/"}
    assert rows["http://127.0.0.1:9/"].endswith("fetch.allowed_ports, fetch.allowed_networks")
    assert "Gone" in rows["http://run0.test/"]
    assert "3 already stored" in again.stdout
    assert again.returncode == 0


def test_down_in_the_middle_and_up_again_continue_and_print_what_the_page_shows(machine):
    (up, refused, down) = [output for command, output in examples("docs/cli.md")
                           if command.split()[1] in ("up", "down")]  # fmt: skip
    urls = machine.enqueue("stopped")
    machine.stored(30)
    children = machine.children()

    reported = machine.aragog("down")

    assert agrees(down, reported.stdout), reported.stderr
    assert gone(children)
    assert machine.aragog("down").returncode == 1
    reported = machine.up()
    assert agrees(machine.adapted(up), reported.stdout)
    assert_shown_addresses_respond(reported)
    assert agrees(machine.adapted(refused), machine.aragog("up").stderr)
    assert machine.finish(urls) == {"Gone": len(urls)}


def assert_shown_addresses_respond(reported):
    addresses = set(re.findall(r"http://([\d.]+):(\d+)", reported.stdout))
    assert len(addresses) == 2
    assert reported.stderr == ""
    for host, port in addresses:
        socket.create_connection((host, int(port))).close()


# The Redis server is redis-server or valkey-server, whichever is newer here.
@pytest.mark.parametrize("name", ["-server unixsocket", "aragog.workers upkeep"])
def test_killed_child_is_restarted(machine, name):
    urls = machine.enqueue(f"{name[-5:]}-killed")
    assert machine.named(name)
    machine.stored(30)
    killed = machine.named(name)
    for pid in killed:
        os.killpg(pid, signal.SIGKILL)

    assert machine.finish(urls) == {"Gone": len(urls)}
    wait_until(lambda: set(machine.named(name)) - set(killed), every_s=0.1)


@pytest.mark.parametrize("everything", [False, True], ids=["supervisor", "everything"])
def test_killing_the_supervisor_or_everything_loses_nothing(machine, everything):
    urls = machine.enqueue(f"cut{everything:d}")
    machine.stored(30)
    children = machine.children()
    os.kill(machine.pid(), signal.SIGKILL)
    for pid in children if everything else ():
        with contextlib.suppress(ProcessLookupError):  # it has ended with the supervisor
            os.killpg(pid, signal.SIGKILL)

    assert gone(children)
    wait_until(lambda: machine.pid() is None)
    machine.up()
    assert machine.finish(urls) == {"Gone": len(urls)}


def test_copy_of_the_data_is_restored_by_starting_it(machine):
    outcomes = machine.finish(urls := machine.enqueue("copied"))
    with tempfile.TemporaryDirectory(prefix="ar") as folder:
        copy = Path(folder, "copy")
        (there := Path(folder, "backup.toml")).write_text(f'data_dir = "{copy}"\n')
        assert machine.aragog("store", "copy", str(there)).returncode == 0
        environ = machine.environ | {
            "ARAGOG_DATA_DIR": str(copy),
            "ARAGOG_SERVING__HTTP_PORT": str(free_port()),
            "ARAGOG_SERVING__FLOWER_PORT": str(free_port()),
        }
        restored = Machine(copy, environ, load_settings(environ=environ))
        restored.up()
        try:
            assert restored.finish(urls) == outcomes
            assert restored.finish(restored.enqueue("restored")) == {"Gone": len(urls)}
        finally:
            restored.aragog("down")
            leftovers.end(copy / "run" / "children")


def test_no_worker_ended_in_a_traceback(machine):
    for name in ("fetch", "upkeep", "canonicalize", "store"):
        text = (machine.folder / "logs" / f"{name}.log").read_text(errors="replace")

        assert "aragog.errors.Config" not in text
        assert "raised unexpected" not in text


def test_up_in_the_background_fails_if_an_announced_server_does_not_respond(tmp_path):
    """It exited with status 0 and printed an address on which nothing listened."""
    environ = {k: v for k, v in os.environ.items() if not k.startswith("ARAGOG_")} | {
        "ARAGOG_DATA_DIR": str(tmp_path / "var"),
        "ARAGOG_SETTINGS": "",
        "ARAGOG_SERVING__HTTP_PORT": str(free_port()),
        "ARAGOG_SERVING__THRIFT_PORT": "0",
        "ARAGOG_SERVING__FLOWER_PORT": str(free_port()),
    }
    machine = Machine(tmp_path / "var", environ, load_settings(environ=environ))
    with ThreadPoolExecutor(1) as pool:
        up = pool.submit(machine.aragog, "up", "-d")
        children = machine.folder / "run" / "children"
        wait_until(lambda: children.exists() and machine.named("cli serve"), every_s=0.005)
        (server,) = machine.named("cli serve")
        os.kill(server, signal.SIGSTOP)  # before it listens
        try:
            reported = up.result()
        finally:
            os.kill(server, signal.SIGCONT)
            machine.aragog("down")

    assert reported.returncode == 1
    port = machine.settings.serving.http_port
    assert f"serving.http_port: nothing listens on 127.0.0.1:{port} yet" in reported.stderr
