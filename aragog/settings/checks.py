"""Validate the values of settings, in addition to their types."""

from __future__ import annotations

import dataclasses
import ipaddress
import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from aragog.runtime.secret import SecretUrl, reveal, without_password
from aragog.settings.crawling import (
    FetchSettings,
    IdentitySettings,
    PolitenessSettings,
    PreferencesSettings,
    RefreshSettings,
)
from aragog.settings.credentials import credential_problems, header_lines
from aragog.settings.egress import egress_problems
from aragog.settings.servers import StandaloneSettings, TracingSettings
from aragog.settings.serving import ServingSettings
from aragog.settings.settings import Settings
from aragog.settings.sign_in import sign_in_problems
from aragog.settings.token_quotas import TokenQuota
from aragog.settings.values import DURATION
from pinlater.redis.address import is_usable
from urlspelling.hosts import split_port

BROKER_SCHEMES = (
    "", "pinlater", "pinlaters", "pinlater+socket", "pinlater+sentinel", "pinlater+sentinels",
    "pinlater+postgresql",
    "redis", "rediss", "redis+socket", "amqp", "amqps",
)  # fmt: skip
SCHEMA_NAME = re.compile(r"(?!pg_)[a-z_][a-z0-9_]{0,40}", re.ASCII)
PURPOSES = ("search", "ai-input", "ai-train")
DRAFTS = ("draft-ietf-aipref-attach", "content-signals")
IDENTITY_DRAFTS = tuple(f"draft-ietf-webbotauth-httpsig-protocol-{n}" for n in ("00", "01"))
COMPONENTS = ("@method", "@authority", "@target-uri", "@path", "@query", "user-agent")
SIGNATURE_HEADERS = ("signature", "signature-input", "signature-agent")
DAY_S = 86_400
FIELD_FORMATS = ("text", "integer", "decimal", "json", "bytes")
TEXT_FORMS = ("text", "markdown")
AGENT = re.compile(r"https://[a-z0-9.\[\]:-]{1,255}/(?!.*\.\.)[A-Za-z0-9._~/-]{1,1000}", re.ASCII)
CONTACT = re.compile(r"[^\s@:/]{1,64}@[^\s@:/]{1,255}|https?://\S{1,2000}")
ORIGIN = re.compile(r"https?://[a-z0-9.\[\]:-]{1,255}", re.ASCII)
GRAPH_NAME = "[a-z][a-z0-9_]{0,19}"
_TOKEN_SCOPE = rf"(?:admin|(?:read|write)(?:@{GRAPH_NAME})?)"
TOKEN_ENTRY = re.compile(
    rf"[\w.-]{{1,64}}:{_TOKEN_SCOPE}(?:\+{_TOKEN_SCOPE}){{0,31}}:[0-9a-f]{{64}}"
    r"(?::(?=[0-9.]*[1-9])[0-9]{1,9}(?:\.[0-9]{1,3})?)?",
    re.ASCII,
)

# The memory that a small crawl needs for its jobs, slots and robots rules.
MIN_REDIS_BYTES = 33_554_432

MAY_BE_ZERO = {"keep_versions", "max_connections_per_address", "read_cache_s"}

# The limiter stores the factor as a percentage in two bytes.
MAX_LATENCY_SLOWDOWN = 100


def find_problems(settings: Settings) -> list[str]:
    """Return one line for each invalid value."""
    fetch = settings.fetch
    return [
        *_number_problems(settings),
        *_refresh_problems(settings.refresh),
        *_preferences_problems(settings.preferences),
        *_identity_problems(settings.identity, settings.fetch),
        *_politeness_problems(settings.politeness),
        *_store_problems(settings),
        *_graph_problems(settings),
        *_gateway_problems(settings),
        *_serving_problems(settings.serving),
        *_standalone_problems(settings.standalone),
        *_tracing_problems(settings.tracing),
        *_broker_problems(settings.broker.url),
        *_redis_problems(settings),
        *credential_problems(fetch.headers, fetch.basic_auth, fetch.origin_headers),
        *_user_agent_problems(fetch.user_agent),
        *sign_in_problems(fetch.sign_in),
        *egress_problems(settings.egress, fetch.proxy),
    ]


