"""
The pages inside Flower. Reads run in threads, so that a slow server never stops Flower's loop.

Templates escape everything they are given; what a page shows of the web are strangers' words.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, TypeVar

import orjson
from flower.views import BaseHandler
from tornado import web

from aragog.dashboard.components import Components
from aragog.dashboard.explanation import explain_url
from aragog.dashboard.formatting import moment
from aragog.dashboard.tables import domain_row, job_row, queue_row, queue_rows, when_title
from aragog.errors import AragogError, BadInput
from aragog.pinlater.admin import Admin
from aragog.pinlater.models import JobState

MOST_JOBS = 100
MOST_DOMAINS = 100
REFRESH_S = 10

T = TypeVar("T")


class DashboardPage(BaseHandler):
    """A page of ours, also as JSON. Errors of the system are shown on it, not as a traceback."""

    components: Components
    as_json: bool

    def initialize(self, components: Components, *, as_json: bool = False) -> None:
        """Called by tornado with what the route holds."""
        self.components = components
        self.as_json = as_json

    async def read(self, what: Callable[[], T]) -> tuple[T | None, str]:
        """Its result, or None and why there is none; a status says whose fault that is."""
        try:
            return await asyncio.to_thread(what), ""
        except BadInput as error:
            self.set_status(400)
            return None, str(error)
        except AragogError as error:
            self.set_status(503)
            return None, str(error)

    def query(self, name: str, default: str = "") -> str:
        """An argument as it was sent; Flower's own `get_argument` would escape it."""
        return str(self.get_query_argument(name, default))

    def show(self, template: str, told: Any, problem: str, **more: Any) -> None:
        """The page, or what it is made of as JSON."""
        if self.as_json:
            self.set_header("Content-Type", "application/json; charset=UTF-8")
            self.write(orjson.dumps({"error": problem} if problem else told))
            return
        self.render(template, told=told, problem=problem, **more)

    def keep_fresh(self) -> None:
        """Let the browser ask again by itself, unless Flower was told not to."""
        if self.application.options.auto_refresh and not self.as_json:
            self.set_header("Refresh", str(REFRESH_S))

    def admin(self) -> Admin:
        """
        The queues.

        Raises:
            BadInput: the broker is another.
        """
        if self.components.admin is None:
            raise BadInput("this broker tells nothing of its queues; pinlater:// does")
        return self.components.admin

    def may_change(self) -> bool:
        """As for Flower's own actions: not when read-only, and not by just anybody."""
        options = self.application.options
        known = options.basic_auth or options.auth or self.unauthenticated_api
        return bool(known) and not getattr(options, "read_only", False)

    def check_xsrf_cookie(self) -> None:
        # Flower lets it pass where no login is asked for; a form of ours always brings its token.
        web.RequestHandler.check_xsrf_cookie(self)


class QueuesPage(DashboardPage):
    """All queues by state; pause and resume."""

    @web.authenticated
    async def get(self) -> None:
        self.keep_fresh()
        rows, problem = await self.read(lambda: queue_rows(self.admin()))
        told = [asdict(row) for row in rows or ()] if self.as_json else rows or []
        self.show("aragog_queues.html", told, problem, may_change=self.may_change())

    @web.authenticated
    async def post(self) -> None:
        if not self.may_change():
            raise web.HTTPError(403, "needs a login, or FLOWER_UNAUTHENTICATED_API=true")
        queue = str(self.get_body_argument("queue"))
        action = str(self.get_body_argument("action"))
        _, problem = await self.read(lambda: self._act(queue, action))
        if problem:
            raise web.HTTPError(self.get_status(), problem.replace("%", "%%"))
        self.redirect(self.reverse_url("aragog-queues"))

    def _act(self, queue: str, action: str) -> None:
        admin = self.admin()
        if queue not in admin.queues():
            raise BadInput(f"{queue!r}: there is no such queue")
        if action == "pause":
            admin.pause(queue)
        elif action == "resume":
            admin.resume(queue)
        else:
            raise BadInput(f"{action!r}: must be pause or resume")


class JobsPage(DashboardPage):
    """The jobs of one queue in one state: those that wait, which no worker knows of, too."""

    @web.authenticated
    async def get(self) -> None:
        queue, state = self.query("queue"), self.query("state", JobState.PENDING.lower())
        found, problem = await self.read(lambda: self._read(queue, state))
        told, title = found or ({"queue": queue, "jobs": []}, "")
        self.show(
            "aragog_jobs.html", told, problem,
            state=state, states=[s.lower() for s in JobState], title=title, most=MOST_JOBS,
        )  # fmt: skip

    def _read(self, queue: str, state: str) -> tuple[dict[str, Any], str]:
        if state.upper() not in list(JobState):
            raise BadInput(f"state: must be one of {', '.join(JobState).lower()}, got {state!r}")
        wanted, now_ms = JobState(state.upper()), self.components.clock.now_ms()
        admin = self.admin()
        jobs = [job_row(job, now_ms) for job in admin.jobs(queue, wanted, limit=MOST_JOBS)]
        row = queue_row(admin.status(queue))
        counts = {
            "pending": row.pending,
            "running": row.running,
            "succeeded": row.succeeded,
            "failed": row.failed,
        }
        return {"queue": queue, "counts": counts, "jobs": [asdict(j) for j in jobs]}, when_title(
            wanted
        )


class DomainsPage(DashboardPage):
    """The domains with the longest backlogs."""

    @web.authenticated
    async def get(self) -> None:
        self.keep_fresh()
        rows, problem = await self.read(
            lambda: [domain_row(r) for r in self.components.limiter().busiest(MOST_DOMAINS)]
        )
        now_ms = self.components.clock.now_ms()
        told = [asdict(row) for row in rows or ()] if self.as_json else rows or []
        self.show("aragog_domains.html", told, problem, moment=lambda ms: moment(ms, now_ms))


class UrlPage(DashboardPage):
    """A URL's story."""

    @web.authenticated
    async def get(self) -> None:
        url = self.query("url").strip()
        explanation, problem = (
            await self.read(lambda: explain_url(url, self.components)) if url else (None, "")
        )
        told = explanation.as_dict() if explanation and self.as_json else explanation
        self.show("aragog_url.html", told, problem, url=url)
