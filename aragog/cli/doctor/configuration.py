"""Check the settings, and the files, libraries and ports that they name."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import socket
import time
from collections.abc import Iterator
from contextlib import closing

from aragog.api.server.tokens import check_exposure as check_api_exposure
from aragog.bootstrap.rendering import start_browser
from aragog.bootstrap.stores import replica_tables
from aragog.cli.doctor.data import gateway_problems
from aragog.cli.doctor.finding import CheckedSystem, Finding
from aragog.cli.doctor.servers import redis_servers
from aragog.crawl.fetcher.fetcher import Fetcher
from aragog.crawl.fetcher.http2_hosts import Http2Hosts
from aragog.crawl.fetcher.user_agent import has_contact
from aragog.crawl.identity.directory_check import directory_problems
from aragog.crawl.identity.keys import published_keys, read_keys, signing_key
from aragog.crawl.pipeline.site_rules import install_site_rules
from aragog.dashboard.exposure import check_flower_exposure
from aragog.errors import CONFIG, StoreUnavailable
from aragog.fetch_record.outcome import Fetched, Outcome
from aragog.runtime import open_files
from aragog.runtime.clock import SystemClock
from aragog.runtime.extras import has, require
from aragog.settings import Settings
from aragog.standalone.demo import is_demo
from aragog.standalone.system import listeners
from pinlater.brokers import kind_of
from pinlater.redis.address import server_name
from urlspelling.hosts import split_port


def check_settings(system: CheckedSystem) -> Iterator[Finding]:
    """Report which settings are checked, and which of this command's settings have no effect."""
    in_use = system.in_use
    if in_use.differing:
        yield Finding("settings", ok=False, text=in_use.difference("this command"))
    elif in_use.running:
        text = f"from the system running in {in_use.settings.data_dir}, {in_use.running}"
        yield Finding("settings", ok=True, text=text)


def check_agent(system: CheckedSystem) -> Iterator[Finding]:
    """Check that the User-Agent header identifies the operator."""
    agent = system.settings.fetch.user_agent
    if has_contact(system.settings.fetch):
        yield Finding("fetch.user_agent", ok=True, text=agent)
    elif is_demo(system.settings):
        text = f"{agent}, which only fetches the demo sites"
        yield Finding("fetch.user_agent", ok=True, text=text)
    else:
        remedy = 'set it to something like "examplebot/1.0 (+https://example.com/bot)"'
        text = f"{agent!r} has no contact, so only loopback addresses are fetched; {remedy}"
        yield Finding("fetch.user_agent", ok=False, text=text)


def check_one_machine(system: CheckedSystem) -> Iterator[Finding]:
    """
    Check that data is not stored in this machine's files if jobs are on another machine.

    Otherwise, each machine would silently store a part of the pages in its own files.
    """
    settings = system.settings
    local_storage = []
    if settings.store.engine == "sqlite":
        local_storage.append('store.engine is "sqlite" (set it to "postgres" or "hbase")')
    if settings.private_postgres:
        local_storage.append(
            "store.dsn is empty (set it to a PostgreSQL server that all machines can reach)"
        )
    if settings.content.engine == "folder":
        local_storage.append('content.engine is "folder" (set it to "s3")')
    if settings.crawl_log.engine == "folder" and settings.crawl_log.folder is None:
        local_storage.append('crawl_log.engine is "folder" (set it to "s3", or crawl_log.folder)')
    remote_hosts = sorted({host for host in _shared_hosts(system) if not is_this_machine(host)})
    if local_storage and remote_hosts:
        text = (
            f"{' and '.join(local_storage)}, but jobs are on {', '.join(remote_hosts)}: "
            "workers on several machines would each store only a part of the data"
        )
        yield Finding("one machine", ok=False, text=text)


def _shared_hosts(system: CheckedSystem) -> Iterator[str]:
    """Yield the host of every server that workers share. A Unix socket counts as this machine."""
    broker = system.resolved.broker.url
    if kind_of(broker) == "rabbitmq":
        yield split_port(server_name(broker))[0]
    for url in redis_servers(system.resolved):
        for address in server_name(url).rpartition("@")[2].split(","):
            yield "localhost" if address.startswith("/") else split_port(address)[0]


def is_this_machine(host: str) -> bool:
    """
    True if a socket on this machine can bind to `host`.

    False for a name that does not resolve.
    """
    with contextlib.suppress(OSError):
        for family, _, _, _, address in socket.getaddrinfo(host, 0, type=socket.SOCK_DGRAM):
            with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
                probe.bind(address)
                return True
    return False


