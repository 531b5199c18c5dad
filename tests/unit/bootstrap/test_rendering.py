"""Settings of rendering that are refused at startup."""

import pytest

from aragog.bootstrap.rendering import check_rendering
from aragog.errors import ConfigError
from aragog.settings import RenderingSettings, Settings


def test_browser_is_required_only_if_hosts_are_listed():
    missing = RenderingSettings(browser="no-such-browser", sandbox=False)
    check_rendering(Settings(rendering=missing))

    named = RenderingSettings(hosts=("shop.test",), browser="no-such-browser", sandbox=False)
    with pytest.raises(ConfigError, match="cannot run any of no-such-browser; install Chromium"):
        check_rendering(Settings(rendering=named))


def test_invalid_host_is_reported_at_startup():
    with pytest.raises(ConfigError, match=r"rendering\.hosts: 'https://shop\.test/' is not a host"):
        check_rendering(Settings(rendering=RenderingSettings(hosts=("https://shop.test/",))))
