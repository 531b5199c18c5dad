"""Reports about jobs, Flower and HBase, on servers and with workers."""

import pytest

from tests.reports.cases import WITH_SERVERS, of
from tests.reports.reports import differences, door


@pytest.mark.parametrize("report", of(WITH_SERVERS))
def test_report_is_answered_correctly(report):
    assert differences(report.right, door(report)(report.input)) == []
