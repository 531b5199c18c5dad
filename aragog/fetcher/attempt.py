"""One fetch under way: ask, follow, until something has come of it. See `http.Fetcher`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, assert_never

from aragog.fetcher.admission import Deny, Gate, Go, Later
from aragog.fetcher.cookies import Cookies
from aragog.fetcher.faults import (
    Deferred,
    LimitExceeded,
    TargetBlocked,
    TransportError,
    UnsupportedContent,
)
from aragog.fetcher.http1.head import ResponseHead
from aragog.fetcher.http1.response import HttpResponse
from aragog.fetcher.media import content_type_of, refused_by_look, refused_by_type
from aragog.fetcher.outcome import (
    Blocked,
    Busy,
    Fetched,
    Gone,
    Hop,
    NotModified,
    Outcome,
    Redirected,
    Refused,
    Timing,
    TooLarge,
    Unreachable,
    Unreadable,
)
from aragog.fetcher.redirects import as_sent, location_of, target_of
from aragog.fetcher.request import PoliteRequest
from aragog.fetcher.request_defaults import RequestDefaults
from aragog.fetcher.retry_after import retry_at_ms

# Client errors that pass: request timeout, misdirected connection, too early (RFC 9110, 8470).
NOT_YET = frozenset({408, 421, 425})


_Made = TypeVar("_Made")


class FetchAttempt:
    """
    A URL, the redirects it led through, and the answer so far.

    Args:
        plan: of the Fetcher.
        url: the URL to ask, normalized.
        gate: asked before each request.
        hops: followed already.
    """

    def __init__(
        self, defaults: RequestDefaults, url: str, gate: Gate, hops: tuple[Hop, ...]
    ) -> None:
        self._plan = defaults
        self._gate = gate
        self._first_url = hops[0].url if hops else url
        self._url = url
        self._spelling = url
        self._given: str | None = None
        self._hops = hops
        self._asked: set[str] = {hop.url for hop in hops}
        self._validators: tuple[str | None, str | None] = (None, None)
        self._validators_url = url
        self._cookies = Cookies() if defaults.settings.cookies else None
        self._answer: HttpResponse | None = None
        self._pace = defaults.adapter.deadline()
        self._began_s = defaults.clock.monotonic_s()
        self._began_at_ms = defaults.clock.now_ms()

    def remember(self, etag: str | None, last_modified: str | None, url: str | None) -> None:
        """What the copy we have is known by, and whose it is (None: the asked URL)."""
        self._validators = (_one_line(etag), _one_line(last_modified))
        self._validators_url = url or self._url

    def run(self) -> Outcome:
        """Ask and follow until something has come of it."""
        try:
            while True:
                if why := self._plan.ssrf_filter.vet_url(self._spelling):
                    raise TargetBlocked(why)
                answer = self._ask()
                location = location_of(answer.head)
                if location is None:
                    return self._concluded(answer)
                answer.discard()
                if (outcome := self._follow(answer.head, location)) is not None:
                    return outcome
        except TransportError as fault:
            # A 200 whose body never came must not look like an empty page, or like a robots.txt
            # without rules.
            told: dict[str, Any] = {} if fault.kind == "redirect" else {"status": None}
            return self._made(Unreachable, kind=fault.kind, why=fault.why, **told)
        except LimitExceeded as fault:
            return self._made(TooLarge, why=fault.why)
        except UnsupportedContent as fault:
            return self._made(Unreadable, why=fault.why)
        except TargetBlocked as fault:
            return self._made(Blocked, why=fault.why)
        except Deferred as fault:
            at_ms = fault.retry_at_ms
            return self._made(
                Redirected, target=self._url, given=self._given, retry_at_ms=at_ms, why=fault.why
            )
        finally:
            if self._answer is not None:
                self._answer.close()

    def _ask(self) -> HttpResponse:
        """One request; its answer with the body unread."""
        self._answer = None
        url = self._url
        request = PoliteRequest(
            self._spelling,
            self._headers(),
            self._pace,
            acquire_permit=lambda: self._gate.acquire_permit(url),
            release_permit=lambda: self._gate.release_permit(url),
        )
        answer = self._answer = self._plan.adapter.exchange(request)
        self._asked.add(self._spelling)
        if self._cookies is not None:
            self._cookies.learn(self._spelling, answer.head)
        return answer

    def _headers(self) -> dict[str, str]:
        """Everything but Host."""
        headers = self._plan.headers_for(self._url, (hop.url for hop in self._hops))
        if self._cookies is not None and (cookie := self._cookies.header(self._spelling)):
            headers["Cookie"] = cookie
        etag, last_modified = self._validators
        if self._url == self._validators_url:
            if etag:
                headers["If-None-Match"] = etag
            if last_modified:
                headers["If-Modified-Since"] = last_modified
        return headers

    def _follow(self, head: ResponseHead, location: str) -> Outcome | None:
        """Go on to where the answer points; an outcome when the way ends here."""
        target = target_of(location, self._spelling)
        hop = Hop(self._url, head.status, target, head.headers)
        if len(self._hops) >= self._plan.settings.max_redirects:
            raise TransportError("redirect", f"more than {len(self._hops)} redirects")
        self._hops = (*self._hops, hop)
        spelling = self._spelled(target, location)
        if why := self._plan.ssrf_filter.vet_url(spelling):
            self._url = target
            raise TargetBlocked(why)
        asked_s = self._pace.now_s()
        given = as_sent(location, self._spelling)
        admission = self._gate.admit(target, given)
        self._pace.excuse(self._pace.now_s() - asked_s)
        match admission:
            case Go():
                self._url, self._spelling, self._given = target, spelling, given
                return None
            case Deny(why=reason):
                self._url = target
                return self._made(Refused, why=reason)
            case Later(retry_at_ms=at_ms, why=reason):
                return self._made(
                    Redirected, target=target, given=given, retry_at_ms=at_ms, why=reason
                )
            case _:
                assert_never(admission)

    def _spelled(self, target: str, location: str) -> str:
        """
        The spelling in which `target` is asked for.

        It is the normalized one, unless that was asked already: some origins redirect to another
        spelling of the same URL, and serve the page only in theirs.
        """
        if target not in self._asked or self._cookies is not None:
            return target
        spelling = as_sent(location, self._spelling)
        if spelling in self._asked:
            raise TransportError("redirect", f"redirects in a circle: {target[:200]}")
        return spelling

    def _concluded(self, answer: HttpResponse) -> Outcome:
        """What the final answer means."""
        head = answer.head
        status, said = head.status, f"{head.status} {head.reason}".strip()
        if status == 304:
            answer.discard()
            return self._made(NotModified)
        if status in (429, 503):
            after = next(iter(head.values("retry-after")), None)
            date = next(iter(head.values("date")), None)
            now_ms = self._plan.clock.now_ms()
            at_ms = retry_at_ms(after, now_ms, date)
            # Before the body, which may come slowly: others are about to ask the same domain.
            self._gate.busy(self._url, None if at_ms is None else (at_ms - now_ms) / 1000)
            answer.discard()
            return self._made(Busy, retry_at_ms=at_ms, why=said)
        if 400 <= status < 500 and status not in NOT_YET:
            answer.discard()
            return self._made(Gone, why=said)
        if status >= 400:
            answer.discard()
            return self._made(Unreachable, kind="status", why=said)
        return self._read(answer)

    def _read(self, answer: HttpResponse) -> Outcome:
        head, settings = answer.head, self._plan.settings
        content_type = content_type_of(head.values("content-type"))
        framing = answer.framing
        empty = framing.kind == "none" or (framing.kind == "length" and framing.length == 0)
        if not empty and (why := refused_by_type(content_type, settings.content_types)):
            raise UnsupportedContent(why)
        if framing.kind == "length" and framing.length > settings.max_wire_bytes:
            raise LimitExceeded(f"{framing.length} bytes, more than {settings.max_wire_bytes}")

        def look(first: bytes) -> None:
            if why := refused_by_look(first, content_type, settings.content_types):
                raise UnsupportedContent(why)

        body = answer.read_body(self._plan.bounds, look)
        return self._made(
            Fetched,
            body=body.data,
            content_type=content_type,
            truncated=body.truncated_why is not None,
            truncated_why=body.truncated_why,
            wire_bytes=body.wire_bytes,
        )

    def _made(self, kind: Callable[..., _Made], /, **more: Any) -> _Made:
        """The outcome `kind` with what every outcome tells."""
        answer = self._answer
        seen: dict[str, Any] = {}
        timing = Timing(total_ms=(self._plan.clock.monotonic_s() - self._began_s) * 1000)
        if answer is not None:
            seen = {
                "status": answer.head.status,
                "headers": answer.head.headers,
                "address": answer.address,
                "tls": answer.tls,
            }
            timing = Timing(answer.dns_ms, answer.connect_ms, answer.first_byte_ms, timing.total_ms)
        facts: dict[str, Any] = {
            "url": self._first_url,
            "final_url": self._url,
            "hops": self._hops,
            "fetched_at_ms": self._began_at_ms,
            "timing": timing,
        }
        return kind(**(facts | seen | more))


def _one_line(value: str | None) -> str | None:
    """A header's value from outside: nothing in it may begin another header."""
    return value if value is None or value.isprintable() else None
