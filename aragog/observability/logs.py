"""
Logs as text, or as JSON with one object per line, including lines about individual URLs.

A line about a URL contains the request ID. If you search for the ID, you see what happened to the
URL from enqueueing to storing. These lines have the level INFO; set `logs.level` to see them.
"""

from __future__ import annotations

import logging
import os
import time
from typing import Any

import orjson

from aragog.settings import LogSettings

TEXT_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
# The attributes that every log record has. All others were passed as `extra`.
_STANDARD_ATTRIBUTES = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "data"}


class JsonFormatter(logging.Formatter):
    """Formats records as JSON: at (UTC), level, logger, message, process, error, and `extra`."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "at": f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(record.created))}"
            f".{int(record.msecs):03d}Z",
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            "process": os.getpid(),
        }
        line |= {
            name: value for name, value in vars(record).items() if name not in _STANDARD_ATTRIBUTES
        }
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return orjson.dumps(line, default=str, option=orjson.OPT_NON_STR_KEYS).decode()


def format_handlers(logger: logging.Logger, settings: LogSettings) -> None:
    """Set the JSON formatter in a logger's handlers, if JSON is configured."""
    if settings.format == "json":
        for handler in logger.handlers:
            handler.setFormatter(JsonFormatter())


def configure(settings: LogSettings) -> None:
    """Log to standard error according to the settings, with warnings from libraries."""
    logging.basicConfig(level=settings.level, format=TEXT_FORMAT)
    logging.captureWarnings(capture=True)
    format_handlers(logging.getLogger(), settings)


def log_url(log: logging.Logger, event: str, url: str, request_id: str, **facts: object) -> None:
    """
    Log at INFO what happened to a URL.

    Args:
        log: the logger of the stage.
        event: what happened, such as "fetched".
        url: the normalized URL that was enqueued.
        request_id: the URL's request ID.
        facts: more values to log, except those that are None.
    """
    if not log.isEnabledFor(logging.INFO):
        return
    values = {name: value for name, value in facts.items() if value is not None}
    facts_text = "".join(f" {name}={_escape(value)}" for name, value in values.items())
    fields = {"event": event, "url": url, "request_id": request_id, **values}
    request = _escape(request_id or "-")
    log.info("%s %s%s request=%s", event, _escape(url), facts_text, request, extra=fields)


def _escape(value: object) -> str:
    """Return the value as text, with line breaks and terminal control characters escaped."""
    text = str(value)
    return text if text.isprintable() else text.encode("unicode_escape").decode()
