"""The robots stage over ports in memory: rules, waits, and the URLs that waited for them."""

from dataclasses import replace

import pytest

from aragog.crawl.pipeline.messages import RobotsBatch, UrlJob
from aragog.crawl.pipeline.routing import Destination
from aragog.crawl.politeness.robots_records import RulesState, Validators
from aragog.crawl.stages.access_rules import Forbidden
from aragog.crawl.stages.robots import (
    MAX_SLOT_WAIT_MS,
    RULES_POLL_MS,
    RobotsStage,
)
from aragog.fetch_record.causes import RefusalCause
from aragog.fetch_record.outcome import (
    NotModified,
    Unreachable,
    UnreachableKind,
)
from aragog.settings import PreferencesSettings
from tests.support.stores import NOW_MS

ORIGIN = "http://a.example"
JOB = UrlJob(url=ORIGIN + "/x", priority=2)


@pytest.fixture
def stage(ports):
    return RobotsStage(
        ports.robots, ports.limiter, ports.web, ports.pool,
        ports.counters, ports.clock, ports.settings, ports.forbidden, ports.line,
    )  # fmt: skip


def test_rules_are_fetched_and_the_jobs_return_to_fetch(stage, ports):
    (message,) = stage.run(RobotsBatch((ORIGIN,), (JOB,)))

    assert ports.web.urls() == [ORIGIN + "/robots.txt"]
    assert ports.robots.statuses == {ORIGIN: 200}
    assert (message.destination, message.message.jobs) == (Destination.FETCH, (JOB,))
    assert message.priority == 2
    assert ports.robots.refreshes.claims == set()


def test_internal_error_on_one_robots_txt_affects_no_other_origin(stage, ports):
    other = "http://b.example"
    ports.web.outcomes[ORIGIN + "/robots.txt"] = ValueError("a defect")

    (message,) = stage.run(RobotsBatch((ORIGIN, other), (JOB,)))

    assert ports.robots.statuses == {ORIGIN: None, other: 200}
    assert message.message.jobs == (JOB,)


TDM = ORIGIN + "/.well-known/tdmrep.json"


@pytest.mark.parametrize(
    ("purposes", "reads", "asked"),
    [((), False, False), (("search",), False, False), (("search", "ai-train"), False, True),
     ((), True, True), (("search",), True, True)],
)  # fmt: skip
def test_tdmrep_json_is_requested_if_ai_models_may_use_the_pages(
    stage, ports, purposes, reads, asked
):
    preferences = PreferencesSettings(purposes=purposes, read_tdm_file=reads)
    settings = replace(ports.settings, preferences=preferences)

    replace(stage, settings=settings).run(RobotsBatch((ORIGIN,), (JOB,)))

    assert ports.web.urls() == [ORIGIN + "/robots.txt", *([TDM] if asked else [])]


def test_tdmrep_json_is_not_requested_if_robots_txt_is_unreachable(stage, ports):
    settings = replace(ports.settings, preferences=PreferencesSettings(purposes=("ai-train",)))
    ports.web.outcomes[ORIGIN + "/robots.txt"] = Unreachable(
        url="", kind=UnreachableKind.DNS, reason="no such host"
    )

    replace(stage, settings=settings).run(RobotsBatch((ORIGIN,), (JOB,)))

    assert ports.web.urls() == [ORIGIN + "/robots.txt"]


def test_fresh_rules_are_not_fetched(stage, ports):
    ports.robots.know(ORIGIN)

    (message,) = stage.run(RobotsBatch((ORIGIN,), (JOB,)))

    assert ports.web.requests == []
    assert message.destination is Destination.FETCH


def test_refresh_fetches_even_fresh_rules(stage, ports):
    ports.robots.know(ORIGIN)

    messages = stage.run(RobotsBatch((ORIGIN,), refresh=True))

    assert ports.web.urls() == [ORIGIN + "/robots.txt"]
    assert messages == []


def test_refresh_without_a_free_slot_comes_back(stage, ports):
    ports.limiter.booked_out["a.example"] = 90_000

    (message,) = stage.run(RobotsBatch((ORIGIN,), refresh=True))

    assert ports.web.requests == []
    assert message.destination is Destination.ROBOTS
    assert (message.message.origins, message.message.refresh) == ((ORIGIN,), True)
    assert RobotsBatch.read(message.message.wire()) == message.message


