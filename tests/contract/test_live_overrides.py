"""Live overrides apply in every process and are recorded."""

import time

import pytest

from aragog.crawl.politeness.limiter import STOPPED_RETRY_S, Limiter
from aragog.crawl.politeness.live_overrides import LiveOverrides
from aragog.crawl.politeness.overrides import CHECK_INTERVAL_S, Overrides
from aragog.crawl.politeness.quiet_hours import QuietHours
from aragog.crawl.politeness.slots import RateExceeded, Slot, SlotRequest
from aragog.errors import BadInput
from aragog.runtime.clock import ManualClock
from aragog.settings import PolitenessSettings

pytestmark = pytest.mark.redis

FILE = """
["example.com"]
qps = 2
max_concurrent = 3
["shops.example"]
scope = "host"
crawl_delay_cap_s = 0
"""


@pytest.fixture
def operator(redis_url):
    return LiveOverrides(redis_url, "t:")


class Worker:
    """Another process with its own overrides, limiter and clock."""

    def __init__(self, redis_url, file=None):
        self.clock = ManualClock()
        self.overrides = Overrides(file, self.clock, live=LiveOverrides(redis_url, "t:"))
        self.limiter = Limiter([redis_url], PolitenessSettings(), self.overrides, "t:", self.clock)

    def later(self):
        self.clock.advance_ms(int(CHECK_INTERVAL_S * 1000))
        return self

    def reserve(self, key):
        return self.limiter.reserve([SlotRequest(key)])[0]


@pytest.fixture
def worker(redis_url, tmp_path):
    file = tmp_path / "overrides.toml"
    file.write_text(FILE)
    a_worker = Worker(redis_url, file)
    yield a_worker
    a_worker.limiter.close()


def test_running_limiter_uses_a_rate_set_by_an_operator(operator, worker):
    assert worker.limiter.interval_us("new.test") == 100_000

    operator.set_qps("new.test", 0.5, who="ann")
    assert worker.later().limiter.interval_us("new.test") == 2_000_000

    operator.set_qps("new.test", None, who="ann")
    assert worker.later().limiter.interval_us("new.test") == 100_000


def test_live_rate_keeps_the_other_values_of_the_file(operator, worker):
    operator.set_qps("example.com", 7, who="ann")
    operator.set_qps("a.shops.example", 1, who="ann")
    worker.later()

    assert worker.limiter.interval_us("example.com") == pytest.approx(1e6 / 7)
    assert worker.limiter.rates.max_concurrent("example.com") == 3
    assert worker.limiter.key_for("http://a.shops.example/") == "a.shops.example"
    assert worker.limiter.key_for("http://b.shops.example/") == "b.shops.example"
    assert worker.limiter.interval_us("a.shops.example", crawl_delay_s=9) == 1_000_000


def test_stopped_domain_gets_no_slot_or_permit_until_resumed(operator, worker):
    reserved, queued = worker.reserve("new.test"), worker.reserve("new.test")
    assert isinstance(queued, Slot)
    operator.set_stopped("new.test", True, who="ann")
    worker.later()

    refused = worker.reserve("new.test")
    assert isinstance(refused, RateExceeded)
    wait_ms = worker.limiter.wait_ms("new.test", refused.free_at_ms)
    assert 0.7 * STOPPED_RETRY_S < wait_ms / 1000 < 1.3 * STOPPED_RETRY_S
    for slot in (reserved, queued):
        assert worker.limiter.acquire_permit(slot) is False
        assert worker.limiter.is_usable(slot.at_ms, "new.test") is False
    assert worker.limiter.describe(["new.test"])["new.test"].stopped
    assert isinstance(worker.reserve("other.test"), Slot)

    operator.set_stopped("new.test", False, who="ann")
    assert isinstance(worker.later().reserve("new.test"), Slot)


def test_stopping_one_domain_of_a_batch_keeps_the_order_of_slots(operator, worker):
    operator.set_stopped("b.test", True, who="ann")
    worker.later()

    slots = worker.limiter.reserve([SlotRequest(f"{name}.test") for name in "abc"])

    assert [(slot.key, type(slot)) for slot in slots] == [
        ("a.test", Slot), ("b.test", RateExceeded), ("c.test", Slot),
    ]  # fmt: skip


