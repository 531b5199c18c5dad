"""Redis URLs and their parts."""

import pytest

from pinlater.redis.address import is_usable, parse_sentinel, server_name


class SecretUrl(str):
    """A URL whose string form is masked, as applications often keep it."""

    __slots__ = ()

    def __str__(self):
        return "***"


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("redis://user:p%40ss@example.com:6380/2", "example.com:6380"),
        ("rediss://example.com", "example.com:6379"),
        ("unix:///run/redis.sock?db=1", "/run/redis.sock"),
        ("redis+socket:///run/redis.sock", "/run/redis.sock"),
        ("sentinel://:secret@a:1,b/main/3", "main@a:1,b:26379"),
        (SecretUrl("redis://:secret@localhost:7"), "localhost:7"),
    ],
)
def test_server_name_has_no_password(url, name):
    assert is_usable(url)
    assert server_name(url) == name


@pytest.mark.parametrize(
    "url",
    ["", "localhost:6379", "http://a", "redis://a:b", "sentinel://a:1", "sentinel://a:x/main"],
)
def test_unusable_urls_are_recognized(url):
    assert not is_usable(url)


def test_sentinel_url_is_parsed():
    address = parse_sentinel("sentinels://me:p%2Fw@a:1,b/main/3?sentinel_password=s")

    assert address.sentinels == (("a", 1), ("b", 26379))
    assert (address.username, address.password) == ("me", "p/w")
    assert (address.service, address.db, address.tls) == ("main", 3, True)
    assert address.options == {"sentinel_password": "s"}
