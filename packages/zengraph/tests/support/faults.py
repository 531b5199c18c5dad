"""Writes that fail as in a killed process."""

from __future__ import annotations


class Killed(BaseException):
    """The process was killed. A BaseException, so that no handler catches it."""


class Fuse:
    """Allows `left` more writes, then raises `Killed`; None means no limit."""

    def __init__(self) -> None:
        self.left: int | None = None
        self.passed = 0

    def burn(self) -> None:
        if self.left is not None:
            if self.left == 0:
                raise Killed
            self.left -= 1
        self.passed += 1
