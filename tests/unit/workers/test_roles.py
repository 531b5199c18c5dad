"""The queues and threads of a role, for each kind of broker."""

from itertools import product

import pytest

from aragog.beat_schedule import beat_schedule
from aragog.crawl.pipeline.routing import Destination, Queue
from aragog.errors import ConfigError
from aragog.settings import WorkerSettings, load_settings
from aragog.standalone.system import worker_roles
from aragog.tasks.routes import CRAWL_LOG, QUEUES_BY_TASK
from aragog.workers.roles import (
    ROLES,
    combined_role,
    configured_role,
    reserve_store_threads,
    share_threads,
    share_upkeep,
)
from pinlater import gates


@pytest.fixture
def unbounded():
    yield
    for queue in ("fetch", "robots", "store", "upkeep", "watches", "webhooks"):
        gates.limit(queue, None)
        gates.reserve_room(queue, None)


def settings_of(broker):
    return load_settings(environ={"ARAGOG_SETTINGS": "", "ARAGOG_BROKER__URL": broker})


@pytest.mark.parametrize(
    ("broker", "fetch", "upkeep"),
    [
        ("", {"fetch", "robots"}, {"upkeep", "watches"}),
        ("pinlater://h:1", {"fetch", "robots"}, {"upkeep", "watches"}),
        ("redis://h:1", {"fetch"}, {"upkeep", "watches", "robots"}),
        ("amqp://h", {"fetch"}, {"upkeep", "watches", "robots"}),
    ],
)
def test_fetch_workers_fetch_robots_txt_only_if_their_jobs_can_be_limited(broker, fetch, upkeep):
    settings = settings_of(broker)

    assert set(configured_role("fetch", settings).queues) == fetch
    assert set(configured_role("upkeep", settings).queues) == upkeep
    both = (
        configured_role("fetch", settings).concurrency
        + configured_role("upkeep", settings).concurrency
    )
    workers = settings.workers
    assert both == workers.fetch + workers.robots + workers.upkeep
    assert {q for role in ROLES for q in configured_role(role, settings).queues} >= {
        "fetch",
        "robots",
    }


def test_slow_robots_txt_files_take_at_most_a_quarter_of_the_threads(unbounded):
    for threads, robots in product((4, 8, 40), (1, 8, 100)):
        share_threads(threads, robots, {"fetch", "robots"})
        limits = gates.get_limit("fetch"), gates.get_limit("robots")

        assert sum(limits) <= threads
        assert limits[0] >= min(8, threads - limits[1])
        assert 1 <= limits[1] <= threads // 4


def test_robots_txt_queue_alone_is_not_limited(unbounded):
    for queues in ({"fetch"}, {"robots", "upkeep"}):
        share_threads(40, 8, queues)

        assert gates.get_limit("robots") is None


def test_process_starts_with_a_few_batches_and_room_for_urgent_ones(unbounded):
    share_threads(40, 8, {"fetch", "robots"})

    assert gates.get_limit("fetch") == 8 + gates.reserved_room("fetch").jobs


def test_worker_with_few_threads_is_not_limited(unbounded):
    share_threads(3, 8, {"fetch", "robots"})

    assert gates.get_limit("robots") is None


def test_part_of_the_fetch_threads_is_reserved_for_urgent_batches(unbounded):
    share_threads(40, 8, {"fetch", "robots"})

    assert gates.reserved_room("fetch").jobs == 4


@pytest.mark.parametrize(("threads", "kept"), [(2, 0), (16, 2), (40, 4), (400, 4)])
def test_batches_waiting_for_a_pack_leave_room_for_urgent_ones(unbounded, threads, kept):
    """A page that somebody waited for came two seconds late when all threads waited for a pack."""
    reserve_store_threads(threads, {"store"})

    assert gates.reserved_room("store").jobs == kept


def test_process_with_several_roles_has_their_queues_and_threads():
    settings = settings_of("")

    both = combined_role(["upkeep", "webhooks"], settings)

    assert both.queues == ("upkeep", "watches", "webhooks")
    assert both.concurrency == settings.workers.upkeep + settings.workers.webhooks
    assert both.niceness == ROLES["upkeep"].niceness


