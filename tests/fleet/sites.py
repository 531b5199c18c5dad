"""The sites that the fleet crawls: their pages, rules, and the expected outcomes."""

from __future__ import annotations

from functools import lru_cache

BASE_INTERVAL_MS = 500.0
"""The interval of the fleet's `politeness.qps`, 2 per second."""
CRAWL_DELAY_S = 1
RETRY_AFTER_S = 6
SLOW_S = 0.7
HUB = "http://d0-fleet.test/0"
"""Every page links to it, including itself."""

KINDS = ("plain", "crawl-delay", "slow", "busy", "refusing", "gone", "plain", "plain")
"""The behaviors of the sites, in turn."""


def urls(count: int, domains: int) -> list[str]:
    """Return `count` URLs, one of each domain in turn."""
    return [f"http://d{n % domains}-fleet.test/{n // domains}" for n in range(count)]


def kind(host: str) -> str:
    """Return the behavior of a host's site."""
    return KINDS[int(host[1:].partition("-")[0]) % len(KINDS)]


def parts(url: str) -> tuple[str, int]:
    """Return the host of a URL, and the number of its page."""
    host, _, number = url.removeprefix("http://").partition("/")
    return host, int(number)


def outcome(url: str) -> str:
    """Return the expected outcome of a URL."""
    host, number = parts(url)
    if kind(host) == "refusing" and str(number).startswith("7"):
        return "Refused"
    if kind(host) == "gone" and number % 9 == 4:
        return "Gone"
    return "Fetched"


def robots(host: str) -> str:
    """Return the robots.txt of a host, or an empty string."""
    return {
        "crawl-delay": f"User-agent: *\nCrawl-delay: {CRAWL_DELAY_S}\n",
        "refusing": "User-agent: *\nDisallow: /7\n",
    }.get(kind(host), "")


def title(host: str, number: int, version: int) -> str:
    """Return the title of a page, which identifies the page and its version."""
    return f"{number} of {host}, version {version}"


def page(host: str, number: int, version: int) -> bytes:
    """Return a page of about 4 KB."""
    return (
        f"<!doctype html><title>{title(host, number, version)}</title><h1>{number}</h1>"
        f'<a href="{HUB}">hub</a> <a href="/{number + 1}">next</a>{_filler()}'
    ).encode()


@lru_cache(maxsize=1)
def _filler() -> str:
    return "".join(
        f"<p>Paragraph {n} of some ordinary text that fills a page.</p>" for n in range(60)
    )
