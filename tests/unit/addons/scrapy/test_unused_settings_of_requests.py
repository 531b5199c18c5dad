"""Warnings about per-request values that have no effect."""

import logging

import pytest
from scrapy import Request

from aragog.addons.scrapy.unused_settings import UnusedValues

URL = "http://a.test/"
AGENT = "Scrapy/2.19"


@pytest.fixture
def warnings(caplog):
    """Returns the messages caused by requests."""
    values = UnusedValues(AGENT, 180.0)

    def warnings(*requests):
        with caplog.at_level(logging.WARNING):
            for request in requests:
                values.process_request(request)
        return [record.getMessage() for record in caplog.records]

    return warnings


@pytest.mark.parametrize(
    ("request_", "name"), [
        (Request(URL, headers={"User-Agent": "Mozilla/5.0"}), "the header User-Agent"),
        (Request(URL, meta={"download_timeout": 1}), "meta['download_timeout']"),
        (Request(URL, meta={"download_maxsize": 1}), "meta['download_maxsize']"),
        (Request(URL, meta={"dont_obey_robotstxt": True}), "meta['dont_obey_robotstxt']"),
    ]
)  # fmt: skip
def test_value_without_effect_is_reported_once(warnings, request_, name):
    (message,) = warnings(request_, request_.replace(url=URL + "next"))

    assert message.startswith(f"{name} of <GET {URL}> and similar requests has no effect")


def test_values_set_by_scrapy_middlewares_are_not_reported(warnings):
    request = Request(URL, headers={"User-Agent": AGENT}, meta={"download_timeout": 180.0})

    assert warnings(request, Request(URL)) == []
