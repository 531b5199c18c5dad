"""Warnings about Scrapy settings that have no effect."""

import logging

import pytest
from scrapy.settings import Settings

from aragog.addons.scrapy.addon import SCHEDULER, AragogAddon
from aragog.addons.scrapy.scheduler import SpiderScheduler
from aragog.addons.scrapy.unused_settings import _FETCHER_SETTINGS, _SCHEDULER_SETTINGS, class_path


@pytest.fixture
def warnings(caplog):
    """Returns the names of the settings that the add-on warns about."""

    def warnings(given, priority="project"):
        settings = Settings()
        settings.setdict(given, priority)
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            AragogAddon().update_settings(settings)
        return [record.getMessage().partition("=")[0] for record in caplog.records]

    return warnings


@pytest.mark.parametrize("name", [*_FETCHER_SETTINGS, *_SCHEDULER_SETTINGS])
def test_every_listed_setting_exists_in_scrapy(name):
    assert name in Settings()


@pytest.mark.parametrize(
    "given", [
        {"ROBOTSTXT_OBEY": False},
        {"USER_AGENT": "Mozilla/5.0"},
        {"DOWNLOAD_MAXSIZE": 1000},
        {"JOBDIR": "jobs"},
        {"AUTOTHROTTLE_ENABLED": True},
        {"AUTOTHROTTLE_ENABLED": "1"},
        {"CONCURRENT_REQUESTS_PER_DOMAIN": 1},
        {"DNS_TIMEOUT": 5, "SCHEDULER_DISK_QUEUE": "my.Queue"},
    ]
)  # fmt: skip
@pytest.mark.parametrize("priority", ["project", "spider", "cmdline"])
def test_setting_without_effect_is_reported_once(warnings, given, priority):
    assert sorted(warnings(given, priority)) == sorted(given)


def test_message_shows_the_value_and_the_remedy(warnings, caplog):
    warnings({"USER_AGENT": "Mozilla/5.0"})

    assert "USER_AGENT=Mozilla/5.0 has no effect with aragog: set fetch.user_agent" in caplog.text


@pytest.mark.parametrize(
    "given", [
        {},
        {"ROBOTSTXT_OBEY": True},
        {"ROBOTSTXT_OBEY": "True", "AUTOTHROTTLE_ENABLED": "0"},
        {"DOWNLOAD_MAXSIZE": str(1024**3), "JOBDIR": None},
        {"CONCURRENT_REQUESTS": 4, "CONCURRENT_REQUESTS_PER_DOMAIN": 4},
        {"RETRY_TIMES": 5, "DOWNLOAD_TIMEOUT": 10, "COOKIES_ENABLED": False},
    ]
)  # fmt: skip
def test_effective_setting_is_not_reported(warnings, given):
    assert warnings(given) == []


def test_settings_of_commands_and_add_ons_are_not_reported(warnings):
    assert warnings({"USER_AGENT": "other"}, "addon") == []


def test_settings_of_unused_components_are_not_reported(warnings):
    given = {"JOBDIR": "jobs", "USER_AGENT": "other"}

    assert warnings({**given, "SCHEDULER": "my.Scheduler"}) == ["USER_AGENT"]
    assert warnings({**given, "DOWNLOAD_HANDLERS": {"https": "my.Handler"}}) == ["JOBDIR"]
    assert warnings({**given, "SCHEDULER": SpiderScheduler}) == ["USER_AGENT", "JOBDIR"]


def test_autothrottle_is_off_unless_a_project_lists_it():
    path = "scrapy.extensions.throttle.AutoThrottle"
    settings, own = Settings(), Settings({"EXTENSIONS": {path: 5}})

    AragogAddon().update_settings(settings)
    AragogAddon().update_settings(own)

    assert path not in [*settings.get_component_priority_dict_with_base("EXTENSIONS")]
    assert own.get_component_priority_dict_with_base("EXTENSIONS")[path] == 5


def test_component_is_recognized_by_its_old_path():
    old = "aragog" + ".scrapy.scheduler.SpiderScheduler"

    assert class_path(old) == class_path(SpiderScheduler) == SCHEDULER
