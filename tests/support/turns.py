"""Tables whose users take turns: threads that are switched at every call, as a seed decides."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence

from aragog.zen.tables import CellTable, Tables


class Turns:
    """Runs functions in threads of which one at a time runs, until its next call of a table."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._turn = threading.Condition()
        self._running: list[int] = []
        self._current = -1
        self._own = threading.local()
        self.errors: list[BaseException] = []

    def pass_on(self) -> None:
        """Let another thread run, perhaps; outside of `run` nothing."""
        number = getattr(self._own, "number", None)
        if number is None:
            return
        with self._turn:
            self._choose()
            self._turn.wait_for(lambda: self._current == number, timeout=60)

    def run(self, acts: Sequence[Callable[[], None]]) -> None:
        """Run all of these to their ends; raises the first exception of one."""
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


class TurnTable(CellTable):
    """A table that passes the turn on before each call; each row of a batch is a call."""

    def __init__(self, inner: CellTable, turns: Turns) -> None:
        self._inner = inner
        self._turns = turns

    def get(self, row, columns=None):
        self._turns.pass_on()
        return self._inner.get(row, columns)

    def get_many(self, rows, columns=None):
        self._turns.pass_on()
        return self._inner.get_many(rows, columns)

    def _scan(self, rows):
        self._turns.pass_on()
        return self._inner._scan(rows)

    def put(self, row, cells, *, at_ms):
        self._turns.pass_on()
        self._inner.put(row, cells, at_ms=at_ms)

    def put_many(self, items):
        for row, cells, at_ms in items:
            self.put(row, cells, at_ms=at_ms)

    def delete(self, row, columns=None, *, at_ms):
        self._turns.pass_on()
        self._inner.delete(row, columns, at_ms=at_ms)

    def delete_many(self, items):
        for row, columns, at_ms in items:
            self.delete(row, columns, at_ms=at_ms)

    def check_and_put_many(self, items):
        done = []
        for item in items:
            self._turns.pass_on()
            done += self._inner.check_and_put_many([item])
        return done

    def incr(self, row, column, delta):
        self._turns.pass_on()
        return self._inner.incr(row, column, delta)


class TurnTables(Tables):
    """All tables of an engine, whose users take turns."""

    def __init__(self, inner: Tables, turns: Turns) -> None:
        self._inner = inner
        self._turns = turns

    def __getitem__(self, name: str) -> TurnTable:
        return TurnTable(self._inner[name], self._turns)
