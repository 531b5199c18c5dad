"""Log the requests that are not sent, because Scrapy logs nothing about an ignored request."""

from __future__ import annotations

import dataclasses
import logging
from urllib.parse import urlsplit

from scrapy import Request

from aragog.crawl.fetcher.ssrf import SsrfFilter
from aragog.fetch_record.causes import RefusalCause
from aragog.fetch_record.outcome import Blocked, Outcome, Refused
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
    if outcome.cause not in (RefusalCause.URL, RefusalCause.ADDRESS):
        return ""
    port = urlsplit(outcome.url).port
    ports = (*settings.allowed_ports, *([port] if port else []))
    any_port = dataclasses.replace(settings, allowed_ports=ports)
    if outcome.cause is RefusalCause.URL and SsrfFilter(any_port).vet_url(outcome.url) is None:
        return ""  # the reason names the setting of ports
    open_to_all = dataclasses.replace(any_port, allowed_networks=_EVERYTHING)
    # A URL with a password, or a cloud's metadata service, stays blocked.
    if SsrfFilter(open_to_all).vet_url(outcome.url) is not None:
        return ""
    return "; fetch.allowed_networks can allow its network"
