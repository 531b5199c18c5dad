"""The fetch stage over ports in memory: where each URL of a batch goes next."""

import tracemalloc
from dataclasses import replace

import pytest

from aragog.crawl.egress.rules import EgressRules
from aragog.crawl.fetcher.gate import Go
from aragog.crawl.pipeline import counters
from aragog.crawl.pipeline.messages import FetchBatch, UrlJob
from aragog.crawl.pipeline.outcome_log import DomainOutcome
from aragog.crawl.pipeline.routing import Destination
from aragog.crawl.pipeline.spool_room import MAX_WAIT_S, SpoolSpace
from aragog.crawl.politeness.robots_records import RulesState
from aragog.crawl.stages.access import Access
from aragog.crawl.stages.fetch import SPACE_RETRY_MS, FetchStage
from aragog.crawl.stages.job_egress import JobEgress
from aragog.crawl.stages.requester import Requester
from aragog.crawl.stages.revalidation import JobSelection
from aragog.fetch_record.causes import DeferralCause
from aragog.fetch_record.outcome import (
    WITHHELD,
    Busy,
    Deferred,
    Gone,
    Hop,
    OutcomeKind,
    Redirected,
    Unreachable,
    UnreachableKind,
    Withheld,
)
from aragog.settings import EgressRule, EgressSettings, WaySettings
from aragog.urlstore.compression import decompress
from tests.support.memory_ports import Web, fetched
from tests.support.stores import NOW_MS, body, page

A, B = "http://a.example/", "http://b.example/"
SLOT = DeferralCause.SLOT


@pytest.fixture
def stage(ports):
    for url in (A, B):
        ports.robots.know(url[:-1])
    access = Access(ports.access_rules(), ports.line)
    return FetchStage(
        JobSelection(ports.store, ports.in_flight, ports.counters),
        Requester(ports.web, ports.web, ports.web, ports.pool, access, ports.clock),
        SpoolSpace(ports.spool, ports.clock),
        ports.returning_jobs,
        ports.counters,
        ports.outcomes,
    )


def run(stage, *jobs):
    batch = FetchBatch(tuple(j if isinstance(j, UrlJob) else UrlJob(url=j) for j in jobs))
    return {message.destination: message for message in stage.run(batch)}


def results(messages):
    return messages[Destination.CANONICALIZE].message.results


def test_bodies_are_spooled_and_results_have_their_tokens(stage, ports):
    outcomes = results(run(stage, A, B))

    assert [result.fetch.outcome for result in outcomes] == [OutcomeKind.FETCHED] * 2
    bodies = [
        decompress(blob) for blob in ports.spool.get_many([outcome.token for outcome in outcomes])
    ]
    assert bodies == [f"<title>{url}</title>".encode() for url in (A, B)]
    assert ports.counters.counts[counters.FETCHED] == 2


class HugePages(Web):
    """Creates each page when it is fetched."""

    SIZE = 4_000_000

    def fetch(self, url, **options):
        return fetched(url, "x" * self.SIZE)


def test_bodies_of_a_batch_are_not_held_in_memory_all_at_once(stage, ports):
    requester, size = replace(stage.requester, fetcher=HugePages()), HugePages.SIZE
    stage = replace(stage, requester=requester)
    urls = [f"{A}{n}" for n in range(25)]
    tracemalloc.start()
    try:
        outcomes = results(run(stage, *urls))
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert [result.fetch.body_bytes for result in outcomes] == [size] * 25
    assert peak_bytes < 5 * size


def test_outcomes_are_recorded_per_domain_including_refusals(stage, ports):
    ports.web.outcomes[A] = Gone(url=A, status=404)
    ports.robots.know("http://closed.example", "User-agent: *\nDisallow: /")

    run(stage, A, B, "http://www.b.example/", "http://closed.example/x")

    assert ports.outcomes.of == {
        "a.example": [DomainOutcome(OutcomeKind.GONE, 404)],
        "b.example": [DomainOutcome(OutcomeKind.FETCHED, 200)],
        "closed.example": [DomainOutcome(OutcomeKind.REFUSED)],
    }


def test_postponed_url_is_not_an_outcome_of_its_domain(stage, ports):
    """Regression: a slow domain without redirects was listed as one that responds with redirects."""
    ports.web.outcomes[A] = Deferred(url=A, cause=SLOT, retry_at_ms=NOW_MS + 5000)
    ports.web.outcomes[B] = Redirected(
        url=B, target=B, cause=DeferralCause.RULES, hops=(Hop(B, 301, B),)
    )  # sets a cookie

    run(stage, A, B)

    assert ports.outcomes.of == {"b.example": [DomainOutcome(OutcomeKind.REDIRECTED)]}


