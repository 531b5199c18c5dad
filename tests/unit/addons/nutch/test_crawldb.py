"""Dumps of Nutch's CrawlDb."""

import io
import json

import pytest

from aragog.addons.nutch.crawldb import read_nutch
from aragog.transfer.json_lines import BadRecord

TEXT = """http://a.example/\tVersion: 7
Status: 2 (db_fetched)
Fetch time: Thu Jan 01 12:00:00 UTC 2026
Modified time: Thu Jan 01 00:00:00 UTC 1970
Retries since fetch: 0
Retry interval: 2592000 seconds (30 days)
Score: 1.5
Signature: 0cc175b9c0f1b6a831c399e269772661
Metadata:\x20
 \t_pst_=success(1), lastModified=0
\tContent-Type=text/html
\tStatus: 9 (in a page's own words)

http://a.example/new\tVersion: 7
Status: 1 (db_unfetched)
Fetch time: Fri Jan 02 12:00:00 CET 2026
Score: 0.0

http://a.example/gone\tVersion: 7
Status: 3 (db_gone)
Fetch time: Fri Jan 02 12:00:00 UTC 2026

http://a.example/moved\tVersion: 7
Status: 5 (db_redir_perm)
Fetch time: Fri Jan 02 12:00:00 UTC 2026

http://a.example/broken\tVersion: 7
Status: 2 (db_fetched)
Fetch time: soon

"""
HEAD = (
    "Url,Status code,Status name,Fetch Time,Modified Time,Retries since fetch,"
    "Retry interval seconds,Retry interval days,Score,Signature,Metadata\n"
)
CSV = (
    HEAD
    + '"http://a.example/?a,b",2,"db_fetched",Thu Jan 01 12:00:00 UTC 2026,'
    + 'Thu Jan 01 00:00:00 UTC 1970,0,2592000.0,30.0,1.5,"null","x:y|||"\n'
    + '"http://a.example/gone",3,"db_gone",Thu Jan 01 12:00:00 UTC 2026,'
    + 'Thu Jan 01 00:00:00 UTC 1970,0,2592000.0,30.0,1.5,"null",""\n'
    + "half a line\n"
)
NOON_MS = 1_767_268_800_000


def read(text, after=0):
    return list(read_nutch(io.BytesIO(text.encode()), after=after))


def test_text_dump_has_urls_next_fetch_times_statuses_and_scores():
    (first, page), (_, new), _ = read(TEXT)

    assert (first, page.url, page.due_at_ms) == (1, "http://a.example/", NOON_MS)
    assert {name: json.loads(value) for name, value in page.fields.items()} == {
        "nutch.status": "db_fetched", "nutch.score": 1.5
    }  # fmt: skip
    assert (new.url, new.due_at_ms) == ("http://a.example/new", NOON_MS + 86_400_000)


def test_csv_dump_has_the_same_data():
    (number, page), (last, bad) = read(CSV)

    assert (number, page.url, page.due_at_ms) == (2, "http://a.example/?a,b", NOON_MS)
    assert json.loads(page.fields["nutch.score"]) == 1.5
    assert (last, str(bad)) == (4, "has 1 columns, not 11")


def test_urls_abandoned_or_redirected_in_nutch_are_left_out():
    urls = [record.url for _, record in read(TEXT) if not isinstance(record, BadRecord)]

    assert urls == ["http://a.example/", "http://a.example/new"]


def test_malformed_entry_is_reported_with_its_line():
    number, bad = read(TEXT)[-1]

    assert TEXT.splitlines()[number - 1].startswith("http://a.example/broken")
    assert str(bad) == "has no fetch time: 'soon'"


@pytest.mark.parametrize("text", ["<html>\n", '{"url": "http://a.example/"}\n'])
def test_other_files_are_not_dumps(text):
    ((_, bad),) = read(text * 3)

    assert str(bad) == "is not a crawldb dump"


def test_import_can_resume_after_a_line():
    assert next(number for number, _ in read(TEXT, after=1)) == 14
