"""The stages' small ports: Redis adapters behave like the memory adapters that unit tests use."""

import pytest

from aragog.crawl.pipeline.counters import Counters
from aragog.crawl.pipeline.in_flight import InFlightSet
from aragog.crawl.pipeline.spool import Spool
from aragog.crawl.pipeline.store_claim import StoreClaim, StoreIdentity
from aragog.crawl.pipeline.takedown import SiteBlocks
from aragog.crawl.stages.page_limits import RunMarks
from aragog.errors import BrokerUnavailable
from pinlater.redis.connect import connect
from tests.support.memory_ports import MemoryCounters, MemoryInFlight, MemoryMarks, MemorySpool

pytestmark = pytest.mark.redis
A, B = "http://a.example/", "http://www.b.example/"
PREFIX = "ports:"


@pytest.fixture(params=["memory", "redis"])
def kind(request):
    return request.param


@pytest.fixture
def spool(kind, redis_client):
    return MemorySpool() if kind == "memory" else Spool(redis_client, prefix=PREFIX)


@pytest.fixture
def in_flight(kind, redis_client):
    return MemoryInFlight() if kind == "memory" else InFlightSet(redis_client, prefix=PREFIX)


@pytest.fixture
def marks(kind, redis_client):
    return MemoryMarks() if kind == "memory" else RunMarks(redis_client, prefix=PREFIX, ttl_s=60)


def test_unfinished_runs_are_counted_per_batch(marks):
    assert [marks.start_run(["1", "2"]) for _ in range(3)] == [0, 1, 2]
    assert marks.start_run(["1"]) == 0
    marks.end_run(["1", "2"])
    marks.end_run(["1", "2"])

    assert (marks.start_run(["1", "2"]), marks.start_run(["1"])) == (0, 1)


def test_bodies_are_read_by_token_until_freed(spool):
    tokens = spool.put_many([b"one", b"two"])
    spool.free(tokens[:1])

    assert len(set(tokens)) == 2
    assert spool.get_many([*tokens, "unknown"]) == [None, b"two", None]
    spool.free([*tokens, "unknown"])
    assert spool.get_many(tokens) == [None, None]


def test_fetch_reserves_space_and_uses_it_for_its_bodies(spool):
    reservation = spool.reserve(2, urgent=False)

    assert reservation
    tokens = spool.offer_many([b"one", b"two"], reservation)
    assert spool.get_many(tokens) == [b"one", b"two"]
    assert not spool.state().closed


def test_url_is_marked_once_until_cleared(in_flight):
    assert in_flight.mark([A, B]) == [True, True]
    in_flight.confirm([A, B])

    assert in_flight.mark([A]) == [False]
    in_flight.clear([A])
    assert in_flight.mark([A, B]) == [True, False]


def test_counters_are_summed(kind, redis_client):
    counters = MemoryCounters() if kind == "memory" else Counters(redis_client, prefix=PREFIX)
    counters.add({"a": 1, "b": 2})
    counters.add({"a": 4})

    counts = counters.counts if kind == "memory" else counters.read()
    assert (counts["a"], counts["b"]) == (5, 2)


def test_urls_of_taken_down_hosts_and_domains_are_refused(redis_client):
    blocks = SiteBlocks(redis_client, prefix=PREFIX)
    assert blocks.refused([A, B]) == set()

    blocks.replace([("host", "a.example"), ("domain", "b.example")])
    assert blocks.refused([A, "http://www.a.example/", B]) == {A, B}
    blocks.replace([])
    assert blocks.refused([A, B]) == set()


def test_first_store_on_a_redis_owns_it_until_another_takes_it(redis_client):
    claim = StoreClaim(redis_client, prefix=PREFIX)
    mine, other = (StoreIdentity(name, "sqlite", "host:/var") for name in ("one", "two"))

    assert claim.owner() is None
    assert [claim.claim(mine), claim.claim(other), claim.owner()] == [mine, mine, mine]
    claim.take(other)
    assert claim.claim(mine) == other


def test_unreadable_store_record_has_no_owner(redis_client):
    redis_client.set(f"{PREFIX}store", b"no json")

    assert StoreClaim(redis_client, prefix=PREFIX).owner() is None


@pytest.mark.parametrize(
    "call",
    [
        lambda nobody: SiteBlocks(nobody, prefix="").refused([A]),
        lambda nobody: SiteBlocks(nobody, prefix="").replace([]),
        lambda nobody: StoreClaim(nobody, prefix="").owner(),
        lambda nobody: StoreClaim(nobody, prefix="").claim(StoreIdentity("i", "e", "w")),
    ],
)
def test_unreachable_redis_is_a_temporary_error(call, tmp_path):
    with (
        connect(f"unix://{tmp_path}/nobody", attempts=1) as nobody,
        pytest.raises(BrokerUnavailable),
    ):
        call(nobody)
