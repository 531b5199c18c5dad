"""
The standalone system, that is, all of aragog on one machine: its processes and their commands.

    redis     the private redis-server (only if redis.url or broker.url is empty)
    postgres  the private PostgreSQL (only if store.engine is postgres and store.dsn is empty)
    fetch, canonicalize, store   Celery workers, one per role
    upkeep    a worker for maintenance tasks; beat, which schedules them, is one of its threads.
              With pinlater, this worker also delivers to webhooks
    webhooks  a worker that delivers to webhooks (only on other brokers)
    render    a worker that renders pages (only if rendering.hosts lists hosts)
    http      the HTTP API, and the Thrift services
    flower    the dashboard (if the extra of that name is installed)
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from aragog.errors import ConfigError
from aragog.runtime.extras import has, require
from aragog.settings import ServingSettings, Settings
from aragog.settings.settings import claim_folder
from aragog.standalone.processes import call_in_child
from aragog.standalone.redis_server import RedisServer
from aragog.standalone.running_system import record_settings
from aragog.standalone.supervisor import Child, Supervisor
from pinlater.brokers import kind_of
from pinlater.worker_names import worker_name

# Groups of processes (`Child.group`) in starting order. They stop in reverse order.
DATABASE_GROUP, WORKER_GROUP, FRONTEND_GROUP = 0, 1, 2
# A warm shutdown waits for the current batch, that is, for its slots and the fetch deadline. The
# rest is a margin.
WORKER_STOP_TIMEOUT_S = 45.0
FRONTENDS = ("beat", "http", *(["flower"] if has("flower") else []))
MAX_RESTARTS = 5
MIN_FREE_BYTES = 64 * 1024
"""Space for settings, locks, logs and Redis' first append."""
# The function that imports what workers need, for the supervisor's fork server.
PRELOAD = "aragog.workers.preload:preload"


def worker_roles(settings: Settings, *, beat: bool = True) -> dict[str, tuple[str, ...]]:
    """
    Return the worker processes that these settings need, each with its roles.

    An idle process takes 25 MB, so one process, `upkeep`, does the work of three if queues can
    share its threads (`aragog.workers.roles`). Without `beat`, no scheduled task is sent.
    """
    names = ["fetch", "upkeep", "canonicalize", "store", "webhooks"]
    names += ["render"] if settings.rendering.hosts else []
    roles: dict[str, tuple[str, ...]] = {name: (name,) for name in names}
    if kind_of(settings.resolved().broker.url) == "pinlater":
        roles["upkeep"] += roles.pop("webhooks")
    if beat:
        roles["upkeep"] += ("beat",)
    return roles


def environment(settings: Settings) -> dict[str, str]:
    """Return the children's environment: this process's, with the data folder made absolute."""
    return {
        **os.environ,
        "ARAGOG_DATA_DIR": str(settings.data_dir.absolute()),
        "PYTHONUNBUFFERED": "1",
        "NOSETPS": "1",  # otherwise Celery would replace the command lines that `ps` shows
    }


def check_ports(settings: Settings) -> None:
    """
    Check that the configured ports are free.

    Raises:
        ConfigError: lists every port in use with its setting.
    """
    problems = [
        f"serving.{address.setting}: port {address.port} on {address.host} is in use ({reason}); "
        f"set ARAGOG_SERVING__{address.setting.upper()} to a free port"
        for address, reason in _ports_in_use(settings)
    ]
    if problems:
        raise ConfigError(*problems)


def free_ports(settings: Settings) -> dict[str, str]:
    """Return environment variables with free ports that replace default ports in use."""
    variables: dict[str, str] = {}
    with contextlib.ExitStack() as probes:  # all of them stay open, so that their ports differ
        for address, _ in _ports_in_use(settings):
            if address.port == getattr(ServingSettings(), address.setting):
                probe = probes.enter_context(socket.socket(_address_family(address.host)))
                probe.bind((address.host, 0))
                port = probe.getsockname()[1]
                variables[f"ARAGOG_SERVING__{address.setting.upper()}"] = str(port)
    return variables


