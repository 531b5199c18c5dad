"""Hosts on this machine: network namespaces with a switch between them and names of their own."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Self

SWITCH = "switch"
"""The namespace that holds the bridge; a host needs another name."""


class Network:
    """
    A namespace a host, each with a cable to one switch; needs root.

    A host `b` of the network `aragog` is the namespace `aragog-b`, and the name of the machine for
    its processes is `host-b`. Names of a network and a host have 10 characters at most together.

    Args:
        name: of the network; two of one name cannot be on a machine at a time.
        hosts: the IPv4 address of each host.
        network: what the addresses are in, such as `10.203.0.0/24`.
        here: an address for this process's own namespace, which then reaches the hosts; empty:
            it does not.
    """

    def __init__(self, name: str, hosts: dict[str, str], network: str, *, here: str = "") -> None:
        self.name = name
        self.hosts = hosts
        self.network = network
        self._bits = network.partition("/")[2]
        self._here = here
        self._made: list[str] = []

    def __enter__(self) -> Self:
        try:
            self._add(SWITCH)
            self._in(SWITCH, "link", "add", "name", "bridge", "type", "bridge")
            self._in(SWITCH, "link", "set", "dev", "bridge", "up")
            for host, address in self.hosts.items():
                self._add(host)
                self._cable(host, self.namespace(host))
                self._in(host, "address", "add", f"{address}/{self._bits}", "dev", "eth0")
                for device in ("eth0", "lo"):
                    self._in(host, "link", "set", "dev", device, "up")
            if self._here:
                self._connect_here()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        for host in reversed(self._made):
            for pid in self.processes(host):
                subprocess.run(["kill", "-KILL", str(pid)], check=False, capture_output=True)
            # A namespace takes its end of each cable with it, and so the other end.
            _ip("netns", "delete", self.namespace(host))
        self._made.clear()

    def namespace(self, host: str) -> str:
        """The network namespace of a host."""
        return f"{self.name}-{host}"

    def cut(self, host: str) -> None:
        """Cut a host off: nothing that it sends arrives anywhere, and nothing arrives there."""
        self._in(SWITCH, "link", "set", "dev", host, "down")

    def mend(self, host: str) -> None:
        """Connect a host again."""
        self._in(SWITCH, "link", "set", "dev", host, "up")

    def processes(self, host: str) -> list[int]:
        """The ids of the processes that run on a host."""
        done = subprocess.run(
            ["ip", "netns", "pids", self.namespace(host)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        return [int(pid) for pid in done.stdout.split()]

    def command(self, host: str, argv: Sequence[str]) -> list[str]:
        """The command line that runs another one on a host, with the host's own name."""
        start = f'hostname host-{host} && exec "$@"'
        namespace = ["ip", "netns", "exec", self.namespace(host)]
        return [*namespace, "unshare", "--uts", "sh", "-c", start, "-", *argv]

    def _add(self, host: str) -> None:
        _ip("netns", "add", self.namespace(host))
        self._made.append(host)

    def _in(self, host: str, *arguments: str) -> None:
        _ip("-n", self.namespace(host), *arguments)

    def _cable(self, host: str, namespace: str, device: str = "eth0") -> None:
        """A cable from a port of the switch, which has the host's name, to a device."""
        self._in(SWITCH, "link", "add", "name", host, "type", "veth",
                 "peer", "name", device, "netns", namespace)  # fmt: skip
        self._in(SWITCH, "link", "set", "dev", host, "master", "bridge", "up")

    def _connect_here(self) -> None:
        device = f"{self.name}-here"
        if Path(f"/sys/class/net/{device}").exists():  # of a run that was killed
            _ip("link", "delete", device)
        _ip("link", "add", "name", device, "type", "veth", "peer", "name", "here", "netns",
            self.namespace(SWITCH))  # fmt: skip
        self._in(SWITCH, "link", "set", "dev", "here", "master", "bridge", "up")
        _ip("address", "add", f"{self._here}/{self._bits}", "dev", device)
        _ip("link", "set", "dev", device, "up")


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True)
