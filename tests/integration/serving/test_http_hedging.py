"""HTTP reads that are late at the primary are answered by the standby and marked."""

import threading

import pytest

from aragog.api.operations.large_reads import ReadAbandoned
from aragog.api.server.hedging import HedgedReads, HedgingMetrics
from aragog.api.server.http.services import Services
from aragog.errors import StoreUnavailable
from aragog.runtime.clock import ManualClock
from tests.support.api_server import running
from tests.support.stores import store_harness
from zengraph.records import counted_rows
from zengraph.tables.memory import MemoryTables

A = "http://a.example/"


def a_store(value):
    store = store_harness(MemoryTables(ManualClock())).store
    store.put(A, {"team.of": value})
    return store


class Stalled:
    """A store that hangs or is unavailable."""

    def __init__(self, store, gate, error=None):
        self._store, self._gate, self._error = store, gate, error

    def __getattr__(self, name):
        if self._error is not None:
            raise self._error
        assert self._gate.wait(60)
        return getattr(self._store, name)


@pytest.fixture(
    params=[None, StoreUnavailable("hbase", "is unavailable")], ids=["stalls", "is unavailable"]
)
def hedged(request):
    gate = threading.Event()
    primary = Stalled(a_store(b"primary"), gate, request.param)
    reads = HedgedReads(primary, a_store(b"standby"), threads=4)
    for _ in range(500):  # reads build up the budget for hedges
        reads.policy.count_read()
    yield reads
    gate.set()
    reads.close()


@pytest.fixture
def api(hedged):
    with running(a_store(b"primary"), Services(read=hedged.read)) as api:
        yield api


@pytest.mark.parametrize("query", ["&fields=team.of&include=", "&include=", "", "&fields=team.of"])
def test_record_from_the_standby_is_marked(api, hedged, query):
    response = api.get_fast(f"/v1/urls?url={A}{query}")

    assert response.status == 200
    assert response.json["fields"] == {"team.of": "standby"}
    assert response.json["from_standby"] is True
    assert hedged.policy.won == 1


@pytest.mark.parametrize("fields", [None, ["team.of"]])
def test_every_record_of_a_batch_from_the_standby_is_marked(api, hedged, fields):
    response = api.ask("POST", "/v1/urls:batchGet", {"urls": [A, "nonsense"], "fields": fields})

    first, second = response.json["results"]
    assert first["record"]["fields"] == {"team.of": "standby"}
    assert first["record"]["from_standby"] is True
    assert second["status"] == 400


@pytest.mark.parametrize("path", ["links?", "aliases?", "history?field=team.of&"])
def test_other_reads_are_hedged_too(api, hedged, path):
    assert api.get(f"/v1/{path}url={A}").status == 200
    assert hedged.policy.won == 1


def test_hedges_sent_and_won_are_counted(api, hedged):
    api.get_fast(f"/v1/urls?url={A}&include=")

    samples = {
        (sample.name, *sample.labels.values()): sample.value
        for family in HedgingMetrics(hedged).collect()
        for sample in family.samples
    }
    sent = [samples["aragog_hedged_reads_total", f"standby, {why}"] for why in ("late", "failed")]
    assert sorted(sent) == [0, 1]
    assert samples["aragog_hedged_reads_won_total",] == 1
    assert samples["aragog_hedged_reads_total", "primary"] == 501


def test_timely_read_comes_from_the_primary_and_is_not_marked():
    hedged = HedgedReads(a_store(b"primary"), a_store(b"standby"), threads=4)
    hedged.policy.delay_s = 60
    with running(a_store(b"primary"), Services(read=hedged.read)) as api:
        response = api.get_fast(f"/v1/urls?url={A}&fields=team.of&include=")
    hedged.close()

    assert response.json["fields"] == {"team.of": "primary"}
    assert "from_standby" not in response.json


class Long:
    """A store whose list of links pauses in the middle."""

    def __init__(self, gate):
        self.links, self._gate = self, gate
        self.stopped = threading.Event()

    def outlinks(self, *_, **__):
        assert self._gate.wait(60)
        try:
            counted_rows().add(1)
        except ReadAbandoned:
            self.stopped.set()
            raise


def test_reads_of_both_stores_stop_at_the_callers_deadline():
    """They continued in threads that nobody could see."""
    gate = threading.Event()
    primary, standby = Long(gate), Long(gate)
    hedged = HedgedReads(primary, standby, threads=4)
    with running(a_store(b"primary"), Services(read=hedged.read), deadline_ms=300) as api:
        assert api.get(f"/v1/links?url={A}").status == 504
        gate.set()

        assert primary.stopped.wait(60)
        assert standby.stopped.wait(60)
    hedged.close()
