import threading
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aragog.crawl.politeness.limiter import Limiter
from aragog.crawl.politeness.lines import LineEntry, Lines
from aragog.crawl.politeness.nodes.node import stopwatch_us
from aragog.crawl.politeness.nodes.scripts import PERMIT_TTL_US
from aragog.crawl.politeness.overrides import Overrides
from aragog.crawl.politeness.slots import RateExceeded, Slot, SlotRequest
from aragog.errors import CONFIG, LimiterUnavailable
from aragog.settings import PolitenessSettings
from tests.support.examples import examples

DAY_MS = 86_400_000
# How far a request may lag behind its slot, see depart.lua.
CATCH_UP_US = 500


@pytest.fixture
def limiter(redis_url):
    a_limiter = Limiter([redis_url], PolitenessSettings())
    yield a_limiter
    a_limiter.close()


@pytest.fixture
def overridden(redis_url, tmp_path):
    """Makes a limiter whose overrides file contains the text."""
    limiters = []

    def make(text):
        file = tmp_path / "overrides.toml"
        file.write_text(text)
        limiters.append(Limiter([redis_url], PolitenessSettings(), Overrides(file)))
        return limiters[-1]

    yield make
    for a_limiter in limiters:
        a_limiter.close()


def gaps_us(slots):
    instants = [slot.at_us for slot in slots]
    return [later - earlier for earlier, later in pairwise(instants)]


def stopwatch_at(limiter, at_us):
    """This process's stopwatch at a time on the limiter's clock, or a little after it."""
    ahead_us = at_us - limiter.utc_s("http://a.com/") * 1e6
    return stopwatch_us() + ahead_us


def scripts_run(redis_client):
    return redis_client.info("commandstats")["cmdstat_evalsha"]["calls"]


def test_slots_of_a_domain_are_an_interval_apart(limiter):
    slots = limiter.reserve([SlotRequest("a.com")] * 50)

    assert gaps_us(slots) == pytest.approx([100_000] * 49)


def test_domains_do_not_wait_for_each_other(limiter):
    slots = limiter.reserve([SlotRequest("a.com"), SlotRequest("b.com"), SlotRequest("c.com")])

    assert [slot.wait_ms for slot in slots] == [0, 0, 0]


def test_fractional_millisecond_intervals_do_not_drift(redis_url):
    limiter = Limiter([redis_url], PolitenessSettings(qps=30))

    slots = limiter.reserve([SlotRequest("a.com")] * 3001)

    assert slots[-1].at_us - slots[0].at_us == pytest.approx(100e6, abs=1000)


def test_slots_are_returned_in_request_order(redis_url):
    limiter = Limiter([redis_url, redis_url.replace("db=0", "db=1")], PolitenessSettings())
    keys = [f"site-{n % 40}.example" for n in range(100)]

    slots = limiter.reserve([SlotRequest(key) for key in keys])

    assert [slot.key for slot in slots] == keys


def test_each_node_is_called_once_for_any_number_of_slots(redis_url, redis_client):
    limiter = Limiter([redis_url, redis_url.replace("db=0", "db=1")], PolitenessSettings())
    limiter.reserve([SlotRequest(f"warm-{n}.example") for n in range(20)])
    before = scripts_run(redis_client)

    limiter.reserve([SlotRequest(f"site-{n}.example") for n in range(300)])

    assert scripts_run(redis_client) - before == 2


def test_domain_booked_up_to_its_horizon_is_refused_without_changes(redis_url):
    limiter = Limiter([redis_url], PolitenessSettings(horizon_s=2))

    slots = limiter.reserve([SlotRequest("a.com")] * 40)

    refused = [slot for slot in slots if isinstance(slot, RateExceeded)]
    assert len(refused) == 19
    assert len({slot.free_at_ms for slot in refused}) == 1
    assert limiter.describe(["a.com"])["a.com"].backlog_ms == pytest.approx(2100, abs=100)


