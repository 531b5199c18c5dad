"""Reports about commands; each one is a process."""

import pytest

from tests.reports.cases import WITH_COMMANDS, of
from tests.reports.reports import differences, door


@pytest.mark.parametrize("report", of(WITH_COMMANDS))
def test_report_is_answered_correctly(report):
    assert differences(report.right, door(report)(report.input)) == []
