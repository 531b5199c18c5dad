"""Writes that die, as those of a process that is killed."""

from __future__ import annotations


class Killed(BaseException):
    """The process was killed. A BaseException, so that no handler catches it."""


class Fuse:
    """Lets `left` writes pass, then kills; None: never."""

    def __init__(self) -> None:
        self.left: int | None = None
        self.passed = 0

    def burn(self) -> None:
        if self.left is not None:
            if self.left == 0:
                raise Killed
            self.left -= 1
        self.passed += 1
