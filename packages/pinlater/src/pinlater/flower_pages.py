"""
Flower's pages for a pinlater broker: Broker, Queues and Jobs, and `/api/queues/length`.

Queues are read in threads, so a slow server never blocks Flower's event loop. Templates escape all
values, because tasks' names and errors are untrusted.
"""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from typing import Any, TypeVar

import orjson
from flower.views import BaseHandler
from tornado import web

from pinlater.admin import Admin
from pinlater.brokers import PINLATER_SCHEMES
from pinlater.clock import SystemClock
from pinlater.errors import InvalidArgument, PinlaterError
from pinlater.flower import ACTIONS_OFF
from pinlater.models import JobState
from pinlater.queue_rows import job_row, queue_row, queue_rows, when_title

MAX_JOBS = 1000
REFRESH_S = 10
T = TypeVar("T")
GetAdmin = Callable[[Any], Admin]


def install() -> None:
    """
    Make Flower's broker factory support `pinlater://`. Idempotent.

    Also stops Flower from listing the application's default queue, which may not exist, while
    Flower knows no workers.
    """
    from flower.utils.broker import Broker  # noqa: PLC0415 - only in Flower's process
    from flower.views import BaseHandler  # noqa: PLC0415

    original_new = Broker.__new__
    if getattr(original_new, "knows_pinlater", False):
        return

    def new(cls: type[Any], broker_url: str, *args: Any, **kwargs: Any) -> Any:
        broker = broker_for(broker_url, kwargs.get("broker_options"))
        return original_new(cls, broker_url, *args, **kwargs) if broker is None else broker

    new.knows_pinlater = True  # type: ignore[attr-defined] # marks it as installed
    Broker.__new__ = new
    original_names = BaseHandler.get_active_queue_names

    def get_active_queue_names(self: Any) -> list[str]:
        if self.application.broker_uri.partition("://")[0] not in PINLATER_SCHEMES:
            return original_names(self)  # type: ignore[no-any-return] # Flower has no types
        workers = self.application.workers.values()
        return sorted({q["name"] for info in workers for q in info.get("active_queues", ())})

    BaseHandler.get_active_queue_names = get_active_queue_names


def broker_for(url: str, options: Mapping[str, Any] | None) -> PinLaterBroker | None:
    """
    Return the broker for a URL with Celery's `broker_transport_options`; None for another broker's
    URL.
    """
    admin = admin_for(url, options)
    return PinLaterBroker(admin) if admin else None


def admin_for(url: str, options: Mapping[str, Any] | None) -> Admin | None:
    """Return the `Admin` for a URL with these transport options; None for another broker's URL."""
    if url.partition("://")[0] not in PINLATER_SCHEMES:
        return None
    options = options or {}
    shards = tuple(options.get("shards") or ())
    return _admin(url, shards, options.get("global_keyprefix") or "")


@lru_cache(8)
def _admin(url: str, shards: tuple[str, ...], prefix: str) -> Admin:
    """Return a cached `Admin`, whose connections stay open across requests."""
    return Admin.connect(url, shards, prefix=prefix)


class PinLaterBroker:
    """Flower's broker interface for `pinlater://`. Created for each request."""

    def __init__(self, admin: Admin) -> None:
        self._admin = admin

    async def queues(self, names: Iterable[str]) -> list[dict[str, str | int]]:
        """
        Return the given queues, those that workers consume, and all others that have jobs.

        `messages` counts PENDING and RUNNING jobs. `messages_ready` counts PENDING jobs,
        `messages_due` plus `messages_later`.

        Raises:
            BrokerUnavailable: no shard answers.
        """
        return await asyncio.to_thread(self._read, tuple(names))

    def _read(self, names: Sequence[str]) -> list[dict[str, str | int]]:
        return self._admin.messages(sorted({*names, *self._admin.queues()}))


def routes(admin_of: GetAdmin, notes: Callable[[], Sequence[str]] | None = None) -> list[Any]:
    """Return the routes of the pages, each also as JSON; `notes` are shown above the queues."""
    arguments = {"admin_of": admin_of}
    queues = {**arguments, "notes": notes or tuple}
    return [
        *page_routes("pinlater-queues", r"/pinlater/queues", QueuesPage, queues),
        *page_routes("pinlater-jobs", r"/pinlater/jobs", JobsPage, arguments),
    ]


def page_routes(
    name: str, path: str, page: type[FlowerPage], arguments: dict[str, Any]
) -> list[Any]:
    """Return the routes of one page: HTML, and JSON at the same path with `.json`."""
    return [
        web.url(path, page, arguments, name=name),
        web.url(rf"{path}\.json", page, {**arguments, "as_json": True}),
    ]


def admin_of_application(handler: Any) -> Admin:
    """
    Return the `Admin` for Flower's own application.

    Raises:
        InvalidArgument: the broker is not pinlater.
    """
    application = handler.application
    options = application.capp.conf.broker_transport_options
    admin = admin_for(application.broker_uri_with_password, options)
    if admin is None:
        raise InvalidArgument("these pages need a pinlater:// broker")
    return admin


