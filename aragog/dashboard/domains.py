"""
Lists all domains and changes their rates, for Flower and `aragog domain`.

The list also contains domains that are only in the rate limiter and have no stored URLs. It has two
parts. First comes a limited number of domains in the chosen sort order, for example those with the
longest backlog. Then come all others, sorted by their labels from right to left (`com.example`),
like the store's host index.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple, Protocol

from aragog.crawl.politeness.live_overrides import LiveOverrides
from aragog.crawl.politeness.quiet_hours import quiet_hours
from aragog.dashboard.components import Components
from aragog.dashboard.domain_rows import DomainRow, domain_rows
from aragog.dashboard.waiting import queued_by_domain
from aragog.errors import BAD_INPUT, BadInput, BrokerUnavailable, InvalidUrl
from aragog.observability.formatting import to_one_line
from urlspelling import normalize
from urlspelling.domain import registered_domain, reversed_host
from urlspelling.hosts import and_parents

PAGE_SIZE = 50
MAX_RANKED_DOMAINS = 1000
# A search that has read this many domains, or has taken this long, stops and returns a cursor.
MAX_READ_DOMAINS = 20_000
MAX_READ_S = 1.0
# A cursor is `ranked:` with an offset, or `name:` with the reversed labels to continue after.
_RANKED_PREFIX, _NAME_PREFIX = "ranked:", "name:"
# Both sort after the labels of a host. `!` sorts before its subdomains, and `/` after them.
_AFTER_HOST, _AFTER_SUBDOMAINS = "!", "/"


def _domains_by_backlog(components: Components) -> list[str]:
    """Return the domains with the most URLs that wait in the limiter or in a job queue."""
    queued = {
        report.key: report.waiting
        for report in components.limiter().busiest_domains(MAX_RANKED_DOMAINS)
    }
    with contextlib.suppress(BrokerUnavailable):
        for key, count in queued_by_domain(components).items():
            queued[key] = queued.get(key, 0) + count
    return sorted(queued, key=lambda key: (-queued[key], key))[:MAX_RANKED_DOMAINS]


def _domains_by_errors(components: Components) -> list[str]:
    return [report.key for report in components.limiter().failing_domains(MAX_RANKED_DOMAINS)]


def _domains_by_rate(components: Components) -> list[str]:
    """Return the domains with an override or a backoff: stopped ones first, then the slowest."""
    limiter = components.limiter()
    keys = {*_overridden_domains(components), *_domains_by_errors(components)}
    reports = limiter.describe(sorted(keys))
    ranked = sorted(reports, key=lambda key: (not reports[key].stopped, reports[key].qps, key))
    return ranked[:MAX_RANKED_DOMAINS]


def _refusing_domains(components: Components) -> list[str]:
    return components.outcomes.refusing_domains(MAX_RANKED_DOMAINS)


SORTS: dict[str, Callable[[Components], Sequence[str]]] = {
    "backlog": _domains_by_backlog,
    "errors": _domains_by_errors,
    "rate": _domains_by_rate,
    "refusing": _refusing_domains,
    "name": lambda _: (),
}
"""Maps sort orders to functions that return the first domains. All others follow by name."""


def find_domains(
    components: Components, sort: str, search: str, cursor: str | None
) -> tuple[list[DomainRow], str | None]:
    """
    Return a page of domains and the cursor of the next page, or None after the last page.

    If the search text is a host or URL, its domain comes first, even if it is unknown. A page's
    cost does not depend on the number of domains.

    Raises:
        BadInput: the sort order is unknown, or the cursor is invalid.
        TransientError: a component does not respond.
    """
    if sort not in SORTS:
        raise BadInput(f"sort: must be one of {', '.join(SORTS)}, got {sort!r}")
    page = _domain_list(components).page(SORTS[sort](components), search.lower(), cursor)
    keys = page.domains
    if cursor is None and "." in search:
        with contextlib.suppress(*BAD_INPUT):
            keys = list(dict.fromkeys([limiter_key(search, components), *keys]))
    return domain_rows(keys, components), page.cursor


def _domain_list(components: Components) -> DomainList:
    limiter, table = components.limiter(), components.overrides().table()
    domains = {
        *_overridden_domains(components),
        *_domains_by_backlog(components),
        *_domains_by_errors(components),
    }
    parents_of_overrides = {
        domain
        for name in table
        for domain in (registered_domain(name), *islice(and_parents(name), 1, None))
    }
    return DomainList(
        components.store().pages.hosts,
        lambda name: limiter.key_for(f"http://{name}/"),
        domains,
        parents_of_overrides.__contains__,
    )


def _overridden_domains(components: Components) -> list[str]:
    """Return the domains that have an override for all of their hosts."""
    table = components.overrides().table()
    return [name for name, override in table.items() if override.scope == "domain"]


def limiter_key(text: str, components: Components) -> str:
    """
    Return the limiter key (usually a domain) of a host or URL that a user typed.

    Raises:
        BadInput: the text is neither a host nor a URL.
    """
    try:
        url = normalize(text if "://" in text else f"http://{text}/")
    except InvalidUrl as error:
        raise BadInput(f"domain: {text!r} is not a domain: {error.reason}") from error
    return components.limiter().key_for(url)


def live_overrides(components: Components) -> LiveOverrides:
    """
    Return the overrides that can be changed at run time.

    Raises:
        BadInput: overrides cannot be changed at run time here.
    """
    live = components.overrides().live
    if live is None:
        raise BadInput("this system keeps no live overrides")
    return live


def change_domain(
    components: Components,
    domain: str,
    action: str,
    *,
    user_name: str,
    reason: str,
    qps: float | None = None,
    hours: str | None = None,
) -> str:
    """
    Change the settings of a domain, and return its limiter key.

    `rate` sets `qps` (None restores the default rate). `quiet` sets quiet hours in the form
    `quiet_hours.FORM` (None removes them). `stop` and `resume` need no value.

    Raises:
        BadInput: the domain, action, rate or hours are invalid.
        BrokerUnavailable: Redis does not respond.
    """
    key, live = limiter_key(domain, components), live_overrides(components)
    user_name, reason = to_one_line(user_name), to_one_line(reason)
    match action:
        case "stop" | "resume":
            live.set_stopped(key, action == "stop", who=user_name, reason=reason)
        case "rate":
            live.set_qps(key, qps, who=user_name, reason=reason)
        case "quiet":
            quiet = None if hours is None else quiet_hours(hours)
            live.set_quiet_hours(key, quiet, who=user_name, reason=reason)
        case _:
            raise BadInput(f"{action!r}: must be rate, quiet, stop or resume")
    components.overrides().refresh()
    return key


class HostSource(Protocol):
    """Iterates over hosts, sorted by their reversed labels (`zengraph.records.LabelWalk`)."""

    def first(self) -> str | None:
        """Return the next host with its labels reversed, or None at the end."""

    def skip_to(self, reversed_labels: str) -> None:
        """Continue after these reversed labels."""


class DomainPage(NamedTuple):
    """One page of the list."""

    domains: list[str]
    cursor: str | None
    """Cursor of the next page; None on the last page."""


class DomainList:
    """
    The limiter keys of all known domains, in pages.

    Args:
        walk: starts an iteration over the store's hosts after the given reversed labels.
        key_of: returns the limiter key of a host.
        known: keys in the limiter or the overrides. They may have no stored URLs.
        may_split_key: returns True if some subdomains of a key may have different keys, because of
            overrides.
        stopwatch_s: a monotonic clock that measures the time of a search.
        page_size: number of domains per page.
        max_read: maximum number of domains that a search reads for one page, within `MAX_READ_S`.
    """

    def __init__(
        self,
        walk: Callable[[str], HostSource],
        key_of: Callable[[str], str],
        known: Iterable[str],
        may_split_key: Callable[[str], bool],
        stopwatch_s: Callable[[], float] = time.monotonic,
        *,
        page_size: int = PAGE_SIZE,
        max_read: int = MAX_READ_DOMAINS,
    ) -> None:
        self._walk = walk
        self._key_of = key_of
        self._known = sorted(set(known), key=reversed_host)
        self._may_split_key = may_split_key
        self._stopwatch_s = stopwatch_s
        self._page_size, self._max_read = page_size, max_read

    def page(self, ranked: Sequence[str], search: str, cursor: str | None) -> DomainPage:
        """
        Return a page of domains whose names contain `search`, starting with `ranked`.

        Raises:
            BadInput: the cursor is invalid.
        """
        cursor = cursor or f"{_RANKED_PREFIX}0"
        result: list[str] = []
        if cursor.startswith(_RANKED_PREFIX):
            matching = [key for key in ranked if search in key]
            offset = _parse_offset(cursor)
            result = matching[offset : offset + self._page_size]
            if offset + self._page_size < len(matching):
                return DomainPage(result, f"{_RANKED_PREFIX}{offset + self._page_size}")
            cursor = _NAME_PREFIX
        if not cursor.startswith(_NAME_PREFIX):
            raise BadInput(f"cursor: {cursor!r} is not a valid cursor for this list")
        seen, deadline_s = set(ranked), self._stopwatch_s() + MAX_READ_S
        for read, (key, position) in enumerate(
            self._domain_positions(cursor.removeprefix(_NAME_PREFIX))
        ):
            cursor = _NAME_PREFIX + position
            if search in key and key not in seen:
                result.append(key)
            if (
                len(result) >= self._page_size
                or read >= self._max_read
                or self._stopwatch_s() > deadline_s
            ):
                return DomainPage(result, cursor)
        return DomainPage(result, None)

    def _domain_positions(self, after: str) -> Iterator[tuple[str, str]]:
        """Yield each domain after a position once, with the position just after it."""
        keys = [key for key in self._known if reversed_host(key) + _AFTER_HOST > after]
        known = set(self._known)
        for key, position in self._stored_domains(after):
            while keys and reversed_host(keys[0]) < position:
                yield keys[0], reversed_host(keys.pop(0)) + _AFTER_HOST
            if key not in known:
                yield key, position
        for key in keys:
            yield key, reversed_host(key) + _AFTER_HOST

    def _stored_domains(self, after: str) -> Iterator[tuple[str, str]]:
        """Like `_domain_positions`, for the domains in the store."""
        walk, listed_keys = self._walk(after), set[str]()
        while (label := walk.first()) is not None:
            key = self._key_of(reversed_host(label))
            is_subdomain = label != reversed_host(key)
            covers_domain = is_subdomain and not self._may_split_key(key)
            position = (
                reversed_host(key) + _AFTER_SUBDOMAINS if covers_domain else label + _AFTER_HOST
            )
            if key not in listed_keys and not (
                is_subdomain and self._was_listed_before(key, after)
            ):
                yield key, position
            listed_keys.add(key)
            walk.skip_to(position)

    def _was_listed_before(self, key: str, after: str) -> bool:
        start = reversed_host(key)
        if not start < after:
            return False
        walk = self._walk(start)
        while (label := walk.first()) is not None and label < after:
            if self._key_of(reversed_host(label)) == key:
                return True
            walk.skip_to(label + _AFTER_HOST)
        return False


def _parse_offset(cursor: str) -> int:
    digits = cursor.removeprefix(_RANKED_PREFIX)
    if not digits.isdecimal() or len(digits) > 9:
        raise BadInput(f"cursor: {cursor!r} is not a valid cursor for this list")
    return int(digits)
