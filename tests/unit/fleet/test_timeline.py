"""The table of a run has the reads of each event."""

from tests.fleet.reader import Read
from tests.fleet.timeline import Event, Timeline

READS = [Read(1.0, 2.0, ""), Read(2.0, 30.0, "status 503"), Read(9.0, 1.0, "ConnectionResetError")]


def a_timeline(*, harmless):
    return Timeline(0.0, [Event("restart api1", 0.5, harmless, 5.0, "drained in 1 s")])


def test_a_failed_read_during_something_harmless_breaks_a_law():
    assert a_timeline(harmless=True).broken(READS) == ["restart api1: 1 reads: status 503"]
    assert not a_timeline(harmless=False).broken(READS)


def test_the_table_counts_the_reads_that_were_due_meanwhile():
    assert (
        a_timeline(harmless=True)
        .table(READS)
        .endswith("| 0 | 4.5 | restart api1 | 2 | 1 | 30 | drained in 1 s; 1 reads: status 503 |\n")
    )


def test_a_read_that_was_under_way_when_a_server_was_restarted_may_fail():
    """What was seen: a read that was due 20 ms before PostgreSQL's restart failed by it."""
    timeline = a_timeline(harmless=True)
    timeline.events.append(Event("restart postgres", 5.0, harmless=False, ended_s=6.0))

    assert not timeline.broken([Read(4.98, 40.0, "status 503")])
    assert timeline.broken([Read(4.9, 40.0, "status 503")])
