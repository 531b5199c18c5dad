"""The checks of the fault suite detect violations."""

from types import SimpleNamespace

import pytest

from tests.chaos.laws import Verdict, early_requests, recovery_s
from tests.chaos.origin import Arrival
from tests.chaos.report import END, START, Row, write
from tests.chaos.scenarios import SCENARIOS


def arrivals(host, *at_ms):
    return [Arrival(at, host, "/0", 200) for at in at_ms]


def test_request_within_the_interval_is_early():
    seen = arrivals("a.test", 0.0, 100.0, 150.0) + arrivals("b.test", 10.0, 110.0)

    assert early_requests(seen) == {"a.test": 1}


def test_two_hosts_at_the_same_instant_are_not_early():
    assert not early_requests(arrivals("a.test", 0.0) + arrivals("b.test", 0.0))


@pytest.mark.parametrize(("stored_at", "seconds"), [([(1.0, 5), (3.0, 5), (4.5, 6)], 2.5)])
def test_recovery_lasts_from_the_last_fault_to_the_next_stored_page(stored_at, seconds):
    assert recovery_s(SimpleNamespace(stored_at=stored_at, last_fault_s=2.0)) == seconds


def test_table_of_the_page_is_replaced_and_the_rest_kept(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{START}old\n{END}after\n")
    verdict = Verdict(10, 1, {"Fetched": 9}, 0, 2, 5, 1, 4, ("1 URLs lost",))

    write(page, [Row(SCENARIOS[0], verdict, 3, 1.25, 9.0)])

    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "old" not in text
    assert "| 3 | 10 | 1 | - | 0 | 2 | 5, refused 1 times | 4 | 1.2 s | 1 URLs lost |" in text
