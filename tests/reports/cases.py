"""Reports as test parameters. Those that start processes are in separate test files."""

from __future__ import annotations

from typing import Any

import pytest

from tests.reports.reports import Report, reports

WITH_COMMANDS = {"operations": [pytest.mark.slow, pytest.mark.redis]}
WITH_SERVERS = {
    "celery_apps": [pytest.mark.slow, pytest.mark.redis],
    "flower": [pytest.mark.slow, pytest.mark.redis],
    "hbase": [pytest.mark.hbase],
    "redis_brokers": [pytest.mark.redis],
    "postgres_queues": [pytest.mark.postgres],
}
OF_PROCESSES = WITH_COMMANDS | WITH_SERVERS


def _case(report: Report) -> Any:
    """
    A parameter; a report marked as open must fail, so that a fix forces an update of its entry.
    """
    marks = [pytest.mark.xfail(reason=report.differs, strict=True)] if report.differs else []
    marks += OF_PROCESSES.get(report.of, [])
    return pytest.param(report, id=f"{report.of}-{report.id}", marks=marks)


def of(classes: Any) -> list[Any]:
    """The reports of these classes."""
    return [_case(report) for report in reports() if report.of in classes]


def without(classes: Any) -> list[Any]:
    """The reports of all other classes."""
    return [_case(report) for report in reports() if report.of not in classes]
