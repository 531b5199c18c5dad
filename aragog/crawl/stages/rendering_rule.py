"""Decides which fetched pages are rendered before they are analyzed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aragog.crawl.fetcher.content_types import type_refusal
from aragog.crawl.pipeline.messages import FetchResult, ResultBatch
from aragog.crawl.pipeline.routing import Destination, OutgoingMessage, most_urgent_priority
from aragog.crawl.politeness.host_names import HostNames
from aragog.crawl.stages.revalidation import StoredValidators
from aragog.fetch_record.outcome import OutcomeKind
from aragog.settings import RenderingSettings
from urlspelling.domain import host


class RenderingRule:
    """
    The rule given by `rendering.hosts` and `rendering.content_types`.

    Raises:
        ConfigError: a name in `rendering.hosts` is not a host name.
    """

    def __init__(self, settings: RenderingSettings) -> None:
        self._hosts = HostNames(settings.hosts, "rendering.hosts")
        self._content_types = settings.content_types

    def matches_host(self, url: str) -> bool:
        """Return True if pages on this normalized URL's host are rendered."""
        return bool(self._hosts.names) and self._hosts.find(host(url)) is not None

    def matches(self, result: FetchResult) -> bool:
        """
        Return True if this page must be rendered: it is complete, and its host and content type are
        listed.
        """
        return (
            result.fetch.outcome is OutcomeKind.FETCHED
            and result.token is not None
            and not result.job.sitemap
            and not result.fetch.truncated
            and self.matches_host(result.fetch.final_url)
            and not type_refusal(result.fetch.content_type, self._content_types)
        )

    def usable_validators(
        self, validators: Mapping[str, StoredValidators]
    ) -> dict[str, StoredValidators]:
        """
        Return the validators by URL, without those of rendered pages.

        A page's ETag does not cover the content that its scripts add.
        """
        return {
            url: stored
            for url, stored in validators.items()
            if not self.matches_host(url) and not (stored.url and self.matches_host(stored.url))
        }

    def route_results(self, results: Sequence[FetchResult]) -> list[OutgoingMessage]:
        """
        Return one message to `render` per page to be rendered, and one to `canonicalize` for all
        others.

        Rendering takes seconds, so each page is rendered, retried and given up independently.
        """
        to_render = [result for result in results if self.matches(result)]
        others = tuple(result for result in results if result not in to_render)
        batches = [(Destination.CANONICALIZE, others)] if others else []
        batches += [(Destination.RENDER, (result,)) for result in to_render]
        return [
            OutgoingMessage(
                destination,
                ResultBatch(batch),
                priority=most_urgent_priority(result.job for result in batch),
            )
            for destination, batch in batches
        ]
