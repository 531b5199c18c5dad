"""
The services of this process, connected on first use: after the fork, never before it.

Sockets and SQLite connections do not survive a fork, so a prefork child connects for itself. The
process id is checked at each call, which costs 0.1 µs.
"""

from __future__ import annotations

import os
import threading
from dataclasses import replace

from aragog.bootstrap import connect, outage_board
from aragog.pipeline.faults.outages import OUTAGES
from aragog.pipeline.routing import CelerySender, OutgoingMessage
from aragog.pipeline.services import Services
from aragog.settings import load_settings
from workers.app import app

_lock = threading.Lock()
_connected: dict[int, Services] = {}


def services() -> Services:
    """
    The connected services.

    Raises:
        ConfigError: the settings cannot be used.
        TransientError: something that they name does not answer.
    """
    found = _connected.get(os.getpid())
    if found is None:
        with _lock:
            found = _connected.get(os.getpid())
            if found is None:
                _connected.clear()  # the parent's: not ours to use, nor to close
                settings = load_settings()
                found = connect(settings, CelerySender(app))
                OUTAGES.board = outage_board(settings)
                _connected[os.getpid()] = found
    return found


def send_all(messages: list[OutgoingMessage]) -> None:
    """
    Send what a stage returned. On BrokerUnavailable the task runs again and sends it all.

    It takes the place of the message at hand, or leads to memory being freed, so a full server
    takes it. Refusing a part of it would have the rest done twice.
    """
    services().sender.send_all([replace(one, even_when_full=True) for one in messages])
