"""Checks for settings that are valid alone but conflict with each other."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator

from aragog.cli.data_folder import difference
from aragog.cli.doctor.finding import CheckedSystem, Finding
from aragog.cli.doctor.servers import redis_servers
from aragog.fetcher.user_agent import has_contact
from aragog.hosts import split_port
from aragog.pinlater.brokers import kind_of
from aragog.redis_kit.address import server_name
from aragog.standalone.demo import is_demo


def check_settings(system: CheckedSystem) -> Iterator[Finding]:
    """Report whose settings are checked, and those that were given here and do not count."""
    in_use = system.in_use
    if in_use.differing:
        yield Finding("settings", ok=False, text=difference(in_use))
    elif in_use.running:
        text = f"those of the system that runs in {in_use.settings.data_dir}, {in_use.running}"
        yield Finding("settings", ok=True, text=text)


def check_agent(system: CheckedSystem) -> Iterator[Finding]:
    """Check that the User-Agent header identifies the operator."""
    agent = system.settings.fetch.user_agent
    if has_contact(system.settings.fetch):
        yield Finding("fetch.user_agent", ok=True, text=agent)
    elif is_demo(system.settings):
        text = f"{agent}, with which only the demo web is fetched"
        yield Finding("fetch.user_agent", ok=True, text=text)
    else:
        remedy = 'set it to something like "examplebot/1.0 (+https://example.com/bot)"'
        text = f"{agent!r} has no contact, so only loopback is fetched; {remedy}"
        yield Finding("fetch.user_agent", ok=False, text=text)


def check_one_machine(system: CheckedSystem) -> Iterator[Finding]:
    """
    Data in files of this machine, jobs on another one: its workers would keep data of their own.

    Each machine would then know a part of the URLs only, without an error anywhere.
    """
    settings = system.settings
    local = []
    if settings.store.engine == "sqlite":
        local.append('store.engine is "sqlite" (set it to "hbase")')
    if settings.content.engine == "folder":
        local.append('content.engine is "folder" (set it to "s3")')
    if settings.crawl_log.engine == "folder" and settings.crawl_log.folder is None:
        local.append('crawl_log.engine is "folder" (set it to "s3", or crawl_log.folder)')
    elsewhere = sorted({where for where in _shared(system) if not is_this_machine(where)})
    if local and elsewhere:
        text = (
            f"{' and '.join(local)}, but jobs are on {', '.join(elsewhere)}: workers of several "
            "machines would each keep a part of the data"
        )
        yield Finding("one machine", ok=False, text=text)


def _shared(system: CheckedSystem) -> Iterator[str]:
    """The host of every server that workers share; a socket's is this machine."""
    broker = system.resolved.broker.url
    if kind_of(broker) == "rabbitmq":
        yield split_port(server_name(broker))[0]
    for url in redis_servers(system.resolved):
        for where in server_name(url).rpartition("@")[2].split(","):
            yield "localhost" if where.startswith("/") else split_port(where)[0]


def is_this_machine(host: str) -> bool:
    """
    Whether `host` is an address of this machine: one can be bound to it.

    False for a name without an address.
    """
    with contextlib.suppress(OSError):
        for family, _, _, _, address in socket.getaddrinfo(host, 0, type=socket.SOCK_DGRAM):
            with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
                probe.bind(address)
                return True
    return False
