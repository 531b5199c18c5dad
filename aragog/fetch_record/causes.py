"""Why a request was not sent."""

from __future__ import annotations

from enum import StrEnum


class DeferralCause(StrEnum):
    """Why a request was deferred."""

    SLOT = "slot"
    """Its domain's request rate allows no request soon."""
    RULES = "rules"
    """It is waiting for its origin's robots.txt."""
    VISIT_TIME = "visit time"
    """It is waiting for the Visit-time that its origin's robots.txt sets."""
    EGRESS = "egress"
    """None of the egress routes that the rules allow is working."""
    SIGN_IN = "sign-in"
    """Another process is signing in to the origin, or signing in failed."""
    DEADLINE = "deadline"
    """The caller's time limit ended before the request could be sent."""


class RefusalCause(StrEnum):
    """Why a request is forbidden."""

    ROBOTS = "robots"
    """A rule of robots.txt forbids it."""
    PURPOSE = "purpose"
    """The site does not allow one of the crawl's purposes."""
    TAKEN_DOWN = "taken down"
    """The URL or its site was taken down."""
    BLOCKED_HOST = "blocked host"
    """An operator blocked the host."""
    NO_CONTACT = "no contact"
    """`fetch.user_agent` has no contact address, and the host is not a loopback address."""
    URL = "url"
    """The URL's scheme, credentials, port, host name or address is forbidden."""
    ADDRESS = "address"
    """The host resolves to a forbidden address."""
