"""The page about URLs is true; tests/test_docs_code.py runs its examples."""

from pathlib import Path

import pytest

from aragog.errors import InvalidUrl
from tests.support.documented import blocks
from urlspelling import MAX_URL_CHARS, normalize, site_rules

DOCS = Path(__file__).resolve().parents[1] / "docs"


README = DOCS.parent / "packages/urlspelling/README.md"


def rows(heading, page=DOCS / "urls.md"):
    """The rows of the table below a heading."""
    table = page.read_text().partition(heading)[2].partition("\n##")[0]
    lines = [line for line in table.splitlines() if line.startswith("|")][2:]
    return [
        [cell.strip() for cell in line.replace("\\|", "\0").strip("|").split("|")] for line in lines
    ]


def code(cell):
    return cell.strip("`").strip('"').replace("\\t", "\t").replace("\0", "|")


@pytest.mark.parametrize(("step", "before", "after"), rows("\n### The steps\n"))
def test_each_step_matches_its_row(step, before, after):
    if after == "`InvalidUrl`":
        with pytest.raises(InvalidUrl):
            normalize(code(before))
    else:
        assert normalize(code(before)) == code(after), step


def test_maximum_url_length_matches_the_page():
    (row,) = [row for row in rows("\n### The steps\n") if row[1] == "a longer result"]

    assert row[0] == f"more than {MAX_URL_CHARS:,} characters rejected"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://a.test//x", "http://a.test/x"),
        ("http://a.test/x/", "http://a.test/x"),
        ("http://a.test/index.html", "http://a.test/"),
        ("http://a.test/X?Y", "http://a.test/x?y"),
        ("http://www.a.test/", "http://a.test/"),
        ("https://a.test/", "http://a.test/"),
        ("http://a.test/?a=b+c", "http://a.test/?a=b%20c"),
        ("http://a.test/?b", "http://a.test/?b="),
        ("http://a.test/%27", "http://a.test/'"),
        ("http://a.test/%E9", "http://a.test/%C3%A9"),
    ],
)
def test_documented_difference_is_kept(one, other):
    assert (normalize(one), normalize(other)) == (one, other)


DISPUTED = {
    "`//` in a path": ("http://a.test//x", "http://a.test//x"),
    "`www.` and https": ("https://www.a.test/", "https://www.a.test/"),
    "user name and password": ("http://me:pw@a.test/", "http://a.test/"),
    "`http://a.test..`": ("http://a.test../", "http://a.test../"),
    "`faß.de`": ("http://faß.de/", "http://xn--fa-hia.de/"),
    "`index.html`, `default.asp`": ("http://a.test/default.asp", "http://a.test/default.asp"),
    "no scheme: `a.test/x`": ("a.test/x", InvalidUrl),
    "escaped reserved characters, `%3A`": ("http://a.test/%3a%2541", "http://a.test/%3A%2541"),
    "bare `|`, `[`, `%zz`": ("http://a.test/|[%zz", "http://a.test/%7C%5B%25zz"),
    "backslashes": ("http://a.test\\x", "http://a.test/x"),
    "`%C7`, not UTF-8": ("http://a.test/%C7", "http://a.test/%C7"),
    "`C%CC%A7`": ("http://a.test/C%CC%A7", "http://a.test/C%CC%A7"),
    "`b=`": ("http://a.test/?a&b=", "http://a.test/?a&b="),
    "`=1`, a parameter without a name": ("http://a.test/?=1", "http://a.test/?=1"),
    "space in a query": ("http://a.test/?a+b%20c d", "http://a.test/?a+b%20c%20d"),
    "sorting": ("http://a.test/?b&a", "http://a.test/?a&b"),
    "`source=`, `ref=`, `campaign=`": (
        "http://a.test/?campaign=1&ref=2&source=3", "http://a.test/?campaign=1&ref=2&source=3",
    ),
    "`sid=xyz`, `sessionid=123`": (
        "http://a.test/?sessionid=123&sid=587fba8f825b05844526519fdb7d75c8",
        "http://a.test/?sessionid=123",
    ),
    "`#!/x`": ("http://a.test/#!/x", "http://a.test/"),
    "`%u011f`": ("http://a.test/%u011f", "http://a.test/%u011f"),
    "`a.test&b=1`": ("http://a.test&b=1", "http://a.test&b=1/"),
}  # fmt: skip
"""The questions on which crawlers disagree, as on the page, each with a URL and its normalized form."""


def test_every_disputed_question_has_an_example():
    questions = {
        row[0].replace("\0", "|") for row in rows("\n## Where other crawlers disagree\n", README)
    }

    assert questions == {*DISPUTED}


@pytest.mark.parametrize(("url", "result"), DISPUTED.values(), ids=[*DISPUTED])
def test_disputed_url_is_normalized_as_documented(url, result):
    if result is InvalidUrl:
        with pytest.raises(InvalidUrl):
            normalize(url)
    else:
        assert normalize(url) == result


def test_example_of_a_site_file_is_valid():
    (example,) = blocks("docs/urls.md#normalized-urls", "toml")

    youtube, shop = site_rules(example, "docs/urls.md#normalized-urls")

    assert (youtube.drop, shop.keep, shop.sort) == ({"si", "feature"}, {"utm_source"}, False)
