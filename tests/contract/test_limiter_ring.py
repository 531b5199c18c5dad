"""Limiter nodes join and leave: what moves, which callers are refused, and what survives."""

import itertools
import time
from dataclasses import replace

import pytest
import redis
from redis import ResponseError

from aragog.crawl.politeness.limiter import Limiter
from aragog.crawl.politeness.limiter_ring import LimiterRing
from aragog.crawl.politeness.nodes.handover import take_over
from aragog.crawl.politeness.nodes.record import RingRecord
from aragog.crawl.politeness.nodes.ring import NodeRing
from aragog.crawl.politeness.nodes.scripts import pause_until
from aragog.crawl.politeness.overrides import Overrides
from aragog.crawl.politeness.slots import RateExceeded, SlotRequest, unpack_state
from aragog.errors import BadInput, LimiterUnavailable
from aragog.settings import PolitenessSettings
from bench.latency import VirtualNode
from tests.support.waiting import wait_until

SETTINGS = PolitenessSettings(qps=2)
DOMAINS = [f"site-{n}.example" for n in range(40)]
LEASE_S = 0.3
MINUTE_US = 60e6
INTERVAL_US = 1e6 / SETTINGS.qps


@pytest.fixture
def urls(redis_url):
    """Three nodes, each a database of one server; a fourth database holds the ring record."""
    return [redis_url.replace("db=0", f"db={n}") for n in (1, 2, 3)]


@pytest.fixture
def worker(redis_url, urls):
    """Makes workers whose settings name the first two nodes, or the given ones."""
    opened = []

    def make(nodes=(0, 1), overrides=None):
        chosen = [urls[n] for n in nodes]
        opened.append(Limiter(chosen, SETTINGS, overrides, shared=redis_url, lease_s=LEASE_S))
        return opened[-1]

    yield make
    for limiter in opened:
        limiter.close()


@pytest.fixture
def operator(redis_url, urls):
    """Changes the ring and collects in `waits` how long it waited."""
    waits = []
    ring = LimiterRing(urls[:2], SETTINGS, shared=redis_url, lease_s=LEASE_S, sleep_s=waits.append)
    ring.waits = waits
    yield ring
    ring.close()


def waits_ms(limiter, domains=DOMAINS):
    """How long a request to each domain would wait now."""
    return [
        limiter.wait_ms(reply.key, reply.free_at_ms)
        if isinstance(reply, RateExceeded)
        else reply.wait_ms
        for reply in limiter.reserve([SlotRequest(domain, max_wait_ms=0) for domain in domains])
    ]


def planned_us(operator):
    """The last reserved slot of each domain, on the node that is responsible for it now."""
    return {domain: operator.locate(domain).state.planned_us for domain in DOMAINS}


def no_slot_is_earlier(later, earlier):
    """Whether no slot is earlier than before, up to the measured clock difference of the nodes."""
    return all(later[domain] >= earlier[domain] for domain in DOMAINS)


def send(limiter, domain):
    (slot,) = limiter.reserve([SlotRequest(domain)])
    assert limiter.acquire_permit(slot)
    limiter.release_permit(slot)
    limiter.permits.flush()


def test_settings_define_the_first_ring_only(worker, operator, urls):
    waits_ms(worker())

    assert waits_ms(worker(nodes=(2,)))  # with other settings: it takes the ring from the server
    report = operator.report()
    assert [node.node for node in report.nodes] == urls[:2]
    assert (report.epoch, report.moving) == (1, False)
    assert all(node.ring and node.state == "active" for node in report.nodes)
    assert sum(node.share for node in report.nodes) == pytest.approx(1.0)


def test_joining_node_takes_over_the_slots_of_its_domains(worker, operator, urls):
    early, late = worker(), worker()
    assert waits_ms(early) == [0] * len(DOMAINS)
    before = planned_us(operator)

    operator.add(urls[2])

    moved = planned_us(operator)
    assert no_slot_is_earlier(moved, before)
    replies = late.reserve([SlotRequest(domain, max_wait_ms=0) for domain in DOMAINS])
    free_ms = [r.free_at_ms if isinstance(r, RateExceeded) else r.at_ms for r in replies]
    assert all(
        at_ms * 1000 >= moved[domain] + INTERVAL_US - 1000
        for domain, at_ms in zip(DOMAINS, free_ms, strict=True)
    )
    assert operator.report().epoch == 3
    assert any(operator.locate(domain).node == urls[2] for domain in DOMAINS)


