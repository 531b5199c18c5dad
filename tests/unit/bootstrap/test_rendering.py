"""Settings of rendering: what is refused before anything starts."""

import pytest

from aragog.bootstrap.rendering import check_rendering
from aragog.errors import ConfigError
from aragog.settings import RenderingSettings, Settings


def test_a_browser_is_only_asked_for_where_hosts_are_named():
    missing = RenderingSettings(browser="no-such-browser", sandbox=False)
    check_rendering(Settings(rendering=missing))

    named = RenderingSettings(hosts=("shop.test",), browser="no-such-browser", sandbox=False)
    with pytest.raises(ConfigError, match="cannot run any of no-such-browser; install Chromium"):
        check_rendering(Settings(rendering=named))


def test_a_wrong_host_is_named_before_anything_starts():
    with pytest.raises(ConfigError, match=r"rendering\.hosts: 'https://shop\.test/' is not a host"):
        check_rendering(Settings(rendering=RenderingSettings(hosts=("https://shop.test/",))))
