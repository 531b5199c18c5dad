"""The public API of the change feed: read changes and delete old ones."""

from __future__ import annotations

from aragog.urlstore.feed.change import Change
from aragog.urlstore.feed.changes import Changes
from aragog.urlstore.feed.webhooks import WebhookRegistry
from aragog.urlstore.records import ListPage
from aragog.urlstore.write_clock import WriteClock
from aragog.zen.graph import Zen


class Feed:
    """Reads the change feed and removes old changes; threads may share it."""

    def __init__(self, zen: Zen, clock: WriteClock) -> None:
        self.webhooks = WebhookRegistry(zen)
        self._changes = Changes(zen)
        self._clock = clock

    def changes(
        self,
        cursor: str | None = None,
        limit: int = 100,
        *,
        owner: str | None = None,
        host: str | None = None,
    ) -> ListPage[Change]:
        """
        Changes after the cursor (None: since the oldest kept), and the next cursor.

        Of all pages, of those that `owner` watched then, or of one host. Each change is returned at
        least once; a page may be empty though there is more after its cursor.

        Raises:
            BadInput: the cursor is not one of this feed.
        """
        return self._changes.page(cursor, self._clock.now_ms(), limit, owner=owner, host=host)

    def end(self) -> str:
        """The cursor after all changes that can be read now."""
        return self._changes.end(self._clock.now_ms())

    def sweep(self, kept_s: float) -> int:
        """Delete changes older than `kept_s` seconds; returns the number of deleted rows."""
        return self._changes.sweep(self._clock.now_ms() - int(kept_s * 1000))