def _number_problems(settings: Settings) -> Iterator[str]:
    for section, name, value in _number_settings(settings):
        may_be_zero = name.endswith("_port") or name in MAY_BE_ZERO
        if value < 0 or (value == 0 and not may_be_zero):
            yield f"{section}.{name}: must be above 0, got {value}"
        if name.endswith("_port") and value > 65_535:
            yield f"{section}.{name}: must be at most 65535, got {value}"


def _refresh_problems(refresh: RefreshSettings) -> Iterator[str]:
    if refresh.min_interval_s > refresh.max_interval_s:
        yield "refresh.min_interval_s: must not be above refresh.max_interval_s"
    for name, text in refresh.intervals.items():
        if not DURATION.fullmatch(text):
            yield f"refresh.intervals: {name}: must be a number with s, m, h or d, got {text!r}"
    for name, text in refresh.withheld_intervals.items():
        if name not in ("401", "402", "403", "451"):
            yield f"refresh.withheld_intervals: {name}: must be 401, 402, 403 or 451"
        if not DURATION.fullmatch(text):
            yield (
                f"refresh.withheld_intervals: {name}: must be a number with s, m, h or d, "
                f"got {text!r}"
            )
    if refresh.domain_share > 1:
        yield "refresh.domain_share: must be at most 1"


def _preferences_problems(preferences: PreferencesSettings) -> Iterator[str]:
    for name, values, known in (
        ("purposes", preferences.purposes, PURPOSES),
        ("drafts", preferences.drafts, DRAFTS),
    ):
        for value in values:
            if value not in known:
                yield f"preferences.{name}: must be one of {', '.join(known)}, got {value!r}"


def _identity_problems(identity: IdentitySettings, fetch: FetchSettings) -> Iterator[str]:
    if identity.draft not in IDENTITY_DRAFTS:
        yield f"identity.draft: must be one of {', '.join(IDENTITY_DRAFTS)}, got {identity.draft!r}"
    if identity.lifetime_s > DAY_S:
        yield f"identity.lifetime_s: must be at most {DAY_S}, got {identity.lifetime_s}"
    for name in identity.components:
        if name not in COMPONENTS:
            yield f"identity.components: must be one of {', '.join(COMPONENTS)}, got {name!r}"
    if not {"@authority", "@target-uri"} & set(identity.components):
        yield "identity.components: must have @authority or @target-uri"
    if len(set(identity.components)) < len(identity.components):
        yield "identity.components: contains a component twice"
    for network in identity.networks:
        try:
            ipaddress.ip_network(network)
        except ValueError as error:
            yield f"identity.networks: {network!r} is not a network: {error}"
    if identity.contact and not CONTACT.fullmatch(identity.contact):
        yield (
            f"identity.contact: must be a mail address or an http(s) URL, got {identity.contact!r}"
        )
    if identity.agent and not AGENT.fullmatch(identity.agent):
        yield (
            "identity.agent: must be an https:// URL with a plain path and no login, "
            f"got {identity.agent!r}"
        )
    if identity.key is None:
        if identity.serve:
            yield "identity.serve: needs identity.key"
        return
    if not identity.agent:
        yield "identity.agent: is required when identity.key is set"
    pairs = [("headers", name) for name in fetch.headers]
    pairs += [
        ("origin_headers", name)
        for lines in fetch.origin_headers.values()
        for name, _ in header_lines(lines)
    ]
    for setting, name in pairs:
        if name.lower() in SIGNATURE_HEADERS:
            yield f"fetch.{setting}: {name} is set for each request by identity.key; remove it"


def _politeness_problems(politeness: PolitenessSettings) -> Iterator[str]:
    if politeness.compare_with_reppy > 1:
        yield "politeness.compare_with_reppy: must be at most 1"
    slowdown = politeness.max_latency_slowdown
    if not 1 <= slowdown <= MAX_LATENCY_SLOWDOWN:
        yield (
            f"politeness.max_latency_slowdown: must be from 1 to {MAX_LATENCY_SLOWDOWN}, "
            f"got {slowdown}"
        )


