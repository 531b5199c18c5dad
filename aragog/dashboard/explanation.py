"""
Explains a URL, from its normalization to its next refresh, for `aragog explain` and Flower.

Each section comes from one component, such as the rate limiter or the store. If a component does
not respond, only its section reports that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from aragog.api.operations.values import Explanation, ExplanationSection
from aragog.api.operations.values import ExplanationLine as Line
from aragog.crawl.pipeline.routing import Queue
from aragog.crawl.politeness.slots import DomainReport
from aragog.crawl.traps.template_states import why_not_followed
from aragog.dashboard.components import Components
from aragog.dashboard.domain_rows import MIN_PAUSE_MS, domain_rows, latency_text
from aragog.dashboard.waiting import queued_by_domain
from aragog.errors import ALL
from aragog.observability.formatting import format_duration, format_time_and_distance, to_one_line
from aragog.pages.preferences import PURPOSES, pack_statements, refusal, verdict
from aragog.urlstore.field_age import age_text
from aragog.urlstore.records import Record
from aragog.urlstore.signal_reasons import signal_lines
from urlspelling import explain, normalize
from urlspelling.canonical import PROVISIONAL
from urlspelling.domain import host, origin

MAX_ALIASES = 20
MAX_OUTLINKS = 6000
# Facts shown first; the others follow by name.
FIRST_FACTS = ("outcome", "status", "reason", "fetched_at_ms", "redirects", "final_url", "attempts")
# The suffix of facts that are timestamps, which are shown relative to now.
_TIME_SUFFIX = "_at_ms"


def explain_url(url: str, components: Components) -> Explanation:
    """
    Explain a URL in any spelling. This takes about ten reads and writes nothing.

    Raises:
        InvalidUrl: the URL cannot be normalized.
    """
    normalized = normalize(url)
    sections = [ExplanationSection("spelling", tuple(_explain_spelling(url, normalized)))]
    sections += [
        _explain_section(title, explain_section, normalized, components)
        for title, explain_section in _SECTIONS
    ]
    return Explanation(url, normalized, tuple(sections))


def _explain_section(
    title: str,
    explain_section: Callable[[str, Components], Iterator[Line]],
    url: str,
    components: Components,
) -> ExplanationSection:
    lines: list[Line] = []
    problem = None
    try:
        # If the generator raises, `extend` keeps the lines that came before.
        lines.extend(
            Line(to_one_line(line.name), to_one_line(line.text, 2000), to_one_line(line.note))
            for line in explain_section(url, components)
        )
    except ALL as error:
        problem = to_one_line(str(error), 2000)
    return ExplanationSection(title, tuple(lines), problem)


def _explain_spelling(url: str, normalized: str) -> Iterator[Line]:
    yield Line("normalized", normalized)
    for step in explain(url):
        yield Line(
            step.name, to_one_line(step.after, 2000), to_one_line(f"was {step.before}", 2000)
        )


def _explain_ssrf_filter(url: str, components: Components) -> Iterator[Line]:
    yield Line("address", components.ssrf_filter.vet_url(url) or "allowed")


def _explain_egress(url: str, components: Components) -> Iterator[Line]:
    """Yield the URL's egress routes (proxies or addresses), and which of them are failing."""
    rules, now_ms = components.egress, components.clock.now_ms()
    route = rules.route(url)
    yield Line("egress route", ", else ".join(route.names), route.reason)
    names = set(route.names)
    for condition, conditional in rules.conditional_routes(url):
        yield Line(condition, ", else ".join(conditional.names), conditional.reason)
        names |= {*conditional.names}
    for row in components.failing_routes.read():
        if row.way in names:
            retry_text = f"tried again {format_time_and_distance(row.retry_at_ms, now_ms)}"
            yield Line(f"{row.way} fails", f"on {row.machine}: {row.reason}", retry_text)


def _explain_operator(url: str, components: Components) -> Iterator[Line]:
    taken_down = url in components.store().takedowns.refused([url])
    yield Line("taken down", "yes: it is neither fetched nor stored" if taken_down else "no")
    yield Line("blocked", components.overrides().blocking_setting(host(url)) or "no")


def _explain_robots(url: str, components: Components) -> Iterator[Line]:
    cached, now_ms = components.robots.get(origin(url)), components.clock.now_ms()
    if cached.rules is None:
        yield Line("robots.txt", f"of {origin(url)} is not known yet; it is fetched before the URL")
        return
    yield Line("robots.txt", cached.rules.explain(components.user_agent, url))
    status = "no response" if cached.status is None else f"status {cached.status}"
    yield Line("rules", f"{cached.state.value}, from {status}")
    if cached.fetched_at_ms is not None:
        yield Line("fetched", format_time_and_distance(cached.fetched_at_ms, now_ms))
    if cached.retry_at_ms is not None:
        yield Line("asked for again", format_time_and_distance(cached.retry_at_ms, now_ms))
    delay_s = cached.rules.crawl_delay_s(components.user_agent)
    if delay_s is not None:
        yield Line("Crawl-delay", f"{delay_s:g} s")
    for line in cached.rules.timed_lines(components.user_agent):
        yield Line("at times", line)
    visit_wait_s = cached.rules.visit_wait_s(components.user_agent, now_ms / 1000)
    if visit_wait_s:
        yield Line(
            "Visit-time",
            f"begins in {format_duration(visit_wait_s * 1000)}: its pages wait until then",
        )