def check_exposure(system: CheckedSystem) -> Iterator[Finding]:
    """Check that the API and Flower are not open to other machines without a token or a login."""
    serving = system.settings.serving
    try:
        check_api_exposure(serving)
        if has("flower"):
            check_flower_exposure(serving.flower_host, os.environ)
    except CONFIG as error:
        yield Finding("serving", ok=False, text=str(error))


def check_listeners(system: CheckedSystem) -> Iterator[Finding]:
    """
    Check that something listens on the ports of HTTP, Thrift and Flower.

    If Redis and the broker are external, these servers may run on another machine, so it is not an
    error if nothing listens here. If a standalone aragog is down, any listener is another program.
    """
    listening = system.wait_for(
        lambda: listeners(system.settings), lambda found: all(found.values())
    )
    must_run = system.should_run and (system.settings.private_redis or bool(system.in_use.running))
    for address, listens in listening.items():
        text = f"{address.host}:{address.port}"
        if listens and system.is_down:
            remedy = f"stop it, or set serving.{address.setting}, before `aragog up`"
            yield Finding(address.name, ok=False, text=f"another program uses {text}: {remedy}")
        elif listens:
            yield Finding(address.name, ok=True, text=f"responds on {text}")
        else:
            remedy = "; `aragog up` starts it" if system.is_down else ""
            text = f"nothing listens on {text}{remedy}"
            yield Finding(address.name, ok=not must_run, text=text)


def check_open_files(system: CheckedSystem) -> Iterator[Finding]:
    """Check that processes may open enough files for the default settings."""
    running = system.running_pid
    allowed = (open_files.read_limit(running) if running else None) or open_files.limit()
    if allowed >= open_files.SUFFICIENT_LIMIT:
        yield Finding("open files", ok=True, text=f"a process may open {allowed:,}")
        return
    text = (
        f"a process may only open {allowed:,}, so it fetches from fewer hosts and serves fewer "
        f"clients than configured: allow {open_files.SUFFICIENT_LIMIT:,} (`ulimit -Hn`, "
        "or LimitNOFILE in systemd) and restart"
    )
    yield Finding("open files", ok=True, text=text, warning=True)


def check_certificate(system: CheckedSystem) -> Iterator[Finding]:
    """Check the API's certificate and key."""
    if system.settings.serving.tls_cert_file is not None:
        from aragog.api.server.listener import tls_context  # noqa: PLC0415 - only where used

        tls_context(system.settings.serving)
        text = f"{system.settings.serving.tls_cert_file} matches its key"
        yield Finding("serving.tls_cert_file", ok=True, text=text)


def check_standby(system: CheckedSystem) -> Iterator[Finding]:
    """Check that each standby gateway and the PostgreSQL replica respond and have the tables."""
    settings = system.settings
    if settings.serving.standby_dsn:
        yield from _check_replica(settings)
    if not settings.serving.standby_gateways:
        return
    if settings.store.engine != "hbase":
        text = 'requires an HBase store; set store.engine to "hbase"'
        yield Finding("serving.standby_gateways", ok=False, text=text)
        return
    require("hbase", "serving.standby_gateways")
    for gateway in settings.serving.standby_gateways:
        problems = gateway_problems(settings, gateway)
        text = "; ".join(problems) or "all tables are correct"
        yield Finding(f"standby {gateway}", ok=not problems, text=text)


def _check_replica(settings: Settings) -> Iterator[Finding]:
    if settings.store.engine != "postgres":
        text = 'requires a PostgreSQL store; set store.engine to "postgres"'
        yield Finding("serving.standby_dsn", ok=False, text=text)
        return
    with closing(replica_tables(settings)) as engine:
        problems = [line for line in engine.check() if "is a replica" not in line]
        try:
            engine["n"].get(b"doctor")
        except StoreUnavailable as error:
            problems.append(str(error))
    text = "; ".join(problems) or "responds, and is not too far behind"
    yield Finding(f"standby {settings.serving.standby_dsn}", ok=not problems, text=text)


def check_extractors(system: CheckedSystem) -> Iterator[Finding]:
    """Check that the extractors in `pipeline.extractors` are installed here."""
    names, rules = system.settings.pipeline.extractors, system.settings.extract
    if names or rules:
        from aragog.pages.extractors import load_all  # noqa: PLC0415 - it imports the parsers

        load_all(names, rules)
    if names:
        yield Finding("pipeline.extractors", ok=True, text=f"{', '.join(names)} can be loaded")
    if rules:
        count = sum(map(len, rules.values()))
        yield Finding("extract", ok=True, text=f"{count} rules for {len(rules)} hosts are valid")


