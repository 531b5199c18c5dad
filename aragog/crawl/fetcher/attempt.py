"""One run of `Fetcher.fetch`: sends requests and follows redirects until there is an outcome."""

from __future__ import annotations

from typing import Any, assert_never

from aragog.crawl.fetcher.cookies import Cookies, OriginCookies
from aragog.crawl.fetcher.faults import (
    LimitExceeded,
    NoPermit,
    TargetBlocked,
    TransportError,
    UnsupportedContent,
)
from aragog.crawl.fetcher.gate import Deny, Gate, Go, Later
from aragog.crawl.fetcher.headers import (
    parse_content_range,
    redirect_location,
    redirect_target,
    resolve_as_sent,
    retry_at_ms,
)
from aragog.crawl.fetcher.http1.head import ResponseHead
from aragog.crawl.fetcher.http1.response import HttpResponse
from aragog.crawl.fetcher.request import PoliteRequest
from aragog.crawl.fetcher.request_defaults import RequestDefaults
from aragog.crawl.fetcher.request_options import RequestOptions
from aragog.crawl.fetcher.response_bodies import read_error_body, read_page_body
from aragog.crawl.identity.signature_requests import SignatureRequest
from aragog.fetch_record.causes import RefusalCause
from aragog.fetch_record.outcome import (
    WITHHELD,
    Blocked,
    Busy,
    Deferred,
    Fetched,
    Gone,
    Hop,
    NotModified,
    Outcome,
    Redirected,
    Refused,
    TooLarge,
    Unreachable,
    UnreachableKind,
    Unreadable,
    Withheld,
)
from urlspelling.domain import origin

# Temporary client errors: timeout, misdirected request and too early (RFC 9110, 8470).
TEMPORARY_ERRORS = frozenset({408, 421, 425})
MAX_ACCEPT_SIGNATURE_CHARS = 4096