def test_crawl_delay_slows_a_domain_down_up_to_the_cap(limiter):
    limiter.reserve([SlotRequest("a.com"), SlotRequest("b.com")])

    slow, capped = limiter.reserve([SlotRequest("a.com", 3.0), SlotRequest("b.com", 3600.0)])

    assert slow.interval_us == 3e6
    assert 2900 <= slow.wait_ms <= 3000
    assert capped.interval_us == 30e6


def test_crawl_delay_does_not_make_a_domain_faster(limiter):
    assert limiter.reserve([SlotRequest("a.com", 0.01)])[0].interval_us == 100_000


def test_override_sets_the_rate_and_the_cap(overridden):
    limiter = overridden('["a.com"]\nqps = 2\n["b.com"]\ncrawl_delay_cap_s = 0\n')

    assert limiter.interval_us("a.com") == 500_000
    assert limiter.interval_us("b.com", 30.0) == 100_000


def test_urls_are_limited_by_registered_domain_unless_overridden(overridden):
    limiter = overridden('["b.co.uk"]\nscope = "host"\n["x.c.com"]\nqps = 1\n')

    assert limiter.key_for("https://www.a.co.uk/x?y") == "a.co.uk"
    assert limiter.key_for("http://one.b.co.uk:8080/") == "one.b.co.uk"
    assert limiter.key_for("http://deep.x.c.com/") == "x.c.com"
    assert limiter.key_for("http://y.c.com/") == "c.com"
    assert limiter.key_for("http://127.0.0.1:81/") == "127.0.0.1"
    assert limiter.key_for("http://[::1]/") == "[::1]"


def test_keys_expire_shortly_after_their_slot(limiter, redis_client):
    limiter.reserve([SlotRequest("a.com")] * 11)

    assert 1000 < redis_client.pttl("aragog:slot:a.com") < 5000


def test_first_slot_of_an_idle_domain_needs_no_permit_call(limiter, redis_client):
    slot, second = limiter.reserve([SlotRequest("a.com")] * 2)
    before = scripts_run(redis_client)

    assert limiter.acquire_permit(slot)

    assert scripts_run(redis_client) == before
    assert slot.pre_granted_until_us > slot.at_us
    assert second.pre_granted_until_us == 0


def test_sender_behind_a_late_one_in_its_process_calls_once(limiter, redis_client):
    first, second = limiter.reserve([SlotRequest("a.com", for_other_process=True)] * 2)
    assert limiter.acquire_permit(first)
    threading.Event().wait(0.06)
    limiter.release_permit(first)
    limiter.permits.flush()
    before = scripts_run(redis_client)

    assert limiter.acquire_permit(second)

    assert scripts_run(redis_client) == before + 1


def test_sends_to_domains_with_long_intervals_are_reported_together(limiter, redis_client):
    slots = limiter.reserve(
        [SlotRequest(key, for_other_process=True) for key in ("a.com", "b.com")]
    )
    assert all(limiter.acquire_permit(slot) for slot in slots)
    limiter.permits.close()  # only `flush` sends from now on
    before = scripts_run(redis_client)

    for slot in slots:
        limiter.release_permit(slot)
    assert scripts_run(redis_client) == before
    limiter.permits.flush()

    assert scripts_run(redis_client) == before + 1


def test_send_is_reported_at_once_if_the_next_sender_may_wait_for_it(redis_url, redis_client):
    limiter = Limiter([redis_url], PolitenessSettings(qps=50))
    (slot,) = limiter.reserve([SlotRequest("a.com", for_other_process=True)])
    assert limiter.acquire_permit(slot)
    limiter.permits.close()
    before = scripts_run(redis_client)

    limiter.release_permit(slot)

    assert scripts_run(redis_client) == before + 1


def test_permit_has_one_holder_at_a_time(limiter):
    _, second = limiter.reserve([SlotRequest("a.com")] * 2)

    decision = limiter.permits.request(second)

    assert decision.verdict == "wait"


