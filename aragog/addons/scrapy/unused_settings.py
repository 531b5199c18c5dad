"""Warn about Scrapy settings and request options that the components ignore."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Any, Self

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.settings import SETTINGS_PRIORITIES as PRIORITIES
from scrapy.settings import BaseSettings, default_settings

from aragog.runtime.moved_names import new_name

log = logging.getLogger(__name__)

_HANDLER = "aragog.addons.scrapy.download_handler.PoliteDownloadHandler"
_SCHEDULER = "aragog.addons.scrapy.scheduler.SpiderScheduler"
_NAMES = "aragog resolves host names itself"
_CERTIFICATES = "set fetch.verify_tls, which is on by default"
_OWN_TLS = "aragog chooses TLS versions and ciphers itself"
_ORDER = "requests are sent by priority, then first come, first served"
_POLITENESS = "set politeness.qps, which all processes share"

_FETCHER_SETTINGS = {
    "ROBOTSTXT_OBEY": "robots.txt is always obeyed; `aragog robots test URL` explains a refusal",
    "ROBOTSTXT_USER_AGENT": "set fetch.user_agent",
    "ROBOTSTXT_PARSER": "aragog has its own parser",
    "USER_AGENT": "set fetch.user_agent, with a contact",
    "DOWNLOAD_MAXSIZE": "set fetch.max_body_bytes",
    "DOWNLOAD_WARNSIZE": "set fetch.max_body_bytes; the response then has the flag `truncated`",
    "DOWNLOAD_FAIL_ON_DATALOSS": "an incomplete body is returned with the flag `truncated`",
    "DOWNLOAD_BIND_ADDRESS": "the operating system chooses the address",
    "AUTOTHROTTLE_ENABLED": _POLITENESS,
    "DNS_RESOLVER": _NAMES,
    "DNS_TIMEOUT": _NAMES,
    "DNSCACHE_ENABLED": _NAMES,
    "DNSCACHE_SIZE": _NAMES,
    "DOWNLOAD_VERIFY_CERTIFICATES": _CERTIFICATES,
    "DOWNLOAD_TLS_MAX_VERSION": _OWN_TLS,
    "DOWNLOAD_TLS_MIN_VERSION": _OWN_TLS,
    "DOWNLOADER_CLIENTCONTEXTFACTORY": _OWN_TLS,
    "DOWNLOADER_CLIENT_TLS_CIPHERS": _OWN_TLS,
    "DOWNLOADER_CLIENT_TLS_METHOD": _OWN_TLS,
    "DOWNLOADER_CLIENT_TLS_VERBOSE_LOGGING": _OWN_TLS,
}
_SCHEDULER_SETTINGS = {
    "JOBDIR": "requests are kept in Redis; only the extension for spider.state uses it",
    "SCHEDULER_DEBUG": "aragog logs once if requests must stay in their process",
    "SCHEDULER_DISK_QUEUE": _ORDER,
    "SCHEDULER_MEMORY_QUEUE": _ORDER,
    "SCHEDULER_PRIORITY_QUEUE": _ORDER,
    "SCHEDULER_START_DISK_QUEUE": _ORDER,
    "SCHEDULER_START_MEMORY_QUEUE": _ORDER,
}
_HARMLESS = {
    "ROBOTSTXT_OBEY": True,
    "DOWNLOAD_FAIL_ON_DATALOSS": False,
    "DOWNLOAD_VERIFY_CERTIFICATES": True,
}
"""Values that differ from Scrapy's defaults but match what aragog does anyway."""


def log_unused(settings: BaseSettings) -> None:
    """
    Log a warning for each setting without effect.

    Settings of components that are not in use, and values that change nothing, are skipped.
    """
    for name, remedy in _unused(settings):
        log.warning("%s=%s has no effect with aragog: %s", name, settings[name], remedy)
    per_domain = settings.getint("CONCURRENT_REQUESTS_PER_DOMAIN")
    if _is_given(settings, "CONCURRENT_REQUESTS_PER_DOMAIN") and (
        per_domain < settings.getint("CONCURRENT_REQUESTS")
    ):
        log.warning(
            "CONCURRENT_REQUESTS_PER_DOMAIN=%d delays requests that have a slot; remove it, and %s",
            per_domain,
            _POLITENESS,
        )


def _unused(settings: BaseSettings) -> Iterator[tuple[str, str]]:
    for name, remedy in _tables_in_use(settings).items():
        if _is_given(settings, name) and not _is_harmless(settings, name):
            yield name, remedy


def _tables_in_use(settings: BaseSettings) -> Mapping[str, str]:
    handler = settings["DOWNLOAD_HANDLERS"].get("https")
    return {
        **(_FETCHER_SETTINGS if class_path(handler) == _HANDLER else {}),
        **(_SCHEDULER_SETTINGS if class_path(settings["SCHEDULER"]) == _SCHEDULER else {}),
    }


def class_path(component: Any) -> str:
    """Return a component's path, given its path or class. Replaces paths that were renamed."""
    if isinstance(component, type):
        return f"{component.__module__}.{component.__qualname__}"
    return new_name(str(component)) or str(component)


def _is_given(settings: BaseSettings, name: str) -> bool:
    priority = settings.getpriority(name)
    return priority is not None and priority >= PRIORITIES["project"]


def _is_harmless(settings: BaseSettings, name: str) -> bool:
    harmless = _HARMLESS.get(name, getattr(default_settings, name, None))
    if isinstance(harmless, bool):
        return settings.getbool(name) is harmless
    return str(settings[name]) == str(harmless)


VALUES_ORDER = 890
"""The middleware's position: after those that set the User-Agent header and `meta`."""
_META = {
    "bindaddress": "the operating system chooses the address",
    "dont_obey_robotstxt": "robots.txt is always obeyed; `aragog robots test` explains a refusal",
    "download_maxsize": "set fetch.max_body_bytes",
    "download_warnsize": "set fetch.max_body_bytes",
}


class UnusedValues:
    """
    A downloader middleware that warns about each kind of ignored value once per process.

    Args:
        user_agent: the header set by Scrapy's own middleware.
        timeout_s: `meta["download_timeout"]` as set by Scrapy's own middleware.
    """

    def __init__(self, user_agent: str, timeout_s: float) -> None:
        self._user_agent = user_agent.encode()
        self._timeout_s = timeout_s
        self._reported: set[str] = set()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Create the middleware with the values that Scrapy's own middlewares set."""
        settings = crawler.settings
        return cls(settings.get("USER_AGENT") or "", settings.getfloat("DOWNLOAD_TIMEOUT"))

    def process_request(self, request: Request) -> None:
        """Warn about values of the request that the download handler ignores."""
        for name, remedy in self._unused(request):
            if name not in self._reported:
                self._reported.add(name)
                log.warning(
                    "%s of %s and similar requests has no effect with aragog: %s",
                    name, request, remedy,
                )  # fmt: skip

    def _unused(self, request: Request) -> Iterator[tuple[str, str]]:
        if request.headers.get("User-Agent", self._user_agent) != self._user_agent:
            yield "the header User-Agent", "set fetch.user_agent, with a contact"
        if request.meta.get("download_timeout", self._timeout_s) != self._timeout_s:
            remedy = "DOWNLOAD_TIMEOUT limits the wait for a slot; use fetch.deadline_s"
            yield "meta['download_timeout']", remedy
        for key, remedy in _META.items():
            if request.meta.get(key):
                yield f"meta[{key!r}]", remedy
