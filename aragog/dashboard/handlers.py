"""
The dashboard's pages in Flower. Reads run in threads, so a slow server never stops Flower's loop.

Templates escape all values, because content from the web is untrusted.
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
from aragog.dashboard.tables import job_row, queue_row, queue_rows, when_title
from aragog.errors import AragogError, BadInput
from aragog.pinlater.admin import Admin
from aragog.pinlater.models import JobState

MOST_JOBS = 100
REFRESH_S = 10

T = TypeVar("T")


class DashboardPage(BaseHandler):
    """Base class of the pages, also as JSON. It shows the system's errors without a traceback."""

    tab = "aragog-queues"
    """The entry of Flower's menu that the page belongs to."""
    components: Components
    as_json: bool

    def initialize(self, components: Components, *, as_json: bool = False) -> None:
        """Called by tornado with the route's arguments."""
        self.components = components
        self.as_json = as_json

    async def read(self, what: Callable[[], T]) -> tuple[T | None, str]:
        """The result of `what`, or None and the reason; the HTTP status shows whose fault it is."""
        try:
            return await asyncio.to_thread(what), ""
        except BadInput as error:
            self.set_status(400)
            return None, str(error)
        except AragogError as error:
            self.set_status(503)
            return None, str(error)

    def query(self, name: str, default: str = "") -> str:
        """A query argument as it was sent; Flower's own `get_argument` would escape it."""
        return str(self.get_query_argument(name, default))

    def show(self, template: str, told: Any, problem: str, **more: Any) -> None:
        """Send the page, or its data as JSON."""
        if self.as_json:
            self.set_header("Content-Type", "application/json; charset=UTF-8")
            self.write(orjson.dumps({"error": problem} if problem else told))
            return
        self.render(template, tab=self.tab, told=told, problem=problem, **more)

    def keep_fresh(self) -> None:
        """Make the browser reload the page periodically, unless Flower's settings turn that off."""
        if self.application.options.auto_refresh and not self.as_json:
            self.set_header("Refresh", str(REFRESH_S))

    def admin(self) -> Admin:
        """
        The admin interface of the queues.

        Raises:
            BadInput: the broker is not pinlater.
        """
        if self.components.admin is None:
            raise BadInput("this broker tells nothing of its queues; pinlater:// does")
        return self.components.admin

    def may_change(self) -> bool:
        """Whether changes are allowed, by the rules of Flower's actions: login, not read-only."""
        options = self.application.options
        known = options.basic_auth or options.auth or self.unauthenticated_api
        return bool(known) and not getattr(options, "read_only", False)

    def who(self) -> str:
        """The user who is logged in, or the address of one who need not be."""
        user = self.current_user
        known = self.application.options.basic_auth or self.application.options.auth
        if known and user:
            return user if isinstance(user, str) else str(user)
        return f"anonymous at {self.request.remote_ip}"

    def check_xsrf_cookie(self) -> None:
        # Flower skips the check if no login is required; forms on these pages always send a token.
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
    """The jobs of one queue in one state, including waiting jobs, which no worker knows of."""

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


class UrlPage(DashboardPage):
    """The explanation of a URL."""

    tab = "aragog-url"

    @web.authenticated
    async def get(self) -> None:
        url = self.query("url").strip()
        explanation, problem = (
            await self.read(lambda: explain_url(url, self.components)) if url else (None, "")
        )
        told = explanation.as_dict() if explanation and self.as_json else explanation
        self.show("aragog_url.html", told, problem, url=url)