def _explain_preferences(url: str, components: Components) -> Iterator[Line]:
    """Yield what the site says about uses of the page, and what that means for each purpose."""
    drafts, rules = components.preferences.drafts, components.robots.get(origin(url)).rules
    statements = rules.statements(components.user_agent, url, drafts) if rules else []
    record = components.store().get(url, ())
    stored = record.facts.get("page_preferences") if record else None
    texts = (pack_statements(statements), stored)
    for purpose in PURPOSES:
        allowed, line = verdict(texts, purpose)
        text = {True: "allowed", False: "not allowed", None: "nothing is said"}[allowed]
        if allowed is not False and (unknown := refusal(texts, purpose)):
            text = f"not given out, because {unknown}"
        crawl_note = " (this crawl is for it)" if purpose in components.preferences.purposes else ""
        yield Line(f"for {purpose}", text + crawl_note, line)
    for line in "\n".join(text for text in texts if isinstance(text, str) and text).splitlines():
        yield Line("statement", line)


def _explain_slot(url: str, components: Components) -> Iterator[Line]:
    limiter, now_ms = components.limiter(), components.clock.now_ms()
    key = limiter.key_for(url)
    report = limiter.describe([key])[key]
    yield Line("limited as", key)
    rate = _rate_per_s(url, components, key, report)
    yield _rate_line(url, components, report, rate)
    if report.stopped:
        yield Line("stopped", "by an operator: its URLs wait until it is resumed")
    if report.quiet_ms:
        yield Line(
            "quiet hours", f"for {format_duration(report.quiet_ms)} more: its URLs wait until then"
        )
    if report.paused_ms > MIN_PAUSE_MS:
        yield Line(
            "paused",
            f"for {format_duration(report.paused_ms)} more: its server answered 429 or 503",
        )
    if report.backoff_factor > 1:
        errors = f"{report.errors_in_a_row} errors in a row"
        yield Line("slowed down", f"{report.backoff_factor:g} times, after {errors}")
    if report.latency_factor > 1:
        yield Line("slowed down", latency_text(report))
    elif report.usual_latency_ms is not None:
        yield Line("usual latency", format_duration(report.usual_latency_ms))
    if report.max_concurrent:
        yield Line("at a time", f"{report.max_concurrent} requests at most")
    if report.next_slot_at_ms is None:
        yield Line("next slot", "at once")
    else:
        yield Line("next slot", format_time_and_distance(report.next_slot_at_ms, now_ms))
    yield from _backlog_lines(report, queued_by_domain(components).get(key, 0), rate)


def _backlog_lines(report: DomainReport, queued: int, qps: float) -> Iterator[Line]:
    if report.waiting:
        yield Line("in its line", f"{report.waiting:,} URLs")
    if queued:
        yield Line("in the queues", f"about {queued:,} URLs", "estimated from a sample")
    if report.waiting or queued:
        total = report.waiting + queued
        # The limiter's backlog does not include the URLs in the queues.
        ms = report.backlog_ms + (queued * 1000 / qps if qps else 0)
        yield Line("in all", f"{total:,} URLs, {format_duration(ms)} at this rate")


def _crawl_delay_s(url: str, components: Components) -> float | None:
    rules = components.robots.get(origin(url)).rules
    return rules.crawl_delay_s(components.user_agent) if rules is not None else None


def _rate_per_s(url: str, components: Components, key: str, report: DomainReport) -> float:
    """Return the domain's rate, or the rate of its Crawl-delay if that is lower."""
    interval_us = components.limiter().interval_us(key, _crawl_delay_s(url, components))
    return min(report.qps, 1e6 / report.interval_us(interval_us))


def _rate_line(url: str, components: Components, report: DomainReport, qps: float) -> Line:
    delay_s = _crawl_delay_s(url, components)
    note = f"Crawl-delay {delay_s:g} s of robots.txt" if delay_s and qps < report.qps else ""
    return Line("rate now", f"{qps:g} requests/s", note)


def _explain_queue(url: str, components: Components) -> Iterator[Line]:
    contains = components.in_flight.contains(url)
    yield Line("in flight", "yes: enqueued, but not stored or given up yet" if contains else "no")
    if contains:
        yield Line("waits for", _waits_for(url, components))
    name = host(url)
    budget = components.traps.read([name])[name].budget
    decisions = components.traps.decisions().get(name, {})
    if reason := why_not_followed(budget, url, decisions):
        yield Line("links to it", "are not followed", reason)