def _store_problems(settings: Settings) -> Iterator[str]:
    if settings.content.engine == "s3" and not settings.content.s3_bucket:
        yield "content.s3_bucket: is required when content.engine is s3"
    if settings.crawl_log.engine == "s3" and not settings.crawl_log.s3_bucket:
        yield "crawl_log.s3_bucket: is required when crawl_log.engine is s3"
    for name, text in settings.store.field_formats.items():
        if text not in FIELD_FORMATS:
            formats = ", ".join(FIELD_FORMATS)
            yield f"store.field_formats: {name}: must be one of {formats}, got {text!r}"
    for form in settings.pipeline.store_text:
        if form not in TEXT_FORMS:
            yield f"pipeline.store_text: must be one of {', '.join(TEXT_FORMS)}, got {form!r}"
    if settings.pipeline.store_text and settings.store.max_field_bytes < 1_000_000:
        yield "store.max_field_bytes: must be at least 1000000 when pipeline.store_text is set"
    has_kinds = any(not isinstance(v, str) for t in settings.extract.values() for v in t.values())
    if has_kinds and settings.store.max_field_bytes < 1_000_000:
        yield "store.max_field_bytes: must be at least 1000000 when extract has kinds of items"
    if not SCHEMA_NAME.fullmatch(settings.store.postgres_schema):
        name = settings.store.postgres_schema
        yield f"store.postgres_schema: must be lower-case letters, digits and _, got {name!r}"
    partitions = settings.store.postgres_partitions
    if partitions > 256 or partitions & (partitions - 1):
        yield f"store.postgres_partitions: must be a power of two up to 256, got {partitions}"
    if settings.store.sqlite_shards > 256:
        yield "store.sqlite_shards: must be at most 256"
    if settings.store.compactions > 64:
        yield "store.compactions: must be at most 64"


def _gateway_problems(settings: Settings) -> Iterator[str]:
    gateways = [("store.hbase_gateways", g) for g in settings.store.hbase_gateways]
    gateways += [("serving.standby_gateways", g) for g in settings.serving.standby_gateways]
    for setting, gateway in gateways:
        host, port = split_port(gateway)
        if not (host and port):
            yield f"{setting}: must be host:port, such as 127.0.0.1:9090, got {gateway!r}"
    if settings.store.engine == "hbase" and not settings.store.hbase_gateways:
        yield "store.hbase_gateways: is required when store.engine is hbase"


def _graph_problems(settings: Settings) -> Iterator[str]:
    store = settings.store
    for name in store.graphs:
        if not re.fullmatch(GRAPH_NAME, name, re.ASCII):
            yield (
                "store.graphs: must be up to 20 lower-case letters, digits and underscores that "
                f"begin with a letter, got {name!r}"
            )
    typed_settings = "graph_counted", "graph_ordered", "graph_packed"
    for entry in sorted({*store.graph_counted}.intersection(store.graph_packed)):
        yield (
            f"store.graph_packed: {entry!r} is in store.graph_counted as well; "
            "packed edges need no separate count"
        )
    for setting in ("graph_indexed", "graph_unique", "graph_sorted", *typed_settings):
        for entry in getattr(store, setting):
            graph, colon, name_or_type = entry.partition(":")
            if not (colon and name_or_type and graph in store.graphs):
                yield (
                    f"store.{setting}: must be graph:name with a graph of store.graphs, "
                    f"got {entry!r}"
                )
            elif setting in typed_settings and not _is_edge_type(name_or_type):
                yield f"store.{setting}: must end with a type from 16 to 65535, got {entry!r}"
    for entry in settings.serving.tokens:
        for scope in entry.split(":")[1:2]:
            for part in scope.split("+"):
                _, separator, graph = part.partition("@")
                if separator and graph not in store.graphs:
                    yield f"serving.tokens: {part!r} names a graph that is not in store.graphs"


def _is_edge_type(text: str) -> bool:
    return text.isascii() and text.isdecimal() and 16 <= int(text) <= 65_535


