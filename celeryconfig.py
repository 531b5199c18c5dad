"""
The settings of Celery itself. aragog's settings are in aragog.toml.
The broker settings are derived from `broker.url` (docs/deployment.md). Their fallbacks here are
Celery's defaults.

In a source checkout, this module can also be imported as `celeryconfig`
(aragog/runtime/short_names.py).
"""

from typing import Any

from aragog.beat_schedule import beat_schedule
from aragog.runtime.secret import reveal
from aragog.runtime.short_names import share
from aragog.settings.in_use import process_settings
from aragog.tasks.routes import QUEUES_BY_TASK
from pinlater.brokers import celery_settings, kind_of

share(__name__)

_broker = process_settings().resolved().broker
_broker_settings = celery_settings(
    _broker.url, _broker.shards, _broker.claim_timeout_s, control=_broker.control
)

broker_url = _broker_settings["broker_url"]
broker_transport_options = _broker_settings["broker_transport_options"]
# Without a result backend, waiting callers get an error that names the setting.
result_backend = reveal(_broker.result_backend) or "aragog.workers.no_results:NoResultBackend"
if kind_of(broker_url) == "pinlater":
    # After `celery purge`, the URLs of deleted jobs can be enqueued again at once. The function is
    # given by name, because workers report their transport options as JSON to `celery inspect` and
    # Flower.
    broker_transport_options |= {
        "before_delete": "aragog.crawl.pipeline.deleted_jobs:clear_in_flight"
    }
# For RabbitMQ: quorum queues, and topic exchanges for its native delayed delivery.
task_default_queue_type = _broker_settings.get("task_default_queue_type", "classic")
task_default_exchange_type = _broker_settings.get("task_default_exchange_type", "direct")
broker_native_delayed_delivery_queue_type = _broker_settings.get(
    "broker_native_delayed_delivery_queue_type", "quorum"
)
worker_detect_quorum_queues = _broker_settings.get("worker_detect_quorum_queues", True)

# During a rolling upgrade, an old worker leaves jobs with new tasks to new workers.
pinlater_unknown_task_delay_s = 20.0

beat_scheduler = "aragog.workers.steady_scheduler:SteadyScheduler"

imports = (
    "aragog.tasks.fetch",
    "aragog.tasks.robots",
    "aragog.tasks.canonicalize",
    "aragog.tasks.store",
    "aragog.tasks.finished",
    "aragog.tasks.refresh",
    "aragog.tasks.watches",
    "aragog.tasks.render",
    "aragog.tasks.webhooks",
    "aragog.tasks.reextract",
    "aragog.tasks.maintenance",
)
task_routes = {name: {"queue": queue.value} for name, queue in QUEUES_BY_TASK.items()}

# Flower lists all tasks of the crawl, but periodic tasks only if they fail.
task_annotations = {
    entry["task"]: {
        "send_events": False,
        "Request": "aragog.workers.upkeep_request:UpkeepJobRequest",
    }
    for entry in beat_schedule.values()
}

# JSON only: an untrusted message must not be able to run code.
task_serializer = "json"
accept_content = ["json"]
result_serializer = "json"

# Delivery is at least once: a message is acknowledged after its task has run, and is redelivered if
# the worker is lost.
task_acks_late = True
task_reject_on_worker_lost = True
task_acks_on_failure = False
task_acks_on_timeout = False
# Each stage sends its results to the next stage or the store; no caller waits for them.
task_ignore_result = True
# A batch takes seconds, so a worker prefetches one batch per process or thread.
worker_prefetch_multiplier = 1
# After a lost connection, let running tasks finish and acknowledge them over the new connection.
worker_cancel_long_running_tasks_on_connection_loss = False
# How many seconds to wait for the result of a child process that has exited. A page may have
# crashed it.
worker_lost_wait = 2.0
broker_connection_retry_on_startup = True

# Flower enables events while it runs. If nothing receives them, they waste a tenth of the main
# thread's time.
worker_send_task_events = False
task_send_sent_event = False
worker_hijack_root_logger = True
worker_redirect_stdouts = False
timezone = "UTC"
enable_utc = True


def __getattr__(name: str) -> Any:
    """Return the app as `celery`, for `celery -A celeryconfig`."""
    if name == "celery":
        from aragog.workers.app import app  # noqa: PLC0415 - the app reads these settings

        return app
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