def test_next_request_is_sent_an_interval_after_the_last(limiter):
    first, second = limiter.reserve([SlotRequest("a.com")] * 2)
    limiter.permits.report([(first, stopwatch_at(limiter, first.at_us + 70_000))])

    decision = limiter.permits.request(second)

    assert decision.verdict == "wait"
    assert decision.at_us >= first.at_us + 170_000 - CATCH_UP_US


def test_pre_granted_permit_allows_one_request(limiter):
    (slot,) = limiter.reserve([SlotRequest("a.com")])
    assert limiter.acquire_permit(slot)
    started_s = time.monotonic()  # not after the send: this process may pause in between
    limiter.release_permit(slot)

    assert limiter.acquire_permit(slot)

    assert time.monotonic() - started_s > 0.09


def test_unsent_request_releases_its_permit(limiter):
    first, second = limiter.reserve([SlotRequest("a.com")] * 2)

    limiter.end_request(first)
    limiter.permits.flush()

    assert limiter.acquire_permit(second)


def test_requesting_a_permit_twice_grants_one(limiter):
    slot = limiter.resume("a.com", int(time.time() * 1000))

    assert [limiter.permits.request(slot).verdict for _ in range(3)] == ["go"] * 3


def test_permit_expires_if_its_holder_never_reports(limiter):
    now_ms = int(time.time() * 1000)
    dead, successor = limiter.resume("a.com", now_ms), limiter.resume("a.com", now_ms + 100)
    left_us = limiter.permits.request(dead).at_us

    assert limiter.acquire_permit(successor)

    decision = limiter.permits.request(successor)
    assert decision.at_us >= left_us + PERMIT_TTL_US + 100_000 - CATCH_UP_US


def test_sender_that_stalls_before_sending_keeps_the_interval(limiter):
    stalled, other = limiter.reserve([SlotRequest("a.com", for_other_process=True)] * 2)
    sent_s, rest = {}, threading.Event()

    def send(slot, rest_s):
        assert limiter.acquire_permit(slot)
        rest.wait(rest_s)
        sent_s[slot] = time.monotonic()
        limiter.release_permit(slot)

    senders = [threading.Thread(target=send, args=each) for each in ((stalled, 0.6), (other, 0.0))]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()

    assert abs(sent_s[stalled] - sent_s[other]) >= 0.098


def test_duplicate_and_late_reports_change_nothing(limiter):
    first, second, third = limiter.reserve([SlotRequest("a.com")] * 3)
    written_us = stopwatch_at(limiter, first.at_us + 5_000)
    limiter.permits.report([(first, written_us)] * 2)
    assert limiter.acquire_permit(second)
    at_us = limiter.permits.request(second).at_us
    limiter.release_permit(second)

    limiter.permits.report([(first, written_us)])

    assert limiter.permits.request(third).at_us < at_us + 300_000


def test_slot_after_its_window_is_given_up_instead_of_waiting(limiter):
    limiter.pause_until("a.com", int(time.time() * 1000) + 60_000)
    slot = limiter.resume("a.com", int(time.time() * 1000))

    assert not limiter.acquire_permit(slot)


def test_pause_moves_all_later_slots(limiter):
    until_ms = int(time.time() * 1000) + 5_000
    limiter.reserve([SlotRequest("a.com")] * 3)

    limiter.pause_until("a.com", until_ms)

    assert limiter.reserve([SlotRequest("a.com")])[0].at_ms >= until_ms


def test_shorter_pause_does_not_shorten_a_longer_one(limiter):
    far, near = int(time.time() * 1000) + 9_000, int(time.time() * 1000) + 1_000
    limiter.pause_until("a.com", far)

    limiter.pause_until("a.com", near)

    assert limiter.reserve([SlotRequest("a.com")])[0].at_ms >= far


def test_pause_into_the_past_changes_nothing(limiter, redis_client):
    limiter.pause_until("a.com", 0)

    assert redis_client.keys("aragog:slot:*") == []


def test_pause_ends_at_the_horizon(limiter):
    limiter.pause_until("a.com", int(time.time() * 1000) + 900 * DAY_MS)

    assert limiter.describe(["a.com"])["a.com"].backlog_ms <= DAY_MS + 1000