def _serving_problems(serving: ServingSettings) -> Iterator[str]:
    for number, entry in enumerate(serving.tokens, 1):
        if not TOKEN_ENTRY.fullmatch(entry):
            yield (
                "serving.tokens: must be name:scopes:sha256[:rate] as `aragog token` prints it, "
                f"entry {number} is not"
            )
    names = {entry.partition(":")[0] for entry in serving.tokens}
    for field, text in serving.field_writers.items():
        for name in text.split("+"):
            if name not in names:
                yield f"serving.field_writers: {field}: serving.tokens has no token named {name!r}"
    for name, text in serving.quotas.items():
        try:
            TokenQuota.read(text)
        except ValueError as error:
            yield f"serving.quotas: {name}: {error}"
    if serving.max_request_memory_bytes < serving.max_body_bytes:
        yield "serving.max_request_memory_bytes: must be at least serving.max_body_bytes"
    if serving.access_log_share > 1:
        yield "serving.access_log_share: must be at most 1"
    if serving.tls_key_file and not serving.tls_cert_file:
        yield "serving.tls_key_file: needs serving.tls_cert_file"
    for origin in serving.cors_origins:
        if not ORIGIN.fullmatch(origin):
            yield (
                f"serving.cors_origins: must be https://host or http://host:port, got {origin!r}"
            )


def _standalone_problems(standalone: StandaloneSettings) -> Iterator[str]:
    max_bytes = standalone.redis_max_memory_bytes
    if max_bytes is not None and max_bytes < MIN_REDIS_BYTES:
        yield (
            f"standalone.redis_max_memory_bytes: must be at least {MIN_REDIS_BYTES}, "
            f"got {max_bytes}"
        )


def _user_agent_problems(user_agent: str) -> Iterator[str]:
    if not user_agent.isprintable():
        yield f"fetch.user_agent: {user_agent!r} contains a control character; remove it"


def _broker_problems(url: SecretUrl) -> Iterator[str]:
    scheme, separator, _ = url.partition("://")
    if not separator and url:
        yield (
            f"broker.url: {without_password(url)!r} is not a URL; use pinlater://, redis:// or amqp://"
        )
    elif scheme not in BROKER_SCHEMES:
        yield (
            f"broker.url: {without_password(scheme + '://')} is not a supported broker; "
            "use pinlater://, redis:// or amqp://"
        )
    elif not _has_port(url):
        yield (
            f"broker.url: {without_password(url)!r} has an invalid host or port; "
            "in a password write / as %2F, # as %23, ? as %3F, @ as %40"
        )


def _redis_problems(settings: Settings) -> Iterator[str]:
    """Yield invalid Redis URLs, but not the library's messages, because they may have passwords."""
    urls = [("redis.url", settings.redis.url)] if settings.redis.url else []
    urls += [("redis.nodes", url) for url in settings.redis.nodes]
    urls += [("politeness.limiter_urls", url) for url in settings.politeness.limiter_urls]
    urls += [("broker.control", settings.broker.control)] if settings.broker.control else []
    urls += [("broker.shards", url) for url in settings.broker.shards if not _is_postgres(url)]
    for setting, url in urls:
        if not is_usable(url):
            yield (
                f"{setting}: {without_password(url)!r} is not a Redis URL; use "
                "redis://host:port/db, unix:///path or sentinel://host:port/service, "
                "and in a password / as %2F, # as %23, ? as %3F, @ as %40"
            )


def _has_port(url: str) -> bool:
    """Return True if all ports in a broker's URL are valid numbers."""
    try:
        for part in reveal(url).split(";"):
            _ = urlsplit(part).port
    except ValueError:
        return False
    return True


def _is_postgres(url: str) -> bool:
    return url.startswith(("postgresql://", "postgres://"))


def _tracing_problems(tracing: TracingSettings) -> Iterator[str]:
    if tracing.sample_ratio > 1:
        yield f"tracing.sample_ratio: must be at most 1, got {tracing.sample_ratio}"


def _number_settings(settings: Settings) -> list[tuple[str, str, float]]:
    numbers = []
    for section in dataclasses.fields(settings):
        value = getattr(settings, section.name)
        if not dataclasses.is_dataclass(value):
            continue
        for item in dataclasses.fields(value):
            number = getattr(value, item.name)
            if isinstance(number, int | float) and not isinstance(number, bool):
                numbers.append((section.name, item.name, number))
    return numbers
