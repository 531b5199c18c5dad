"""Private redis-servers that listen over TLS, or that a Sentinel watches."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from aragog.redis_kit.connect import connect
from aragog.standalone.redis_server import RedisServer, find_redis_server
from tests.support import tls
from tests.support.waiting import wait_until


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class TlsRedis(RedisServer):
    """A server that listens over TLS as well; `ca` is the file of the authority to trust."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.tls_port = free_port()
        self.ca = folder / "ca.pem"
        tls.authority().cert_pem.write_to_path(str(self.ca))
        tls.authority().issue_cert("localhost").private_key_and_cert_chain_pem.write_to_path(
            str(folder / "server.pem")
        )

    def command(self) -> list[str]:
        certificate = str(self.folder / "server.pem")
        return [
            *super().command(), "--tls-port", str(self.tls_port), "--bind", "127.0.0.1",
            "--tls-cert-file", certificate, "--tls-key-file", certificate,
            "--tls-ca-cert-file", str(self.ca), "--tls-auth-clients", "no",
        ]  # fmt: skip


@contextmanager
def sentinel(folder: Path, master_port: int, service: str = "main") -> Iterator[int]:
    """The port of a Sentinel that watches a master on this machine and knows its replicas."""
    port = free_port()
    conf = folder / "sentinel.conf"
    conf.write_text(
        f"port {port}\nbind 127.0.0.1\ndir {folder}\n"
        f"sentinel monitor {service} 127.0.0.1 {master_port} 1\n"
        f"sentinel down-after-milliseconds {service} 500\n"
        f"sentinel failover-timeout {service} 5000\n"
    )
    process = subprocess.Popen(
        [str(find_redis_server()), str(conf), "--sentinel"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        wait_until(lambda: _listens(port))
        yield port
    finally:
        process.terminate()
        process.wait()


def replicas(sentinel_port: int, service: str = "main") -> int:
    """How many replicas a Sentinel knows of a service."""
    with connect(f"redis://127.0.0.1:{sentinel_port}") as client:
        return len(client.execute_command("SENTINEL", "REPLICAS", service))


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
