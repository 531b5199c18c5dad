"""The table of a run shows the reads during each event."""

from tests.fleet.reader import Read
from tests.fleet.timeline import Event, Timeline

READS = [Read(1.0, 2.0, ""), Read(2.0, 30.0, "status 503"), Read(9.0, 1.0, "ConnectionResetError")]


def a_timeline(*, may_not_fail):
    return Timeline(0.0, [Event("restart api1", 0.5, may_not_fail, 5.0, "drained in 1 s")])


def test_failed_read_during_a_harmless_event_is_a_violation():
    assert a_timeline(may_not_fail=True).violations(READS) == ["restart api1: 1 reads: status 503"]
    assert not a_timeline(may_not_fail=False).violations(READS)


def test_table_counts_the_reads_due_during_an_event():
    assert (
        a_timeline(may_not_fail=True)
        .table(READS)
        .endswith("| 0 | 4.5 | restart api1 | 2 | 1 | 30 | drained in 1 s; 1 reads: status 503 |\n")
    )


def test_read_in_progress_during_a_server_restart_may_fail():
    """Regression: a read due 20 ms before PostgreSQL's restart failed because of it."""
    timeline = a_timeline(may_not_fail=True)
    timeline.events.append(Event("restart postgres", 5.0, may_not_fail=False, ended_s=6.0))

    assert not timeline.violations([Read(4.98, 40.0, "status 503")])
    assert timeline.violations([Read(4.9, 40.0, "status 503")])
