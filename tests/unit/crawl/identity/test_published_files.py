"""The crawler's published files: a verifiable key directory, a page, and a list of addresses."""

from __future__ import annotations

import base64
import hashlib
import json
import time
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from aragog.crawl.identity.keys import new_key, rotate_keys
from aragog.crawl.identity.published_files import (
    address_list,
    key_directory,
    nginx_locations,
    published_files,
    published_networks,
)
from aragog.settings import (
    EgressSettings,
    FetchSettings,
    IdentitySettings,
    PreferencesSettings,
    Settings,
    WaySettings,
)
from tests.support.signatures import AGENT, Refused, Sent, verified_by

DAY_S = 86_400
TAG = "http-message-signatures-directory"


def response(file: Any, url: str = AGENT) -> Any:
    """The file as a verifier receives it."""
    request = Sent("GET", url, {"Accept": "*/*"})
    return SimpleNamespace(status_code=200, headers=dict(file.headers), request=request)


@pytest.fixture
def now_s():
    return int(time.time())


def test_every_key_signs_the_directory_for_its_host(now_s):
    keys = rotate_keys([new_key(0)], new_key(now_s + DAY_S), now_s, DAY_S)

    file = key_directory(AGENT, keys, now_s)

    public = json.loads(file.body)["keys"]
    assert [key["kid"] for key in public] == [key.thumbprint for key in keys]
    assert public[0]["exp"] == public[1]["nbf"] + DAY_S
    assert file.headers["Content-Type"] == f"application/{TAG}+json"
    digest = base64.b64encode(hashlib.sha256(file.body).digest()).decode()
    assert file.headers["Content-Digest"] == f"sha-256=:{digest}:"
    results = verified_by(public, response(file), TAG)
    assert [result.parameters["keyid"] for result in results] == [key["kid"] for key in public]
    for changed in (
        response(file, AGENT.replace("bot.test", "other.test")),
        response(replace(file, headers={**file.headers, "Content-Digest": "sha-256=:AAAA:"})),
    ):
        with pytest.raises(Refused):
            verified_by(public, changed, TAG)


def test_expired_keys_are_not_published(now_s):
    old, new = new_key(0), new_key(now_s)
    keys = [replace(old, end_s=now_s - 1), new]

    file = key_directory(AGENT, keys, now_s)

    assert [key["kid"] for key in json.loads(file.body)["keys"]] == [new.thumbprint]


def test_address_list_follows_the_draft():
    networks = ("203.0.113.0/28", "2001:db8::/48")

    file = address_list(networks, 1_755_268_200)
    other = address_list(networks[:1], 1_755_268_200)

    listed = json.loads(file.body)
    assert listed["creationTime"] == "2025-08-15T14:30:00Z"
    assert listed["prefixes"] == [
        {"ipv4Prefix": "203.0.113.0/28"},
        {"ipv6Prefix": "2001:db8::/48"},
    ]
    assert listed["synctoken"] != json.loads(other.body)["synctoken"]
    assert file.headers["Content-Type"] == "application/jafar+json;version=1.0"


SETTINGS = Settings(
    fetch=FetchSettings(user_agent="examplebot/1.0 (+https://example.com/bot)"),
    preferences=PreferencesSettings(purposes=("search",)),
    identity=IdentitySettings(
        agent=AGENT, contact="bot@example.com", description="It finds <lamps>."
    ),
)


def page_of(settings):
    files = {file.path: file for file in published_files(settings, [new_key(0)], 5)}
    return files["/bot.html"], set(files)


def test_page_describes_the_crawler_and_how_to_reach_its_operator():
    page, paths = page_of(SETTINGS)

    text = page.body.decode()
    assert paths == {"/.well-known/http-message-signatures-directory", "/bot.html"}
    for part in (
        "<title>examplebot</title>",
        "It finds &lt;lamps&gt;.",
        "<code>examplebot/1.0 (+https://example.com/bot)</code>",
        "User-agent: examplebot\nDisallow: /<",
        "mailto:bot@example.com",
        f'<a href="{AGENT}">',
        "an index that leads people to your pages",
    ):
        assert part in text
    assert "addresses" not in text
    assert "Link" not in page.headers


def test_page_links_to_the_list_of_addresses():
    identity = replace(
        SETTINGS.identity, networks=("203.0.113.0/28",), contact="https://a.test/?a&b"
    )

    page, paths = page_of(replace(SETTINGS, identity=identity))

    assert "/addresses.json" in paths
    assert page.headers["Link"] == '</addresses.json>; rel="client-ranges"'
    assert b'<link rel="client-ranges" href="addresses.json">' in page.body
    assert b'href="https://a.test/?a&amp;b"' in page.body


def test_nginx_configuration_has_each_file_with_its_type_and_headers():
    files = published_files(SETTINGS, [new_key(0)], 5)

    text = nginx_locations(files)

    assert text.count("location = /") == len(files) == text.count("default_type '")
    directory, page = text.split("\n\n")
    assert f"default_type 'application/{TAG}+json';" in directory
    for name in ("Signature-Input", "Signature", "Content-Digest", "Cache-Control"):
        assert f"    add_header {name} '{files[0].headers[name]}' always;\n" in directory
    assert "add_header Cache-Control 'max-age=3600' always;" in page


def test_addresses_of_direct_routes_are_published_but_not_those_of_proxies(now_s):
    ways = {
        "one": WaySettings(addresses=("198.51.100.7", "2001:db8::7")),
        "inside": WaySettings(addresses=("203.0.113.5",)),
        "far": WaySettings(proxy="http://proxy.test:3128"),
    }
    settings = Settings(
        fetch=FetchSettings(user_agent="testbot/1.0 (+https://example.com/bot)"),
        identity=IdentitySettings(agent=AGENT, networks=("203.0.113.0/28",)),
        egress=EgressSettings(ways),
    )

    files = {file.path: file for file in published_files(settings, [new_key(0)], now_s)}

    assert [*json.loads(files["/addresses.json"].body)["prefixes"]] == [
        {"ipv4Prefix": "203.0.113.0/28"},
        {"ipv4Prefix": "198.51.100.7/32"},
        {"ipv6Prefix": "2001:db8::7/128"},
    ]
    assert published_networks(Settings()) == ()
