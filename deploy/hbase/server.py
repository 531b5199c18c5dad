"""
A private HBase with its Thrift 1 gateway, for the tests and for trying it out.

    python -m deploy.hbase --folder var/hbase --port 9090

runs one in the foreground until Ctrl-C or SIGTERM; its data stays in the folder. It needs Java 17
or newer, and Maven once, to download the jars (117 MB) into the cache folder. One JVM holds
ZooKeeper, master and region server (about 375 MB), each gateway is another (about 250 MB). It is
ready after about 5 s. For a real cluster see docs/hbase.md.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import shutil
import signal
import socket
import string
import subprocess
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import Self

import happybase
from thriftpy2.transport import TTransportException

from deploy.processes import CannotStart, run_until_interrupted

HERE = Path(__file__).resolve().parent
CACHE = Path(os.environ.get("ARAGOG_CACHE", HERE.parents[1] / ".cache"))

MASTER = "org.apache.hadoop.hbase.master.HMaster"
GATEWAY = "org.apache.hadoop.hbase.thrift.ThriftServer"
PORTS = range(10_000, 12_000)
READY_WITHIN_S = 240.0
"""It takes 9 s on two idle cores; the limit is for busy ones."""


def tool(name: str, remedy: str) -> str:
    """The path of a program; CannotStart with the remedy where there is none."""
    found = shutil.which(name)
    if not found:
        raise CannotStart(f"{name} is not installed: {remedy}")
    return found


def jars(cache: Path = CACHE) -> Path:
    """
    The folder of HBase's jars, fetched by Maven once for this pom.xml (half a minute).

    Safe beside another process that fetches them too: the first to finish is taken.
    """
    pom = HERE / "pom.xml"
    folder = cache / "hbase" / hashlib.sha256(pom.read_bytes()).hexdigest()[:16]
    if folder.is_dir():
        return folder / "lib"
    maven = tool("mvn", "apt install maven")
    folder.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix="part-", dir=folder.parent))
    try:
        # -C: a jar whose checksum is missing or wrong ends the build instead of a warning.
        copy = [maven, "-B", "-q", "-C", "-f", pom, "dependency:copy-dependencies",
                "-DincludeScope=runtime", f"-DoutputDirectory={part / 'lib'}"]  # fmt: skip
        done = subprocess.run(copy, capture_output=True, text=True, check=False)
        if done.returncode:
            raise CannotStart(f"mvn could not fetch the jars:\n{done.stdout[-2000:]}")
        if not folder.is_dir():
            part.rename(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return folder / "lib"


def free_ports(count: int) -> list[int]:
    """
    Ports of 127.0.0.1 that nobody listens on at this moment, all different.

    HBase binds them seconds later, so none is of those that the kernel gives to other sockets.
    """
    return list(islice(filter(_is_free, random.sample(PORTS, len(PORTS))), count))


def _is_free(port: int) -> bool:
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


class HBaseServer:
    """
    One HBase in `folder`, with as many gateways as `ports` has entries (0: a free port each).

    Ports are chosen once, so what is killed and started again is found under its old address.
    """

    def __init__(self, folder: Path, *, ports: tuple[int, ...] = (0,)) -> None:
        self.folder = folder.absolute()
        spare = free_ports(3 + len(ports))
        self._inner = dict(
            zip(("zookeeper_port", "master_port", "region_port"), spare, strict=False)
        )
        self.ports = [port or free for port, free in zip(ports, spare[3:], strict=True)]
        self._master: subprocess.Popen[bytes] | None = None
        self._gateways: dict[int, subprocess.Popen[bytes]] = {}

    @property
    def gateways(self) -> tuple[str, ...]:
        """`host:port` of each gateway, as `store.hbase_gateways` takes them."""
        return tuple(f"127.0.0.1:{port}" for port in self.ports)

    @property
    def pids(self) -> tuple[int, ...]:
        """The process ids of the server and of its gateways, as far as they run."""
        processes = (self._master, *self._gateways.values())
        return tuple(process.pid for process in processes if process is not None)

    @property
    def cluster_key(self) -> str:
        """What the `add_peer` of another HBase takes to replicate to this one."""
        return f"127.0.0.1:{self._inner['zookeeper_port']}:/hbase"

    def start(self, *, timeout_s: float = READY_WITHIN_S) -> Self:
        """Run it and return once every gateway answers; CannotStart when one does not."""
        try:
            self._configure()
            self.start_master()
            for number in range(len(self.ports)):
                self.start_gateway(number)
            for number in range(len(self.ports)):
                self.wait_until_ready(number, timeout_s=timeout_s)
        except BaseException:
            self.stop()
            raise
        return self

    def start_master(self) -> None:
        """Run ZooKeeper, master and region server; does not wait."""
        self._master = self._java("master", MASTER, "start", heap="768m")

    def start_gateway(self, number: int = 0) -> None:
        """Run a gateway on its port; does not wait (it waits for the master itself)."""
        address = ("-b", "127.0.0.1", "-p", str(self.ports[number]))
        name = f"gateway-{number}"
        self._gateways[number] = self._java(name, GATEWAY, "start", *address, heap="256m")

    def wait_until_ready(self, number: int = 0, *, timeout_s: float = READY_WITHIN_S) -> None:
        """Return once that gateway reads the table that the master makes last."""
        until = time.monotonic() + timeout_s
        while time.monotonic() < until:
            for name, process in (("master", self._master), ("gateway", self._gateways[number])):
                if process is not None and process.poll() is not None:
                    raise CannotStart(f"HBase's {name} ended:\n{self._log_tail()}")
            try:
                connection = happybase.Connection("127.0.0.1", self.ports[number], timeout=5000)
                try:
                    connection.table("hbase:namespace").row(b"default")
                finally:
                    connection.close()
                return
            except (TTransportException, OSError):
                time.sleep(0.1)
            except Exception as error:  # IOError of the gateway: the master is not ready
                if type(error).__name__ != "IOError":
                    raise
                time.sleep(0.1)
        raise CannotStart(f"HBase was not ready after {timeout_s:.0f} s:\n{self._log_tail()}")

    def kill_gateway(self, number: int = 0) -> None:
        """SIGKILL, as a power cut would."""
        _end(self._gateways.pop(number, None), signal.SIGKILL)

    def kill_master(self) -> None:
        """SIGKILL to ZooKeeper, master and region server at once."""
        _end(self._master, signal.SIGKILL)
        self._master = None

    def pause_gateway(self, number: int = 0) -> None:
        """SIGSTOP: it accepts connections and answers nothing, until `resume_gateway`."""
        self._gateways[number].send_signal(signal.SIGSTOP)

    def resume_gateway(self, number: int = 0) -> None:
        """SIGCONT: it continues, and answers the requests that waited."""
        self._gateways[number].send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """SIGKILL to all, if the data are no longer needed."""
        for number in list(self._gateways):
            self.kill_gateway(number)
        self.kill_master()

    def stop(self) -> None:
        """SIGTERM to all, gateways first; about 3 s. Data stays in the folder."""
        gateways, self._gateways = list(self._gateways.values()), {}
        for process in gateways:
            process.send_signal(signal.SIGCONT)
            process.terminate()
        for process in gateways:
            _end(process, signal.SIGTERM)
        _end(self._master, signal.SIGTERM)
        self._master = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def _configure(self) -> None:
        conf = self.folder / "conf"
        conf.mkdir(parents=True, exist_ok=True)
        template = string.Template((HERE / "hbase-site.xml").read_text())
        site = template.substitute(self._inner, folder=self.folder)
        (conf / "hbase-site.xml").write_text(site)
        shutil.copy(HERE / "log4j2.properties", conf)

    def _java(self, name: str, main: str, *arguments: str, heap: str) -> subprocess.Popen[bytes]:
        java = tool("java", "apt install openjdk-17-jre-headless")
        class_path = f"{self.folder / 'conf'}:{jars()}/*"
        command = [java, f"@{HERE / 'jvm.options'}", f"-Xmx{heap}", "-cp", class_path, main]
        with (self.folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                [*command, *arguments], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                cwd=self.folder, start_new_session=True,
            )  # fmt: skip

    def _log_tail(self) -> str:
        logs = sorted(self.folder.glob("*.log"))
        return "\n".join(
            f"--- {log}\n" + "\n".join(log.read_text(errors="replace").splitlines()[-15:])
            for log in logs
        )


def _end(process: subprocess.Popen[bytes] | None, by: signal.Signals) -> None:
    """Send the signal and wait; SIGKILL after 20 s."""
    if process is None:
        return
    process.send_signal(by)
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def main() -> None:
    """Run one in the foreground."""
    parser = argparse.ArgumentParser(description="Run a private HBase with its Thrift gateway.")
    parser.add_argument("--folder", type=Path, default=Path("var/hbase"), help="data and logs")
    parser.add_argument("--port", type=int, action="append", help="of a gateway; may be repeated")
    options = parser.parse_args()
    started_s = time.monotonic()

    def ready(server: HBaseServer) -> None:
        print(f"HBase is ready after {time.monotonic() - started_s:.0f} s; data and logs: "
              f"{server.folder}")  # fmt: skip
        print("  ARAGOG_STORE__ENGINE=hbase "
              f"ARAGOG_STORE__HBASE_GATEWAYS={','.join(server.gateways)}")  # fmt: skip

    server = HBaseServer(options.folder, ports=tuple(options.port or [9090]))
    run_until_interrupted("hbase", server, ready)
