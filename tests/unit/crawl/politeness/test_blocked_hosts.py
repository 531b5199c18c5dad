"""Changes to `politeness.blocked_hosts` in the settings file apply to running processes."""

import pytest

from aragog.crawl.politeness.blocked_hosts import BlockedHosts
from aragog.crawl.politeness.overrides import Overrides
from aragog.errors import ConfigError
from aragog.runtime.clock import ManualClock
from aragog.settings import load_settings, settings_file


def write(file, text):
    """Replaces the file as editors do, so that the change is always detected."""
    fresh = file.with_suffix(".new")
    fresh.write_text(text)
    fresh.replace(file)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "aragog.toml"
    write(path, '[politeness]\nblocked_hosts = ["old.test"]\n')
    return path


def watched(file, **more):
    environ = {"ARAGOG_SETTINGS": str(file), **more}

    def names():
        return load_settings(environ=environ).politeness.blocked_hosts

    return BlockedHosts(names(), file=settings_file(environ), read=names)


def test_running_process_applies_a_changed_settings_file(file):
    clock = ManualClock()
    overrides = Overrides(clock=clock, blocked_hosts=watched(file))
    assert overrides.blocking_setting("a.old.test")

    write(file, '[politeness]\nblocked_hosts = ["new.test"]\n')
    clock.advance_ms(1000)

    assert overrides.blocking_setting("a.new.test") == "politeness.blocked_hosts contains new.test"
    assert overrides.blocking_setting("a.old.test") is None


@pytest.mark.parametrize(
    "text",
    [
        '[politeness]\nblocked_hosts = ["http://x/"]\n',
        "not TOML",
        "[politeness]\nblocked_hosts = 7",
    ],
)
def test_invalid_change_unblocks_nothing_and_is_logged(file, text, caplog):
    blocked = watched(file)

    write(file, text)
    blocked.refresh()

    assert blocked.find("old.test") == "old.test"
    assert "the blocked hosts stay unchanged" in caplog.text


def test_deleted_settings_file_unblocks_nothing(file):
    blocked = watched(file)

    file.unlink()
    blocked.refresh()

    assert blocked.find("old.test") == "old.test"


def test_environment_still_overrides_the_file_after_a_change(file):
    blocked = watched(file, ARAGOG_POLITENESS__BLOCKED_HOSTS="env.test")

    write(file, '[politeness]\nblocked_hosts = ["new.test"]\n')
    blocked.refresh()

    assert (blocked.find("env.test"), blocked.find("new.test")) == ("env.test", None)


def test_names_without_a_file_are_fixed(tmp_path):
    blocked = BlockedHosts(["Ä.test"])

    blocked.refresh()

    assert blocked.find("a.xn--4ca.test") == "xn--4ca.test"
    with pytest.raises(ConfigError, match=r"politeness\.blocked_hosts: 'a/b'"):
        BlockedHosts(["a/b"])
