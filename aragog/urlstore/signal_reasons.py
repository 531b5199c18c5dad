"""Explains as text how sitemaps and feeds affect a page's next refresh. No I/O."""

from __future__ import annotations

from collections.abc import Iterator

from aragog.observability.formatting import format_duration, format_time_and_distance
from aragog.settings import RefreshSettings
from aragog.urlstore.refresh_policy import RefreshState
from aragog.urlstore.signal_marks import PageMark, is_worth_a_fetch
from aragog.urlstore.signal_sources import SOURCES
from aragog.urlstore.signal_trust import HostTrust


def signal_lines(
    state: RefreshState | None,
    mark: PageMark | None,
    trust: HostTrust,
    settings: RefreshSettings,
    now_ms: int,
) -> Iterator[tuple[str, str]]:
    """Yield (name, text) pairs: the host's reports about the page, and the trust in them."""
    if not settings.signals:
        yield "signals of change", "off (refresh.signals)"
        return
    if state is not None and state.page_type in SOURCES:
        yield "read as", _source(state)
    elif mark is not None and state is not None:
        yield "signal", _signal_text(state, mark, settings, now_ms)
    if mark is not None or trust != HostTrust():
        yield "dates of its host", _trust_text(trust)
        if trust.stretch > 1.05 and mark is not None and mark.covered:
            yield "without a signal", f"its interval is {trust.stretch:.1f} times as long"


def _source(state: RefreshState) -> str:
    interval, readings = format_duration(1000 * state.interval_s), state.checks
    return (
        f"{state.page_type}, every {interval}: {state.changes:.3g} signals in {readings} readings"
    )


def _signal_text(
    state: RefreshState, mark: PageMark, settings: RefreshSettings, now_ms: int
) -> str:
    if not mark.has_change_since(state.compared_at_ms):
        return f"none: its {mark.kind} reports no change since the page was compared"
    text = (
        f"a {mark.kind} that was read {format_time_and_distance(mark.read_at_ms, now_ms)} reports "
        f"a change {format_time_and_distance(mark.reported_ms, now_ms)}; believed {mark.belief:.0%}"
    )
    if is_worth_a_fetch(state.rate_per_s, state.usual_s, mark.belief, settings):
        return f"{text}, so the page is due"
    return f"{text}: the page changes too often to be fetched for it"


def _trust_text(trust: HostTrust) -> str:
    confirmed = f"{trust.changed:.3g} of {trust.checked:.3g} reported changes were found"
    if not trust.is_proven:
        return f"not proven yet: {confirmed}"
    if not trust.belief:
        return f"not trusted: {confirmed}, {trust.expected:.3g} expected by chance"
    return f"believed {trust.belief:.0%}: {confirmed}; it reports {trust.recall:.0%} of its changes"
