"""Egress routes in the settings, valid and invalid."""

import pytest

from aragog.errors import ConfigError
from aragog.settings import build_settings, load_settings, plain

GOOD = """
[egress.ways.fra]
addresses = ["203.0.113.7", "2001:db8::7"]
[egress.ways.pool]
proxy = "http://gate.example:7777"
login = "env:POOL_LOGIN"
session_s = 60
[egress.ways.tor]
proxy = "socks5h://127.0.0.1:9050"

[[egress.rules]]
crawls = ["prices"]
suffixes = ["de", "co.uk"]
ways = ["fra", "direct"]
[[egress.rules]]
after = [403]
ways = ["pool"]
"""


def loaded(tmp_path, text):
    file = tmp_path / "aragog.toml"
    file.write_text(text)
    return load_settings(file, {})


def test_ways_and_rules_round_trip(tmp_path):
    settings = loaded(tmp_path, GOOD)

    assert settings.egress.ways["fra"].addresses == ("203.0.113.7", "2001:db8::7")
    assert settings.egress.ways["pool"].session_s == 60
    assert [rule.ways for rule in settings.egress.rules] == [("fra", "direct"), ("pool",)]
    assert settings.egress.rules[1].after == (403,)
    assert build_settings(plain(settings)) == settings


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[egress.ways.a]", "egress.ways.a: needs either addresses or proxy"),
        ('[egress.ways.a]\naddresses = ["x"]', "'x' is not an IP address"),
        ('[egress.ways.a]\naddresses = ["192.0.2.1", "192.0.2.2"]', "at most one IPv4"),
        ('[egress.ways.a]\naddresses = ["192.0.2.1"]\nlogin = "env:A"', "need proxy"),
        ('[egress.ways.direct]\nproxy = "http://p:1"', "and not direct or proxy"),
        ('[egress.ways."A b"]\nproxy = "http://p:1"', "lower-case letters"),
        ('[egress.ways.a]\nproxy = "https://p:1"', "socks5h://host:port"),
        ('[egress.ways.a]\nproxy = "http://p"', "http://host:port"),
        ('[egress.ways.a]\nproxy = "http://p:1/{url}"', "{url} is not one of session"),
        ('[egress.ways.a]\nproxy = "http://p:1"\nprox = "x"', "did you mean egress.ways.a.proxy"),
        ("[egress.ways.a]\nproxy = 5", "egress.ways.a.proxy: must be a string"),
        ("[[egress.rules]]", "egress.rules[1].ways: must name at least one egress route"),
        ('[[egress.rules]]\nways = ["moon"]', "'moon' is not one of direct"),
        ('[[egress.rules]]\nways = ["proxy"]', "'proxy' is not one of direct"),
        ('[[egress.rules]]\nways = ["direct"]\nafter = [451]', "must be 403 or 429, got 451"),
        ('[[egress.rules]]\nways = ["direct"]\nafter = [401]', "must be 403 or 429, got 401"),
        ('[[egress.rules]]\nways = ["direct"]\nhosts = ["*.a"]', "without *"),
        ('[[egress.rules]]\nways = ["direct"]\nsuffixes = [".de"]', "or a leading dot"),
        ('[egress]\nrules = "x"', "egress.rules: must be tables"),
        ("[egress]\nways = 1", "egress.ways: must be tables"),
    ],
)
def test_invalid_routes_are_reported(tmp_path, text, expected):
    with pytest.raises(ConfigError) as caught:
        loaded(tmp_path, text)

    assert expected in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        '[egress.ways.a]\nproxy = "http://me:s3cret@p:1"',
        '[egress.ways.a]\nproxy = "http://p:1"\nlogin = "me:s3cret"',
    ],
)
def test_login_in_the_settings_is_refused_and_not_shown(tmp_path, text):
    with pytest.raises(ConfigError) as caught:
        loaded(tmp_path, text)

    assert "env:NAME" in str(caught.value)
    assert "s3cret" not in str(caught.value)
