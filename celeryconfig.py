"""
Celery's own settings, and nothing else: everything of aragog is in aragog.toml.

The broker, and what Celery needs for it, follow from `broker.url`; docs/brokers.md tells what each
kind of broker can do.
"""

from aragog.pinlater.brokers import celery_settings
from aragog.pipeline.routing import QUEUE_OF
from aragog.settings import load_settings
from beat_schedule import beat_schedule  # noqa: F401 - a setting of Celery's

_broker = load_settings().resolved().broker
locals().update(celery_settings(_broker.url, _broker.shards, _broker.claim_timeout_s))

imports = (
    "tasks.fetch",
    "tasks.robots",
    "tasks.canonicalize",
    "tasks.store",
    "tasks.refresh",
    "tasks.watches",
    "tasks.webhooks",
    "tasks.reextract",
    "tasks.maintenance",
)
task_routes = {name: {"queue": queue} for name, queue in QUEUE_OF.items()}

# JSON only: a message from a stranger must not be able to run code.
task_serializer = "json"
accept_content = ["json"]
result_serializer = "json"

# At least once: a message is done with when its task is, and comes back when its worker is lost.
task_acks_late = True
task_reject_on_worker_lost = True
task_acks_on_failure = False
task_acks_on_timeout = False
# What a stage finds out goes to the next stage or the store; nobody waits for results.
task_ignore_result = True
# A batch is seconds of work: one in hand, one more at the door.
worker_prefetch_multiplier = 1
# Running tasks finish and acknowledge over the new connection.
worker_cancel_long_running_tasks_on_connection_loss = False
# A child that a page has killed told its result before, within this, or never.
worker_lost_wait = 2.0
broker_connection_retry_on_startup = True

# Flower asks the workers for events while it runs, every 5 s; for nobody they would be a tenth of a
# worker's main thread.
worker_send_task_events = False
task_send_sent_event = False
worker_hijack_root_logger = True
worker_redirect_stdouts = False
timezone = "UTC"
enable_utc = True