def _waits_for(url: str, components: Components) -> str:
    """Return what an in-flight URL is waiting for. The checks are in the pipeline's order."""
    key = components.limiter().key_for(url)
    row = domain_rows([key], components)[0]
    cached = components.robots.get(origin(url))
    if row.stopped or cached.unreachable:
        return row.cause
    if components.admin is not None and components.admin.status(Queue.FETCH).paused:
        return f"queue {Queue.FETCH}, which is paused"
    if cached.rules is None:
        return f"robots.txt of {origin(url)}, which is fetched first"
    if row.backlog_ms:
        return f"its slot, within {row.backlog}; {row.cause}"
    if components.spool.state().closed:
        return "room in the spool: pages are fetched faster than they are stored"
    if row.errors_in_a_row:
        return f"its next attempt; the last {row.errors_in_a_row} requests to {key} failed"
    return "a worker, or the delay before its next attempt"


def _explain_store(url: str, components: Components) -> Iterator[Line]:
    store, now_ms = components.store(), components.clock.now_ms()
    record = store.get(url, ())
    if pages := store.aliases.conflicting_pages(url):
        claiming_pages = " and ".join(pages)
        yield Line(
            "not trusted",
            f"until it is fetched: {claiming_pages} name it as canonical, but their content "
            "differs",
        )
    if record is None:
        yield Line("stored", "no record")
        return
    note = "provisional: not fetched itself yet" if record.provisional else ""
    yield Line("canonical", record.canonical_url, note)
    for reason in store.aliases.reasons(url):
        if record.provisional or not reason.startswith(PROVISIONAL):
            yield Line("because", reason)
    yield from _redirect_lines(url, components)
    first_names = [name for name in FIRST_FACTS if name in record.facts]
    for name in first_names + sorted(record.facts.keys() - set(first_names)):
        yield _fact_line(name, record.facts[name], now_ms)
    yield from _content_lines(record)
    due = record.due_at_ms
    yield Line(
        "next refresh", "none is planned" if due is None else format_time_and_distance(due, now_ms)
    )
    mark, trust = store.signals.of_page(url)
    state, refresh = store.schedule.refresh_state(url), store.signals.settings
    for name, text in signal_lines(state, mark, trust, refresh, now_ms):
        yield Line(name, text)


def _redirect_lines(url: str, components: Components) -> Iterator[Line]:
    page = components.store().pages.known([url]).get(url)
    if page and page.redirects_to and page.redirects_to != url:
        yield Line("redirects to", page.redirects_to)
    if page and page.gone:
        yield Line("gone", "its origin reports that the page does not exist")


def _fact_line(name: str, value: object, now_ms: int) -> Line:
    if name.endswith(_TIME_SUFFIX) and isinstance(value, int):
        return Line(
            name.removesuffix(_TIME_SUFFIX).replace("_", " "),
            format_time_and_distance(value, now_ms),
        )
    if name.endswith("_ms") and isinstance(value, int | float):
        return Line(name.removesuffix("_ms").replace("_", " "), format_duration(value))
    return Line(name.replace("_", " "), str(value))


def _content_lines(record: Record) -> Iterator[Line]:
    if record.content_key:
        yield Line("content", f"{record.content_bytes or 0:,} bytes", f"as {record.content_key}")
    else:
        yield Line("content", "none")


def _explain_fields(url: str, components: Components) -> Iterator[Line]:
    store, now_ms = components.store(), components.clock.now_ms()
    record = store.get(url, info=True)
    if record is None:
        return
    [confirmed_at_ms] = store.pages.seen_at_ms([url])
    for name, value in sorted(record.fields.items()):
        note = age_text(name, record.info.get(name), confirmed_at_ms, now_ms, components.extractors)
        yield Line(name, to_one_line(value.decode("utf-8", "replace")), note)


def _explain_links(url: str, components: Components) -> Iterator[Line]:
    store = components.store()
    out = store.links.outlinks(url, limit=MAX_OUTLINKS)
    yield Line("outlinks", f"{len(out.items):,}{' or more' if out.cursor else ''}")
    yield Line("inlinks", f"{store.links.count_inlinks(url):,}")
    aliases = store.aliases.of(url)
    for alias in aliases[:MAX_ALIASES]:
        yield Line("alias", alias)
    if len(aliases) > MAX_ALIASES:
        yield Line("aliases", f"{len(aliases) - MAX_ALIASES:,} more")


_SECTIONS: tuple[tuple[str, Callable[[str, Components], Iterator[Line]]], ...] = (
    ("SSRF filter", _explain_ssrf_filter),
    ("egress", _explain_egress),
    ("operator", _explain_operator),
    ("robots.txt", _explain_robots),
    ("preferences", _explain_preferences),
    ("slot", _explain_slot),
    ("queue", _explain_queue),
    ("store", _explain_store),
    ("fields", _explain_fields),
    ("links", _explain_links),
)
