"""Servers and devices of some scenarios: a small disk, HBase and S3, a second host."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from aragog.bootstrap.stores import hbase_tables
from aragog.settings import StoreSettings
from deploy.hbase.server import HBaseServer
from deploy.s3.server import ACCESS_KEY, SECRET_KEY, S3Server
from tests.chaos.faulty_http import FaultyHttp
from tests.support.small_disk import SmallDisk
from tests.support.tcp_proxy import TcpProxy

BUCKET = "chaos"
NAMESPACE = f"aragog-chaos-{os.getpid()}"
LOCAL_ADDRESS, REMOTE_ADDRESS = "10.217.83.1", "10.217.83.2"
"""The two ends of the cable between this host and the second one, used by no other machine."""


def is_root() -> bool:
    """Return True if this process may mount disks and create network namespaces."""
    return sys.platform == "linux" and os.geteuid() == 0


@contextlib.contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[SmallDisk]:
    """Mount a file system of that size in `folder`. Needs root."""
    options = f"size={megabytes}m,mode=0700"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], check=True)
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@dataclass
class Cluster:
    """HBase behind a proxy that can be slow, and S3 behind one that can fail."""

    hbase: HBaseServer
    gateway: TcpProxy
    s3: FaultyHttp

    def environ(self) -> dict[str, str]:
        return {
            "ARAGOG_STORE__ENGINE": "hbase",
            "ARAGOG_STORE__HBASE_GATEWAYS": self.gateway.address,
            "ARAGOG_CONTENT__ENGINE": "s3",
            "ARAGOG_CONTENT__S3_BUCKET": BUCKET,
            "ARAGOG_CONTENT__S3_ENDPOINT": f"http://{self.s3.address}",
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
        }


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """Start HBase (9 s, 1 GB) and S3, with empty tables and an empty bucket."""
    with contextlib.ExitStack() as stack:
        hbase = HBaseServer(folder / "hbase").start()
        stack.callback(hbase.kill)
        (folder / "s3").mkdir()
        s3 = S3Server(folder / "s3").start()
        stack.callback(s3.stop)
        s3.create_bucket(BUCKET)
        gateway = stack.enter_context(TcpProxy(hbase.gateways[0]))
        faulty = FaultyHttp(s3.endpoint.removeprefix("http://"))
        stack.callback(faulty.close)
        stack.enter_context(_credentials())
        tables = hbase_tables(StoreSettings(engine="hbase", hbase_gateways=hbase.gateways))
        tables.create()
        tables.close()
        yield Cluster(hbase, gateway, faulty)


@contextlib.contextmanager
def _credentials() -> Iterator[None]:
    """Set the credentials of this process, because its checks read the bucket."""
    environ_before = dict(os.environ)
    os.environ.update(AWS_ACCESS_KEY_ID=ACCESS_KEY, AWS_SECRET_ACCESS_KEY=SECRET_KEY)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(environ_before)


@contextlib.contextmanager
def second_host() -> Iterator[str]:
    """Create a network namespace with a cable to this one. Yields the device. Needs root."""
    cable = f"arc{os.getpid() % 100_000}"
    _ip("netns", "add", NAMESPACE)
    try:
        _ip(
            "link",
            "add",
            f"{cable}a",
            "type",
            "veth",
            "peer",
            "name",
            f"{cable}b",
            "netns",
            NAMESPACE,
        )
        _ip("addr", "add", f"{LOCAL_ADDRESS}/30", "dev", f"{cable}a")
        _ip("link", "set", f"{cable}a", "up")
        _ip("-n", NAMESPACE, "addr", "add", f"{REMOTE_ADDRESS}/30", "dev", f"{cable}b")
        _ip("-n", NAMESPACE, "link", "set", f"{cable}b", "up")
        _ip("-n", NAMESPACE, "link", "set", "lo", "up")
        yield f"{cable}a"
    finally:
        _ip("netns", "del", NAMESPACE)


def set_cable(name: str, *, connected: bool) -> None:
    """Disconnect the cable of the second host, or connect it again."""
    _ip("link", "set", name, "up" if connected else "down")


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)