def _ports_in_use(settings: Settings) -> Iterator[tuple[ListenAddress, str]]:
    for address in _listen_addresses(settings):
        with socket.socket(_address_family(address.host)) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((address.host, address.port))
            except OSError as error:
                yield address, str(error.strerror)


def check_disk_space(data_dir: Path) -> None:
    """
    Check that the disk has enough space to start.

    Raises:
        ConfigError: the disk or the user's quota is full.
    """
    if not data_dir.is_dir():
        return
    try:
        with tempfile.TemporaryFile(dir=data_dir) as probe:
            probe.write(bytes(MIN_FREE_BYTES))
            probe.flush()
            os.fsync(probe.fileno())
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            return  # the next process that writes there reports the error
        raise ConfigError(
            f"data_dir: no space for {MIN_FREE_BYTES:,} bytes in {data_dir} ({error.strerror}): "
            "free some space, or move data_dir"
        ) from error


def check(settings: Settings, *, ports: bool = True) -> None:
    """
    Detect problems with the settings, before they occur in every worker (`checks`).

    This runs in a child process if possible. Its imports take 25 MB, which the supervisor would
    otherwise keep.

    Raises:
        ConfigError: lists each problem with its setting or file.
    """
    if ports:
        check_ports(settings)
    if threading.active_count() > 1:  # another thread may hold a lock on which a child would block
        _check_in_process(settings)
    else:
        call_in_child(functools.partial(_check_in_process, settings))


def _check_in_process(settings: Settings) -> None:
    from aragog.standalone import checks  # noqa: PLC0415 - see `check`

    checks.check(settings)


def start(
    supervisor: Supervisor, settings: Settings, *, frontends: Sequence[str] = FRONTENDS
) -> None:
    """
    Start every process: first the redis-server and PostgreSQL, and the others once these respond.

    The supervisor must already hold the data folder's lock (`acquire`). `frontends` are the
    components that enqueue URLs or serve requests. Ports are only checked if these include the HTTP
    API.

    Raises:
        ConfigError: a port is in use, or the redis-server or PostgreSQL does not start.
    """
    data_dir = settings.data_dir.absolute()
    check_disk_space(data_dir)
    if "http" in frontends:
        check(settings)
    record_settings(settings)
    if settings.private_redis:
        settings.resolved()  # raises if another user owns a socket folder
        server = RedisServer(
            data_dir / "redis",
            persistent=True,
            socket=settings.redis_socket,
            max_memory_bytes=settings.standalone.redis_max_memory_bytes or memory_bytes() // 2,
        )
        _create_folder(server.folder, "ARAGOG_DATA_DIR to a writable folder")
        server.check_files()
        child = supervisor.start(Child("redis", server.command(), DATABASE_GROUP, 20.0))
        server.process = child.process
        server.wait_until_ready(60.0)
    if settings.private_postgres:
        _start_postgres(supervisor, settings)
    release = release_command if kind_of(settings.resolved().broker.url) == "pinlater" else None
    for name, roles in worker_roles(settings, beat="beat" in frontends).items():
        command = worker_command(*roles)
        if "beat" in roles:
            command += ["--schedule", str(schedule_file(data_dir))]
        supervisor.start(
            Child(name, command, WORKER_GROUP, WORKER_STOP_TIMEOUT_S, after_kill=release)
        )
    start_frontends(supervisor, settings, frontends)


def start_frontends_with_free_ports(supervisor: Supervisor, settings: Settings) -> list[str]:
    """
    Start the API and Flower if their ports are free. Returns a message for each port in use.

    Call this if aragog is useful without these servers.
    """
    in_use = dict(_ports_in_use(settings))
    unavailable = {"flower" if address.name == "Flower" else "http" for address in in_use}
    available = [name for name in FRONTENDS if name not in unavailable]
    start_frontends(supervisor, settings, available)
    return [
        f"{address.name} was not started: serving.{address.setting}: port {address.port} on "
        f"{address.host} is in use ({reason})"
        for address, reason in in_use.items()
    ]