def test_refresh_claimed_by_another_task_is_skipped(stage, ports):
    ports.robots.know(ORIGIN)
    ports.robots.refreshes.claim([ORIGIN])

    assert stage.run(RobotsBatch((ORIGIN,), refresh=True)) == []
    assert ports.web.requests == []


def test_later_slot_is_kept_with_the_claim(stage, ports):
    ports.limiter.waits_ms["a.example"] = 3_000

    (message,) = stage.run(RobotsBatch((ORIGIN,), (JOB,)))

    assert (message.destination, message.delay_ms) == (Destination.ROBOTS, 3_000)
    assert message.message.slots == {ORIGIN: NOW_MS + 3_000}
    assert message.message.claimed
    assert ports.robots.refreshes.held == {ORIGIN: 3_000}


def test_jobs_wait_for_a_robots_txt_fetched_by_another_task(stage, ports):
    ports.robots.refreshes.claim([ORIGIN])
    ports.robots.refreshes.held[ORIGIN] = 200

    (message,) = stage.run(RobotsBatch((ORIGIN,), (JOB,)))

    assert ports.web.requests == []
    assert message.delay_ms == 200 + RULES_POLL_MS
    assert not message.message.claimed


def test_origin_without_a_near_slot_comes_back_before_it_and_keeps_its_claim(stage, ports):
    ports.limiter.booked_out["a.example"] = 90_000

    (message,) = stage.run(RobotsBatch((ORIGIN,), (JOB,)))

    assert message.delay_ms == 90_000 - MAX_SLOT_WAIT_MS
    assert (message.message.claimed, message.message.slots) == (True, {})
    assert ports.robots.refreshes.held == {ORIGIN: 90_000 - MAX_SLOT_WAIT_MS}


def test_rules_of_a_host_blocked_meanwhile_are_not_refreshed(stage, ports):
    ports.robots.know(ORIGIN, state=RulesState.STALE)
    ports.robots.refreshes.claim([ORIGIN])
    ports.refused[ORIGIN + "/robots.txt"] = Forbidden(RefusalCause.BLOCKED_HOST, "blocked")

    assert stage.run(RobotsBatch((ORIGIN,), claimed=True)) == []

    assert ports.web.urls() == []
    assert ports.robots.refreshes.claims == set()


def test_expiring_rules_are_refreshed_in_batches_and_only_once(stage, ports):
    origins = [f"http://h{n}.example" for n in range(30)]
    sizes = []
    for _ in range(2):
        ports.robots.refreshes.due = list(origins)
        for some in stage.refresh_expiring(step=60):
            sizes += [len(message.message.origins) for message in some]
            assert all(message.message.claimed for message in some)

    assert sizes == [25, 5]


KNOWN = Validators('"v1"', "Mon, 07 Jul 2026 00:00:00 GMT")


def test_stored_rules_are_revalidated(stage, ports):
    ports.robots.know(ORIGIN, "User-agent: *\n", RulesState.STALE)
    ports.robots.known_validators[ORIGIN] = KNOWN
    ports.web.outcomes[f"{ORIGIN}/robots.txt"] = NotModified(
        url=f"{ORIGIN}/robots.txt", status=304, fetched_at_ms=NOW_MS
    )

    stage.run(RobotsBatch((ORIGIN,), claimed=True))

    (_, options), *_ = ports.web.requests
    assert (options["etag"], options["last_modified"]) == KNOWN
    assert ports.robots.statuses == {ORIGIN: 304}


def test_explicit_refresh_is_unconditional(stage, ports):
    ports.robots.know(ORIGIN, "User-agent: *\n")
    ports.robots.known_validators[ORIGIN] = KNOWN

    stage.run(RobotsBatch((ORIGIN,), refresh=True))

    (_, options), *_ = ports.web.requests
    assert (options["etag"], options["last_modified"]) == (None, None)


def test_forbidden_origin_does_not_fail_the_others(stage, ports):
    """Regression: without a contact, one public origin failed its whole batch every minute."""
    other = "http://b.example"
    jobs = (JOB, UrlJob(url=other + "/y"))
    ports.refused[ORIGIN + "/robots.txt"] = Forbidden(RefusalCause.NO_CONTACT, "no contact")

    (message,) = stage.run(RobotsBatch((ORIGIN, other), jobs))

    assert ports.web.urls() == [other + "/robots.txt"]
    assert ports.robots.statuses == {other: 200}
    assert (message.destination, message.message.jobs) == (Destination.FETCH, jobs)