def test_reservation_in_the_spool_is_released(stage, ports):
    ports.web.outcomes[A] = Gone(url=A, status=404)

    run(stage, A)

    assert ports.spool.blobs == {}


def test_url_of_an_unknown_origin_waits_for_its_robots_txt(stage, ports):
    (message,) = run(stage, "http://new.example/x").values()

    assert message.destination is Destination.ROBOTS
    assert message.message.origins == ("http://new.example",)
    assert ports.web.requests == []


def test_disallowed_url_is_refused_without_a_request(stage, ports):
    ports.robots.know("http://a.example", "User-agent: *\nDisallow: /\n")

    (result,) = results(run(stage, A))

    assert result.fetch.outcome is OutcomeKind.REFUSED
    assert ports.web.requests == []
    assert ports.counters.counts[counters.REFUSED] == 1


def test_unreachable_robots_txt_counts_as_an_attempt_and_waits_for_its_retry(stage, ports):
    text = "User-agent: *\nDisallow: /\n"
    retry_at_ms = NOW_MS + 7_200_000
    ports.robots.know("http://a.example", text, unreachable=True, retry_at_ms=retry_at_ms)

    assert run(stage, A) == {}

    (waiting,) = ports.line.waiting
    assert (waiting.key, waiting.job.attempt) == ("http://a.example", 1)
    assert 7_200_000 <= waiting.wait_ms < 7_201_000


def test_stale_rules_are_used_and_refreshed(stage, ports):
    ports.robots.know("http://a.example", state=RulesState.STALE)

    messages = run(stage, A)

    assert len(results(messages)) == 1
    assert messages[Destination.ROBOTS].message.claimed


def test_url_refused_by_the_ssrf_filter_is_blocked(stage, ports):
    ports.ssrf_filter.refused[A] = "a private address"

    (result,) = results(run(stage, A))

    assert (result.fetch.outcome, result.fetch.reason) == (OutcomeKind.BLOCKED, "a private address")


def test_url_without_a_near_slot_waits_in_the_line_of_its_domain(stage, ports):
    ports.limiter.waits_ms["a.example"] = 60_000

    assert run(stage, A) == {}

    (waiting,) = ports.line.waiting
    assert (waiting.job, waiting.key, waiting.wait_ms) == (UrlJob(url=A), "a.example", 60_000)
    assert not waiting.to_front


def test_url_released_before_its_slot_waits_in_line_again(stage, ports):
    ports.limiter.waits_ms["a.example"] = 60_000

    assert run(stage, UrlJob(url=A, slot_at_ms=NOW_MS + 60_000)) == {}

    (waiting,) = ports.line.waiting
    assert waiting.job.slot_at_ms is None


def test_url_with_a_slot_uses_it(stage, ports):
    outcomes = results(run(stage, UrlJob(url=A, slot_at_ms=NOW_MS)))

    assert len(outcomes) == 1
    assert ports.limiter.resumed == ["a.example"]


def test_url_that_missed_its_slot_goes_to_the_front_of_the_line(stage, ports):
    ports.limiter.booked_out["a.example"] = 90_000

    assert run(stage, UrlJob(url=A, slot_at_ms=NOW_MS - 1)) == {}

    (waiting,) = ports.line.waiting
    assert (waiting.job.slot_at_ms, waiting.wait_ms, waiting.to_front) == (None, 90_000, True)


def test_busy_origin_is_retried_at_the_time_it_gave(stage, ports):
    ports.web.outcomes[A] = Busy(url=A, status=503, retry_at_ms=NOW_MS + 30_000)

    message = run(stage, A)[Destination.FETCH]

    assert 30_000 <= message.delay_ms <= 30_500
    assert ports.limiter.reports == [("a.example", False)]


def test_redirect_counts_as_a_response_of_its_domain(stage, ports):
    def redirects(gate):
        assert isinstance(gate.admit(B, B), Go)
        return Unreachable(url=A, final_url=B, kind=UnreachableKind.CONNECT, reason="refused")

    ports.web.outcomes[A] = redirects

    run(stage, A)

    assert sorted(ports.limiter.reports) == [("a.example", True), ("b.example", False)]


def test_redirect_to_a_later_slot_counts_as_a_response(stage, ports):
    def redirects(gate):
        ports.limiter.waits_ms["b.example"] = 60_000
        later = gate.admit(B, B)
        return Redirected(url=A, target=B, cause=later.cause, retry_at_ms=later.retry_at_ms)

    ports.web.outcomes[A] = redirects

    run(stage, A)

    assert ports.limiter.reports == [("a.example", True)]


