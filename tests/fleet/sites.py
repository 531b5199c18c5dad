"""The sites that the fleet crawls: their pages, their rules and what a crawl of them must come to."""

from __future__ import annotations

from functools import lru_cache

BASE_INTERVAL_MS = 500.0
"""`politeness.qps` of the fleet, 2 a second."""
CRAWL_DELAY_S = 1
RETRY_AFTER_S = 6
SLOW_S = 0.7
HUB = "http://d0-fleet.test/0"
"""Every page links to it, and so does itself."""

KINDS = ("plain", "crawl-delay", "slow", "busy", "refusing", "gone", "plain", "plain")
"""What the sites do, in turn."""


def urls(count: int, domains: int) -> list[str]:
    """`count` URLs, one of each domain in turn."""
    return [f"http://d{n % domains}-fleet.test/{n // domains}" for n in range(count)]


def kind(host: str) -> str:
    """What the site of this host does."""
    return KINDS[int(host[1:].partition("-")[0]) % len(KINDS)]


def parts(url: str) -> tuple[str, int]:
    """The host of a URL, and the number of its page."""
    host, _, number = url.removeprefix("http://").partition("/")
    return host, int(number)


def outcome(url: str) -> str:
    """What a crawl must come to at a URL."""
    host, number = parts(url)
    if kind(host) == "refusing" and str(number).startswith("7"):
        return "Refused"
    if kind(host) == "gone" and number % 9 == 4:
        return "Gone"
    return "Fetched"


def robots(host: str) -> str:
    """The robots.txt of a host; empty: it has none."""
    return {
        "crawl-delay": f"User-agent: *\nCrawl-delay: {CRAWL_DELAY_S}\n",
        "refusing": "User-agent: *\nDisallow: /7\n",
    }.get(kind(host), "")


def title(host: str, number: int, version: int) -> str:
    """The title of a page, which says which page it is, and since which change."""
    return f"{number} of {host}, version {version}"


def page(host: str, number: int, version: int) -> bytes:
    """A page, about 4 KB of HTML."""
    return (
        f"<!doctype html><title>{title(host, number, version)}</title><h1>{number}</h1>"
        f'<a href="{HUB}">hub</a> <a href="/{number + 1}">next</a>{_filler()}'
    ).encode()


@lru_cache(maxsize=1)
def _filler() -> str:
    return "".join(
        f"<p>Paragraph {n} of some ordinary text that fills a page.</p>" for n in range(60)
    )
