"""The default result backend. Its error message names the setting that turns results on."""

from __future__ import annotations

from typing import Any, NoReturn

from celery.backends.base import DisabledBackend
from celery.exceptions import ImproperlyConfigured

MESSAGE = (
    "aragog does not store task results: set broker.result_backend (a URL such as redis://host/2) "
    "for the workers and for this program, or look at `aragog show URL` and GET /v1/urls"
)


class NoResultBackend(DisabledBackend):  # type: ignore[misc]
    """Stores nothing. Every method that reads a result raises `ImproperlyConfigured`."""

    def _refuse(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise ImproperlyConfigured(MESSAGE)

    get_state = get_status = get_result = get_traceback = _refuse
    get_task_meta = get_task_meta_for = wait_for = wait_for_pending = get_many = _refuse
    ensure_chords_allowed = _refuse