def check_text_finder(system: CheckedSystem) -> Iterator[Finding]:
    """Check that the main-text extractor is installed here."""
    pipeline = system.settings.pipeline
    if pipeline.store_text:
        from aragog.pages.main_text import load  # noqa: PLC0415 - it imports the parsers

        version = load(pipeline.text_finder).version
        yield Finding("pipeline.text_finder", ok=True, text=f"{version} extracts main text")


def check_http2(system: CheckedSystem) -> Iterator[Finding]:
    """Check the HTTP/2 library and the names in `fetch.http2_hosts`."""
    if names := system.settings.fetch.http2_hosts:
        Http2Hosts(names, SystemClock())
        text = f"nghttp2 is installed, for {', '.join(names)}"
        yield Finding("fetch.http2_hosts", ok=True, text=text)


def check_tracing(system: CheckedSystem) -> Iterator[Finding]:
    """Check that the tracing library is installed here."""
    if system.settings.tracing.enabled:
        require("otel", "tracing.enabled")
        endpoint = os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318")
        share = f"{system.settings.tracing.sample_ratio * 100:g}%"
        text = f"OpenTelemetry is installed; traces of {share} of the URLs go to {endpoint}"
        yield Finding("tracing", ok=True, text=text)


def check_rendering(system: CheckedSystem) -> Iterator[Finding]:
    """Check that the browser starts, with its sandbox if required."""
    rendering = system.settings.rendering
    if rendering.hosts:
        version = start_browser(system.settings)
        sandbox = "in its sandbox" if rendering.sandbox else "without its sandbox"
        yield Finding("rendering", ok=True, text=f"Chromium {version} starts {sandbox}")


def check_site_rules(system: CheckedSystem) -> Iterator[Finding]:
    """Check that the file with the rules for sites' query parameters is readable."""
    if system.settings.site_rules_file is not None:
        install_site_rules(system.settings)
        text = f"{system.settings.site_rules_file} can be read"
        yield Finding("site_rules_file", ok=True, text=text)


_PUBLISH_REMEDY = "publish what `aragog identity files` writes, or set identity.serve"
_FORWARD_REMEDY = (
    "identity.serve is on: that host's web server must forward its paths to the HTTP port"
)


def check_identity(system: CheckedSystem) -> Iterator[Finding]:
    """Check the key file, and that its public keys are served at `identity.agent`."""
    settings = system.settings
    if settings.identity.key is None:
        return
    now_s = time.time()
    keys = read_keys(settings.identity.key)
    current_key = signing_key(keys, now_s)
    count = len(published_keys(keys, now_s))
    text = f"{current_key.thumbprint} signs requests; {count} keys are published"
    yield Finding("identity.key", ok=True, text=text)
    outcome, remedy = (
        _fetch_directory(settings),
        _FORWARD_REMEDY if settings.identity.serve else _PUBLISH_REMEDY,
    )
    if not isinstance(outcome, Fetched) or outcome.hops:
        reason = _describe_unusable(outcome)
        text = f"{settings.identity.agent} {reason}; {remedy}"
        yield Finding("identity.agent", ok=False, text=text)
        return
    headers = {name.lower(): value for name, value in outcome.headers}
    problems = list(directory_problems(settings.identity.agent, outcome.body, headers, keys, now_s))
    for problem in problems:
        text = f"{settings.identity.agent}: {problem}; {remedy}"
        yield Finding("identity.agent", ok=False, text=text)
    if not problems:
        text = f"{settings.identity.agent} publishes these keys, with valid signatures"
        yield Finding("identity.agent", ok=True, text=text)


def _fetch_directory(settings: Settings) -> Outcome:
    """Fetch the key directory without a signature, as verifying sites do."""
    fetch = dataclasses.replace(settings.fetch, content_types=("*/*",), headers={})
    with Fetcher(fetch) as fetcher:
        return fetcher.fetch(settings.identity.agent)


def _describe_unusable(outcome: Outcome) -> str:
    if outcome.hops:
        return "is a redirect, which verifiers do not follow"
    reason = getattr(outcome, "reason", "") or outcome.status or ""
    return f"cannot be fetched ({outcome.outcome}: {reason})".replace(": )", ")")
