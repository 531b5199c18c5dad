"""
The files that an operator publishes: key directory, page about the crawler, and address list.

The key directory is a JSON Web Key Set, signed by its own keys
(draft-ietf-webbotauth-httpsig-protocol). The address list is in the format of
draft-illyes-webbotauth-jafar. The page links to the list, as required by
draft-illyes-webbotauth-cbcp.
"""

from __future__ import annotations

import base64
import hashlib
import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import orjson

from aragog.crawl.identity.bot_page import bot_page
from aragog.crawl.identity.keys import KeyFile, SigningKey, published_keys
from aragog.crawl.identity.request_signer import signature_fields
from aragog.crawl.identity.signature_base import Component, SignedMessage
from aragog.runtime.clock import Clock, SystemClock
from aragog.settings import Settings

DIRECTORY_TYPE = "application/http-message-signatures-directory+json"
ADDRESSES_TYPE = "application/jafar+json;version=1.0"
DIRECTORY_TAG = "http-message-signatures-directory"
DIRECTORY_COMPONENTS = (Component("@authority", (("req", True),)), Component("content-digest"))
MAX_AGE_S = 86_400
"""Caches may keep copies for one day, half of the default overlap of two keys."""
SIGNATURE_LIFETIME_S = 30 * MAX_AGE_S
REGENERATE_INTERVAL_S = 3600
PAGE_PATH, ADDRESSES_PATH = "/bot.html", "/addresses.json"


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """A file with its URL path and headers."""

    path: str
    """The path in the file's URL."""
    body: bytes
    headers: Mapping[str, str]


def published_files(
    settings: Settings, keys: Sequence[SigningKey], now_s: int
) -> list[PublishedFile]:
    """
    Return all files to publish at the host of `identity.agent`.

    Args:
        settings: the crawler's settings.
        keys: the keys of the key file.
        now_s: start of the signatures, which are valid for 30 days.
    """
    files = [key_directory(settings.identity.agent, keys, now_s)]
    networks = published_networks(settings)
    has_addresses = bool(networks)
    page = bot_page(settings, ADDRESSES_PATH.removeprefix("/") if has_addresses else None)
    link = {"Link": f'<{ADDRESSES_PATH}>; rel="client-ranges"'} if has_addresses else {}
    headers = {"Content-Type": "text/html; charset=utf-8", "Cache-Control": "max-age=3600"}
    files.append(PublishedFile(PAGE_PATH, page.encode(), headers | link))
    if has_addresses:
        files.append(address_list(networks, now_s))
    return files


def published_networks(settings: Settings) -> tuple[str, ...]:
    """Return `identity.networks` and direct egress routes' addresses."""
    networks = [ipaddress.ip_network(text) for text in settings.identity.networks]
    for way in settings.egress.ways.values():
        for address in map(ipaddress.ip_network, way.addresses):
            candidates = (n for n in networks if n.version == address.version)
            if not any(address.subnet_of(n) for n in candidates):  # type: ignore[arg-type]
                networks.append(address)
    return tuple(map(str, networks))


def key_directory(agent: str, keys: Sequence[SigningKey], now_s: int) -> PublishedFile:
    """
    Return the key directory, signed by each of its keys.

    Args:
        agent: the directory's URL. The signatures are valid only for its host.
        keys: the key file's keys. Expired ones are left out.
        now_s: the current time.
    """
    keys_to_publish = published_keys(keys, now_s)
    body = orjson.dumps({"keys": [key.public_jwk() for key in keys_to_publish]})
    digest = base64.b64encode(hashlib.sha256(body).digest()).decode()
    url = urlsplit(agent)
    response = SignedMessage(
        status=200,
        fields={"content-digest": f"sha-256=:{digest}:"},
        request=SignedMessage(method="GET", authority=url.netloc, path=url.path),
    )
    signature_values: dict[str, list[str]] = {"Signature-Input": [], "Signature": []}
    for number, key in enumerate(keys_to_publish, 1):
        parameters: dict[str, int | str] = {
            "created": now_s,
            "expires": now_s + SIGNATURE_LIFETIME_S,
            "keyid": key.thumbprint,
            "tag": DIRECTORY_TAG,
        }
        fields = signature_fields(key, response, DIRECTORY_COMPONENTS, parameters, f"sig{number}")
        for name, value in fields.items():
            signature_values[name].append(value)
    headers = {
        "Content-Type": DIRECTORY_TYPE,
        "Cache-Control": f"max-age={MAX_AGE_S}",
        "Access-Control-Allow-Origin": "*",
        "Content-Digest": f"sha-256=:{digest}:",
    }
    signature_headers = {name: ", ".join(values) for name, values in signature_values.items()}
    return PublishedFile(url.path, body, headers | signature_headers)


def address_list(networks: Sequence[str], now_s: int) -> PublishedFile:
    """
    Return the networks that requests come from (draft-illyes-webbotauth-jafar).

    Args:
        networks: networks in CIDR notation.
        now_s: the current time.
    """
    prefixes = [
        {f"ipv{network.version}Prefix": str(network)}
        for network in (ipaddress.ip_network(text) for text in networks)
    ]
    token = hashlib.sha256(orjson.dumps(prefixes)).hexdigest()[:16]
    created = datetime.fromtimestamp(now_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    body = orjson.dumps(
        {"synctoken": token, "creationTime": created, "prefixes": prefixes},
        option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE,
    )
    headers = {"Content-Type": ADDRESSES_TYPE, "Cache-Control": "max-age=3600"}
    return PublishedFile(ADDRESSES_PATH, body, headers)


def nginx_locations(files: Sequence[PublishedFile]) -> str:
    """Return nginx `location` blocks for `files`, with their headers."""
    locations = []
    for file in files:
        headers = dict(file.headers)
        # With an empty `types` block, nginx uses the default type below.
        lines = ["types { }", f"default_type {_quote(headers.pop('Content-Type'))};"]
        lines += [f"add_header {name} {_quote(value)} always;" for name, value in headers.items()]
        body = "".join(f"    {line}\n" for line in lines)
        locations.append(f"location = {file.path} {{\n{body}}}\n")
    return "\n".join(locations)


def _quote(text: str) -> str:
    """Quote a string for nginx. It must not contain apostrophes or dollar signs."""
    return f"'{text}'"


class Publication:
    """
    The published files, generated again when a key changes, and every hour. Thread-safe.

    Args:
        settings: settings with a key and an agent.
    """

    def __init__(self, settings: Settings, clock: Clock | None = None) -> None:
        self._settings = settings
        self._clock = clock or SystemClock()
        self._file = KeyFile(settings.identity.key or Path(), self._clock)
        self._cached_files: tuple[tuple[str, ...], int, dict[str, PublishedFile]] = ((), 0, {})
        addresses = (ADDRESSES_PATH,) if published_networks(settings) else ()
        self.paths = (urlsplit(settings.identity.agent).path, PAGE_PATH, *addresses)

    def files(self) -> dict[str, PublishedFile]:
        """
        Return the files by URL path. Reads the key file at most every 30 s.

        Raises:
            ConfigError: the key file has never been read successfully.
        """
        now_s = self._clock.now_ms() // 1000
        keys = published_keys(self._file.keys(), now_s)
        thumbprints = tuple(key.thumbprint for key in keys)
        old_thumbprints, generated_at_s, files = self._cached_files
        if (
            thumbprints != old_thumbprints
            or not 0 <= now_s - generated_at_s < REGENERATE_INTERVAL_S
        ):
            files = {file.path: file for file in published_files(self._settings, keys, now_s)}
            self._cached_files = (thumbprints, now_s, files)
        return files