def test_repeated_errors_slow_a_domain_down_and_successes_speed_it_up_again(limiter):
    factors = []
    for ok in [False] * 9 + [True] * 13:
        limiter.report("a.com", ok)
        factors.append(limiter.describe(["a.com"])["a.com"].backoff_factor)

    assert factors[:9] == [1, 1, 2, 4, 8, 16, 32, 32, 32]
    assert factors[9:] == sorted(factors[9:], reverse=True)
    assert factors[-1] == 1


def test_slots_of_a_slowed_domain_are_further_apart(limiter):
    limiter.report_many([("a.com", False)] * 4)

    assert gaps_us(limiter.reserve([SlotRequest("a.com")] * 3)) == pytest.approx([400_000] * 2)


def test_success_of_a_healthy_domain_costs_no_round_trip(limiter, redis_client):
    limiter.reserve([SlotRequest("a.com")])
    redis_client.config_resetstat()

    limiter.report_many([("a.com", True), ("b.com", True)])

    assert "cmdstat_evalsha" not in redis_client.info("commandstats")


def test_another_process_learns_of_errors_with_its_next_slot(limiter, redis_url):
    limiter.report_many([("a.com", False)] * 3)
    other = Limiter([redis_url], PolitenessSettings())

    other.reserve([SlotRequest("a.com")])
    other.report("a.com", True)

    assert other.describe(["a.com"])["a.com"].backoff_factor < 2


def test_concurrency_limit_is_kept(overridden):
    limiter = overridden('["a.com"]\nmax_concurrent = 2\nqps = 400\n')
    slots = limiter.reserve([SlotRequest("a.com")] * 3)

    allowed = []
    for slot in slots[:2]:
        allowed.append(limiter.acquire_permit(slot))
        limiter.release_permit(slot)

    assert allowed == [True, True]
    assert limiter.permits.request(slots[2]).verdict == "wait"
    limiter.end_request(slots[0])
    assert limiter.permits.request(slots[2]).verdict == "go"


def test_concurrency_slot_of_a_killed_worker_expires(overridden, redis_client):
    limiter = overridden('["a.com"]\nmax_concurrent = 1\n')
    limiter.acquire_permit(limiter.reserve([SlotRequest("a.com")])[0])

    assert 0 < redis_client.pttl("aragog:concurrent:a.com") <= 120_000


def test_request_that_cannot_wait_for_its_slot_reserves_nothing(limiter):
    limiter.reserve([SlotRequest("a.com")] * 6)

    refused = limiter.reserve([SlotRequest("a.com", max_wait_ms=300)] * 3)

    assert all(isinstance(reply, RateExceeded) for reply in refused)
    free_at_ms = {reply.free_at_ms for reply in refused}
    assert {limiter.reserve([SlotRequest("a.com")])[0].at_ms} == free_at_ms


def test_urgent_request_gets_the_next_slot_despite_a_backlog(limiter):
    backlog = limiter.reserve([SlotRequest("a.com")] * 50)

    first, second = limiter.reserve([SlotRequest("a.com", urgent=True)] * 2)

    assert backlog[0].at_us < first.at_us <= backlog[0].at_us + 101_000
    assert second.at_us - first.at_us == pytest.approx(100_000)


def test_urgent_sender_gets_the_next_permit(limiter):
    first, second = limiter.reserve([SlotRequest("a.com")] * 2)
    (urgent,) = limiter.reserve([SlotRequest("a.com", urgent=True)])
    limiter.permits.report([(first, stopwatch_at(limiter, first.at_us + 1_000))])

    decision = limiter.permits.request(urgent)

    assert decision.verdict == "go"
    assert decision.at_us >= first.at_us + 101_000 - CATCH_UP_US
    assert limiter.permits.request(second).verdict == "wait"
    limiter.permits.report([(urgent, stopwatch_at(limiter, decision.at_us))])
    assert limiter.permits.request(second).at_us >= decision.at_us + 100_000 - CATCH_UP_US


