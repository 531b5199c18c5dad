"""Keys in the index of WARC files. `make archives` compares 20,000 of them with the package surt."""

import json

import pytest

from aragog.urlstore.cdxj import (
    Capture,
    _key_of_parts,
    ascii_json,
    line,
    read_line,
    surt_key,
    write_index,
)


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("https://www.example.com/", "com,example)/"),
        ("http://www2.shop.example.com/P/Lamp/", "com,example,shop)/p/lamp"),
        ("http://www.www.a.test/", "test,a,www)/"),
        ("http://127.0.0.1:8080/x", "1,0,0,127:8080)/x"),
        ("http://[::1]/x", "::1)/x"),
        ("https://a.test/b//c?Z=1&a=2&a", "test,a)/b/c?a&a=2&z=1"),
        ("https://a.test/x/%252e%252E/%C3%A9%20", "test,a)/%c3%a9%20"),
        ("https://a.test/x?sid=0123456789abcdef0123456789abcdef&b=1", "test,a)/x?b=1"),
        ("https://a.test/x?jsessionid=0123456789abcdef0123456789abcdef", "test,a)/x"),
        ("https://a.test/(S(0123456789abcdef01234567))/x.aspx", "test,a)/x.aspx"),
        ("https://a.test/a%3Fb%23?q=%2526", "test,a)/a?b%23?&q="),
    ],
)
def test_key_of_a_url_matches_replay_programs(url, key):
    assert surt_key(url) == key


@pytest.mark.parametrize(
    "url",
    [
        "https://www.example.com", "https://www.example.com/", "https://a.test/A/b-c_d.html",
        "https://a.test/x/", "https://a.test/x//y", "https://a.test/x/../y", "https://a.test/.x",
        "https://a.test/x/./y/", "https://a.test/x.aspx", "https://a.test/%7Ex", "https://a.test/x?",
        "https://a.test:8080/x", "https://u@a.test/x", "http://www.www.a.test/x/y/", "ftp://a.test/x",
    ],
)  # fmt: skip
def test_plain_url_has_the_key_built_from_its_parts(url):
    assert surt_key(url) == _key_of_parts(url)


def test_json_of_a_line_is_ascii():
    assert ascii_json({"a": "b c"}) == '{"a":"b c"}'
    assert ascii_json({"a": "\u00e9\n"}) == '{"a":"\\u00e9\\n"}'
    assert ascii_json({"a": "\ud800"}) == '{"a":"\\ud800"}'


def test_line_has_key_time_and_location():
    capture = Capture(
        "http://a.test/x", "2026-01-31T08:05:00Z", "text/html", "200", None, 7, 9, "f"
    )

    key, timestamp, values = line(capture).split(" ", 2)

    assert (key, timestamp) == ("test,a)/x", "20260131080500")
    assert json.loads(values) == {
        "url": "http://a.test/x", "mime": "text/html", "status": "200", "length": "9",
        "offset": "7", "filename": "f",
    }  # fmt: skip


def test_index_is_sorted_by_bytes(tmp_path):
    write_index(tmp_path / "x.cdxj", ["b 1\n", "a,b)/ 1\n", "a)/ 2\n", "a)/ 1\n"])

    assert (tmp_path / "x.cdxj").read_text() == "a)/ 1\na)/ 2\na,b)/ 1\nb 1\n"


def test_line_is_read_as_the_capture_that_it_was_made_from():
    whole = Capture(
        "https://a.test/é ?x", "20260101120000", "text/html", "200", "sha-256:1", 12, 34, "p"
    )
    assert read_line(line(whole)) == whole
    bare = Capture("https://a.test/", "20260101120000", None, None, None, 12, 34, "p")
    assert read_line(line(bare)) == bare


@pytest.mark.parametrize(
    "text", ["", "a", "a 1 {", "a 1 []", 'a 1 {"url": "http://a.test/"}', "a 1 null", "a 1 3"]
)
def test_what_is_not_a_line_of_an_index_raises_value_error(text):
    with pytest.raises(ValueError):
        read_line(text)
