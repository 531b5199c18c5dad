"""
A dead-letter queue for permanently failed messages, on brokers without FAILED jobs.

Each message is stored unchanged, with two more headers: its original queue and the reason. No
worker consumes the queue by default; a worker started with `-Q dead_letters` runs its messages
again. Pinlater itself needs no dead letters, because it lists FAILED jobs (`pinlater jobs QUEUE
--state failed`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from kombu.exceptions import ChannelError, KombuError

from pinlater.job_codec import shorten_problem

logger = logging.getLogger(__name__)

QUEUE = "dead_letters"
REASON_HEADER = "x-death-reason"
ORIGINAL_QUEUE_HEADER = "x-death-queue"
MAX_MESSAGES = 10_000
"""Redis keeps this many of the newest messages. RabbitMQ keeps all unless a policy limits them."""
MAX_LOGGED_CHARACTERS = 2000
"""Maximum characters of a message in the log."""
_COPIED_PROPERTIES = ("correlation_id", "reply_to", "priority")


def store(app: Any, message: Any, problem: str) -> bool:
    """
    Log a message and put it into the dead-letter queue.

    Returns False if the broker did not accept it.

    Args:
        app: the Celery app whose broker stores the message.
        message: the kombu message as delivered.
        problem: the reason for the failure.
    """
    info = message.delivery_info or {}
    source_queue = str(info.get("routing_key") or info.get("exchange") or "")
    body_text = str(message.body)[:MAX_LOGGED_CHARACTERS]
    try:
        _publish(
            app,
            message,
            {REASON_HEADER: shorten_problem(problem), ORIGINAL_QUEUE_HEADER: source_queue},
        )
    # Catch all errors, so that the message is not lost.
    except Exception as error:  # noqa: BLE001
        logger.error(  # noqa: TRY400
            "a message of %s failed (%s), was not stored in %s (%s), and stays in its queue: %s",
            source_queue, problem, QUEUE, error, body_text,
        )  # fmt: skip
        return False
    logger.error(
        "a message of %s failed (%s) and was stored in the queue %s: %s",
        source_queue, problem, QUEUE, body_text,
    )  # fmt: skip
    return True


def delete(app: Any, is_unwanted: Callable[[Any], bool]) -> int:
    """
    Delete dead letters whose decoded body is unwanted; return how many.

    One call reads up to `MAX_MESSAGES` messages and requeues those it keeps. If the process is
    killed, the broker requeues them when the connection ends, or on Redis an hour later.
    """
    deleted, others = 0, []
    with app.connection_for_write() as connection, connection.channel() as channel:
        queue = app.amqp.queues.new_missing(QUEUE).bind(channel)
        try:
            count = queue.queue_declare(passive=True).message_count
        except (ChannelError, *connection.channel_errors):
            return 0  # no message was ever stored
        for _ in range(min(count, MAX_MESSAGES)):
            message = queue.get(no_ack=False)
            if message is None:
                break
            if _matches(message, is_unwanted):
                message.ack()
                deleted += 1
            else:
                others.append(message)
        for message in others:
            message.requeue()
    return deleted


def _matches(message: Any, is_unwanted: Callable[[Any], bool]) -> bool:
    try:
        return is_unwanted(message.decode())
    except (KombuError, ValueError, LookupError):
        return False


def _publish(app: Any, message: Any, extra_headers: dict[str, str]) -> None:
    original = message.properties or {}
    properties = {
        name: original[name] for name in _COPIED_PROPERTIES if original.get(name) is not None
    }
    queue = app.amqp.queues.new_missing(QUEUE)
    with app.producer_or_acquire() as producer:
        producer.publish(
            message.body,
            exchange=queue.exchange,
            routing_key=queue.routing_key,
            declare=[queue],
            content_type=message.content_type,
            content_encoding=message.content_encoding,
            headers={**(message.headers or {}), **extra_headers},
            retry=True,
            retry_policy={"max_retries": 1},
            **properties,
        )
        _trim(producer.channel)


def _trim(channel: Any) -> None:
    """Delete the oldest messages on Redis, where a queue is a list, newest first."""
    if hasattr(channel, "conn_or_acquire") and hasattr(channel, "_q_for_pri"):
        with channel.conn_or_acquire() as client:
            for step in channel.priority_steps:
                client.ltrim(channel._q_for_pri(QUEUE, step), 0, MAX_MESSAGES - 1)
