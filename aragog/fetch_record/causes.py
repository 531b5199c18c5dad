"""Why a request was not sent: what it waits for, or what forbids it."""

from __future__ import annotations

from enum import StrEnum


class DeferralCause(StrEnum):
    """The reason why a request was not sent yet."""

    SLOT = "slot"
    """It waits for a slot of its domain, and the next one is far away."""
    RULES = "rules"
    """It waits for its origin's robots.txt, which is not known yet."""
    VISIT_TIME = "visit time"
    """It waits for the Visit-time in its origin's robots.txt."""
    EGRESS = "egress"
    """It waits for a proxy, because none of those that the rules allow works."""
    SIGN_IN = "sign-in"
    """It waits for a session of its origin: another process signs in, or signing in failed."""
    DEADLINE = "deadline"
    """The caller's time was over before it could be sent."""


class RefusalCause(StrEnum):
    """What forbids a request."""

    ROBOTS = "robots"
    """A rule of robots.txt."""
    PURPOSE = "purpose"
    """The site does not allow a purpose of the crawl."""
    TAKEN_DOWN = "taken down"
    """The URL or its site was taken down."""
    BLOCKED_HOST = "blocked host"
    """An operator blocked the host."""
    NO_CONTACT = "no contact"
    """`fetch.user_agent` has no contact address, and the host is not on loopback."""
    URL = "url"
    """The URL itself: its scheme, credentials, port, host name or address."""
    ADDRESS = "address"
    """An address that its host resolves to."""