class FetchAttempt:
    """
    The state of one fetch.

    Args:
        defaults: shared by all fetches of the Fetcher.
        url: the URL to request, normalized.
        gate: admits redirect targets and grants permits to send.
        hops: redirects followed by an earlier attempt.
    """

    def __init__(
        self,
        defaults: RequestDefaults,
        url: str,
        gate: Gate,
        hops: tuple[Hop, ...],
        options: RequestOptions,
    ) -> None:
        self._defaults = defaults
        self._gate = gate
        self._options = options
        self._first_url = hops[0].url if hops else url
        self._url = url
        self._request_url = url
        self._target_as_sent: str | None = None
        self._hops = hops
        self._earlier_hop_count = len(hops)
        self._requested: set[str] = {hop.url for hop in hops}
        self._validators = (
            _safe_header_value(options.etag),
            _safe_header_value(options.last_modified),
        )
        self._validators_url = options.validators_url or url
        self._is_conditional = False
        """True if the last request had validators (ETag or date), so 304 is valid."""
        self._cookies: Cookies | None = options.cookies
        if self._cookies is None and defaults.settings.cookies:
            self._cookies = Cookies(defaults.clock)
        self._response: HttpResponse | None = None
        self._request: PoliteRequest | None = None
        self._requested_signature: SignatureRequest | None = None
        """The signature that a server requested with a 403, sent at most once per fetch."""
        self._signature_url = url
        self._deadline = defaults.adapter.deadline()
        self._started_s = defaults.clock.monotonic_s()
        self._started_at_ms = defaults.clock.now_ms()

    def run(self) -> Outcome:
        try:
            while True:
                if reason := self._defaults.ssrf_filter.vet_url(self._request_url):
                    raise TargetBlocked(RefusalCause.URL, reason)
                response = self._send()
                location = redirect_location(response.head)
                if location is None:
                    if self._should_sign_again(response):
                        continue
                    return self._to_outcome(response)
                response.discard()
                if (outcome := self._follow_redirect(response.head, location)) is not None:
                    return outcome
        except TransportError as fault:
            # Do not keep the status: a 200 whose body never arrived would look like an empty page
            # or an empty robots.txt.
            record = self._record_fields()
            if fault.kind is not UnreachableKind.REDIRECT:
                record["status"] = None
            return Unreachable(**record, kind=fault.kind, reason=fault.reason)
        except LimitExceeded as fault:
            return TooLarge(**self._record_fields(), reason=fault.reason)
        except UnsupportedContent as fault:
            return Unreadable(**self._record_fields(), reason=fault.reason)
        except TargetBlocked as fault:
            return Blocked(**self._record_fields(), cause=fault.cause, reason=fault.reason)
        except NoPermit as fault:
            return self._deferred_outcome(fault.later)
        finally:
            if self._response is not None:
                self._response.close()

    def _send(self) -> HttpResponse:
        self._response = None
        url = self._url
        request = PoliteRequest(
            self._request_url,
            self._headers(),
            self._deadline,
            acquire_permit=lambda: self._gate.acquire_permit(url),
            release_permit=lambda: self._gate.release_permit(url),
            method=self._options.method,
            body=self._options.body,
            routes=self._defaults.adapter.egress.route(url, self._options.egress),
            crawl=self._options.egress.crawl,
            signature_request=self._requested_signature if self._signature_url == url else None,
        )
        self._request = request
        response = self._response = self._defaults.adapter.exchange(request)
        self._requested.add(self._request_url)
        if self._cookies is not None:
            self._cookies.learn(self._request_url, response.head)
        return response

    def _should_sign_again(self, response: HttpResponse) -> bool:
        """
        Return True to repeat the request with the signature that a 403 asks for (Accept-Signature).

        At most once per fetch, and only if the domain's next slot (time to send) is soon.
        """
        head = response.head
        if head.status != 403 or self._requested_signature is not None or self._request is None:
            return False
        if self._options.method == "POST":  # a POST must not be sent twice
            return False
        text = ", ".join(head.values("accept-signature"))
        if not text or len(text) > MAX_ACCEPT_SIGNATURE_CHARS:
            return False
        self._requested_signature = self._defaults.adapter.requested_signature(self._request, text)
        if self._requested_signature is None:
            return False
        self._signature_url = self._url
        waiting_since_s = self._deadline.now_s()
        admission = self._gate.admit(self._url, self._target_as_sent or self._request_url)
        self._deadline.extend(self._deadline.now_s() - waiting_since_s)
        if not isinstance(admission, Go):
            return False
        response.discard()
        return True

    def _headers(self) -> dict[str, str]:
        headers = self._defaults.headers_for(self._url, (hop.url for hop in self._hops))
        headers |= {
            name: v
            for name, value in self._options.headers.items()
            if (v := _safe_header_value(value))
        }
        if cookie := self._cookie_header():
            headers["Cookie"] = cookie
        etag, last_modified = self._validators
        self._is_conditional = self._url == self._validators_url and bool(etag or last_modified)
        if self._is_conditional:
            if etag:
                headers["If-None-Match"] = etag
            if last_modified:
                headers["If-Modified-Since"] = last_modified
        if self._options.method == "POST":
            headers["Content-Length"] = str(len(self._options.body))
        return headers

    def _cookie_header(self) -> str | None:
        """Return the Cookie header. Omits session cookies if another origin redirected here."""
        if self._cookies is None:
            return None
        if isinstance(self._cookies, OriginCookies) and any(
            origin(hop.url) != self._cookies.origin for hop in self._hops
        ):
            return None
        return self._cookies.header(self._request_url)

    def _follow_redirect(self, head: ResponseHead, location: str) -> Outcome | None:
        """Continue at the redirect target. Returns an outcome if the fetch ends instead."""
        target = redirect_target(location, self._request_url)
        timings = {} if self._response is None else self._response.timings
        hop = Hop(self._url, head.status, target, timings.get("first_byte_ms"), head.headers)
        if self._options.method == "POST":
            raise TransportError(UnreachableKind.REDIRECT, "redirects of a POST are not followed")
        if len(self._hops) >= self._defaults.settings.max_redirects:
            raise TransportError(UnreachableKind.REDIRECT, f"more than {len(self._hops)} redirects")
        self._hops = (*self._hops, hop)
        request_url = self._choose_request_url(target, location)
        if reason := self._defaults.ssrf_filter.vet_url(request_url):
            self._url = target
            raise TargetBlocked(RefusalCause.URL, reason)
        waiting_since_s = self._deadline.now_s()
        target_as_sent = resolve_as_sent(location, self._request_url)
        admission = self._gate.admit(target, target_as_sent)
        self._deadline.extend(self._deadline.now_s() - waiting_since_s)
        match admission:
            case Go():
                self._url, self._request_url, self._target_as_sent = (
                    target,
                    request_url,
                    target_as_sent,
                )
                return None
            case Deny(reason=reason, cause=cause):
                self._url = target
                return Refused(**self._record_fields(), cause=cause, reason=reason)
            case Later():
                return self._redirected_outcome(admission, target, target_as_sent)
            case _:
                assert_never(admission)

    def _deferred_outcome(self, later: Later) -> Deferred:
        if len(self._hops) > self._earlier_hop_count:
            return self._redirected_outcome(later, self._url, self._target_as_sent)
        at_ms = later.retry_at_ms
        return Deferred(
            **self._record_fields(), cause=later.cause, retry_at_ms=at_ms, reason=later.reason
        )

    def _redirected_outcome(
        self, later: Later, target: str, target_as_sent: str | None
    ) -> Redirected:
        return Redirected(
            **self._record_fields(),
            target=target,
            given=target_as_sent,
            cause=later.cause,
            retry_at_ms=later.retry_at_ms,
            reason=later.reason,
        )

    def _choose_request_url(self, target: str, location: str) -> str:
        """
        Return the form of `target` to request.

        This is the normalized form, unless it was already requested: some origins redirect to
        another form of the same URL, and serve the page only there. With cookies, the normalized
        form is requested again, because the response may now be different.
        """
        if target not in self._requested or self._cookies is not None:
            return target
        request_url = resolve_as_sent(location, self._request_url)
        if request_url in self._requested:
            raise TransportError(UnreachableKind.REDIRECT, f"redirect loop: {target[:200]}")
        return request_url

    def _to_outcome(self, response: HttpResponse) -> Outcome:
        head = response.head
        status, status_line = head.status, f"{head.status} {head.reason}".strip()
        if status == 304:
            response.discard()
            if not self._is_conditional:
                reason = f"{status_line}, although the request was not conditional"
                return Unreachable(
                    **self._record_fields(), kind=UnreachableKind.STATUS, reason=reason
                )
            return NotModified(**self._record_fields())
        if status in (429, 503):
            retry_after = next(iter(head.values("retry-after")), None)
            date = next(iter(head.values("date")), None)
            now_ms = self._defaults.clock.now_ms()
            at_ms = retry_at_ms(retry_after, now_ms, date)
            # Report this before reading the body, so that other workers slow down early.
            self._gate.report_busy(self._url, None if at_ms is None else (at_ms - now_ms) / 1000)
            return Busy(
                **self._error_record_fields(response), retry_at_ms=at_ms, reason=status_line
            )
        if status in WITHHELD:
            return self._withheld_outcome(response, status_line)
        if 400 <= status < 500 and status not in TEMPORARY_ERRORS:
            return Gone(**self._error_record_fields(response), reason=status_line)
        if status >= 400:
            record = self._error_record_fields(response)
            return Unreachable(**record, kind=UnreachableKind.STATUS, reason=status_line)
        if status == 206 and not self._has_range():
            return self._partial_outcome(response)
        return self._read_page(response)

    def _has_range(self) -> bool:
        return self._request is not None and "Range" in self._request.headers

    def _partial_outcome(self, response: HttpResponse) -> Outcome:
        """
        Return the outcome of an unrequested 206.

        If it contains the start of the page, that part is stored as a truncated response.
        """
        content_range = parse_content_range(response.head)
        if content_range.is_start:
            return self._read_page(response, content_range.missing)
        response.discard()
        reason = f"206, although no Range was requested: {content_range.missing}"
        return Unreachable(**self._record_fields(), kind=UnreachableKind.STATUS, reason=reason)

    def _withheld_outcome(self, response: HttpResponse, status_line: str) -> Withheld:
        head = response.head
        price = next(iter(head.values("crawler-price")), None) if head.status == 402 else None
        record = self._error_record_fields(response)
        outcome = WITHHELD[head.status]
        return Withheld(**record, outcome=outcome, reason=status_line, crawler_price=price)

    def _error_record_fields(self, response: HttpResponse) -> dict[str, Any]:
        max_bytes = self._options.error_body_bytes
        body_fields = read_error_body(response, self._defaults.bounds, max_bytes)
        return self._record_fields() | body_fields

    def _read_page(self, response: HttpResponse, missing: str | None = None) -> Fetched:
        """Read the body and return Fetched. `missing` says which part of the page is missing."""
        body_fields = read_page_body(response, self._defaults, missing)
        return Fetched(**self._record_fields(), **body_fields)

    def _record_fields(self) -> dict[str, Any]:
        """Return the fields of `FetchRecord` that all outcomes share."""
        response = self._response
        record = {
            "url": self._first_url,
            "final_url": self._url,
            "hops": self._hops,
            "fetched_at_ms": self._started_at_ms,
            "total_ms": (self._defaults.clock.monotonic_s() - self._started_s) * 1000,
        }
        if self._request is not None:
            record["way"] = self._request.way
        if response is not None:
            record |= {
                "status": response.head.status,
                "headers": response.head.headers,
                "address": response.address,
                "tls": response.tls,
                "http_version": response.http_version,
                **response.timings,
            }
        return record


def _safe_header_value(value: str | None) -> str | None:
    """Drop a header value if it contains control characters, which could inject another header."""
    return value if value is None or value.isprintable() else None
