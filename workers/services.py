"""
The pipeline of this process, connected on first use: after the fork, never before it.

Sockets and SQLite connections do not survive a fork, so a prefork child connects for itself. The
process id is checked at each call, which costs 0.1 µs.
"""

from __future__ import annotations

import os
import threading
from dataclasses import replace

from aragog.bootstrap import connect, outage_board
from aragog.pipeline.faults.outages import OUTAGES
from aragog.pipeline.pipeline import Pipeline
from aragog.pipeline.routing import CelerySender, OutgoingMessage
from aragog.settings import load_settings
from workers.app import app

_lock = threading.Lock()
_connected: dict[int, Pipeline] = {}


def pipeline() -> Pipeline:
    """
    The connected stages.

    Raises:
        ConfigError: the settings cannot be used.
        TransientError: something that they name does not answer.
    """
    current = _connected.get(os.getpid())
    if current is None:
        with _lock:
            current = _connected.get(os.getpid())
            if current is None:
                _connected.clear()  # the parent's: a child neither uses nor closes them
                settings = load_settings()
                current = connect(settings, CelerySender(app))
                OUTAGES.board = outage_board(settings)
                _connected[os.getpid()] = current
    return current


def send_all(messages: list[OutgoingMessage]) -> None:
    """
    Send what a stage returned. On BrokerUnavailable the task runs again and sends it all.

    A full server accepts them: they replace the message that is being processed, or lead to memory
    being freed. If a part of them were refused, the rest would be done twice.
    """
    pipeline().sender.send_all([replace(one, even_when_full=True) for one in messages])