def test_failing_domains_are_listed_until_they_succeed(worker):
    for key, errors in (("a.test", 1), ("b.test", 4), ("c.test", 2)):
        worker.limiter.report_many([(key, False)] * errors)
    worker.limiter.report("a.test", ok=True)

    assert [(report.key, report.errors_in_a_row) for report in worker.limiter.failing_domains()] == [
        ("b.test", 4), ("c.test", 2),
    ]  # fmt: skip


def test_changes_are_recorded_with_their_author_latest_first(operator):
    operator.set_qps("a.test", 2, who="ann", reason="asked to")
    operator.set_stopped("b.test", True, who="bob")
    operator.set_stopped("b.test", False, who="bob")

    reported = [
        (change.who, change.domain, change.what, change.reason) for change in operator.history()
    ]
    assert reported == [
        ("bob", "b.test", "resumed", ""),
        ("bob", "b.test", "stopped", ""),
        ("ann", "a.test", "qps = 2", "asked to"),
    ]
    assert [change.what for change in operator.history(domain="a.test")] == ["qps = 2"]
    assert [change.what for change in operator.history(1)] == ["resumed"]


@pytest.mark.parametrize("qps", [0, -1, 10_001, float("nan"), float("inf")])
def test_invalid_rate_is_refused(operator, qps):
    with pytest.raises(BadInput, match="rate: must be above 0"):
        operator.set_qps("a.test", qps, who="ann")

    assert operator.history() == []


def test_last_overrides_apply_while_redis_is_down(own_redis):
    operator, worker = LiveOverrides(own_redis.url, "t:"), Worker(own_redis.url)
    operator.set_qps("a.test", 2, who="ann")
    assert worker.limiter.interval_us("a.test") == 500_000

    own_redis.kill()
    assert worker.later().limiter.interval_us("a.test") == 500_000
    worker.limiter.close()


def around(minutes_from, minutes_to):
    """Quiet hours that include the current time."""
    first, last = (int(time.time() / 60 + minutes) % 1440 for minutes in (minutes_from, minutes_to))
    return QuietHours(first, last, "UTC")


def test_quiet_hours_stop_slots_and_permits_until_they_end(operator, worker):
    (slot,) = worker.limiter.reserve([SlotRequest("a.test")])
    operator.set_quiet_hours("a.test", around(-60, 60), who="ann")
    operator.set_quiet_hours("b.test", around(60, 120), who="ann")
    worker.overrides.refresh()

    replies = worker.limiter.reserve([SlotRequest("a.test"), SlotRequest("b.test")])
    assert [type(reply) for reply in replies] == [RateExceeded, Slot]
    assert not worker.limiter.acquire_permit(slot)
    assert 0 < worker.limiter.describe(["a.test"])["a.test"].quiet_ms <= 3_600_000

    operator.set_quiet_hours("a.test", None, who="ann")
    worker.overrides.refresh()
    assert isinstance(worker.limiter.reserve([SlotRequest("a.test")])[0], Slot)
    assert [change.what for change in operator.history(1)] == ["quiet hours removed"]


def test_quiet_hours_in_an_unknown_time_zone_are_ignored(operator, worker):
    operator.set_quiet_hours("a.test", QuietHours(0, 1440, "Moon/Base"), who="ann")
    worker.overrides.refresh()

    assert isinstance(worker.limiter.reserve([SlotRequest("a.test")])[0], Slot)


def test_override_of_a_newer_version_does_not_break_the_others(redis_url, redis_client):
    live = LiveOverrides(redis_url, "t:")
    live.set_qps("a.example", 2, who="ann")
    redis_client.hset("t:overrides", "colour:a.example", "red")
    redis_client.xadd(
        "t:overrides.history",
        {"who": "bo", "domain": "a.example", "what": "painted", "reason": "", "colour": "red"},
    )

    assert live.changed_values() == {"a.example": {"qps": 2.0}}
    assert [change.who for change in live.history()] == ["bo", "ann"]
