"""Hosts on this machine: network namespaces with their own names, connected by a switch."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Self

SWITCH = "switch"
"""The namespace with the bridge. No host may have this name."""


class Network:
    """
    One namespace per host, each with a cable to one switch. Needs root.

    A host `b` of the network `aragog` is the namespace `aragog-b`, and its processes see the host
    name `host-b`. The names of a network and a host have at most 10 characters together.

    Args:
        name: the name of the network, unique on this machine.
        hosts: the IPv4 address of each host.
        network: the network of the addresses, such as `10.203.0.0/24`.
        own_address: an address for this process's own namespace, which then reaches the hosts;
            empty if it does not need to.
    """

    def __init__(
        self, name: str, hosts: dict[str, str], network: str, *, own_address: str = ""
    ) -> None:
        self.name = name
        self.hosts = hosts
        self.network = network
        self._bits = network.partition("/")[2]
        self._own_address = own_address
        self._created: list[str] = []

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
            if self._own_address:
                self._connect_here()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        for host in reversed(self._created):
            for pid in self.processes(host):
                subprocess.run(["kill", "-KILL", str(pid)], check=False, capture_output=True)
            # Deleting a namespace also deletes its end of each cable, and with it the other end.
            _ip("netns", "delete", self.namespace(host))
        self._created.clear()

    def namespace(self, host: str) -> str:
        """Return the network namespace of a host."""
        return f"{self.name}-{host}"

    def disconnect(self, host: str) -> None:
        """Disconnect a host: it can neither send nor receive anything."""
        self._in(SWITCH, "link", "set", "dev", host, "down")

    def reconnect(self, host: str) -> None:
        """Reconnect a host."""
        self._in(SWITCH, "link", "set", "dev", host, "up")

    def processes(self, host: str) -> list[int]:
        """Return the ids of the processes on a host."""
        process = subprocess.run(
            ["ip", "netns", "pids", self.namespace(host)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        return [int(pid) for pid in process.stdout.split()]

    def command(self, host: str, argv: Sequence[str]) -> list[str]:
        """Return the command line that runs another one on a host, under the host's name."""
        start = f'hostname host-{host} && exec "$@"'
        namespace = ["ip", "netns", "exec", self.namespace(host)]
        return [*namespace, "unshare", "--uts", "sh", "-c", start, "-", *argv]

    def _add(self, host: str) -> None:
        _ip("netns", "add", self.namespace(host))
        self._created.append(host)

    def _in(self, host: str, *arguments: str) -> None:
        _ip("-n", self.namespace(host), *arguments)

    def _cable(self, host: str, namespace: str, device: str = "eth0") -> None:
        """Connect a port of the switch, which has the host's name, to a device."""
        self._in(SWITCH, "link", "add", "name", host, "type", "veth",
                 "peer", "name", device, "netns", namespace)  # fmt: skip
        self._in(SWITCH, "link", "set", "dev", host, "master", "bridge", "up")

    def _connect_here(self) -> None:
        device = f"{self.name}-here"
        if Path(f"/sys/class/net/{device}").exists():  # left by a killed run
            _ip("link", "delete", device)
        _ip("link", "add", "name", device, "type", "veth", "peer", "name", "here", "netns",
            self.namespace(SWITCH))  # fmt: skip
        self._in(SWITCH, "link", "set", "dev", "here", "master", "bridge", "up")
        _ip("address", "add", f"{self._own_address}/{self._bits}", "dev", device)
        _ip("link", "set", "dev", device, "up")


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True)
