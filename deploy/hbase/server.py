"""
A private HBase with its Thrift 1 gateway, for the tests and for trying it out.

    python -m deploy.hbase --folder var/hbase --port 9090

runs one in the foreground until Ctrl-C or SIGTERM; its data stays in the folder. It needs Java 17
or newer, and Maven once, to download the jars (117 MB) into the cache folder. One JVM runs
ZooKeeper, master and region server (about 375 MB), and one each gateway (about 250 MB). It is
ready after about 5 s. For a real cluster see docs/deployment.md#hbase.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import string
import subprocess
import time
from pathlib import Path
from typing import Self

import happybase
from thriftpy2.transport import TTransportException

from deploy import java
from deploy.java import CACHE, free_ports, tool
from deploy.processes import CannotStart, run_until_interrupted

HERE = Path(__file__).resolve().parent

MASTER = "org.apache.hadoop.hbase.master.HMaster"
GATEWAY = "org.apache.hadoop.hbase.thrift.ThriftServer"
MAX_START_S = 240.0
"""It takes 9 s on two idle cores; the limit is for busy ones."""


def jars(cache: Path = CACHE) -> Path:
    """Return the folder of HBase's jars."""
    return java.jars(HERE / "pom.xml", cache)


class MasterEnded(CannotStart):
    """The master ended before it was ready."""


class HBaseServer:
    """
    One HBase in `folder`, with one gateway per entry of `ports` (0 for a free port).

    Ports are chosen once, so a process that is killed and started again keeps its address.
    """

    def __init__(self, folder: Path, *, ports: tuple[int, ...] = (0,)) -> None:
        self.folder = folder.absolute()
        spare = free_ports(3 + len(ports))
        self._inner = dict(
            zip(("zookeeper_port", "master_port", "region_port"), spare, strict=False)
        )
        self.ports = [port or free_port for port, free_port in zip(ports, spare[3:], strict=True)]
        self._master: subprocess.Popen[bytes] | None = None
        self._gateways: dict[int, subprocess.Popen[bytes]] = {}

    @property
    def gateways(self) -> tuple[str, ...]:
        """Return `host:port` of each gateway, for `store.hbase_gateways`."""
        return tuple(f"127.0.0.1:{port}" for port in self.ports)

    @property
    def pids(self) -> tuple[int, ...]:
        """Return the process ids of the server and its running gateways."""
        processes = (self._master, *self._gateways.values())
        return tuple(process.pid for process in processes if process is not None)

    @property
    def cluster_key(self) -> str:
        """Return the argument of another HBase's `add_peer` that makes it replicate to this one."""
        return f"127.0.0.1:{self._inner['zookeeper_port']}:/hbase"

    def start(self, *, timeout_s: float = MAX_START_S) -> Self:
        """
        Start it and wait until every gateway answers. Raises CannotStart if one does not.

        Once in many hundred starts, a master gives up after 200 s. Then this starts it once more.
        """
        try:
            return self._start(timeout_s)
        except MasterEnded:
            return self._start(timeout_s)

    def _start(self, timeout_s: float) -> Self:
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
        """Start ZooKeeper, master and region server without waiting."""
        self._master = self._java("master", MASTER, "start", heap="768m")

    def start_gateway(self, number: int = 0) -> None:
        """Start a gateway on its port without waiting. It waits for the master itself."""
        address = ("-b", "127.0.0.1", "-p", str(self.ports[number]))
        name = f"gateway-{number}"
        self._gateways[number] = self._java(name, GATEWAY, "start", *address, heap="256m")

    def wait_until_ready(self, number: int = 0, *, timeout_s: float = MAX_START_S) -> None:
        """Wait until a gateway can read the table that the master creates last."""
        deadline_s = time.monotonic() + timeout_s
        while time.monotonic() < deadline_s:
            for name, process in (("master", self._master), ("gateway", self._gateways[number])):
                if process is not None and process.poll() is not None:
                    error = MasterEnded if name == "master" else CannotStart
                    raise error(f"HBase's {name} ended:\n{self._log_tail()}")
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
        """Kill a gateway with SIGKILL, like a power cut."""
        _end(self._gateways.pop(number, None), signal.SIGKILL)

    def kill_master(self) -> None:
        """Kill ZooKeeper, master and region server with SIGKILL."""
        _end(self._master, signal.SIGKILL)
        self._master = None

    def pause_gateway(self, number: int = 0) -> None:
        """Pause a gateway with SIGSTOP: it accepts connections and answers nothing."""
        self._gateways[number].send_signal(signal.SIGSTOP)

    def resume_gateway(self, number: int = 0) -> None:
        """Resume a gateway with SIGCONT. It answers the requests that waited."""
        self._gateways[number].send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """Kill all with SIGKILL, if the data are no longer needed."""
        for number in list(self._gateways):
            self.kill_gateway(number)
        self.kill_master()

    def stop(self) -> None:
        """Stop all with SIGTERM, gateways first; about 3 s. Data stays in the folder."""
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


def _end(process: subprocess.Popen[bytes] | None, signal_number: signal.Signals) -> None:
    """Send a signal and wait. Sends SIGKILL after 20 s."""
    if process is None:
        return
    process.send_signal(signal_number)
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def main() -> None:
    """Run one in the foreground."""
    parser = argparse.ArgumentParser(description="Run a private HBase with its Thrift gateway.")
    parser.add_argument("--folder", type=Path, default=Path("var/hbase"), help="data and logs")
    parser.add_argument(
        "--port", type=int, action="append", help="port of a gateway; may be repeated"
    )
    options = parser.parse_args()
    started_s = time.monotonic()

    def ready(server: HBaseServer) -> None:
        print(f"HBase is ready after {time.monotonic() - started_s:.0f} s; data and logs: "
              f"{server.folder}")  # fmt: skip
        print("  ARAGOG_STORE__ENGINE=hbase "
              f"ARAGOG_STORE__HBASE_GATEWAYS={','.join(server.gateways)}")  # fmt: skip

    server = HBaseServer(options.folder, ports=tuple(options.port or [9090]))
    run_until_interrupted("hbase", server, ready)