@pytest.mark.parametrize(
    ("kind", "reports"), [("redirect", [("a.example", True)]), ("dns", [("a.example", False)])]
)
def test_redirect_loop_does_not_slow_down_its_domain(stage, ports, kind, reports):
    ports.web.outcomes[A] = Unreachable(url=A, kind=kind, reason="…")

    run(stage, A)

    assert ports.limiter.reports == reports


def test_internal_error_does_not_slow_down_the_domain(stage, ports):
    ports.web.outcomes[A] = ValueError("odd")

    run(stage, A)

    assert ports.limiter.reports == []


def test_last_attempt_gives_the_result(stage, ports):
    ports.web.outcomes[A] = Unreachable(url=A, kind=UnreachableKind.DNS, reason="no such host")
    last = ports.settings.pipeline.max_attempts - 1

    (result,) = results(run(stage, UrlJob(url=A, attempt=last)))

    assert (result.fetch.outcome, result.fetch.reason) == (OutcomeKind.UNREACHABLE, "no such host")


def test_redirect_to_a_domain_without_a_near_slot_waits_in_its_line(stage, ports):
    hop = Hop(A, 302, B)
    ports.web.outcomes[A] = Redirected(
        url=A, target=B, cause=SLOT, retry_at_ms=NOW_MS + 5000, hops=(hop,)
    )

    assert run(stage, A) == {}

    (waiting,) = ports.line.waiting
    assert (waiting.key, waiting.wait_ms, waiting.job.target) == ("b.example", 5000, B)


def test_internal_error_on_one_response_fails_no_other_url(stage, ports):
    ports.web.outcomes[A] = ValueError("odd")

    messages = run(stage, A, B)

    assert [a_result.job.url for a_result in results(messages)] == [B]
    assert [job.url for job in messages[Destination.FETCH].message.jobs] == [A]


def test_stored_url_is_not_fetched_again_and_leaves_the_in_flight_set(stage, ports):
    ports.store.write_pages([page(A, content=body("x"))])
    ports.in_flight.mark([A])

    assert run(stage, A) == {}
    assert ports.in_flight.urls == set()
    assert ports.counters.counts[counters.ALREADY_STORED] == 1


def test_refresh_sends_the_stored_validators(stage, ports):
    facts = {"etag": '"1"', "final_url": A}
    ports.store.write_pages([page(A, content=body("x"), facts=facts)])

    run(stage, UrlJob(url=A, refresh=True))

    ((_, options),) = ports.web.requests
    assert (options["etag"], options["validators_url"]) == ('"1"', A)


def test_truncated_page_is_refreshed_without_validators(stage, ports):
    facts = {"etag": '"1"', "final_url": A, "truncated": 1}
    ports.store.write_pages([page(A, content=body("x"), facts=facts)])

    run(stage, UrlJob(url=A, refresh=True))

    ((_, options),) = ports.web.requests
    assert (options["etag"], options["validators_url"]) == (None, None)


def test_full_spool_returns_jobs_without_a_request_or_an_attempt(stage, ports):
    ports.spool.open = False

    message = run(stage, A)[Destination.FETCH]

    assert ports.web.requests == []
    assert message.message.jobs == (UrlJob(url=A),)
    assert message.delay_ms >= SPACE_RETRY_MS


def test_batch_that_does_not_fit_in_the_spool_is_partly_fetched(stage, ports):
    ports.spool.most = 1
    messages = run(stage, A, B)

    assert [a_result.job.url for a_result in results(messages)] == [A]
    assert [job.url for job in messages[Destination.FETCH].message.jobs] == [B]


def test_stage_without_a_gate_waits_for_a_closed_spool(stage, ports):
    ports.spool.open = False
    spool_space = replace(stage.spool_space, gated=False)

    message = run(replace(stage, spool_space=spool_space), A)[Destination.FETCH]

    assert ports.clock.now_ms() >= NOW_MS + MAX_WAIT_S * 1000
    assert message.delay_ms == SPACE_RETRY_MS


NOW_S_OF_DAY = NOW_MS // 1000 % 86_400


