"""
Invariants of crawl counts, checked against stored and waiting URLs.

The in-flight set, the messages, the lines and the store are read completely, so that no count is
compared with itself. Run this only while nothing but the servers runs, because moving URLs would be
missed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from aragog.bootstrap.crawls import crawl_control
from aragog.bootstrap.redis_services import lines_of
from aragog.bootstrap.stores import url_store
from aragog.crawl.pipeline.routing import Queue
from aragog.crawl.pipeline.shared_state import SharedState
from aragog.crawl.shared_redis.leases import field
from aragog.crawl.stages.crawl_control import CrawlControl
from aragog.crawl.stages.waiting_line import parse_line_job
from aragog.settings import Settings
from aragog.urlstore.crawl_members import crawls_in
from pinlater.admin import Admin
from pinlater.envelope import arguments
from pinlater.models import JobState

PAGE_SIZE = 500
_READ_TAKEN = """
local entries = {}
for _, record in ipairs(redis.call('HVALS', KEYS[1])) do
  local taken = cmsgpack.unpack(record)[1]
  for n = 2, #taken, 2 do entries[#entries + 1] = taken[n] end
end
return entries
"""
"""Returns what killed processes had taken from lines, which goes back to them after a minute."""


@dataclass(frozen=True)
class CrawlState:
    """The in-flight entries, lost URLs and stored pages of all crawls."""

    entries: Mapping[int, int]
    """The number of in-flight entries, by the number of each crawl that wants them."""
    without_job: int
    """Enqueued URLs that are in no message and no queue, so nobody would fetch them."""
    members: Mapping[str, int]
    """The number of pages by the crawls they were stored for."""


def read_state(settings: Settings) -> CrawlState:
    """Read the in-flight set, the lines, the messages and the store."""
    settings = settings.resolved()
    control = crawl_control(settings)
    ended = control.registry.read().ended
    entries = Counter[int]()
    wanted = set[bytes]()
    for name, entry in _entries(settings):
        numbers = [int(member.split(b".")[0]) for member in entry.partition(b":")[2].split()]
        entries.update(numbers)
        if not ended.issuperset(numbers):
            wanted.add(name)
    for url in _urls_of_jobs(settings):
        wanted.discard(field(url))
    return CrawlState(entries, len(wanted), _members(settings))


def _entries(settings: Settings) -> Iterator[tuple[bytes, bytes]]:
    seen = set[bytes]()
    for client in SharedState.from_settings(settings).nodes.clients:
        key = f"{settings.redis.prefix}in_flight"
        for name, entry in client.hscan_iter(key, count=PAGE_SIZE):
            if name not in seen:  # a scan may return a name twice
                seen.add(name)
                yield name, entry


def _urls_of_jobs(settings: Settings) -> Iterator[str]:
    """Yield URLs in lines and messages."""
    lines = lines_of(settings)
    for server in lines.servers:
        for key in list(server.domains()):
            for payload in server.walk(key):
                yield parse_line_job(payload).url
    for client in SharedState.from_settings(settings).nodes.clients:
        for entry in client.eval(_READ_TAKEN, 1, f"{settings.redis.prefix}lines2:taken"):
            yield parse_line_job(entry.partition(b"|")[2]).url
    for shard in Admin.connect(settings.broker.url, settings.broker.shards).cluster.shards:
        for queue in (Queue.FETCH, Queue.ROBOTS, Queue.CANONICALIZE, Queue.STORE):
            for state in (JobState.PENDING, JobState.RUNNING):
                offset = 0
                while jobs := shard.jobs(queue, state, limit=PAGE_SIZE, offset=offset):
                    offset += len(jobs)
                    for job in jobs:
                        yield from _urls_in(arguments(job.body)[0])


def _urls_in(message: Mapping[str, object]) -> Iterator[str]:
    """Yield every `url` in a message."""
    for key, value in message.items():
        if key == "url" and isinstance(value, str):
            yield value
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, dict):
                yield from _urls_in(part)


def _members(settings: Settings) -> Counter[str]:
    """Return how many pages are recorded as stored for each crawl."""
    store = url_store(settings)
    members: Counter[str] = Counter()
    for _, row in store.zen.nodes.scan(b"", names=None):
        members.update(crawls_in(row))
    store.close()
    return members


def find_violations(
    control: CrawlControl,
    names: list[str],
    enqueued: Mapping[str, int],
    state: CrawlState,
    *,
    is_whole: bool,
) -> list[str]:
    """
    Return the violated invariants.

    Args:
        control: the system's crawl control.
        names: the system's crawls.
        enqueued: the number of URLs enqueued for each.
        state: the data that was read.
        is_whole: True if nothing waits, so that nothing was killed before the last count.
    """
    found = []
    crawls = control.registry.read()
    for name in names:
        record = crawls.records[name]
        # URLs waiting for a crawl that ended count as cancelled, even before upkeep removes them.
        counts = control.counts.totals(record.numbers, ended=crawls.ended)
        raw = control.counts.totals(record.numbers)
        entries = sum(state.entries.get(number, 0) for number in record.numbers)
        if not counts.is_exact:
            found.append(f"{name}: {counts}")
        if counts.enqueued != enqueued[name]:
            found.append(f"{name}: {enqueued[name]} URLs were enqueued, {counts.enqueued} counted")
        if raw.waiting != entries:
            found.append(f"{name}: {raw.waiting} counted as waiting, {entries} are in flight")
        pages = state.members.get(name, 0)
        # A page is noted before it is counted, so a kill or cancellation in between gives one more.
        if pages < counts.stored or (is_whole and not record.has_ended and pages > counts.stored):
            found.append(f"{name}: {counts.stored} counted as stored, {pages} are")
    if state.without_job:
        found.append(f"{state.without_job} URLs wait and have no message and no place in a line")
    return found
