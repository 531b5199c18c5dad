"""Log the requests that are not sent, because Scrapy logs nothing about an ignored request."""

from __future__ import annotations

import dataclasses
import logging
from urllib.parse import urlsplit

from scrapy import Request

from aragog.fetcher.outcome import Blocked, Outcome, Refused
from aragog.fetcher.ssrf import SsrfFilter
from aragog.settings import FetchSettings

log = logging.getLogger(__name__)
_EVERYTHING = ("0.0.0.0/0", "::/0")


def log_refusal(request: Request, outcome: Outcome, settings: FetchSettings) -> None:
    """Log why a request was refused or blocked, with the setting that allows it; else nothing."""
    match outcome:
        case Refused():
            log.info("%s is not requested: %s", request, outcome.reason)
        case Blocked():
            remedy = _remedy(outcome, settings)
            log.warning("%s is not requested: %s%s", request, outcome.reason, remedy)


def _remedy(outcome: Blocked, settings: FetchSettings) -> str:
    """The setting of networks, where it would help; other reasons name theirs themselves."""
    if "fetch." in outcome.reason:
        return ""
    is_named = SsrfFilter(settings).vet_url(outcome.url) is not None
    if not is_named and " resolves to " not in outcome.reason:
        return ""  # an operator blocked the host
    port = urlsplit(outcome.url).port
    open_to_all = dataclasses.replace(
        settings,
        allowed_networks=_EVERYTHING,
        allowed_ports=(*settings.allowed_ports, *([port] if port else [])),
    )
    # A URL with a password, or a cloud's metadata service, stays blocked.
    if SsrfFilter(open_to_all).vet_url(outcome.url) is not None:
        return ""
    return "; fetch.allowed_networks can allow its network"