def start_frontends(
    supervisor: Supervisor, settings: Settings, frontends: Sequence[str] = FRONTENDS
) -> None:
    """Start the API and Flower, if `frontends` contains them."""
    commands = {
        "http": [sys.executable, "-P", "-m", "aragog.cli", "serve"],
        "flower": flower_command(settings),
    }
    for name in frontends:
        if name in commands:
            supervisor.start(Child(name, commands[name], FRONTEND_GROUP))


def _start_postgres(supervisor: Supervisor, settings: Settings) -> None:
    require("postgres", 'store.engine = "postgres"')
    from aragog.bootstrap.stores import tables  # noqa: PLC0415 - it imports the engines
    from aragog.standalone.postgres_server import PostgresServer  # noqa: PLC0415 - an extra

    socket_folder = settings.postgres_socket.parent
    if socket_folder.parent != settings.data_dir.absolute():
        claim_folder(socket_folder)
    server = PostgresServer(settings.data_dir.absolute() / "postgres", socket_folder=socket_folder)
    _create_folder(server.folder, "ARAGOG_DATA_DIR to a writable folder")
    server.prepare()
    child = Child("postgres", server.command(), DATABASE_GROUP, 20.0, stop_signal=signal.SIGINT)
    supervisor.start(child)
    server.log = child.log

    def check() -> bool:
        supervisor.check()  # restarts it if its predecessor was still exiting
        return child.restarts <= MAX_RESTARTS

    server.wait_until_ready(60.0, check)
    with contextlib.closing(tables(settings)) as engine:
        engine.create()


def memory_bytes() -> int:
    """Return the memory of this machine, or the limit of its container."""
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    with contextlib.suppress(OSError, ValueError):  # "max": the container has no limit
        limits.append(int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return min(limits)


class ListenAddress(NamedTuple):
    """An address on which one of aragog's servers listens."""

    name: str
    setting: str
    """The setting for the port, in the section `serving`."""
    host: str
    port: int


def listeners(settings: Settings) -> dict[ListenAddress, bool]:
    """Return which of aragog's servers accept connections."""
    return {address: _accepts_connections(address) for address in _listen_addresses(settings)}


def not_listening(settings: Settings) -> list[str]:
    """Return the setting and address of each server that does not listen yet."""
    return [
        f"serving.{address.setting}: nothing listens on {address.host}:{address.port} yet"
        for address, listens in listeners(settings).items()
        if not listens
    ]


def _accepts_connections(address: ListenAddress) -> bool:
    try:
        socket.create_connection((_client_host(address.host), address.port), 1.0).close()
    except OSError:
        return False
    return True


def _listen_addresses(settings: Settings) -> list[ListenAddress]:
    serving = settings.serving
    addresses = [ListenAddress("HTTP", "http_port", serving.host, serving.http_port)]
    if has("thrift") and serving.thrift_port:
        addresses.append(ListenAddress("Thrift", "thrift_port", serving.host, serving.thrift_port))
    if has("flower"):
        flower = ListenAddress("Flower", "flower_port", serving.flower_host, serving.flower_port)
        addresses.append(flower)
    return addresses


def _address_family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def _client_host(host: str) -> str:
    """Return the address at which this machine reaches a server on `host`."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - compared


def _create_folder(folder: Path, remedy: str) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(
            f"data_dir: {folder} cannot be created ({error.strerror}); set {remedy}"
        ) from error


def worker_command(*roles: str) -> list[str]:
    """Return the command line of a worker, beat or Flower (see aragog/workers)."""
    return [sys.executable, "-P", "-m", "aragog.workers", ",".join(roles)]


def release_command(pid: int) -> list[str]:
    """Return the command line that returns a killed worker's jobs to the queue."""
    return [sys.executable, "-P", "-m", "aragog.cli", "queue", "release", worker_name(pid)]


def schedule_file(data_dir: Path) -> Path:
    """
    Return the file in which beat records when it last sent each task. Without it, each task runs
    early once.
    """
    return data_dir / "run" / "beat"


def flower_command(settings: Settings) -> list[str]:
    """Return Flower's command line, on loopback unless configured otherwise."""
    serving = settings.serving
    return [
        *worker_command("flower"),
        f"--address={serving.flower_host}",
        f"--port={serving.flower_port}",
        f"--max_tasks={serving.flower_max_tasks}",
        "--logging=warning",
    ]
