"""
Names to addresses, each question with a time limit, answers remembered for a little while.

The system's resolver is asked, so /etc/hosts and its rules hold; it tells no TTL, so answers are
kept for a short fixed time.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from queue import Empty, SimpleQueue

from aragog.clock import Clock

# Long enough for the pages of one batch, short enough to follow a host that moves.
KEPT_S = 60.0
# A name that did not resolve is worth asking again soon, but not for each URL of a burst.
KEPT_FAILURE_S = 5.0
MAX_KEPT = 10_000

Lookup = Callable[[str], list[str]]
"""Host name to addresses; raises OSError when there is none."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """The answer of one question: addresses in the order to try them, or why there are none."""

    addresses: tuple[str, ...]
    why: str = ""


def system_lookup(host: str) -> list[str]:
    """The addresses that this machine's resolver gives, each once, in its order."""
    infos = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(info[4][0]) for info in infos))


class Resolver:
    """
    Safe to use from many threads and across forks.

    Args:
        lookup: may block as long as it likes.
        timeout_s: after which the question counts as unanswered; its thread is left to end.
    """

    def __init__(self, lookup: Lookup, clock: Clock, *, timeout_s: float) -> None:
        self._lookup = lookup
        self._clock = clock
        self._timeout_s = timeout_s
        self._kept: dict[str, tuple[float, Resolution]] = {}
        self._lock = threading.Lock()

    def find(self, host: str) -> Resolution:
        """The addresses of `host`; 1 µs when known, `timeout_s` at most when not."""
        kept = self._kept.get(host)
        now_s = self._clock.monotonic_s()
        if kept is not None and now_s < kept[0]:
            return kept[1]
        found = self._ask(host)
        until_s = self._clock.monotonic_s() + (KEPT_S if found.addresses else KEPT_FAILURE_S)
        with self._lock:
            self._kept.pop(host, None)
            if len(self._kept) >= MAX_KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[host] = (until_s, found)
        return found

    def _ask(self, host: str) -> Resolution:
        answers: SimpleQueue[Resolution] = SimpleQueue()

        def ask() -> None:
            try:
                answers.put(Resolution(tuple(self._lookup(host))))
            except OSError as error:
                answers.put(Resolution((), error.strerror or str(error)))
            except ValueError:
                # getaddrinfo encodes names itself and refuses labels over 63 characters.
                answers.put(Resolution((), "the name cannot be asked for"))

        threading.Thread(target=ask, name=f"dns {host}", daemon=True).start()
        try:
            found = answers.get(timeout=self._timeout_s)
        except Empty:
            return Resolution((), f"no answer from DNS within {self._timeout_s:g} s")
        return found if found.addresses or found.why else Resolution((), "the name has no address")
