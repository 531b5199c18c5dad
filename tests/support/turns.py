"""Threads that take turns, chosen by a seed: each runs until its next call of `Turns.pass_on`."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence


class Turns:
    """Runs functions in threads, one thread at a time, until its next `pass_on`."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._turn = threading.Condition()
        self._running: list[int] = []
        self._current = -1
        self._own = threading.local()
        self.errors: list[BaseException] = []

    def pass_on(self) -> None:
        """Perhaps let another thread run. Does nothing outside `run`."""
        number = getattr(self._own, "number", None)
        if number is None:
            return
        with self._turn:
            self._choose()
            self._turn.wait_for(lambda: self._current == number, timeout=60)

    def run(self, acts: Sequence[Callable[[], None]]) -> None:
        """Run all functions to their ends. Raises the first exception."""
        self._running = list(range(len(acts)))
        self._current = self._random.choice(self._running)
        threads = [threading.Thread(target=self._act, args=each) for each in enumerate(acts)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self.errors:
            raise self.errors[0]

    def _act(self, number: int, act: Callable[[], None]) -> None:
        self._own.number = number
        try:
            with self._turn:
                self._turn.wait_for(lambda: self._current == number, timeout=60)
            act()
        except BaseException as error:
            self.errors.append(error)
        finally:
            with self._turn:
                self._running.remove(number)
                self._choose()

    def _choose(self) -> None:
        self._current = self._random.choice(self._running) if self._running else -1
        self._turn.notify_all()
