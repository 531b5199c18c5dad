"""Why a request was not sent: what it waits for, or what forbids it."""

from __future__ import annotations

from enum import StrEnum


class DeferralCause(StrEnum):
    """The reason why a request was not sent yet."""

    SLOT = "slot"
    """A slot of its domain; the next one is far."""
    RULES = "rules"
    """Its origin's robots.txt, which is not known yet."""
    VISIT_TIME = "visit time"
    """The Visit-time of its origin's robots.txt."""
    EGRESS = "egress"
    """A way out: none of those that the rules choose works."""
    SIGN_IN = "sign-in"
    """A session of its origin: another process signs in, or signing in failed."""
    DEADLINE = "deadline"
    """Nothing: the time of the caller was over before it could be sent."""


class RefusalCause(StrEnum):
    """Who or what forbids a request."""

    ROBOTS = "robots"
    """A rule of robots.txt."""
    PURPOSE = "purpose"
    """A statement of the site does not allow a purpose of the crawl."""
    TAKEN_DOWN = "taken down"
    """The URL or its site was taken down."""
    BLOCKED_HOST = "blocked host"
    """An operator blocked the host."""
    NO_CONTACT = "no contact"
    """`fetch.user_agent` has no contact, and the host is not on loopback."""
    URL = "url"
    """The URL's text: its scheme, credentials, port, host name or address."""
    ADDRESS = "address"
    """An address that its host resolves to."""
