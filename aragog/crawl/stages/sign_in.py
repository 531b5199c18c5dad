"""
Signs in to the sites listed in `fetch.sign_in` before one of their URLs is fetched.

Sign-in requests are like all others: robots.txt must allow them, each needs a slot (request time)
of the domain, and they use the URL's egress routes. One process signs in at a time, at most once
every `least_s` seconds. In the meantime the URLs wait, which does not count as an attempt.

It is safe to run twice and to kill at any point: the lease expires, and the latest session is kept.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from aragog.crawl.egress.rules import ANY_CONTEXT, EgressContext
from aragog.crawl.fetcher.cookies import OriginCookies
from aragog.crawl.fetcher.gate import Gate
from aragog.crawl.pipeline.messages import UrlJob
from aragog.crawl.politeness.slots import SlotRequest
from aragog.crawl.sign_in.forms import SignInForm, find_form
from aragog.crawl.sign_in.sessions import FetchSession, Session, Sessions
from aragog.crawl.stages.access import Access
from aragog.crawl.stages.crawl_checks import CrawlChecks
from aragog.crawl.stages.page_resources import ResourceGate, reserve_near_slot
from aragog.errors import ConfigError
from aragog.fetch_record.causes import DeferralCause
from aragog.fetch_record.outcome import Deferred, Fetched, Outcome, OutcomeKind
from aragog.runtime.clock import Clock
from aragog.runtime.environment import variable
from aragog.runtime.secret import reveal
from aragog.settings import SignInSettings
from aragog.settings.credentials import origin_of
from urlspelling import normalize
from urlspelling.domain import origin

log = logging.getLogger(__name__)
LEASE_POLL_MS = 500
"""How long URLs wait while another process signs in."""
MAX_WAIT_S = 3_600.0
SLOT_TIMEOUT_S = 30.0
FORM_TYPE = "application/x-www-form-urlencoded"
UNAUTHORIZED = 401


class CookieFetcher(Protocol):
    """Sends one request with cookies (`aragog.crawl.fetcher.fetcher.Fetcher`)."""

    def fetch(
        self,
        url: str,
        *,
        gate: Gate,
        headers: Mapping[str, str] | None = None,
        method: str = "GET",
        body: bytes = b"",
        cookies: OriginCookies | None = None,
        egress: EgressContext = ANY_CONTEXT,
    ) -> Outcome:
        """Return the outcome. Blocks for at most one fetch deadline."""


class _SignInFailed(Exception):
    """Signing in failed. The message contains no secret."""


@dataclass(frozen=True, slots=True)
class SignIns:
    """
    Signs in to sites. Thread-safe.

    Args:
        settings: `fetch.sign_in`.
        sessions: the sessions of all processes.
        access: decides about each request.
        checks: knows the names of crawls.
        clock: shared by all workers.
    """

    settings: Mapping[str, SignInSettings]
    sessions: Sessions
    fetcher: CookieFetcher
    access: Access
    checks: CrawlChecks
    clock: Clock

    def session(self, job: UrlJob, egress: EgressContext) -> FetchSession | Deferred | None:
        """
        Return a job's session, after signing in if necessary.

        Returns None if the job's origin or crawl uses no sign-in, and `Deferred` if signing in is
        not possible now.
        """
        origin_url = origin(job.next_url)
        settings = self._find_settings(origin_url)
        if settings is None or _strip_query(job.next_url) == _form_url(origin_url, settings):
            return None
        crawl = self.checks.get_crawl(job).name if job.crawl else ""
        if settings.crawls and crawl not in settings.crawls:
            return None
        session = self.sessions.read(origin_url, crawl)
        if not session.cookies:
            new_session = self._sign_in(origin_url, crawl, settings, egress)
            if isinstance(new_session, int):
                reason = (
                    f"signing in to {origin_url} failed: {session.reason}" if session.reason else ""
                )
                return Deferred(
                    url=job.url,
                    final_url=job.next_url,
                    fetched_at_ms=self.clock.now_ms(),
                    cause=DeferralCause.SIGN_IN,
                    retry_at_ms=self.clock.now_ms() + new_session,
                    reason=reason or f"another process is signing in to {origin_url}",
                )
            session = new_session
        cookies = OriginCookies.from_json_values(origin_url, session.cookies, self.clock)
        return FetchSession(cookies, crawl, session.sign_in_started_at_ms, cookies.to_json_values())

    def check(self) -> None:
        """Check the values of all fields; see `check_values`."""
        check_values(self.settings)

    def save_changes(self, fetch_session: FetchSession, outcome: Outcome) -> bool:
        """
        Save the cookies that a fetch has changed. Returns True if the fetch's session had expired.

        An expired session is deleted, unless another process has signed in since.
        """
        origin_url, crawl = fetch_session.cookies.origin, fetch_session.crawl
        has_ended = self._session_has_ended(origin_url, outcome)
        cookies_now = fetch_session.cookies.to_json_values()
        if has_ended or cookies_now != fetch_session.original_cookies:
            session = self.sessions.read(origin_url, crawl)
            if session.sign_in_started_at_ms == fetch_session.sign_in_started_at_ms:
                cookies = () if has_ended else tuple(cookies_now)
                self.sessions.write(origin_url, crawl, replace(session, cookies=cookies))
        return has_ended

    def _find_settings(self, origin_url: str) -> SignInSettings | None:
        return next((s for key, s in self.settings.items() if origin_of(key) == origin_url), None)

    def _session_has_ended(self, origin_url: str, outcome: Outcome) -> bool:
        """
        Return True if the session has expired: the response is a 401, a redirect to the form, or a
        page with the form.
        """
        settings = self._find_settings(origin_url)
        if settings is None or isinstance(outcome, Deferred):
            return False
        form_url = _form_url(origin_url, settings)
        if outcome.status == UNAUTHORIZED or any(
            _strip_query(url) == form_url
            for url in (outcome.final_url, *(hop.target for hop in outcome.hops))
        ):
            return True
        return isinstance(outcome, Fetched) and _find_sign_in_form(outcome, settings) is not None

    def _sign_in(
        self, origin_url: str, crawl: str, settings: SignInSettings, egress: EgressContext
    ) -> Session | int:
        session = self.sessions.read(origin_url, crawl)
        wait_ms = self._wait_before_sign_in_ms(session, settings)
        if wait_ms > 0:
            return wait_ms
        if not self.sessions.acquire(origin_url, crawl):
            return LEASE_POLL_MS
        try:
            session = self.sessions.read(origin_url, crawl)
            if session.cookies or self._wait_before_sign_in_ms(session, settings) > 0:
                return session if session.cookies else LEASE_POLL_MS
            return self._try_to_sign_in(origin_url, crawl, settings, session, egress)
        finally:
            self.sessions.release(origin_url, crawl)

    def _try_to_sign_in(
        self,
        origin_url: str,
        crawl: str,
        settings: SignInSettings,
        previous: Session,
        egress: EgressContext,
    ) -> Session | int:
        started_at_ms = self.clock.now_ms()
        try:
            values = _field_values(origin_url, settings)
            cookies = self._submit_form(origin_url, settings, values, egress)
        except (_SignInFailed, ConfigError) as error:
            log.warning("signing in to %s failed: %s", origin_url, error)
            failed_session = Session((), started_at_ms, previous.failures + 1, str(error))
            self.sessions.write(origin_url, crawl, failed_session)
            return max(LEASE_POLL_MS, self._wait_before_sign_in_ms(failed_session, settings))
        session = Session(tuple(cookies.to_json_values()), started_at_ms)
        self.sessions.write(origin_url, crawl, session)
        log.info("signed in to %s%s", origin_url, f" for the crawl {crawl}" if crawl else "")
        return session

    def _wait_before_sign_in_ms(self, session: Session, settings: SignInSettings) -> int:
        """Return the wait until the next attempt. It doubles with each failure, up to an hour."""
        if not session.sign_in_started_at_ms:
            return 0
        max_wait_s = max(MAX_WAIT_S, settings.least_s)
        wait_s = min(settings.least_s * 2 ** min(session.failures, 12), max_wait_s)
        return int(session.sign_in_started_at_ms + wait_s * 1000 - self.clock.now_ms())

    def _submit_form(
        self,
        origin_url: str,
        settings: SignInSettings,
        values: Mapping[str, str],
        egress: EgressContext,
    ) -> OriginCookies:
        """Fetch, fill in and submit the form. Returns the cookies."""
        cookies = OriginCookies.from_json_values(origin_url, (), self.clock)
        form_url = _form_url(origin_url, settings)
        page = self._request(form_url, egress, cookies=cookies)
        if not isinstance(page, Fetched):
            raise _SignInFailed(f"failed to load the page with the form: {_describe(page)}")
        form = _find_sign_in_form(page, settings)
        if form is None:
            raise _SignInFailed(
                f"{form_url} has no form with the fields {', '.join(settings.fields)}"
            )
        try:
            action = normalize(form.action)
        except ValueError:
            action = ""
        if not action or origin(action) != origin_url:
            raise _SignInFailed("the form posts to another origin")
        if form.method != "POST":
            raise _SignInFailed("the form uses GET, which would put the values into a URL")
        response = self._request(
            action,
            egress,
            cookies=cookies,
            method="POST",
            body=form.encode_with(values),
            headers={"Content-Type": FORM_TYPE, "Origin": origin_url},
        )
        self._check_accepted(response, settings, form_url)
        if not cookies.to_json_values():
            raise _SignInFailed("the site set no cookie")
        return cookies

    def _check_accepted(self, response: Outcome, settings: SignInSettings, form_url: str) -> None:
        """
        Raise if the site did not accept the form, but sent an error, the form again, or a redirect
        to the form.
        """
        status = response.status or 0
        if not 200 <= status < 400:
            raise _SignInFailed(f"submitting the form failed: {_describe(response)}")
        if isinstance(response, Fetched) and _find_sign_in_form(response, settings) is not None:
            raise _SignInFailed("the site shows the form again: check the values of its fields")
        location = response.header("location") or ""
        if location and _strip_query(_resolve_or_empty(form_url, location)) == form_url:
            raise _SignInFailed(
                "the site redirects back to the form: check the values of its fields"
            )

    def _request(self, url: str, egress: EgressContext, **options: Any) -> Outcome:
        deadline_s = self.clock.monotonic_s() + SLOT_TIMEOUT_S

        def remaining_ms() -> float:
            return (deadline_s - self.clock.monotonic_s()) * 1000

        vetted = self.access.vet([UrlJob(url=url)])
        if not vetted.allowed:
            denial_reason = (
                vetted.denied[0].reason if vetted.denied else "its robots.txt is not known yet"
            )
            raise _SignInFailed(f"{url} may not be requested: {denial_reason}")
        _, crawl_delay_s = vetted.allowed[0]
        request = SlotRequest(self.access.limiter.key_for(url), crawl_delay_s)
        slot = reserve_near_slot(self.access.limiter, request, remaining_ms())
        if slot is None:
            raise _SignInFailed(f"{url} got no slot in {SLOT_TIMEOUT_S:g} s")
        with ResourceGate(self.access.rules, slot, remaining_ms) as gate:
            fetch = partial(self.fetcher.fetch, url, gate=gate, egress=egress, **options)
            outcome = fetch()
            is_ok = outcome.outcome not in (OutcomeKind.BUSY, OutcomeKind.UNREACHABLE)
            if not isinstance(outcome, Deferred):
                # The redirect after a submission is a response, too, although it is not followed.
                self.access.limiter.report(gate.key, is_ok or 300 <= (outcome.status or 0) < 400)
        return outcome


def _find_sign_in_form(page: Fetched, settings: SignInSettings) -> SignInForm | None:
    """Return the sign-in form. A page is only parsed if it contains all field names."""
    names = frozenset(settings.fields)
    if not all(name.encode() in page.body for name in names):
        return None
    return find_form(page.body, page.final_url, names)


def _form_url(origin_url: str, settings: SignInSettings) -> str:
    return normalize(origin_url + settings.form)


def _strip_query(url: str) -> str:
    return url.partition("?")[0]


def _resolve_or_empty(base: str, location: str) -> str:
    try:
        return normalize(location, base)
    except ValueError:
        return ""


def _describe(outcome: Outcome) -> str:
    return f"{outcome.outcome}: {outcome.reason or outcome.status or ''}".rstrip(": ")


def check_values(sign_in: Mapping[str, SignInSettings]) -> None:
    """
    Read the values of all fields of `fetch.sign_in` once, to check them.

    Raises:
        ConfigError: a value is missing. The message contains no secret.
    """
    for key, settings in sign_in.items():
        _field_values(origin_of(key) or "", settings)


def _field_values(origin_url: str, settings: SignInSettings) -> dict[str, str]:
    return {
        name: _field_value(origin_url, name, reference)
        for name, reference in settings.fields.items()
    }


def _field_value(origin_url: str, name: str, reference: str) -> str:
    """
    Return a field's value.

    Raises:
        ConfigError: the value is missing.
    """
    kind, _, name_or_value = reveal(reference).partition(":")
    setting = f"fetch.sign_in.{origin_url}.fields.{name}"
    if kind == "text":
        return name_or_value
    if kind == "env":
        if (text := variable(name_or_value)) is None:
            raise ConfigError(
                f"{setting}: the environment variable {name_or_value} is not set; set it"
            )
        return text
    try:
        return Path(name_or_value).read_text("utf-8").strip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8"
        raise ConfigError(f"{setting}: {name_or_value} cannot be read: {reason}") from None
