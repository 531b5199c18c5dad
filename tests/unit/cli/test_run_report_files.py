"""The last line of a run counts item files separately from pages."""

from collections import Counter
from types import SimpleNamespace

from aragog.cli.run_report import completeness, files_text, settings_to_change
from aragog.cli.run_tracker import NotStored
from aragog.settings import Settings

OUTPUT = SimpleNamespace(has_items=True, pages=1, records=2, kept=0)


def tracker(files, without, total):
    return SimpleNamespace(
        files=files, missing_files=Counter(without), total=total, rejected=0, in_flight=0,
        outcomes=Counter(),
    )  # fmt: skip


def test_files_are_not_counted_as_urls_without_a_page():
    """Otherwise the 4 files would count as URLs without a record."""
    found = tracker(3, {"Gone 404": 1}, 5)

    line = "2 items on 1 pages of 1 URLs; 3 of 4 files (1 Gone 404)"
    assert completeness(OUTPUT, found) == line


def test_run_without_files_does_not_mention_them():
    assert completeness(OUTPUT, tracker(0, {}, 1)) == "2 items on 1 pages of 1 URLs"
    assert files_text(tracker(0, {}, 1)) == ""
    assert files_text(tracker(2, {}, 3)) == "2 of 2 files"


def test_file_of_another_type_is_reported_with_its_setting():
    problem = NotStored("http://a.test/x", "Unreadable", "content type a/b", is_file=True)

    assert settings_to_change(problem, Settings()) == "fetch.file_types"