def around(minutes_from: int, minutes_to: int) -> str:
    """A span of the day around now, in the notation of robots.txt."""
    first, last = (NOW_S_OF_DAY // 60 + m for m in (minutes_from, minutes_to))
    return "-".join(f"{m // 60 % 24:02}{m % 60:02}" for m in (first, last))


def test_page_waits_for_the_visit_time_of_its_site(stage, ports):
    ports.robots.know(A[:-1], f"User-agent: *\nVisit-time: {around(120, 240)}\n")

    messages = run(stage, A, B)

    assert ports.web.urls() == [B]
    waiting = messages[Destination.FETCH]
    assert [job.url for job in waiting.message.jobs] == [A]
    assert waiting.message.jobs[0].attempt == 0
    assert 119 * 60_000 <= waiting.delay_ms <= 120 * 60_000


def test_redirect_waits_for_the_visit_time_of_its_target(stage, ports):
    ports.robots.know(B[:-1], f"User-agent: *\nVisit-time: {around(120, 240)}\n")

    def redirects(gate):
        later = gate.admit(B, B)
        at_ms = later.retry_at_ms
        return Redirected(
            url=A, target=B, cause=later.cause, retry_at_ms=at_ms, hops=(Hop(A, 301, B),)
        )

    ports.web.outcomes[A] = redirects

    (message,) = run(stage, A).values()

    assert message.destination is Destination.FETCH
    assert message.message.jobs[0].target == B
    assert 119 * 60_000 <= message.delay_ms <= 120 * 60_000


def test_page_is_fetched_during_the_visit_time_or_if_it_is_ignored(stage, ports):
    ports.robots.know(A[:-1], f"User-agent: *\nVisit-time: {around(-60, 60)}\n")
    run(stage, A)
    ports.robots.know(B[:-1], f"User-agent: *\nVisit-time: {around(120, 240)}\n")
    politeness = replace(ports.settings.politeness, obey_visit_time=False)
    settings = replace(ports.settings, politeness=politeness)
    rules = replace(stage.access.rules, settings=settings)
    requester = replace(stage.requester, access=replace(stage.access, rules=rules))
    run(replace(stage, requester=requester), B)

    assert ports.web.urls() == [A, B]


def test_request_rate_is_a_crawl_delay_at_its_times(stage, ports):
    lines = f"Request-rate: 1/10m {around(-60, 60)}\nRequest-rate: 1/1h {around(120, 240)}"
    ports.robots.know(A[:-1], f"User-agent: *\n{lines}\n")

    vetted = stage.access.vet([UrlJob(url=A)])

    assert [delay_s for _, delay_s in vetted.allowed] == [600]


def after(status, **changes):
    return EgressRules(
        EgressSettings(
            {"second": WaySettings(proxy="http://p:1")},
            (EgressRule(ways=("second",), after=(status,), **changes),),
        ),
        has_proxy=False,
    )


def with_egress_rules(stage, rules):
    return replace(stage, requester=replace(stage.requester, egress=JobEgress(rules)))


def forbidden(url):
    return Withheld(url=url, final_url=url, outcome=OutcomeKind.FORBIDDEN, status=403, reason="403")


def test_rule_for_403_sends_the_next_attempt_by_another_route(stage, ports):
    ports.web.outcomes[A] = forbidden(A)
    stage = with_egress_rules(stage, after(403))

    (message,) = run(stage, A).values()

    assert message.destination is Destination.FETCH
    (job,) = message.message.jobs
    assert (job.after_status, job.attempt) == (403, 1)
    assert message.delay_ms > 0
    assert ports.web.requests[0][1]["egress"].previous_status == 0
    # The domain that responded with 403 is slowed down, regardless of the next route.
    assert ports.limiter.reports == [("a.example", False)]

    (result,) = results(run(stage, UrlJob.read(job.wire())))
    assert ports.web.requests[1][1]["egress"].previous_status == 403
    assert result.fetch.outcome is OutcomeKind.FORBIDDEN


def test_status_403_is_final_without_a_matching_rule(stage, ports):
    ports.web.outcomes[A] = forbidden(A)

    for rules in (after(429), after(403, hosts=("b.example",))):
        (result,) = results(run(with_egress_rules(stage, rules), A))
        assert result.fetch.outcome is OutcomeKind.FORBIDDEN


@pytest.mark.parametrize("status", [401, 402, 451])
def test_other_withheld_pages_are_not_retried_by_another_route(stage, ports, status):
    ports.web.outcomes[A] = replace(forbidden(A), outcome=WITHHELD[status], status=status)

    (result,) = results(run(with_egress_rules(stage, after(403)), A))

    assert result.fetch.status == status


def test_rule_for_429_still_waits_as_long_as_the_origin_asks(stage, ports):
    ports.web.outcomes[A] = Busy(url=A, final_url=A, status=429, retry_at_ms=NOW_MS + 60_000)

    (message,) = run(with_egress_rules(stage, after(429)), A).values()

    (job,) = message.message.jobs
    assert job.after_status == 429
    assert message.delay_ms >= 60_000


def test_url_without_a_usable_route_waits_and_loses_no_attempt(stage, ports):
    ports.web.outcomes[A] = Deferred(
        url=A, cause=DeferralCause.EGRESS, retry_at_ms=NOW_MS + 5_000, reason="office: dead"
    )

    (message,) = run(stage, A).values()

    (job,) = message.message.jobs
    assert (job.attempt, message.delay_ms >= 5_000) == (0, True)
    assert ports.limiter.reports == []
    assert ports.outcomes.of == {}