class FlowerPage(BaseHandler):
    """A page of Flower, also available as JSON. Shows errors without a traceback."""

    tab = "pinlater-queues"
    """The page's item in Flower's menu."""
    request_errors: tuple[type[Exception], ...] = (InvalidArgument,)
    """Errors caused by the request."""
    server_errors: tuple[type[Exception], ...] = (PinlaterError,)
    """Other errors, such as an unavailable broker."""
    as_json: bool

    async def read(self, operation: Callable[[], T]) -> tuple[T | None, str]:
        """
        Return the result of `operation`, or None and the reason.

        Sets a 4xx or 5xx status for an error.
        """
        try:
            return await asyncio.to_thread(operation), ""
        except self.request_errors as error:
            self.set_status(400)
            return None, str(error)
        except self.server_errors as error:
            self.set_status(503)
            return None, str(error)

    def query(self, name: str, default: str = "") -> str:
        """Return a query argument unescaped, unlike Flower's `get_argument`."""
        return str(self.get_query_argument(name, default))

    def show(self, template: str, data: Any, problem: str, **more: Any) -> None:
        if self.as_json:
            self.set_header("Content-Type", "application/json; charset=UTF-8")
            self.write(orjson.dumps({"error": problem} if problem else data))
            return
        off = self.actions_off()
        self.render(template, tab=self.tab, data=data, problem=problem, actions_off=off, **more)

    def set_auto_refresh(self) -> None:
        """Make the browser reload the page, unless Flower's settings disable that."""
        if self.application.options.auto_refresh and not self.as_json:
            self.set_header("Refresh", str(REFRESH_S))

    def actions_off(self) -> str:
        """Return why Flower's own rules disable changes; empty if they are allowed."""
        options = self.application.options
        if getattr(options, "read_only", False):
            return "Actions are off: Flower runs with --read_only."
        if not (options.basic_auth or options.auth or self.unauthenticated_api):
            return str(self.application.settings.get("actions_locked", ACTIONS_OFF))
        return ""

    def check_may_change(self) -> None:
        if problem := self.actions_off():
            raise web.HTTPError(403, problem)

    def refuse(self, problem: str) -> None:
        raise web.HTTPError(self.get_status(), problem.replace("%", "%%"))

    def user_name(self) -> str:
        """Return the user's name, or the client's address if no login is required."""
        options = self.application.options
        if options.auth:
            return str(self.current_user)
        if options.basic_auth:  # Flower has checked it
            encoded = self.request.headers.get("Authorization", "").partition(" ")[2]
            return b64decode(encoded).decode("utf-8", "replace").partition(":")[0]
        return f"anonymous at {self.request.remote_ip}"

    def check_xsrf_cookie(self) -> None:
        # Flower skips the check if no login is required, but these pages' forms always send a
        # token.
        web.RequestHandler.check_xsrf_cookie(self)


class QueuePage(FlowerPage):
    """A page about queues."""

    _admin_of: GetAdmin

    def initialize(self, admin_of: GetAdmin, *, as_json: bool = False) -> None:
        self._admin_of = admin_of
        self.as_json = as_json

    def admin(self) -> Admin:
        """Raises `InvalidArgument` if the broker is not pinlater."""
        return self._admin_of(self)

    def admin_of_queue(self, queue: str) -> Admin:
        """Raises `InvalidArgument` if the queue does not exist."""
        admin = self.admin()
        if queue not in admin.queues():
            raise InvalidArgument(f"{queue!r}: this queue does not exist")
        return admin


class QueuesPage(QueuePage):
    """All queues by state; pause and resume."""

    _notes: Callable[[], Sequence[str]]

    def initialize(
        self,
        admin_of: GetAdmin,
        *,
        notes: Callable[[], Sequence[str]] = tuple,
        as_json: bool = False,
    ) -> None:
        super().initialize(admin_of, as_json=as_json)
        self._notes = notes

    @web.authenticated
    async def get(self) -> None:
        self.set_auto_refresh()
        rows, problem = await self.read(lambda: queue_rows(self.admin()))
        data = [asdict(row) for row in rows or ()] if self.as_json else rows or []
        # Without the notes, the page still shows the queues.
        notes = None if self.as_json or problem else (await self.read(self._notes))[0]
        if not problem:
            self.set_status(200)
        self.show("pinlater_queues.html", data, problem, notes=notes or ())

    @web.authenticated
    async def post(self) -> None:
        self.check_may_change()
        queue = str(self.get_body_argument("queue"))
        action = str(self.get_body_argument("action"))
        _, problem = await self.read(lambda: self._pause_or_resume(queue, action))
        if problem:
            self.refuse(problem)
        self.redirect(self.reverse_url("pinlater-queues"))

    def _pause_or_resume(self, queue: str, action: str) -> None:
        admin = self.admin_of_queue(queue)
        if action == "pause":
            admin.pause(queue)
        elif action == "resume":
            admin.resume(queue)
        else:
            raise InvalidArgument(f"{action!r}: must be pause or resume")


class JobsPage(QueuePage):
    """
    One queue's jobs in one state.

    Flower itself cannot show waiting jobs, because no worker knows them.
    """

    @web.authenticated
    async def get(self) -> None:
        queue, state = self.query("queue"), self.query("state", JobState.PENDING.lower())
        page, problem = await self.read(lambda: self._read(queue, state))
        data, title = page or ({"queue": queue, "jobs": []}, "")
        self.show(
            "pinlater_jobs.html", data, problem,
            state=state, states=[s.lower() for s in JobState], title=title, max_jobs=MAX_JOBS,
        )  # fmt: skip

    def _read(self, queue: str, state: str) -> tuple[dict[str, Any], str]:
        if state.upper() not in list(JobState):
            raise InvalidArgument(
                f"state: must be one of {', '.join(JobState).lower()}, got {state!r}"
            )
        job_state, now_ms = JobState(state.upper()), SystemClock().now_ms()
        admin = self.admin_of_queue(queue)
        jobs = [job_row(job, now_ms) for job in admin.jobs(queue, job_state, limit=MAX_JOBS)]
        row = queue_row(admin.status(queue))
        counts = {
            "pending": row.pending,
            "running": row.running,
            "succeeded": row.succeeded,
            "failed": row.failed,
        }
        return {"queue": queue, "counts": counts, "jobs": [asdict(j) for j in jobs]}, when_title(
            job_state
        )