def test_role_with_a_process_pool_cannot_be_shared():
    assert combined_role(["canonicalize"], settings_of("")).pool == "prefork"
    with pytest.raises(ConfigError, match="canonicalize,beat: beat needs a role that uses threads"):
        combined_role(["canonicalize", "beat"], settings_of(""))


@pytest.mark.parametrize(
    ("roles", "broker", "reason"),
    [
        (["fetch", "canonicalize"], "", "fetch,canonicalize: only upkeep and webhooks can share"),
        (["store", "webhooks"], "", "store,webhooks: only upkeep and webhooks can share"),
        (["fetch", "store", "beat"], "", "only upkeep and webhooks can share"),
        (["upkeep", "upkeep"], "", "upkeep,upkeep: only upkeep and webhooks can share"),
        (["upkeep", "webhooks"], "redis://h:1", "only be limited on a pinlater broker"),
    ],
)
def test_roles_that_would_block_each_other_cannot_share_a_process(roles, broker, reason):
    """Regression: other roles were accepted, so slow webhooks or fetches could block store."""
    with pytest.raises(ConfigError, match=reason):
        combined_role(roles, settings_of(broker))


@pytest.mark.parametrize(
    ("threads", "upkeep", "webhooks", "expected"),
    [
        (8, 4, 4, (4, 4)),
        (36, 4, 32, (4, 32)),
        (9, 1, 8, (1, 8)),
        (18, 16, 2, (16, 2)),
        (4, 1, 100, (1, 3)),
        (2, 100, 1, (1, 1)),
    ],
)
def test_upkeep_and_webhooks_have_the_threads_in_their_settings(
    unbounded, threads, upkeep, webhooks, expected
):
    """Regression: webhooks had at most half of the threads, and upkeep the rest, for any settings."""
    workers = WorkerSettings(upkeep=upkeep, webhooks=webhooks)
    share_upkeep(threads, workers, {"upkeep", "webhooks"})

    assert (gates.get_limit("upkeep"), gates.get_limit("webhooks")) == expected


def test_worker_with_only_one_of_them_is_not_limited(unbounded):
    share_upkeep(8, WorkerSettings(), {"webhooks", "store"})

    assert gates.get_limit("upkeep") is None
    assert gates.get_limit("webhooks") is None


@pytest.mark.parametrize(
    ("threads", "queues", "upkeep"),
    [
        (8, {"upkeep", "watches"}, 7),
        (13, {"upkeep", "watches", "webhooks"}, 9),
        (16, {"upkeep", "watches", "robots"}, 7),
        (2, {"upkeep", "watches"}, 1),
    ],
)
def test_watches_take_one_thread_of_upkeep(unbounded, threads, queues, upkeep):
    """Regression: a million watches took all threads of upkeep and delayed every refresh."""
    share_upkeep(threads, WorkerSettings(), queues)

    assert (gates.get_limit("upkeep"), gates.get_limit("watches")) == (upkeep, 1)
    assert gates.get_limit("robots") == (8 if "robots" in queues else None)
    assert gates.get_limit("upkeep") + 1 <= threads


def test_producers_send_no_messages_to_the_queue_of_beat():
    """They would share a queue with messages of beat, which expire after 30 s."""
    assert Queue.UPKEEP not in {destination.queue for destination in Destination}
    assert {task for task, queue in QUEUES_BY_TASK.items() if queue is Queue.UPKEEP} == {
        entry["task"] for entry in beat_schedule.values()
    } | {CRAWL_LOG}


@pytest.mark.parametrize(
    ("broker", "upkeep", "alone"),
    [
        ("", ("upkeep", "webhooks", "beat"), set()),
        ("redis://h:1", ("upkeep", "beat"), {"webhooks"}),
    ],
)
def test_one_machine_has_few_processes_if_their_queues_can_be_limited(broker, upkeep, alone):
    roles = worker_roles(settings_of(broker))

    assert roles["upkeep"] == upkeep
    assert set(roles) == {"fetch", "upkeep", "canonicalize", "store"} | alone
    assert "beat" not in worker_roles(settings_of(broker), beat=False)["upkeep"]
