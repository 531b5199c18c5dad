"""
The interface through which a fetch asks for permission to follow redirects and send requests.

The caller has already admitted the first URL. The fetch asks the gate to admit each redirect
target, asks for a permit before each request, and reports 429 and 503 responses.
`aragog.crawl.stages.polite_gate` implements the interface with robots rules and the rate limiter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from aragog.fetch_record.causes import DeferralCause, RefusalCause


@dataclass(frozen=True, slots=True)
class Go:
    """The target may be requested once its connection is open and `acquire_permit` allows it."""


@dataclass(frozen=True, slots=True)
class Deny:
    """The target must not be requested. The fetch ends as Refused."""

    reason: str
    cause: RefusalCause


@dataclass(frozen=True, slots=True)
class Later:
    """The target must be requested later. The fetch ends as Redirected or Deferred."""

    cause: DeferralCause
    reason: str
    retry_at_ms: int | None = None
    """See `aragog.fetch_record.outcome.Deferred`."""


Admission = Go | Deny | Later


class Gate(Protocol):
    """Called from the fetch's thread. Raises only if our own infrastructure fails."""

    def admit(self, url: str, target_as_sent: str) -> Admission:
        """
        Decide whether a redirect target, or the same URL with a signature, may be requested.

        `url` is the normalized URL, which the SSRF filter allows. `target_as_sent` is its
        original form. robots.txt must allow both.

        May wait for the domain's next slot (time to send) if it is soon. This wait does not count
        toward the fetch's deadline.
        """

    def acquire_permit(self, url: str) -> Later | None:
        """
        Acquire the permit to send, when the connection is open (TCP and TLS).

        Returns None if the request may be sent. Returns Later if the request's slot (time to send)
        has passed: the fetch then ends as Deferred, or as Redirected if a redirect led to `url`.

        May wait, like `admit`. It is called again if the request is repeated because the server had
        closed the connection.
        """

    def release_permit(self, url: str) -> None:
        """Called right after the kernel has accepted the request's bytes."""

    def report_busy(self, url: str, wait_s: float | None) -> None:
        """
        Report a 429 or 503 from `url`, when the response headers have arrived.

        `wait_s` is the delay from Retry-After; None if it is missing or unusable.
        """


class OpenGate:
    """A gate that allows every request immediately."""

    def admit(self, url: str, target_as_sent: str) -> Admission:  # noqa: ARG002 - the port's signature
        return Go()

    def acquire_permit(self, url: str) -> None:
        pass

    def release_permit(self, url: str) -> None:
        pass

    def report_busy(self, url: str, wait_s: float | None) -> None:
        pass
