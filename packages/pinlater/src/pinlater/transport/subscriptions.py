"""
Wait for the server to confirm subscriptions to broadcasts.

kombu reads a subscription's confirmation only with the first broadcast. A worker that is ready
before its subscription is active would miss broadcasts, which are not stored.
"""

from __future__ import annotations

from typing import Any

from redis.exceptions import TimeoutError as RedisTimeoutError

_CONFIRMATIONS = (b"psubscribe", "psubscribe")


def wait_until_confirmed(channel: Any, timeout_s: float) -> None:
    """
    Wait until the server has confirmed a channel's new subscriptions.

    Broadcasts that arrive in the meantime are delivered.

    Raises:
        redis.exceptions.TimeoutError: no confirmation within `timeout_s`; the connection is lost.
    """
    listener = channel.subclient
    topics = {
        topic
        for queue in channel.active_fanout_queues
        for topic in channel._get_subscribe_topics(queue)
    }
    unconfirmed = len(topics)
    while unconfirmed:
        if not listener.connection.can_read(timeout=timeout_s):
            raise RedisTimeoutError(f"a subscription was not confirmed within {timeout_s:g} s")
        response = listener.parse_response()
        if response[0] in _CONFIRMATIONS:
            unconfirmed -= 1
        else:
            channel._receive_one(_ReplayingListener(listener, response))


class _ReplayingListener:
    """A listener that returns the response that was already read."""

    def __init__(self, listener: Any, response: Any) -> None:
        self._listener = listener
        self._response = response

    def parse_response(self) -> Any:
        return self._response

    def handle_message(self, response: Any) -> Any:
        return self._listener.handle_message(response)
