"""
Logs: as text or as JSON, one object per line, and the lines about single URLs.

The lines about a URL name its request id, so that a search for the id shows a URL's way from
enqueue to store. They are INFO; set `logs.level` to see them.
"""

from __future__ import annotations

import logging
import os
import time
from typing import Any

import orjson

from aragog.settings import LogSettings

TEXT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
# What every record has; the rest was given as `extra`.
_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "data"}


class JsonFormatter(logging.Formatter):
    """One JSON object a line: at (UTC), level, logger, message, process, error, and `extra`."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "at": f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(record.created))}"
            f".{int(record.msecs):03d}Z",
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            "process": os.getpid(),
        }
        line |= {name: value for name, value in vars(record).items() if name not in _OWN}
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return orjson.dumps(line, default=str, option=orjson.OPT_NON_STR_KEYS).decode()


def format_handlers(logger: logging.Logger, settings: LogSettings) -> None:
    """Give the handlers of a logger the JSON formatter, if the settings want JSON."""
    if settings.format == "json":
        for handler in logger.handlers:
            handler.setFormatter(JsonFormatter())


def configure(settings: LogSettings) -> None:
    """Log to standard error, according to the settings, including warnings of libraries."""
    logging.basicConfig(level=settings.level, format=TEXT)
    logging.captureWarnings(capture=True)
    format_handlers(logging.getLogger(), settings)


def log_url(log: logging.Logger, event: str, url: str, request_id: str, **facts: object) -> None:
    """
    Log at INFO what happened to one URL.

    Args:
        log: the logger of the stage.
        event: what happened, such as "fetched".
        url: as it was enqueued, normalized.
        request_id: of the URL.
        facts: further values; those that are None are left out.
    """
    if not log.isEnabledFor(logging.INFO):
        return
    values = {name: value for name, value in facts.items() if value is not None}
    shown = "".join(f" {name}={_plain(value)}" for name, value in values.items())
    fields = {"event": event, "url": url, "request_id": request_id, **values}
    named = _plain(request_id or "-")
    log.info("%s %s%s request=%s", event, _plain(url), shown, named, extra=fields)


def _plain(value: object) -> str:
    """The value as text; what could end the line or steer a terminal becomes an escape."""
    text = str(value)
    return text if text.isprintable() else text.encode("unicode_escape").decode()
