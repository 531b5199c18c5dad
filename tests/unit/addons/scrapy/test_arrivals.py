"""Incoming requests of other processes that Scrapy's own downloader would send."""

import pytest
from scrapy import Request
from scrapy.settings import Settings

from aragog.addons.scrapy.arrivals import incoming_check
from aragog.runtime.secret import SecretUrl
from aragog.settings import FetchSettings

OURS = "aragog.addons.scrapy.download_handler.PoliteDownloadHandler"
SCRAPYS, WITH_OURS = Settings(), Settings({"DOWNLOAD_HANDLERS": {"http": OURS, "https": OURS}})
FETCH = FetchSettings(proxy=SecretUrl("http://user:pw@proxy.test:3128"))


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1/", "http://localhost/", "http://169.254.169.254/", "http://a.test:22/"],
)
def test_url_blocked_by_the_ssrf_filter_is_refused(url):
    assert incoming_check(SCRAPYS, FETCH)(Request(url))


def test_ordinary_request_is_allowed():
    assert incoming_check(SCRAPYS, FETCH)(Request("http://a.example/")) is None


def test_proxy_set_by_another_process_is_refused():
    vet = incoming_check(SCRAPYS, FETCH)
    from_environment = Request(
        "http://a.example/", meta={"proxy": "http://evil.test:1", "_scheme_proxy": True}
    )

    assert "fetch.proxy" in vet(Request("http://a.example/", meta={"proxy": "http://evil.test:1"}))
    assert vet(Request("http://a.example/", meta={"proxy": "http://proxy.test:3128"})) is None
    assert vet(from_environment) is None
    assert "proxy" not in from_environment.meta


def test_aragog_download_handler_needs_no_extra_check():
    assert incoming_check(WITH_OURS, FETCH)(Request("http://127.0.0.1/")) is None
