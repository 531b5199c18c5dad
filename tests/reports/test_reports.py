"""Every report of a bug in another program is answered correctly here, or is known to be open."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from tests.reports.cases import OF_PROCESSES, without
from tests.reports.reports import FOLDER, differences, door, reports

ALL = list(reports())


@pytest.mark.parametrize("report", without(OF_PROCESSES))
def test_report_is_answered_correctly(report):
    assert differences(report.right, door(report)(report.input)) == []


def test_report_has_a_unique_name_and_a_verdict():
    names = Counter((report.of, report.id) for report in ALL)

    assert [name for name, count in names.items() if count > 1] == []
    assert {report.first for report in ALL} <= {"right", "wrong"}
    assert [r.id for r in ALL if r.open and r.first == "right"] == []


def test_difference_by_design_names_the_docs_that_explain_it():
    by_design = [report for report in ALL if report.by_design]

    assert [report.id for report in by_design if report.open] == []
    for report in by_design:
        named = re.findall(r"docs/[a-z-]+\.md", report.by_design)
        assert named != []
        assert [name for name in named if not (FOLDER.parents[1] / name).is_file()] == []


def test_every_class_has_a_door_and_every_door_has_reports():
    doors = {path.stem for path in (FOLDER / "doors").glob("*.py") if path.stem[0] != "_"}

    assert doors == {report.door or report.of for report in ALL}


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ({"a": 1}, {"a": 2}),
        ({"a": 1}, {}),
        ({"absent": ["a"]}, {"a": 1}),
        ({"a has": ["x", "y"]}, {"a": "x"}),
        ({"a lacks": ["x"]}, {"a": "axe"}),
    ],
)
def test_wrong_answer_is_detected(right, wrong):
    assert differences(right, wrong) != []
    assert differences(right, {"a": 1, "b": 2} if right == {"a": 1} else {"a has": 1}) == [] or (
        "absent" not in right
    )
