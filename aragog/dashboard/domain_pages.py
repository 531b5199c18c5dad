"""The domain page in Flower: all domains, what holds each back, and changes by operators."""

from __future__ import annotations

from dataclasses import asdict

from tornado import web

from aragog.dashboard.domain_rows import DomainRow, domain_rows
from aragog.dashboard.domains import change_domain, find_domains, limiter_key, live_overrides
from aragog.dashboard.handlers import DashboardPage
from aragog.errors import BadInput
from aragog.formatting import at, moment
from aragog.politeness.live_overrides import OverrideChange

MOST_CHANGES = 20


class DomainsPage(DashboardPage):
    """All domains, or one of them with its history; set a rate, stop, resume."""

    tab = "aragog-domains"

    @web.authenticated
    async def get(self) -> None:
        domain, search = self.query("domain").strip(), self.query("q").strip()
        sort, cursor = self.query("sort", "backlog"), self.query("cursor") or None
        contents, problem = await self.read(lambda: self._read(domain, search, sort, cursor))
        rows, following, changes = contents or ([], None, [])
        if self.as_json:
            data = {"domains": [asdict(row) for row in rows], "cursor": following}
            self.show("", data, problem)
            return
        if not (domain or search or cursor):
            self.keep_fresh()
        now_ms = self.components.clock.now_ms()
        self.show(
            "aragog_domains.html", rows, problem,
            domain=domain, search=search, sort=sort, cursor=cursor, following=following,
            changes=changes, may_change=self.may_change(), at=at,
            moment=lambda ms: moment(ms, now_ms),
        )  # fmt: skip

    def _read(
        self, domain: str, search: str, sort: str, cursor: str | None
    ) -> tuple[list[DomainRow], str | None, list[OverrideChange]]:
        components = self.components
        live = live_overrides(components)
        if domain:
            key = limiter_key(domain, components)
            return domain_rows([key], components), None, live.history(MOST_CHANGES, key)
        rows, following = find_domains(components, sort, search, cursor)
        return rows, following, live.history(MOST_CHANGES)

    @web.authenticated
    async def post(self) -> None:
        self.check_may_change()
        form = [
            str(self.get_body_argument(name, "")) for name in ("domain", "action", "rate", "reason")
        ]
        key, problem = await self.read(lambda: self._act(*form))
        if problem:
            self.refuse(problem)
        self.redirect(f"{self.reverse_url(self.tab)}?domain={key}")

    def _act(self, domain: str, action: str, rate: str, reason: str) -> str:
        qps = _rate(rate) if action == "rate" else None
        action = "rate" if action == "reset" else action
        return change_domain(
            self.components, domain, action, who=self.who(), reason=reason, qps=qps
        )


def _rate(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise BadInput(f"rate: must be a number of requests/s, got {text!r}") from error