def test_urgent_sender_goes_first_among_equal_slots(redis_url):
    limiter = Limiter([redis_url], PolitenessSettings(qps=2))
    for key in [f"site-{n}.example" for n in range(4)]:
        first, other = limiter.reserve([SlotRequest(key)] * 2)
        (urgent,) = limiter.reserve([SlotRequest(key, urgent=True)])
        assert limiter.acquire_permit(first)
        limiter.release_permit(first)
        order = []

        def send(slot, order=order):
            assert limiter.acquire_permit(slot)
            order.append(slot)
            limiter.release_permit(slot)

        senders = [threading.Thread(target=send, args=(slot,)) for slot in (other, urgent)]
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join()

        assert order == [urgent, other]


def test_pause_stops_an_urgent_sender_that_already_has_its_permit(limiter):
    (first,) = limiter.reserve([SlotRequest("a.com")])
    (urgent,) = limiter.reserve([SlotRequest("a.com", urgent=True)])
    limiter.permits.report([(first, stopwatch_at(limiter, first.at_us))])
    assert limiter.permits.request(urgent).verdict == "go"

    limiter.pause("a.com", 60)

    assert not limiter.acquire_permit(urgent)


def test_slot_for_another_process_has_no_pre_granted_permit(limiter):
    (slot,) = limiter.reserve([SlotRequest("a.com", for_other_process=True)])

    assert slot.pre_granted_until_us == 0


def test_busiest_domains_are_those_with_the_longest_waits(redis_url, redis_client):
    lines = Lines(redis_client, prefix="aragog:")
    limiter = Limiter([redis_url], PolitenessSettings(), lines=lines)
    lines.park([LineEntry(key, 5, b"") for key in ["a.com"] * 20 + ["b.com"] * 40])

    assert [report.key for report in limiter.busiest_domains(5)] == ["b.com", "a.com"]
    assert limiter.describe(["b.com"])["b.com"].waiting == 40
    assert limiter.describe(["b.com"])["b.com"].backlog_ms >= 4_000


def test_slot_is_usable_until_its_window_has_passed(limiter):
    now_ms = int(time.time() * 1000)

    assert limiter.is_usable(now_ms - 500, "a.com")
    assert limiter.is_usable(now_ms + 6_000)
    assert not limiter.is_usable(now_ms - 2_000, "a.com")


def test_unreachable_redis_raises_limiter_unavailable(tmp_path):
    limiter = Limiter([f"unix://{tmp_path}/none.sock"], PolitenessSettings())

    for call in (
        lambda: limiter.reserve([SlotRequest("a.com")]),
        lambda: limiter.pause_until("a.com", 1),
        lambda: limiter.report("a.com", ok=False),
        lambda: limiter.describe(["a.com"]),
        limiter.failing_domains,
        lambda: limiter.is_usable(1),
    ):
        with pytest.raises(LimiterUnavailable):
            call()


def test_invalid_redis_url_is_refused():
    with pytest.raises(CONFIG, match=r"politeness\.limiter_urls: 'http://x'"):
        Limiter(["http://x"], PolitenessSettings())


request_lists = st.lists(
    st.tuples(st.sampled_from(["a.com", "b.com"]), st.none() | st.floats(0, 2)), max_size=12
)


@examples(30)
@given(st.lists(request_lists, max_size=5))
def test_slots_keep_their_interval_for_any_requests(redis_client, limiter, calls):
    redis_client.delete("aragog:slot:a.com", "aragog:slot:b.com")
    reserved: dict[str, list[Slot]] = {"a.com": [], "b.com": []}

    for call in calls:
        for slot in limiter.reserve([SlotRequest(key, delay_s) for key, delay_s in call]):
            reserved[slot.key].append(slot)

    for slots in reserved.values():
        for gap, slot in zip(gaps_us(slots), slots[1:], strict=True):
            assert gap >= slot.interval_us - 1