def test_pauses_and_backoffs_move_with_their_domains(worker, operator, urls):
    limiter = worker()
    for domain in DOMAINS:
        limiter.pause(domain, 60)
        limiter.report_many([(domain, False)] * 5)

    operator.add(urls[2])
    operator.remove(urls[0])

    waits_ms(limiter)  # now it knows the ring
    reports = limiter.describe(DOMAINS).values()
    assert all(55_000 < report.paused_ms <= 61_000 for report in reports)
    assert all(report.backoff_factor == 8 and report.errors_in_a_row == 5 for report in reports)
    assert len(limiter.failing_domains(100)) == len(DOMAINS)


def test_permit_moves_with_its_domain_and_is_released_on_the_new_node(worker, operator, urls):
    holder, other = worker(), worker()
    held = dict(zip(DOMAINS, holder.reserve([SlotRequest(d) for d in DOMAINS]), strict=True))
    other.describe(DOMAINS)

    operator.add(urls[2])
    moved = next(domain for domain in DOMAINS if operator.locate(domain).node == urls[2])
    next_slot = other.slot_ahead(SlotRequest(moved))

    assert other.permits.request(next_slot).verdict == "wait"
    assert operator.locate(moved).state.holder == held[moved].token
    assert holder.acquire_permit(held[moved])
    holder.release_permit(held[moved])
    holder.permits.flush()
    assert operator.locate(moved).state.holder == 0


def test_report_of_an_outdated_worker_reaches_the_new_node(worker, operator, urls):
    holder = worker()
    slots = holder.reserve([SlotRequest(domain) for domain in DOMAINS])

    operator.add(urls[2])
    holder.permits.report([(slot, None) for slot in slots])

    assert {operator.locate(domain).state.holder for domain in DOMAINS} == {0}


def test_concurrency_slot_moves_and_is_released_on_its_new_node(worker, operator, urls, tmp_path):
    file = tmp_path / "overrides.toml"
    file.write_text(
        "".join(f'["{domain}"]\nmax_concurrent = 1\nqps = 1000\n' for domain in DOMAINS)
    )
    limiter = worker(overrides=Overrides(file))
    slots = limiter.reserve([SlotRequest(domain) for domain in DOMAINS])
    for slot in slots:
        assert limiter.acquire_permit(slot)
        limiter.release_permit(slot)

    operator.add(urls[2])
    operator.drain(urls[1])

    for slot in slots:
        assert limiter.permits.request(limiter.slot_ahead(SlotRequest(slot.key))).verdict == "wait"
        limiter.end_request(slot)
        assert limiter.permits.request(limiter.slot_ahead(SlotRequest(slot.key))).verdict == "go"


def test_drained_node_stays_a_member_and_can_be_reactivated(worker, operator, urls):
    waits_ms(worker())
    before = planned_us(operator)

    operator.drain(urls[0])

    report = {node.node: node for node in operator.report().nodes}
    assert (report[urls[0]].state, report[urls[0]].share) == ("drained", 0.0)
    assert {operator.locate(domain).node for domain in DOMAINS} == {urls[1]}
    drained = planned_us(operator)
    assert no_slot_is_earlier(drained, before)
    operator.add(urls[0])
    assert no_slot_is_earlier(planned_us(operator), drained)
    assert {operator.locate(domain).node for domain in DOMAINS} == set(urls[:2])
    operator.remove(urls[1])
    with pytest.raises(BadInput, match="the only active node"):
        operator.remove(urls[0])
    with pytest.raises(BadInput, match="is not a limiter node"):
        operator.drain(urls[2])


def test_domains_of_a_lost_node_wait_until_its_permits_have_expired(worker, operator, urls):
    waits_ms(worker())
    lost = [domain for domain in DOMAINS if operator.locate(domain).node == urls[0]]
    closed = []
    operator._sleep_s = lambda seconds: closed.append((seconds, waits_ms(worker(), lost)))

    operator.remove(urls[0], lost=True)

    ((waited_s, waits),) = closed
    assert waited_s == pytest.approx(LEASE_S + 1.25 + 1)
    assert min(waits) > (LEASE_S + 1.25) * 900
    assert [node.node for node in operator.report().nodes] == [urls[1]]
    # Also a domain that nobody requested in the meantime.
    assert min(waits_ms(worker(), ["new.example"])) > 1_000


