"""List all domains in pages and change their rates, for Flower and `aragog domain`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence

from aragog.dashboard.components import Components
from aragog.dashboard.domain_list import DomainList
from aragog.dashboard.domain_rows import DomainRow, domain_rows
from aragog.errors import BadInput, InvalidUrl
from aragog.formatting import plain
from aragog.politeness.live_overrides import LiveOverrides
from aragog.urls import normalize
from aragog.urls.domain import registered_domain
from aragog.urlstore.tombstones import parents

MOST_RANKED = 1000


def _by_backlog(components: Components) -> list[str]:
    return [report.key for report in components.limiter().busiest(MOST_RANKED)]


def _by_errors(components: Components) -> list[str]:
    return [report.key for report in components.limiter().failing(MOST_RANKED)]


def _by_rate(components: Components) -> list[str]:
    """Domains with an override or a backoff: stopped ones first, then the slowest."""
    limiter = components.limiter()
    keys = {*_overridden(components), *_by_errors(components)}
    reports = limiter.describe(sorted(keys))
    ranked = sorted(reports, key=lambda key: (not reports[key].stopped, reports[key].qps, key))
    return ranked[:MOST_RANKED]


SORTS: dict[str, Callable[[Components], Sequence[str]]] = {
    "backlog": _by_backlog,
    "errors": _by_errors,
    "rate": _by_rate,
    "name": lambda _: (),
}
"""Which domains come first, by the name of the sort order; the others follow by name."""


def find_domains(
    components: Components, sort: str, search: str, cursor: str | None
) -> tuple[list[DomainRow], str | None]:
    """
    A page of domains, and the cursor of the next one; None: this was the last.

    A host or URL that is searched for comes first, even if there is no record of it. The cost of a
    page does not depend on the number of domains.

    Raises:
        BadInput: unknown sort order, or a cursor that no list returned.
        TransientError: a part does not answer.
    """
    if sort not in SORTS:
        raise BadInput(f"sort: must be one of {', '.join(SORTS)}, got {sort!r}")
    page = _list(components).page(SORTS[sort](components), search.lower(), cursor)
    keys = page.domains
    if cursor is None and "." in search:
        with contextlib.suppress(BadInput):
            keys = list(dict.fromkeys([limiter_key(search, components), *keys]))
    return domain_rows(keys, components), page.cursor


def _list(components: Components) -> DomainList:
    limiter, table = components.limiter(), components.overrides().table()
    domains = {*_overridden(components), *_by_backlog(components), *_by_errors(components)}
    above = {domain for name in table for domain in (registered_domain(name), *parents(name)[1:])}
    return DomainList(
        components.store().pages.hosts,
        lambda name: limiter.key_for(f"http://{name}/"),
        domains,
        above.__contains__,
    )


def _overridden(components: Components) -> list[str]:
    """The names of overrides that are limiter keys themselves."""
    table = components.overrides().table()
    return [name for name, override in table.items() if override.scope == "domain"]


def limiter_key(text: str, components: Components) -> str:
    """
    The limiter key of a host or URL that a user typed.

    Raises:
        BadInput: it is neither.
    """
    try:
        url = normalize(text if "://" in text else f"http://{text}/")
    except InvalidUrl as error:
        raise BadInput(f"domain: {text!r} is not a domain: {error.reason}") from error
    return components.limiter().key_for(url)


def live_overrides(components: Components) -> LiveOverrides:
    """
    Where changes are kept.

    Raises:
        BadInput: this system has no live overrides.
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
    who: str,
    reason: str,
    qps: float | None = None,
) -> str:
    """
    Set the rate (`rate`; None: the usual one), `stop` or `resume`; returns the limiter key.

    Raises:
        BadInput: the domain, the action or the rate is none.
        BrokerUnavailable: Redis does not answer.
    """
    key, live = limiter_key(domain, components), live_overrides(components)
    who, reason = plain(who), plain(reason)
    match action:
        case "stop" | "resume":
            live.set_stopped(key, action == "stop", who=who, reason=reason)
        case "rate":
            live.set_qps(key, qps, who=who, reason=reason)
        case _:
            raise BadInput(f"{action!r}: must be rate, stop or resume")
    components.overrides().refresh()
    return key
