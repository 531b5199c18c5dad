import logging
import os

import pytest

from aragog.crawl.politeness.blocked_hosts import BlockedHosts
from aragog.crawl.politeness.overrides import Override, Overrides, read_overrides
from aragog.errors import ConfigError
from aragog.runtime.clock import ManualClock
from tests.support.documented import blocks

GOOD = """
["example.com"]
qps = 2

["shops.example"]
scope = "host"
max_concurrent = 4
crawl_delay_cap_s = 0

["slow.example.com"]
qps = 0.1
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "overrides.toml"
    path.write_text(GOOD)
    return path


def change(file, text):
    """Writes the file with a different mtime, even if the clock is coarse."""
    before = file.stat().st_mtime_ns
    file.write_text(text)
    os.utime(file, ns=(before + 1, before + 1))


def test_values_are_read(file):
    overrides = read_overrides(file)

    assert overrides["example.com"] == Override("example.com", qps=2)
    assert overrides["shops.example"].scope == "host"
    assert overrides["shops.example"].max_concurrent == 4
    assert overrides["shops.example"].crawl_delay_cap_s == 0


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("example.com", "example.com"),
        ("www.example.com", "example.com"),
        ("slow.example.com", "slow.example.com"),
        ("a.slow.example.com", "slow.example.com"),
        ("ample.com", None),
        ("com", None),
        ("", None),
        ("10.0.0.1", None),
    ],
)
def test_longest_name_that_is_the_host_or_its_parent_applies(file, host, name):
    override = Overrides(file).find(host)

    assert (override.name if override else None) == name


def test_names_are_normalized_like_hosts(file):
    file.write_text('["Müller.Example."]\nqps = 1\n')

    assert list(read_overrides(file)) == ["xn--mller-kva.example"]


def test_byte_order_mark_before_the_first_name_is_ignored(file):
    """Regression: an editor had written one, and the file was refused as invalid TOML."""
    file.write_text('\ufeff["a.test"]\nqps = 2\n')

    assert Overrides(file).find("a.test").qps == 2


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ('["a.com"]\nqps = 0', "['a.com'].qps: must be a number above 0, up to 10000, got 0"),
        ('["a.com"]\nqps = true', "got True"),
        ('["a.com"]\nqps = nan', "got nan"),
        ('["a.com"]\nqps = "fast"', "got 'fast'"),
        (
            '["a.com"]\nspeed = 3',
            "['a.com'].speed: is not a known key; use qps, scope, max_concurrent",
        ),
        ('["a.com"]\nscope = "site"', 'must be "domain" or "host", got \'site\''),
        ('["a.com"]\nmax_concurrent = 1.5', "must be a whole number from 1"),
        ('["a.com"]\ncrawl_delay_cap_s = -1', "seconds from 0 to 86400, got -1"),
        ('["a.com"]\nquiet_hours = "8-18"', "['a.com'].quiet_hours: quiet hours: must be"),
        ('["a.com"]\nmax_latency_slowdown = 0.5', "a number from 1 to 100, got 0.5"),
        ("[a.com]\nqps = 1", "quote a name with dots"),
        ("qps = 1", "must be a table"),
        ('["http://a.com/"]\nqps = 1', "is not a domain or host name"),
        ('["a.com"]\n["A.com."]', "is listed twice"),
        ('["a.com"\nqps', "is not valid TOML"),
        (b"\xff\xfe", "cannot be read"),
    ],
)
def test_invalid_file_is_refused_at_startup_with_its_key_and_value(file, text, reported):
    file.write_bytes(text if isinstance(text, bytes) else text.encode())

    with pytest.raises(ConfigError) as caught:
        Overrides(file)

    assert reported in str(caught.value)
    assert str(file) in str(caught.value)


def test_all_problems_are_reported_at_once(file):
    file.write_text('["a.com"]\nqps = 0\nspeed = 1\n["b.com"]\nscope = 1\n')

    with pytest.raises(ConfigError) as caught:
        Overrides(file)

    assert len(caught.value.problems) == 3


def test_missing_file_is_refused_at_startup(tmp_path):
    with pytest.raises(ConfigError, match=r"unset politeness\.overrides_file"):
        Overrides(tmp_path / "none.toml")


def test_change_is_picked_up_within_five_seconds(file):
    clock = ManualClock()
    overrides = Overrides(file, clock)

    change(file, '["example.com"]\nqps = 7\n')
    clock.advance_ms(5000)

    assert overrides.find("example.com").qps == 7
    assert overrides.find("slow.example.com").qps == 7


@pytest.mark.parametrize("bad", ['["example.com"]\nqps = -1', "not toml", None])
def test_invalid_change_keeps_the_previous_file_and_is_logged(file, bad, caplog):
    clock = ManualClock()
    overrides = Overrides(file, clock)

    change(file, bad) if bad else file.unlink()
    clock.advance_ms(5000)
    with caplog.at_level(logging.WARNING):
        override = overrides.find("example.com")

    assert override.qps == 2
    assert str(file) in overrides.problem
    assert "previous overrides stay in use" in caplog.text


def test_corrected_file_is_used_and_logged_as_a_warning_too(file, caplog):
    clock = ManualClock()
    overrides = Overrides(file, clock)
    change(file, "not toml")
    clock.advance_ms(5000)
    overrides.table()

    change(file, '["example.com"]\nqps = 30\n')
    clock.advance_ms(5000)

    with caplog.at_level(logging.WARNING):
        assert overrides.find("example.com").qps == 30
    assert overrides.problem is None
    assert "reloaded overrides: 1 names" in caplog.text


def test_blocked_host_includes_its_subdomains(tmp_path):
    clock = ManualClock()
    file = tmp_path / "blocked.toml"
    file.write_text('["example.com"]\nblocked = true\n["api.example.com"]\nqps = 1\n')
    overrides = Overrides(file, clock, blocked_hosts=BlockedHosts(["Other.test."]))

    assert "blocks example.com" in overrides.blocking_setting("www.example.com")
    assert overrides.blocking_setting("api.example.com") is None
    assert "blocked_hosts contains other.test" in overrides.blocking_setting("a.other.test")
    assert overrides.blocking_setting("another.test") is None

    file.write_text('["example.com"]\nqps = 2\n')
    clock.advance_ms(1000)
    assert overrides.blocking_setting("www.example.com") is None


def test_invalid_blocked_host_is_refused():
    with pytest.raises(ConfigError, match=r"politeness\.blocked_hosts: 'http://x/'"):
        Overrides(blocked_hosts=BlockedHosts(["http://x/"]))


def test_no_file_means_no_overrides():
    assert Overrides().find("example.com") is None


def test_example_in_the_documentation_is_valid(tmp_path):
    (example,) = blocks("docs/politeness.md", "toml")
    file = tmp_path / "overrides.toml"
    file.write_text(example)

    assert set(read_overrides(file)) == {"example.com", "shops.example", "api.example.com"}