def test_ring_change_interrupted_at_any_step_can_be_resumed(worker, redis_url, urls):
    limiter = worker()
    for domain in DOMAINS:
        limiter.pause(domain, 60)
    steps = itertools.count()

    class Killed(Exception):
        pass

    class Interrupted(NodeRing):
        """Raises Killed at its n-th call of a server."""

        def install(self, name):
            self.step()
            super().install(name)

        def replace(self, record, replaces):
            self.step()
            return super().replace(record, replaces)

        def refresh(self):
            self.step()
            return super().refresh()

        def step(self):
            self.left -= 1
            if self.left < 0:
                raise Killed

    done = False
    while not done:
        ring = LimiterRing(urls[:2], SETTINGS, shared=redis_url, sleep_s=time.sleep)
        ring._ring.close()
        ring._ring = Interrupted(urls[:2], "aragog:", 1_250_000, redis_url, LEASE_S)
        ring._ring.left = next(steps)
        try:
            ring.add(urls[2])
            ring.remove(urls[0])
            done = True
        except BadInput:
            done = True  # the last step was already done
        except Killed:
            assert min(waits_ms(limiter)) > 50_000
        ring.close()

    assert min(waits_ms(limiter)) > 50_000
    assert next(steps) > 10


def test_ring_record_lost_by_the_shared_redis_is_restored(worker, operator, urls, redis_url):
    limiter = worker()
    operator.add(urls[2])
    waits_ms(limiter)
    epoch = operator.report().epoch
    with redis.Redis.from_url(redis_url) as client:
        client.delete("aragog:limiter.ring")

    assert waits_ms(worker(nodes=(1, 0)))  # a new process reads the copies on its nodes

    assert operator.report().epoch == epoch
    assert len(operator.report().nodes) == 3


def test_node_that_lost_its_data_counts_as_restarted(worker, urls):
    waits_ms(worker())
    for url in urls:
        with redis.Redis.from_url(url) as client:
            client.flushdb()

    assert min(waits_ms(worker())) > 1_000


def test_worker_sends_no_requests_after_its_lease_ended(redis_url, urls, own_redis):
    limiter = Limiter([urls[0]], SETTINGS, shared=own_redis.url, lease_s=LEASE_S)
    waits_ms(limiter)
    own_redis.kill()

    wait_until(lambda: is_refused(limiter))
    own_redis.start()

    assert waits_ms(limiter)
    limiter.close()


def is_refused(limiter):
    try:
        waits_ms(limiter)
    except LimiterUnavailable:
        return True
    return False


def virtual(url, at_us, record):
    node = VirtualNode(url)
    node.client.flushdb()
    node.at_us = at_us
    node.name = url
    node.run(
        "ring_install", epoch=node.key("slots", "epoch"), ring=node.key("slots", "ring"),
        arrived=node.key("slots", "arrived"), version=record.version, record=record.pack(),
        restart_version=0, hold_us=1, blank_is_restart=0,
    )  # fmt: skip
    node.version = record.version
    return node


@pytest.mark.parametrize("ahead_us", [-5 * MINUTE_US, 0.0, 5 * MINUTE_US])
def test_state_moves_as_durations_between_different_clocks(urls, ahead_us):
    old, new = urls[:2]
    record = replace(RingRecord.create_first([new]), former=((old,),))
    one, other = virtual(old, 1e15, record), virtual(new, 1e15 + ahead_us, record)
    pause_until(one, "a.com", one.at_us + 20e6, 1e5)

    take_over(record, {old: one, new: other}, other, ["a.com"])

    state = unpack_state(other.client.get("aragog:slot:a.com"))
    assert state.last_us - other.at_us == 20e6
    # A second takeover changes nothing, whatever the other node has now.
    other.at_us += 60e6
    take_over(record, {old: one, new: other}, other, ["a.com"])
    assert unpack_state(other.client.get("aragog:slot:a.com")) == state


def test_state_is_handed_over_only_under_the_callers_ring(urls):
    old, new = urls[:2]
    before = RingRecord.create_first([old])
    record = before.with_active(new).with_drained(old)
    one, other = virtual(old, 1e15, before), virtual(new, 1e15, record)
    pause_until(one, "a.com", one.at_us + 20e6, 1e5)

    with pytest.raises(ResponseError, match="OTHERRING"):
        take_over(record, {old: one.with_version(record.version), new: other}, other, ["a.com"])

    assert other.client.exists("aragog:slot:a.com") == 0
