"""
A private Kafka broker, for the tests and for trying it out.

    python -m deploy.kafka --folder var/kafka --port 9092 --topic changes --topic urls

runs one in the foreground until Ctrl-C or SIGTERM; its data stays in the folder. It needs Java 17
or newer, and Maven once, to download the jars (44 MB) into the cache folder; their hashes are in
jars.sha256. One JVM is broker and controller (about 250 MB), and is ready after about 4 s.
"""

from __future__ import annotations

import argparse
import signal
import string
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from deploy.java import free_ports, jars, tool
from deploy.processes import CannotStart, run_until_interrupted

HERE = Path(__file__).resolve().parent
MAX_START_S = 120.0
"""It takes 4 s on two idle cores; the limit is for busy ones."""
_CLUSTER = "YXJhZ29nLWthZmthLTAwMQ"
"""The id of the cluster: 16 bytes in base64."""
_OPTIONS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Xmx384m")


class KafkaServer:
    """
    One broker in `folder`. Its port is chosen once and kept over restarts.

    Args:
        folder: the folder for its data and logs.
        port: the port to listen on; 0 for a free one.
    """

    def __init__(self, folder: Path, *, port: int = 0) -> None:
        self.folder = folder.absolute()
        free, controller = free_ports(2)
        self.port = port or free
        self._controller_port = controller
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """Return the value for `bootstrap.servers`."""
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int | None:
        """Return its process id, or None if it does not run."""
        return self._process.pid if self._process else None

    def start(self, *, timeout_s: float = MAX_START_S) -> Self:
        """Start it and wait until it answers. Raises CannotStart if it does not."""
        self._configure()
        if not (self.folder / "data" / "meta.properties").exists():
            self._format()
        self._process = self._java("kafka.Kafka", str(self._properties))
        try:
            self._wait_until_ready(timeout_s)
        except BaseException:
            self.kill()
            raise
        return self

    def create_topic(
        self, name: str, partitions: int = 1, settings: Mapping[str, str] | None = None
    ) -> None:
        """Create a topic, and wait until the broker has it."""
        config = dict(settings or {})
        topic = NewTopic(name, num_partitions=partitions, replication_factor=1, config=config)
        admin = self._admin()  # results arrive only while it exists
        for future in admin.create_topics([topic]).values():
            future.result(30)

    def topics(self) -> set[str]:
        """Return the names of its topics."""
        return set(self._admin().list_topics(timeout=10).topics)

    def kill(self) -> None:
        """Kill it with SIGKILL, like a power cut."""
        self._end(signal.SIGKILL)

    def pause(self) -> None:
        """Pause it with SIGSTOP: it keeps its connections and answers nothing."""
        if self._process:
            self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Resume it with SIGCONT. It answers the requests that waited."""
        if self._process:
            self._process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        """Stop it with SIGTERM, which takes about 1 s. Data stays in the folder."""
        self._end(signal.SIGTERM)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *exc: object) -> None:
        self.stop()

    @property
    def _properties(self) -> Path:
        return self.folder / "server.properties"

    def _configure(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        template = string.Template((HERE / "server.properties").read_text())
        self._properties.write_text(
            template.substitute(
                folder=self.folder, port=self.port, controller_port=self._controller_port
            )
        )

    def _format(self) -> None:
        """Write the identity of the cluster into its folder. Starts a JVM for a second."""
        done = self._java(
            "kafka.tools.StorageTool", "format", "-t", _CLUSTER, "-c", str(self._properties)
        ).wait()
        if done:
            raise CannotStart(f"Kafka's folder could not be formatted:\n{self._log_tail()}")

    def _java(self, main: str, *arguments: str) -> subprocess.Popen[bytes]:
        java = tool("java", "apt install openjdk-17-jre-headless")
        logging = f"-Dlog4j2.configurationFile={HERE / 'log4j2.properties'}"
        class_path = f"{jars(HERE / 'pom.xml')}/*"
        command = [java, *_OPTIONS, logging, "-cp", class_path, main, *arguments]
        with (self.folder / "kafka.log").open("ab") as log:
            return subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder,
                start_new_session=True,
            )  # fmt: skip

    def _wait_until_ready(self, timeout_s: float) -> None:
        deadline_s = time.monotonic() + timeout_s
        while time.monotonic() < deadline_s:
            if self._process is None or self._process.poll() is not None:
                raise CannotStart(f"Kafka ended:\n{self._log_tail()}")
            try:
                if self._admin().list_topics(timeout=1).brokers:
                    return
            except KafkaException:
                time.sleep(0.1)
        raise CannotStart(f"Kafka was not ready after {timeout_s:.0f} s:\n{self._log_tail()}")

    def _admin(self) -> AdminClient:
        # Silences what librdkafka logs while the broker starts.
        return AdminClient({"bootstrap.servers": self.address, "log_level": 0})

    def _log_tail(self) -> str:
        log = self.folder / "kafka.log"
        return "\n".join(log.read_text(errors="replace").splitlines()[-15:])

    def _end(self, signal_number: signal.Signals) -> None:
        process, self._process = self._process, None
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
    parser = argparse.ArgumentParser(description="Run a private Kafka broker.")
    parser.add_argument("--folder", type=Path, default=Path("var/kafka"), help="data and logs")
    parser.add_argument("--port", type=int, default=9092, help="0 for a free one")
    parser.add_argument(
        "--topic", action="append", default=[], help="topic to create; may be repeated"
    )
    options = parser.parse_args()

    def ready(server: KafkaServer) -> None:
        existing = server.topics()
        for topic in options.topic:
            if topic not in existing:
                server.create_topic(topic)
        print(f"Kafka is ready on {server.address}; data and logs: {server.folder}")

    run_until_interrupted("kafka", KafkaServer(options.folder, port=options.port), ready)
