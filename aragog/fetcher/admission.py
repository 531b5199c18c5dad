"""
What a fetch asks before each request: may this redirect target be asked, and may it be asked now?
And what it reports at once: an origin that wants to be left alone.

The first URL of a fetch was admitted by whoever started it; redirect targets are found on the way,
so they are asked for here. Politeness implements `Gate`; the fetcher only knows this port.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Go:
    """The target may be asked; `acquire_permit` will be called when its connection is open."""


@dataclass(frozen=True, slots=True)
class Deny:
    """The target must not be asked: the fetch ends as Refused."""

    why: str


@dataclass(frozen=True, slots=True)
class Later:
    """The target may be asked later: the fetch ends as Redirected, with the way so far."""

    retry_at_ms: int | None
    """The slot reserved for it; None when it waits for something else, such as robots rules."""
    why: str


Admission = Go | Deny | Later


class Gate(Protocol):
    """Asked from the thread that fetches; raises only for our own infrastructure."""

    def admit(self, url: str, given: str) -> Admission:
        """
        Whether the redirect target `url`, normalized and vetted, may be asked.

        `given` is the target as the origin spelled it, absolute: robots.txt counts for both.

        May wait for a slot that is near; that time is not taken from the fetch's deadline.
        """

    def acquire_permit(self, url: str) -> Later | None:
        """
        Called on the open connection (TCP and TLS), right before the request's bytes are written.

        None: write them. Later: its slot has passed; the fetch ends as Redirected to `url` itself.

        May wait, as `admit`. Called again when a request is repeated because a kept connection
        turned out closed.
        """

    def release_permit(self, url: str) -> None:
        """Called right after the request's bytes were handed to the kernel."""

    def busy(self, url: str, wait_s: float | None) -> None:
        """
        Called as soon as the headers of a 429 or 503 from `url` have arrived.

        `wait_s` is the wait that Retry-After asks for; None when it names none.
        """


class OpenGate:
    """A gate that lets everything through at once."""

    def admit(self, url: str, given: str) -> Admission:  # noqa: ARG002 - the port's signature
        return Go()

    def acquire_permit(self, url: str) -> None:
        pass

    def release_permit(self, url: str) -> None:
        pass

    def busy(self, url: str, wait_s: float | None) -> None:
        pass
