"""Cancellations of URLs, hosts, domains and patterns, for all crawls."""

from __future__ import annotations

from typing import NamedTuple

from aragog.crawl.pipeline.url_filter import matches
from urlspelling.domain import host
from urlspelling.hosts import and_parents

KINDS = ("url", "host", "domain", "pattern")


class Cancellation(NamedTuple):
    """Cancels matching URLs that were enqueued earlier, for all crawls."""

    kind: str
    """One of `KINDS`."""
    value: str
    at_s: int
    """When it was cancelled, by the Redis server's clock."""

    def matches(self, url: str) -> bool:
        match self.kind:
            case "url":
                return url == self.value
            case "host":
                return host(url) == self.value
            case "domain":
                return self.value in and_parents(host(url))
        return matches(self.value, url)
